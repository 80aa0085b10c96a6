//! Frames from an interface while they pass: through the kernel's packet ring (`TPACKET_V3`), so
//! that a packet costs neither a system call nor a copy of its payload.
//!
//! The kernel fills blocks of the ring and hands each over when it is full or some time old; a
//! reader that does not keep up loses frames, and every one is counted ([`Statistics`]). Nothing is
//! sent, no setting of the interface is changed but promiscuous mode, and that only while the
//! capture lasts.
//!
//! Bias: times are those at which the kernel took a frame up, which for a frame that leaves is
//! before it waits in the queue of the card, and for one that comes in is after interrupt
//! moderation; offloading makes several packets one frame. A frame's VLAN tag that the card took
//! off is put back, and counts in its length.

#[cfg(target_os = "linux")]
mod block;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod interface;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system_calls;

use trustbed_units::{Rate, Size, Span};
use trustbed_wire::LinkType;

use crate::write::InterfaceDescription;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Live, give_up_capabilities, give_up_privileges};
pub use error::LiveError;
#[cfg(target_os = "linux")]
pub use kernel::interface_names;
#[cfg(target_os = "linux")]
pub use privileges::{give_up_capabilities, give_up_privileges};
#[cfg(target_os = "linux")]
pub use ring::Live;

/// Whom a process of root becomes when it gives up its privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// The number of the only group.
    pub gid: u32,
}

/// How to capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveOptions {
    /// Bytes that are kept of a frame. 0 keeps as much as a block of the ring holds, 256 KiB.
    pub snap_length: u32,
    /// Memory of the ring: what can wait while no one reads. Rounded up to whole blocks, at most 1
    /// GiB.
    pub ring: Size,
    /// How long a frame may wait in a block that is not full; the kernel's clock makes it at least
    /// some milliseconds.
    pub block_timeout: Span,
    /// Whether to see frames that are for other hosts, as behind a mirroring port.
    pub promiscuous: bool,
    /// Whether to take the interface's own timestamps, if it is configured to stamp every frame.
    pub hardware_timestamps: bool,
}

impl Default for LiveOptions {
    /// Headers only (128 bytes), 32 MiB, 20 ms, promiscuous, the interface's timestamps.
    fn default() -> Self {
        Self {
            snap_length: 128,
            ring: Size(32 << 20),
            block_timeout: Span::from_millis(20),
            promiscuous: true,
            hardware_timestamps: true,
        }
    }
}

/// What is known about a live capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFacts {
    /// The interface's name when the capture began.
    pub name: String,
    /// What its frames begin with.
    pub link: LinkType,
    /// Whether it is the loopback interface, where each frame is seen once and has no direction.
    pub loopback: bool,
    /// Its largest packet.
    pub mtu: Option<Size>,
    /// Its speed, as its driver reports; that of virtual interfaces means nothing.
    pub speed: Option<Rate>,
    /// Bytes that are kept of a frame.
    pub snap_length: u32,
    /// Memory of the ring, and of one block of it.
    pub ring: Size,
    /// Memory of one block.
    pub block: Size,
    /// How long a frame may wait in a block. A reader that has waited twice as long without being
    /// shown a frame has seen every older one, unless the processor with the block's timer was
    /// stalled: [`Live::waiting`] shows.
    pub block_timeout: Span,
    /// Whether the interface stamps the frames that come in. Those that leave are stamped by the
    /// kernel all the same.
    pub hardware_timestamps: bool,
    /// By how much the interface's clock was ahead of the system's, at the first frame that it
    /// stamped (too low by what the frame had to wait). Where it is much, times of the two
    /// directions cannot be compared.
    pub hardware_clock_ahead: Option<Span>,
}

impl LiveFacts {
    /// The description with which a file of these frames begins.
    pub fn description(&self) -> InterfaceDescription {
        InterfaceDescription {
            name: self.name.clone(),
            link: self.link,
            snap_length: self.snap_length,
            hardware_timestamps: self.hardware_timestamps,
            speed: self.speed,
        }
    }
}

/// What a live capture has counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Frames that the kernel put into the ring; with the dropped ones, all that passed on the
    /// interface.
    pub received: u64,
    /// Frames that found no room in the ring.
    pub dropped: u64,
    /// How often the ring was full.
    pub frozen: u64,
    /// Frames that were shown. Those that were received and not shown wait in the ring.
    pub shown: u64,
    /// Frames among the shown ones that the interface stamped.
    pub hardware_stamped: u64,
}
