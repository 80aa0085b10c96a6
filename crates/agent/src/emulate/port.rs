//! An interface of the emulator: its socket, and its counters.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::configuration::PortPlan;
use super::error::EmulatorError;
use super::frame::{Headers, Reasons};
use super::kernel::{Counts, Interface, PacketSocket};

/// An interface that is bound.
#[derive(Debug)]
pub(super) struct Port {
    /// The host's index in the topology.
    pub(super) host: usize,
    pub(super) mtu: usize,
    pub(super) headers: Headers,
    pub(super) counts: PortCounts,
}

/// What went through an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct PortCounts {
    /// The host's name.
    pub(super) host: String,
    pub(super) interface: String,
    pub(super) mtu_bytes: usize,
    /// What can wait to be received, with what the kernel keeps beside each frame.
    pub(super) receive_buffer_bytes: u32,
    pub(super) received_packets: u64,
    pub(super) received_bytes: u64,
    /// Frames that found no room in the socket's buffer: the emulator was too slow.
    pub(super) socket_drops: u64,
    /// Frames that waited in the buffer at the stop.
    pub(super) unread_packets: u64,
    /// Frames that were not moved, by reason.
    pub(super) refused: Reasons,
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    /// What the kernel refused to receive or send, by its reason.
    pub(super) errors: BTreeMap<String, u64>,
}

impl PortCounts {
    /// The kernel refused something.
    pub(super) fn refused_by_kernel(&mut self, what: &str, error: &io::Error) {
        *self.errors.entry(format!("{what}: {error}")).or_default() += 1;
    }

    /// What was counted at the socket.
    pub(super) fn add(&mut self, counts: Counts) {
        self.socket_drops += u64::from(counts.drops);
        // The kernel counts with 32 bits.
        let unread = u64::from(counts.frames)
            .wrapping_sub(u64::from(counts.drops))
            .wrapping_sub(self.received_packets);
        self.unread_packets = unread & u64::from(u32::MAX);
    }
}

/// Binds a socket to the interface of a plan.
pub(super) fn open(plan: &PortPlan) -> Result<(PacketSocket, Port), EmulatorError> {
    let failed =
        |step| move |source| EmulatorError::Kernel { name: plan.interface.clone(), step, source };
    let socket = PacketSocket::open().map_err(|source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => EmulatorError::NotPermitted { source },
        _ => failed("open a packet socket")(source),
    })?;
    let found = socket.look(&plan.interface).map_err(failed("look it up"))?;
    let interface = usable(plan, found)?;
    socket.prepare().map_err(failed("have frames stamped"))?;
    let receive_buffer_bytes = socket.enlarge().map_err(failed("make its buffers larger"))?;
    socket.bind(interface.index).map_err(failed("receive from it"))?;
    let counts = PortCounts {
        host: plan.name.clone(),
        interface: plan.interface.clone(),
        mtu_bytes: interface.mtu,
        receive_buffer_bytes,
        ..PortCounts::default()
    };
    let headers = Headers::new(plan.mac, interface.mac);
    Ok((socket, Port { host: plan.host, mtu: interface.mtu, headers, counts }))
}

fn usable(plan: &PortPlan, found: Option<Interface>) -> Result<Interface, EmulatorError> {
    let name = plan.interface.clone();
    match found {
        None => Err(EmulatorError::NoSuchInterface {
            host: plan.name.clone(),
            name,
            known: trustbed_capture::interface_names(),
        }),
        Some(interface) if !interface.ethernet => Err(EmulatorError::NotEthernet { name }),
        Some(interface) if !interface.up => Err(EmulatorError::InterfaceDown { name }),
        Some(interface) => Ok(interface),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_frames_are_those_that_the_kernel_dropped() {
        let unread = |received_packets, frames, drops| {
            let mut counts = PortCounts { received_packets, ..PortCounts::default() };
            counts.add(Counts { frames, drops });
            (counts.socket_drops, counts.unread_packets)
        };
        assert_eq!(unread(10, 10, 0), (0, 0));
        assert_eq!(unread(10, 18, 5), (5, 3));
        assert_eq!(unread((1 << 32) + 10, 18, 5), (5, 3));
        assert_eq!(unread((1 << 32) - 2, 1, 0), (0, 3));
    }
}
