//! A few short stretches of a transfer with every packet in them, for a chart that shows single
//! packets.
//!
//! Stretches lie at even distances over the whole transfer, however long it becomes: when there are
//! too many, every second one is dropped and the distance doubles. Each is about twelve round trips
//! long, or shorter where these hold too many packets. Which of them is shown depends on the
//! transfer's totals, which the caller knows. Memory: at most eight stretches of a few thousand
//! marks.
//!
//! Bias: none of the stretches is chosen for what happens in it; the end of a transfer can lie in
//! none.

use trustbed_units::Span;

/// What a segment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stroke {
    /// New data.
    New,
    /// Bytes sent before.
    Retransmission,
    /// A hole that was filled.
    Fill,
}

impl Stroke {
    /// Name in charts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Fill => "fill",
        }
    }
}

/// A data segment: when, from where to where, what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Since the transfer's first data.
    pub since: Span,
    /// Offset of its first byte.
    pub low: i64,
    /// Offset one past its last byte.
    pub high: i64,
    /// What it brought.
    pub stroke: Stroke,
    /// From the first reception that opened the window to this segment; null where that is unknown
    /// or was spent repairing loss.
    pub response: Option<Span>,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Since the transfer's first data.
    pub since: Span,
    /// Everything below was received.
    pub offset: i64,
    /// The receiver takes nothing from here on.
    pub edge: i64,
}

/// One stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Its first moment, since the transfer's first data.
    pub start: Span,
    /// Its last moment.
    pub end: Span,
    /// Every segment in it.
    pub segments: Vec<Drawn>,
    /// Every acknowledgement in it.
    pub acks: Vec<Step>,
    /// The silence that reaches beyond its end: until when, how long.
    pub beyond: Option<(Span, Span)>,
    closed: bool,
}

/// Round trips in a stretch.
const ROUND_TRIPS: i64 = 12;
/// The shortest stretch that shows anything.
const SHORTEST: Span = Span::from_millis(1);
/// Segments, and acknowledgements, in a stretch at most.
const MARKS: usize = 1500;
/// Stretches at most.
const STRETCHES: usize = 8;

/// The stretches of one transfer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stretches {
    kept: Vec<Stretch>,
    distance: Span,
}

impl Stretches {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        let drawn = |stretch: &Stretch| {
            stretch.segments.capacity() * size_of::<Drawn>()
                + stretch.acks.capacity() * size_of::<Step>()
        };
        self.kept.capacity() * size_of::<Stretch>() + self.kept.iter().map(drawn).sum::<usize>()
    }

    /// A data segment. `rtt` is the round-trip time so far; before the first sample nothing is
    /// kept.
    pub fn on_segment(&mut self, segment: Drawn, rtt: Option<Span>) {
        self.close(segment.since, segment.response);
        self.open(segment.since, rtt);
        if let Some(stretch) = self.current() {
            stretch.segments.push(segment);
            stretch.cut(segment.since);
        }
    }

    /// An acknowledgement.
    pub fn on_ack(&mut self, step: Step) {
        if let Some(stretch) = self.current()
            && step.since <= stretch.end
        {
            stretch.acks.push(step);
            stretch.cut(step.since);
        }
    }

    /// The stretches in the order of time. The last one may be shorter than the others: the
    /// transfer ended in it.
    pub fn all(&self) -> &[Stretch] {
        &self.kept
    }

    fn current(&mut self) -> Option<&mut Stretch> {
        self.kept.last_mut().filter(|s| !s.closed)
    }

    /// Ends the open stretch when this segment lies beyond it.
    fn close(&mut self, now: Span, response: Option<Span>) {
        let Some(stretch) = self.current().filter(|s| now > s.end) else { return };
        stretch.closed = true;
        stretch.beyond = response.filter(|r| now - *r < stretch.end).map(|r| (now, r));
    }

    /// Begins a stretch when the last one lies far enough behind.
    fn open(&mut self, now: Span, rtt: Option<Span>) {
        let Some(rtt) = rtt.filter(|r| *r > Span::ZERO) else { return };
        let length = Span(rtt.0.saturating_mul(ROUND_TRIPS)).max(SHORTEST);
        if let Some(last) = self.kept.last()
            && (!last.closed || now < last.start + self.distance.max(length))
        {
            return;
        }
        if self.kept.len() == STRETCHES {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.distance = Span(self.distance.max(length).0.saturating_mul(2));
            // The next one may be due only later now.
            return self.open(now, Some(rtt));
        }
        self.distance = self.distance.max(length);
        self.kept.push(Stretch {
            start: now,
            end: now + length,
            segments: Vec::new(),
            acks: Vec::new(),
            beyond: None,
            closed: false,
        });
    }
}

