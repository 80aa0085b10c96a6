//! Sends a run, each packet at its moment, and reports when each left.
//!
//! Between packets it sleeps as long as that is safe and spins the rest (`clock::Oversleep`). A run
//! spins for some ten milliseconds and is followed by a silence several times as long, so that a
//! real-time thread needs no other rest. A late packet delays all after it: catching up would put
//! them on the path faster than requested.

use std::io;
use std::net::UdpSocket;

use rustix::net::sockopt;
use trustbed_traffic::DepartureError;
use trustbed_units::{Ns, Span};

use super::wire::{LARGEST_PAYLOAD, Label};
use crate::session::{Failure, Stop};
use crate::sys::clock::{self, Oversleep};
use crate::sys::timestamping::{self, Queue};

/// As much as UDP carries, with the headers in front.
const LARGEST: usize = 65_536;
/// A packet that is later than this part of the gap behind it moves what follows.
const MOVES: i64 = 8;

/// A run that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned<'a> {
    /// When each packet is due after the first; all at once for a train.
    pub(super) due: &'a [Span],
    /// UDP payload of each, in bytes.
    pub(super) payload: u32,
    /// When the first is due, by the monotonic clock.
    pub(super) begin: Ns,
    /// Nothing is sent from then on.
    pub(super) until: Ns,
}

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    Whole,
    /// The time was over, or the end requested.
    CutOff,
    /// A packet found no room in this host's queue.
    NoRoom,
}

/// A run that was sent, or as much of it as was.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) number: u32,
    pub(super) went: Went,
    /// When each was given to the kernel, by the real-time clock.
    given: Vec<Ns>,
    payload: usize,
}

impl Sent {
    /// How many packets left.
    pub(super) fn packets(&self) -> u64 {
        self.given.len() as u64
    }
}

/// The socket, and what is known of it.
pub(super) struct Flight {
    socket: UdpSocket,
    nonce: u64,
    runs: u32,
    payload: Vec<u8>,
    buffer: Vec<u8>,
    oversleep: Oversleep,
    stop: Stop,
    /// Of packets that had a moment.
    pub(super) departure_error: DepartureError,
    /// Runs whose moments are this program's, because the kernel had none.
    pub(super) stamped_early_runs: u64,
    /// Port-unreachable errors; later packets were sent all the same.
    pub(super) unreachable_answers: u64,
    /// Headers of IP and UDP, in bytes.
    pub(super) header_bytes: u32,
}

impl Flight {
    /// A flight over a connected socket whose packets the kernel timestamps.
    pub(super) fn new(socket: UdpSocket, nonce: u64, stop: Stop) -> Self {
        let header_bytes = if is_version_6(&socket) { 48 } else { 28 };
        Self {
            header_bytes,
            socket,
            nonce,
            runs: 0,
            payload: vec![0; LARGEST_PAYLOAD],
            buffer: vec![0; LARGEST],
            oversleep: Oversleep::new(),
            stop,
            departure_error: DepartureError::default(),
            stamped_early_runs: 0,
            unreachable_answers: 0,
        }
    }

    /// The largest payload that the kernel would send, by its path MTU.
    pub(super) fn largest_payload(&self) -> Option<u32> {
        let mtu = if is_version_6(&self.socket) {
            sockopt::ipv6_mtu(&self.socket)
        } else {
            sockopt::ip_mtu(&self.socket)
        };
        mtu.ok().map(|bytes| bytes.saturating_sub(self.header_bytes))
    }

