//! What a client has of a stream: which parts arrived, which frames are complete, what is missing.
//! It reads no clock: the time of every packet is an argument.

use serde::Serialize;
use trustbed_units::Span;

use super::deadlines::Deadlines;
use super::missing::Missing;
use super::packet::{Header, Kind};
use super::rows;
use super::stream::{Part, Stream};
use crate::output::rows::{Rows, RowsWritten};

/// Without a packet for so long behind the end of the stream, its last parts are missing.
const SHORTEST_QUIET: Span = Span::from_millis(200);

/// The state of a client.
#[derive(Debug)]
pub(super) struct Reception {
    stream: Stream,
    /// The number by which the server knows the stream.
    number: u32,
    /// Whether missing parts are looked for.
    repairs: bool,
    deadlines: Deadlines,
    missing: Missing,
    /// Of every frame, which parts arrived; empty once it is complete.
    parts: Vec<Vec<bool>>,
    /// The part before which everything has arrived or is missing.
    expected: Part,
    first: Option<Span>,
    last: Option<Span>,
    counts: Counts,
    rows: Option<Rows>,
}

/// Counts of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Counts {
    pub(super) packets: u64,
    pub(super) payload_bytes: u64,
    complete_frames: u32,
    retransmitted_packets: u64,
    /// Packets whose part had arrived before.
    duplicate_packets: u64,
    /// Packets that are not of this stream.
    foreign_packets: u64,
}

/// What became of a stream.
#[derive(Debug, Serialize)]
pub(super) struct ReceptionReport {
    #[serde(flatten)]
    counts: Counts,
    first_packet_ns: Option<i64>,
    last_packet_ns: Option<i64>,
    /// Smoothed, of the request and of retransmissions; none where no round trip was measured.
    rtt_ns: Option<i64>,
    reported_parts: u64,
    reports_of_parts: u64,
    given_up_parts: u64,
    rows: Option<RowsWritten>,
}

impl Reception {
    pub(super) fn new(
        stream: Stream,
        number: u32,
        buffer: Span,
        repairs: bool,
        rows: Option<Rows>,
    ) -> Self {
        let parts = (0..stream.frames).map(|frame| vec![false; usize::from(stream.parts(frame))]);
        Self {
            stream,
            number,
            repairs,
            deadlines: Deadlines::new(stream, buffer),
            missing: Missing::default(),
            parts: parts.collect(),
            expected: Part::default(),
            first: None,
            last: None,
            counts: Counts::default(),
            rows,
        }
    }

    /// A packet arrived.
    pub(super) fn on_packet(&mut self, header: &Header, now: Span) {
        let at = header.at;
        let is_own = header.kind == Kind::Media
            && header.stream == self.number
            && self.stream.has(at)
            && header.parts == self.stream.parts(at.frame)
            && usize::from(header.length) == self.stream.part_bytes(at);
        if !is_own {
            self.counts.foreign_packets += 1;
            return;
        }
        self.counts.packets += 1;
        self.counts.payload_bytes += u64::from(header.length);
        self.counts.retransmitted_packets += u64::from(header.transmission > 0);
        self.first.get_or_insert(now);
        self.last = Some(now);
        if let Some(rows) = &mut self.rows {
            rows::append(rows, header, now);
        }
        self.expect(at, now);
        self.missing.on_part(at, header.transmission, now);
        self.expected = self.expected.max(self.stream.next(at));
        self.take(at, now);
    }

    fn take(&mut self, at: Part, now: Span) {
        let Some(parts) = self.parts.get_mut(at.frame as usize) else { return };
        match parts.get_mut(usize::from(at.part)) {
            Some(part) if !*part => *part = true,
            _ => {
                self.counts.duplicate_packets += 1;
                return;
            }
        }
        if parts.iter().all(|part| *part) {
            *parts = Vec::new();
            self.counts.complete_frames += 1;
            self.deadlines.on_frame(at.frame, now);
        }
    }

    /// Everything before a part should have arrived.
    fn expect(&mut self, before: Part, now: Span) {
        while self.expected < before {
            if self.repairs {
                self.missing.on_gap(self.expected, now);
            }
            self.expected = self.stream.next(self.expected);
        }
    }

    /// The parts to report now.
    pub(super) fn poll(&mut self, now: Span) -> Vec<Part> {
        if self.tail_missing_at().is_some_and(|at| now >= at) {
            self.expect(Part { frame: self.stream.frames, part: 0 }, now);
        }
        self.missing.poll(&self.deadlines, now)
    }

    /// When to poll next, at the latest; none when nothing arrives or is missing.
    pub(super) fn next_wakeup(&self) -> Option<Span> {
        self.tail_missing_at().into_iter().chain(self.missing.next_wakeup()).min()
    }

    /// When the last parts, which nothing follows, are taken for missing: the stream should have
    /// ended, and nothing arrives. A queue that delays all packets does not look like this.
    fn tail_missing_at(&self) -> Option<Span> {
        let quiet = Span(2 * self.missing.timeout().0).max(SHORTEST_QUIET);
        let ended = (self.first? + self.stream.length()).max(self.last?);
        (self.repairs && self.stream.has(self.expected)).then_some(ended + quiet)
    }

    /// A round trip took so long.
    pub(super) fn on_round_trip(&mut self, took: Span) {
        self.missing.on_round_trip(took);
    }

