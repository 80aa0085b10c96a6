//! Which parts are missing, and when the client reports them. Pure.
//!
//! A part is missing once a later one has arrived, and for a quarter of the round-trip time more:
//! the reordering that RACK allows for (RFC 8985, section 6.2). It is reported until it arrives,
//! each time after another timeout as of TCP (RFC 6298, section 2), as long as it can still be in
//! time: a report takes half a round-trip time to the server, and the part has to leave it half a
//! round-trip time before it is played.

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
    /// Smoothed, and its mean deviation.
    rtt: Option<(Span, Span)>,
    /// Parts that were reported, at least once.
    pub(super) reported: u64,
    /// Reports of parts.
    pub(super) reports: u64,
    /// Parts that were given up, because their deadline had passed.
    pub(super) given_up: u64,
}

#[derive(Debug, Clone, Default)]
struct Asked {
    /// When to report it.
    due: Span,
    /// When it was reported.
    reports: Vec<Span>,
}

impl Missing {
    /// A part has not arrived though a later one has, or though its time has passed.
    pub(super) fn on_gap(&mut self, at: Part, now: Span) {
        let due = now + Span(self.rtt().0 / 4);
        self.parts.entry(at).or_insert(Asked { due, ..Asked::default() });
    }

    /// A part arrived.
    pub(super) fn on_part(&mut self, at: Part, transmission: u8, now: Span) {
        let Some(asked) = self.parts.remove(&at) else { return };
        // The transmission says which report it answers. If an earlier report was lost it is a
        // later one, and the round trip is overestimated.
        let answered = usize::from(transmission).checked_sub(1);
        if let Some(reported) = answered.and_then(|index| asked.reports.get(index)) {
            self.on_round_trip(now - *reported);
        }
    }

    /// A round trip took so long (smoothed as in RFC 6298, section 2).
    pub(super) fn on_round_trip(&mut self, took: Span) {
        self.rtt = Some(match self.rtt {
            None => (took, Span(took.0 / 2)),
            Some((rtt, deviation)) => {
                let off = took - rtt;
                (rtt + Span(off.0 / 8), deviation + Span((off.0.abs() - deviation.0) / 4))
            }
        });
    }

    /// The smoothed round-trip time; none before one was measured.
    pub(super) fn measured_rtt(&self) -> Option<Span> {
        self.rtt.map(|(rtt, _)| rtt)
    }

    fn rtt(&self) -> Span {
        self.measured_rtt().unwrap_or(FIRST_RTT)
    }

    /// After so long an answer is not expected any more.
    pub(super) fn timeout(&self) -> Span {
        let deviation = self.rtt.map_or(Span(FIRST_RTT.0 / 2), |(_, deviation)| deviation);
        (self.rtt() + Span(4 * deviation.0)).max(SHORTEST_AGAIN)
    }

    /// The parts to report now. Those that can no longer be in time are given up.
    pub(super) fn poll(&mut self, deadlines: &Deadlines, now: Span) -> Vec<Part> {
        let (rtt, again) = (self.rtt(), self.timeout());
        let before = self.parts.len();
        self.parts.retain(|at, asked| {
            let in_time = deadlines.playout(at.frame).is_none_or(|playout| now + rtt <= playout);
            // One that was reported may still be on its way.
            in_time || asked.reports.last().is_some_and(|last| now < *last + again)
        });
        self.given_up += (before - self.parts.len()) as u64;
        let mut found = Vec::new();
        for (at, asked) in &mut self.parts {
            let in_time = deadlines.playout(at.frame).is_none_or(|playout| now + rtt <= playout);
            if now < asked.due || !in_time {
                continue;
            }
            self.reports += 1;
            self.reported += u64::from(asked.reports.is_empty());
            asked.reports.push(now);
            asked.due = now + again;
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
        // The timeout is 40 ms and four times 20 ms.
        assert!(missing.poll(&deadlines, ms(629)).is_empty());
        assert_eq!(missing.poll(&deadlines, ms(630)), [AT]);
        missing.on_part(AT, 2, ms(670));
        assert!(missing.is_empty());
        assert_eq!(missing.next_wakeup(), None);
        assert_eq!((missing.reported, missing.reports, missing.given_up), (1, 2, 0));
        // It answers the second report, 40 ms before.
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
    fn a_round_trip_is_measured_by_the_report_that_a_part_answers() {
        let (mut missing, deadlines) = (Missing::default(), playing(1000));
        missing.on_round_trip(ms(40));
        missing.on_gap(AT, ms(500));
        let _ = missing.poll(&deadlines, ms(510));
        let _ = missing.poll(&deadlines, ms(630));
        missing.on_part(AT, 1, ms(590 + 50));
        // 130 ms after the first report: 40 ms and an eighth of 90 ms.
        assert_eq!(missing.measured_rtt(), Some(Span::from_micros(51_250)));
    }
}
