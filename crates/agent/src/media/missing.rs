//! Which parts are missing, and when the client reports them. Pure.
//!
//! A part is missing once a later one has arrived, and for a quarter of the round-trip time more:
//! the reordering that RACK allows for (RFC 8985, section 6.2). It is reported until it arrives,
//! each time after another round-trip time and a half, as long as it can still be in time: a report
//! takes half a round-trip time to the server, and the part has to leave it half a round-trip time
//! before it is played.

use std::collections::BTreeMap;

use trustbed_units::Span;

use super::deadlines::Deadlines;
use super::stream::Part;

/// Assumed until a round trip has been measured.
const FIRST_RTT: Span = Span::from_millis(100);
/// Two reports of a part are at least so far apart.
const SHORTEST_AGAIN: Span = Span::from_millis(10);

/// The parts that are missing.
#[derive(Debug, Default)]
pub(super) struct Missing {
    parts: BTreeMap<Part, Asked>,
    rtt: Option<Span>,
    /// Parts that were reported, at least once.
    pub(super) reported: u64,
    /// Reports of parts.
    pub(super) reports: u64,
    /// Parts that were given up, because their deadline had passed.
    pub(super) given_up: u64,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    /// When to report it.
    due: Span,
    last: Option<Span>,
    times: u32,
}

impl Missing {
    /// A part has not arrived though a later one has, or though its time has passed.
    pub(super) fn on_gap(&mut self, at: Part, now: Span) {
        let due = now + Span(self.rtt().0 / 4);
        self.parts.entry(at).or_insert(Asked { due, last: None, times: 0 });
    }

    /// A part arrived.
    pub(super) fn on_part(&mut self, at: Part, transmission: u8, now: Span) {
        let Some(asked) = self.parts.remove(&at) else { return };
        // After several reports it is not known which one was answered (Karn's algorithm).
        if let (Some(last), 1, true) = (asked.last, asked.times, transmission > 0) {
            self.on_round_trip(now - last);
        }
    }

    /// A round trip took so long (smoothed as in RFC 6298, section 2).
    pub(super) fn on_round_trip(&mut self, took: Span) {
        self.rtt = Some(self.rtt.map_or(took, |rtt| rtt + Span((took - rtt).0 / 8)));
    }

    /// The smoothed round-trip time; none before one was measured.
    pub(super) fn measured_rtt(&self) -> Option<Span> {
        self.rtt
    }

    fn rtt(&self) -> Span {
        self.rtt.unwrap_or(FIRST_RTT)
    }

    /// The parts to report now. Those that can no longer be in time are given up.
    pub(super) fn poll(&mut self, deadlines: &Deadlines, now: Span) -> Vec<Part> {
        let rtt = self.rtt();
        let again = Span(rtt.0 + rtt.0 / 2).max(SHORTEST_AGAIN);
        let before = self.parts.len();
        self.parts.retain(|at, asked| {
            let in_time = deadlines.playout(at.frame).is_none_or(|playout| now + rtt <= playout);
            // One that was reported may still be on its way.
            in_time || asked.last.is_some_and(|last| now < last + again)
        });
        self.given_up += (before - self.parts.len()) as u64;
        let mut found = Vec::new();
        for (at, asked) in &mut self.parts {
            let in_time = deadlines.playout(at.frame).is_none_or(|playout| now + rtt <= playout);
            if now < asked.due || !in_time {
                continue;
            }
            self.reports += 1;
            self.reported += u64::from(asked.times == 0);
            *asked = Asked { due: now + again, last: Some(now), times: asked.times + 1 };
            found.push(*at);
        }
        found
    }

    /// When the next part is to be reported; none when nothing is missing.
    pub(super) fn next_wakeup(&self) -> Option<Span> {
        self.parts.values().map(|asked| asked.due).min()
    }

    /// Whether a part may still come.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::Stream;
    use super::*;

    const STREAM: Stream =
        Stream { rate_bits_per_second: 450_000, frames_per_second: 25, frames: 100 };
    const AT: Part = Part { frame: 10, part: 1 };

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    /// Frame 0 is played `buffer` after 0, so frame 10 is played 400 ms later.
    fn playing(buffer: i64) -> Deadlines {
        let mut deadlines = Deadlines::new(STREAM, ms(0));
        deadlines.on_frame(0, ms(buffer));
        deadlines
    }

    #[test]
    fn a_part_is_reported_after_a_quarter_of_the_round_trip_and_again() {
        let (mut missing, deadlines) = (Missing::default(), playing(1000));
        missing.on_round_trip(ms(40));
        missing.on_gap(AT, ms(500));
        assert_eq!(missing.next_wakeup(), Some(ms(510)));
        assert!(missing.poll(&deadlines, ms(509)).is_empty());
        assert_eq!(missing.poll(&deadlines, ms(510)), [AT]);
        assert!(missing.poll(&deadlines, ms(569)).is_empty());
        assert_eq!(missing.poll(&deadlines, ms(570)), [AT]);
        missing.on_part(AT, 2, ms(612));
        assert!(missing.is_empty());
        assert_eq!(missing.next_wakeup(), None);
        assert_eq!((missing.reported, missing.reports, missing.given_up), (1, 2, 0));
        // Which report was answered is not known.
        assert_eq!(missing.measured_rtt(), Some(ms(40)));
    }

    #[test]
    fn a_part_that_was_only_late_is_not_reported() {
        let (mut missing, deadlines) = (Missing::default(), playing(1000));
        missing.on_round_trip(ms(40));
        missing.on_gap(AT, ms(500));
        missing.on_part(AT, 0, ms(505));
        assert!(missing.poll(&deadlines, ms(600)).is_empty());
        assert_eq!(missing.reports, 0);
    }

    #[test]
    fn a_part_is_reported_as_long_as_it_can_be_in_time() {
        // Frame 10 is played at 700 ms: with 40 ms of round trip the last report is at 660 ms.
        for (now, found) in [(660, vec![AT]), (661, vec![])] {
            let (mut missing, deadlines) = (Missing::default(), playing(300));
            missing.on_round_trip(ms(40));
            missing.on_gap(AT, ms(500));
            assert_eq!(missing.poll(&deadlines, ms(now)), found, "at {now} ms");
            assert_eq!(missing.given_up, u64::from(found.is_empty()));
        }
    }

    #[test]
    fn a_round_trip_is_measured_by_a_part_that_was_reported_once() {
        let (mut missing, deadlines) = (Missing::default(), playing(1000));
        missing.on_round_trip(ms(40));
        missing.on_gap(AT, ms(500));
        let _ = missing.poll(&deadlines, ms(510));
        missing.on_part(AT, 1, ms(590));
        assert_eq!(missing.measured_rtt(), Some(ms(45)));
    }
}