    /// Sends a run.
    ///
    /// # Errors
    /// What the kernel reports where no packet can be sent, for example because packets
    /// are too large for the path.
    pub(super) fn send(&mut self, planned: &Planned<'_>) -> Result<Sent, Failure> {
        self.runs += 1;
        let payload =
            usize::try_from(planned.payload).unwrap_or(LARGEST_PAYLOAD).min(LARGEST_PAYLOAD);
        let mut sent = Sent {
            number: self.runs,
            went: Went::Whole,
            given: Vec::with_capacity(planned.due.len()),
            payload,
        };
        let is_train = planned.due.last().is_none_or(|last| *last == Span::ZERO);
        let mut begin = planned.begin;
        for (number, due) in (0_u32..).zip(planned.due) {
            let at = begin + *due;
            let Some(now) = self.wait_until(at, planned.until) else {
                sent.went = Went::CutOff;
                break;
            };
            let given = clock::realtime();
            if !self.send_one(Label { nonce: self.nonce, run: sent.number, number }, payload)? {
                sent.went = Went::NoRoom;
                break;
            }
            sent.given.push(given);
            if !is_train {
                let late = now - at;
                self.departure_error.add(late);
                let gap = planned.due.get(sent.given.len()).map_or(Span::ZERO, |next| *next - *due);
                if late.0 > gap.0 / MOVES {
                    begin = begin + late;
                }
            }
        }
        Ok(sent)
    }

    /// The moment at which a wait ended; none where the end came before.
    fn wait_until(&mut self, at: Ns, until: Ns) -> Option<Ns> {
        let now = clock::monotonic();
        if now >= until || self.stop.is_requested() {
            return None;
        }
        if now >= at {
            return Some(now);
        }
        let margin = self.oversleep.margin();
        if at - now > margin {
            let woken_at = (at - margin).min(until);
            if !self.stop.wait_until(woken_at) || woken_at >= until {
                return None;
            }
            self.oversleep.add(clock::monotonic() - woken_at);
        }
        Some(clock::spin_until(at))
    }

    /// Whether the packet left; not if it found no room.
    fn send_one(&mut self, label: Label, payload: usize) -> Result<bool, Failure> {
        let bytes = self.payload.get_mut(..payload).unwrap_or_default();
        label.write(bytes);
        // The kernel reports an answer to an earlier datagram instead of sending this one: once
        // more then.
        for again in [true, false] {
            match self.socket.send(bytes) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.unreachable_answers += 1;
                }
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        || error.raw_os_error() == Some(libc::ENOBUFS) =>
                {
                    return Ok(false);
                }
                Err(error) if again && error.raw_os_error() == Some(libc::EMSGSIZE) => {}
                Err(error) => {
                    let hint = if error.raw_os_error() == Some(libc::EMSGSIZE) {
                        "the path takes smaller packets only: give a smaller \
                         largest_payload_bytes, or payload_bytes"
                    } else {
                        "see the message of the kernel"
                    };
                    return Err(Failure::running(
                        format!("a probe of {payload} bytes cannot be sent: {error}"),
                        hint,
                    ));
                }
            }
        }
        Ok(false)
    }

    /// When the packets of a run left: by the kernel's timestamps if it has all of them, else as
    /// they were given to it.
    pub(super) fn moments(&mut self, sent: &Sent) -> Vec<Ns> {
        let mut stamps: Vec<Option<Ns>> = vec![None; sent.given.len()];
        // An error concerns an earlier packet, and is returned instead of a timestamp.
        while let Ok(Some(copy)) =
            timestamping::receive(&self.socket, &mut self.buffer, Queue::Sent)
        {
            // It may have the headers before it that it was sent with.
            let content = copy
                .length
                .checked_sub(sent.payload)
                .and_then(|headers| self.buffer.get(headers..copy.length));
            let label = content
                .and_then(Label::read)
                .filter(|label| (label.nonce, label.run) == (self.nonce, sent.number));
            if let Some(moment) = label.and_then(|label| stamps.get_mut(label.number as usize)) {
                *moment = copy.stamp;
            }
        }
        stamps.iter().copied().collect::<Option<Vec<Ns>>>().unwrap_or_else(|| {
            self.stamped_early_runs += 1;
            sent.given.clone()
        })
    }
}

fn is_version_6(socket: &UdpSocket) -> bool {
    socket.local_addr().is_ok_and(|address| address.is_ipv6())
}