    /// Whether a round trip was measured.
    pub(super) fn knows_rtt(&self) -> bool {
        self.missing.measured_rtt().is_some()
    }

    /// Whether a packet of the stream has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Whether all frames are complete.
    pub(super) fn is_complete(&self) -> bool {
        self.counts.complete_frames == self.stream.frames
    }

    /// When nothing more is to be expected: the stream should have ended, nothing has arrived for a
    /// while, and no part is waited for. None as long as this is not known. Who has not begun to
    /// play by then waits for no part: none has a time at which it would be too late.
    pub(super) fn over_at(&self, silence: Span) -> Option<Span> {
        let over = (self.first? + self.stream.length()).max(self.last?) + silence;
        if self.missing.is_empty() {
            return Some(over);
        }
        (!self.deadlines.has_begun()).then_some(over + Span(4 * self.missing.timeout().0))
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn report(self) -> ReceptionReport {
        ReceptionReport {
            counts: self.counts,
            first_packet_ns: self.first.map(|at| at.0),
            last_packet_ns: self.last.map(|at| at.0),
            rtt_ns: self.missing.measured_rtt().map(|rtt| rtt.0),
            reported_parts: self.missing.reported,
            reports_of_parts: self.missing.reports,
            given_up_parts: self.missing.given_up,
            rows: self.rows.map(Rows::finish),
        }
    }
}

#[cfg(test)]
mod tests {
    use trustbed_units::Ns;

    use super::*;

    const STREAM: Stream =
        Stream { rate_bits_per_second: 450_000, frames_per_second: 30, frames: 4 };

    fn packet(frame: u32, part: u16, transmission: u8) -> Header {
        let at = Part { frame, part };
        Header {
            at,
            transmission,
            parts: 2,
            length: u16::try_from(STREAM.part_bytes(at)).unwrap(),
            ..Header::control(Kind::Media, 7, Ns(0))
        }
    }

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    fn client(repairs: bool) -> Reception {
        Reception::new(STREAM, 7, ms(1000), repairs, None)
    }

    #[test]
    fn a_stream_is_complete_when_every_part_has_arrived() {
        let mut client = client(true);
        for frame in 0..4 {
            for part in 0..2 {
                assert!(!client.is_complete());
                client.on_packet(&packet(frame, part, 0), ms(i64::from(frame) * 33));
            }
        }
        assert!(client.is_complete() && client.poll(ms(5000)).is_empty());
        let counts = client.counts();
        assert_eq!((counts.packets, counts.payload_bytes, counts.duplicate_packets), (8, 7500, 0));
    }

    #[test]
    fn a_gap_is_reported_and_filled_once() {
        let mut client = client(true);
        client.on_round_trip(ms(40));
        client.on_packet(&packet(0, 0, 0), ms(0));
        client.on_packet(&packet(1, 1, 0), ms(33));
        let gap = [Part { frame: 0, part: 1 }, Part { frame: 1, part: 0 }];
        assert_eq!(client.poll(ms(43)), gap);
        // Nothing was played: parts are waited for until the stream should be over, and not longer.
        assert!(client.over_at(ms(2000)) > Some(ms(2100)));
        for transmission in [1, 2] {
            client.on_packet(&packet(0, 1, transmission), ms(83));
            client.on_packet(&packet(1, 0, transmission), ms(83));
        }
        let counts = client.counts();
        assert_eq!((counts.complete_frames, counts.duplicate_packets), (2, 2));
        assert_eq!(counts.retransmitted_packets, 4);
    }

    #[test]
    fn the_last_parts_are_missed_when_their_time_has_passed() {
        let mut client = client(true);
        client.on_round_trip(ms(40));
        client.on_packet(&packet(0, 0, 0), ms(0));
        client.on_packet(&packet(0, 1, 0), ms(0));
        // The stream ends at 133.3 ms; twice the timeout of 120 ms later it is quiet, and a quarter
        // of the round trip later its parts are reported.
        assert!(client.next_wakeup().is_some_and(|at| at > ms(373) && at < ms(374)));
        assert!(client.poll(ms(373)).is_empty() && client.poll(ms(374)).is_empty());
        assert_eq!(client.poll(ms(384)).len(), 6);
    }

    #[test]
    fn without_repair_nothing_is_reported() {
        let mut client = client(false);
        client.on_packet(&packet(3, 1, 0), ms(0));
        assert!(client.poll(ms(500)).is_empty());
        assert_eq!(client.next_wakeup(), None);
        // The stream lasts 133 ms.
        assert_eq!(client.over_at(ms(2000)), Some(STREAM.length() + ms(2000)));
    }

    #[test]
    fn packets_of_others_are_counted_and_nothing_else() {
        let mut client = client(true);
        let foreign = [
            Header { stream: 8, ..packet(0, 0, 0) },
            Header { length: 1399, ..packet(0, 0, 0) },
            Header { at: Part { frame: 4, part: 0 }, ..packet(0, 0, 0) },
            Header { parts: 3, ..packet(0, 0, 0) },
            Header::control(Kind::End, 7, Ns(0)),
        ];
        for header in foreign {
            client.on_packet(&header, ms(0));
        }
        assert_eq!((client.counts().foreign_packets, client.counts().packets), (5, 0));
        assert!(!client.has_begun());
    }
}
