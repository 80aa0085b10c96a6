//! The protocol of an estimate: probes over UDP, and a TCP connection that requests their arrival
//! times.
//!
//! A probe's payload begins with the nonce, the number of its run (a train, a stream or a chirp)
//! and its own number there; zeros follow. The connection begins with a greeting that holds the
//! nonce; then the sender requests the arrivals of runs, with 16 bytes each. Numbers are
//! big-endian.

use trustbed_units::{Ns, Span};

use crate::sys::ancillary::part;

/// Packets of one run: more than any train, stream or chirp has.
pub(super) const MOST_PACKETS: usize = 1000;
/// The largest payload of a probe: what fits into a frame of 1500 bytes.
pub(super) const LARGEST_PAYLOAD: usize = 1472;
/// So long a receiver waits for packets that are missing, at most.
pub(super) const MOST_PATIENCE: Span = Span::from_secs(10);
/// Of a greeting, and of a request.
pub(super) const REQUEST: usize = 16;
/// What a greeting begins with, and all of its answer.
pub(super) const GREETING: [u8; 8] = *b"tb-est-1";
/// The header of the arrivals.
pub(super) const HEAD: usize = 16;
/// A packet that did not arrive; a number of drops that the kernel does not report.
const NEVER: i64 = i64::MIN;
const UNKNOWN: u32 = u32::MAX;

/// The label of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    /// What the two sides share, so that nothing else is taken for a probe.
    pub(super) nonce: u64,
    /// Counted from 1; never goes back.
    pub(super) run: u32,
    /// Within the run, counted from 0.
    pub(super) number: u32,
}

impl Label {
    pub(super) const BYTES: usize = 16;

    /// Writes it to where a payload begins, if that is long enough.
    pub(super) fn write(self, payload: &mut [u8]) {
        let Some(room) = payload.first_chunk_mut::<{ Self::BYTES }>() else { return };
        room[..8].copy_from_slice(&self.nonce.to_be_bytes());
        room[8..12].copy_from_slice(&self.run.to_be_bytes());
        room[12..].copy_from_slice(&self.number.to_be_bytes());
    }

    /// Reads it; none of a payload that is too short.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let bytes = payload.first_chunk::<{ Self::BYTES }>()?;
        Some(Self {
            nonce: u64::from_be_bytes(part(bytes, 0)),
            run: u32::from_be_bytes(part(bytes, 8)),
            number: u32::from_be_bytes(part(bytes, 12)),
        })
    }
}

/// The greeting of a sender.
pub(super) fn greeting(nonce: u64) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..8].copy_from_slice(&GREETING);
    bytes[8..].copy_from_slice(&nonce.to_be_bytes());
    bytes
}

/// A request: the arrivals of a run, once complete or after the patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) run: u32,
    /// How many the run had. 0 only measures how long an answer takes.
    pub(super) packets: u32,
    pub(super) patience: Span,
}

impl Request {
    pub(super) fn bytes(self) -> [u8; REQUEST] {
        let mut bytes = [0; REQUEST];
        bytes[..4].copy_from_slice(&self.run.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.packets.to_be_bytes());
        bytes[8..].copy_from_slice(&self.patience.0.to_be_bytes());
        bytes
    }

    /// Parses it; none if it requests more than there can be.
    pub(super) fn read(bytes: &[u8; REQUEST]) -> Option<Self> {
        let found = Self {
            run: u32::from_be_bytes(part(bytes, 0)),
            packets: u32::from_be_bytes(part(bytes, 4)),
            patience: Span(i64::from_be_bytes(part(bytes, 8))),
        };
        let sound = found.packets as usize <= MOST_PACKETS
            && (Span::ZERO..=MOST_PATIENCE).contains(&found.patience);
        sound.then_some(found)
    }
}

/// The answer: arrival times of a run, and what would invalidate them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arrivals {
    pub(super) run: u32,
    /// How often the receiver's real-time clock was stepped so far.
    pub(super) clock_steps: u32,
    /// Packets that its socket had no room for so far; none where the kernel does not report it.
    pub(super) dropped: Option<u32>,
    /// By the receiver's real-time clock; none for a packet that did not arrive.
    pub(super) received: Vec<Option<Ns>>,
}

impl Arrivals {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let packets = u32::try_from(self.received.len()).unwrap_or(0);
        let head = [self.run, packets, self.clock_steps, self.dropped.unwrap_or(UNKNOWN)];
        let moments = self.received.iter().map(|moment| moment.map_or(NEVER, |moment| moment.0));
        head.into_iter()
            .flat_map(u32::to_be_bytes)
            .chain(moments.flat_map(i64::to_be_bytes))
            .collect()
    }

    /// How many bytes the answer to a request has.
    pub(super) const fn length(packets: usize) -> usize {
        HEAD + 8 * packets
    }

    /// Reads it; none of what is no answer to the request.
    pub(super) fn read(bytes: &[u8], request: Request) -> Option<Self> {
        let (head, moments) = bytes.split_first_chunk::<HEAD>()?;
        let number = |at: usize| u32::from_be_bytes(part(head, at));
        let sound = (number(0), number(4)) == (request.run, request.packets)
            && moments.len() == 8 * request.packets as usize;
        let received = moments.chunks_exact(8).map(|moment| i64::from_be_bytes(part(moment, 0)));
        let received = received.map(|moment| (moment != NEVER).then_some(Ns(moment))).collect();
        sound.then(|| Self {
            run: number(0),
            clock_steps: number(8),
            dropped: Some(number(12)).filter(|one| *one != UNKNOWN),
            received,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_survives_a_round_trip_and_needs_its_length() {
        let label = Label { nonce: 0x0102_0304_0506_0708, run: 9, number: 77 };
        let mut payload = [0xff; 20];
        label.write(&mut payload);
        assert_eq!((Label::read(&payload), payload[16..].to_vec()), (Some(label), vec![0xff; 4]));
        label.write(&mut payload[..15]);
        assert_eq!(Label::read(&payload[..15]), None);
    }

    #[test]
    fn a_request_beyond_the_limits_is_malformed() {
        let request = Request { run: 3, packets: 1000, patience: Span::from_millis(100) };
        assert_eq!(Request::read(&request.bytes()), Some(request));
        for wrong in [
            Request { packets: 1001, ..request },
            Request { patience: Span::from_secs(11), ..request },
            Request { patience: Span(-1), ..request },
        ] {
            assert_eq!(Request::read(&wrong.bytes()), None);
        }
    }

    #[test]
    fn arrivals_match_their_request_only() {
        let arrivals = Arrivals {
            run: 4,
            clock_steps: 1,
            dropped: None,
            received: vec![Some(Ns(5)), None, Some(Ns(-7))],
        };
        let (bytes, request) =
            (arrivals.bytes(), Request { run: 4, packets: 3, patience: Span::ZERO });
        assert_eq!(
            (bytes.len(), Arrivals::read(&bytes, request)),
            (Arrivals::length(3), Some(arrivals))
        );
        assert_eq!(Arrivals::read(&bytes, Request { run: 5, ..request }), None);
        assert_eq!(Arrivals::read(&bytes, Request { packets: 2, ..request }), None);
        assert_eq!(Arrivals::read(&bytes[..bytes.len() - 1], request), None);
        assert_eq!(Arrivals::read(&[], request), None);
    }
}