impl Stretch {
    /// Ends here when it is full.
    fn cut(&mut self, now: Span) {
        if self.segments.len() >= MARKS || self.acks.len() >= MARKS {
            self.end = now;
            self.closed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Span> = Some(Span::from_millis(10));

    fn drawn(micros: i64) -> Drawn {
        Drawn {
            since: Span::from_micros(micros),
            low: micros,
            high: micros + 1,
            stroke: Stroke::New,
            response: None,
        }
    }

    fn transfer(until: i64, step: usize) -> Stretches {
        let mut stretches = Stretches::default();
        for micros in (0..until).step_by(step) {
            stretches.on_segment(drawn(micros), RTT);
            let since = Span::from_micros(micros + 1);
            stretches.on_ack(Step { since, offset: micros, edge: micros + 100 });
        }
        stretches
    }

    #[test]
    fn stretches_are_whole_few_and_spread_evenly() {
        for until in [300_000, 2_000_000, 60_000_000] {
            let stretches = transfer(until, 200);
            let all = stretches.all();
            assert!((1..=STRETCHES).contains(&all.len()), "{}", all.len());
            let distances: Vec<i64> = all.windows(2).map(|w| (w[1].start - w[0].start).0).collect();
            assert!(distances.iter().all(|d| *d >= 120_000_000), "{distances:?}");
            assert!(
                distances.iter().max() <= distances.iter().min().map(|d| d + d / 100).as_ref(),
                "{distances:?}"
            );
            for stretch in &all[..all.len() - 1] {
                assert_eq!(stretch.end - stretch.start, Span::from_millis(120));
                let gaps = stretch.segments.windows(2).map(|w| w[1].since - w[0].since);
                assert!(gaps.into_iter().all(|g| g == Span::from_micros(200)));
                assert_eq!(stretch.segments.len(), 601);
                assert!(stretch.acks.len() >= 600);
            }
        }
    }

    #[test]
    fn a_long_transfer_is_seen_in_its_second_half_too() {
        let stretches = transfer(60_000_000, 200);
        assert!(stretches.all().iter().any(|s| s.start > Span::from_secs(30)));
    }

    #[test]
    fn a_stretch_with_too_many_packets_is_shorter() {
        let stretches = transfer(1_000_000, 10);
        let first = &stretches.all()[0];
        assert_eq!(first.segments.len(), MARKS);
        assert!(first.end - first.start < Span::from_millis(16));
        assert!(first.segments.iter().all(|s| s.since <= first.end));
    }

    #[test]
    fn nothing_is_kept_before_the_round_trip_time_is_known() {
        let mut stretches = Stretches::default();
        stretches.on_segment(drawn(0), None);
        stretches.on_segment(drawn(1), Some(Span::ZERO));
        assert!(stretches.all().is_empty());
    }

    #[test]
    fn a_silence_that_reaches_beyond_the_end_is_kept_with_the_stretch() {
        let mut stretches = Stretches::default();
        stretches.on_segment(drawn(0), RTT);
        let late = Drawn { response: Some(Span::from_millis(50)), ..drawn(150_000) };
        stretches.on_segment(late, RTT);
        let first = &stretches.all()[0];
        assert_eq!(first.beyond, Some((Span::from_millis(150), Span::from_millis(50))));
        assert_eq!(first.segments.len(), 1);
    }

    #[test]
    fn acknowledgements_after_the_end_belong_to_no_stretch() {
        let mut stretches = Stretches::default();
        stretches.on_segment(drawn(0), RTT);
        stretches.on_ack(Step { since: Span::from_millis(121), offset: 1, edge: 2 });
        assert!(stretches.all()[0].acks.is_empty());
    }
}
