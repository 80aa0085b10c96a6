//! A recording, sent again.
//!
//! A packet of time t leaves at ⌊t / u⌋ · u (u = 1 ms by default); those of one unit leave back to
//! back, in order. So a packet leaves up to a unit earlier than it was recorded, never later. With
//! UDP a packet keeps its IP length if its headers fit into it. With TCP what it carried becomes a
//! write; one that carried nothing is an acknowledgement, which the connection makes itself, and is
//! left out.
//!
//! It does not react: what was recorded had found its rate on another path.

use std::sync::Arc;

use serde::Serialize;
use trustbed_units::Span;

use crate::headers::check_length;
use crate::{Departure, Headers, Recording, TrafficError, Transport};

/// The packets of a recording at their times.
#[derive(Debug, Clone)]
pub struct Playback {
    recording: Arc<Recording>,
    headers: Headers,
    together: i64,
    largest: u32,
    next: usize,
    /// What of the packet before `next` is still to be sent.
    rest: u32,
    due: Span,
    cut_packets: u64,
    empty_packets: u64,
}

/// What of a recording is not played, or not as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlaybackCounts {
    /// Packets so far that were longer than the largest packet and are sent in pieces.
    pub cut_packets: u64,
    /// Packets so far that carried nothing and are not written to a TCP connection.
    pub empty_packets: u64,
    /// Frames of the capture that were not IP.
    pub skipped_frames: u64,
    /// Packets whose recorded time was before that of the one in front of them.
    pub steps_back: u64,
}

/// The longest time for which packets are held back to leave together.
const LONGEST: Span = Span::from_secs(10);

impl Playback {
    /// Plays a recording. Datagrams longer than `largest` are sent in pieces.
    ///
    /// # Errors
    /// [`TrafficError::NothingToPlay`], [`TrafficError::NoUnit`] outside of 1 ns to 10 s,
    /// [`TrafficError::PacketTooSmall`], [`TrafficError::PacketTooLarge`].
    pub fn new(
        recording: Arc<Recording>,
        together: Span,
        largest: u32,
        headers: Headers,
    ) -> Result<Self, TrafficError> {
        if recording.packets() == 0 {
            return Err(TrafficError::NothingToPlay { skipped: recording.skipped() });
        }
        if together <= Span::ZERO || together > LONGEST {
            return Err(TrafficError::NoUnit {
                key: "together_ns",
                length: together,
                shortest: Span(1),
                longest: LONGEST,
            });
        }
        check_length("largest_packet_bytes", largest, headers)?;
        Ok(Self {
            recording,
            headers,
            together: together.0,
            largest,
            next: 0,
            rest: 0,
            due: Span::ZERO,
            cut_packets: 0,
            empty_packets: 0,
        })
    }

    /// What was not played so far, or not as it was.
    pub fn counts(&self) -> PlaybackCounts {
        PlaybackCounts {
            cut_packets: self.cut_packets,
            empty_packets: self.empty_packets,
            skipped_frames: self.recording.skipped(),
            steps_back: self.recording.steps_back(),
        }
    }

    /// The next packet of the recording: when it is due, and its IP length.
    fn advance(&mut self) -> Option<u32> {
        let (time, length) = self.recording.packet(self.next)?;
        self.next += 1;
        self.due = Span(time.0 - time.0 % self.together);
        Some(length)
    }

    fn datagram(&mut self) -> Option<Departure> {
        if self.rest == 0 {
            let length = self.advance()?;
            self.cut_packets += u64::from(length > self.largest);
            // Sent at least as headers alone.
            self.rest = length.max(1);
        }
        let piece = self.rest.min(self.largest);
        self.rest -= piece;
        Some(self.departure(piece))
    }

    fn write(&mut self) -> Option<Departure> {
        loop {
            let length = self.advance()?;
            if self.headers.payload(length) > 0 {
                return Some(self.departure(length));
            }
            self.empty_packets += 1;
        }
    }

    fn departure(&self, length: u32) -> Departure {
        Departure {
            due: self.due,
            length: length.max(self.headers.bytes()),
            payload: self.headers.payload(length),
        }
    }
}

impl Iterator for Playback {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        match self.headers.transport() {
            Transport::Udp => self.datagram(),
            Transport::Tcp => self.write(),
        }
    }
}
