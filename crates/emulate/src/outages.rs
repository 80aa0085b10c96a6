//! Intervals in which a link passes nothing.
//!
//! Either what would be sent meanwhile is lost: the sender goes on, and a packet of which any bit
//! falls into the interval does not arrive (a cable that is pulled, a radio in a tunnel). Or it is
//! kept: the sender stops in the middle of a packet, and continues behind the interval (a link
//! layer that holds back). Packets that have left the sender before are on the wire and arrive.
//!
//! A stopped sender is one whose own clock is stopped: [`Outages::own`] reads that clock, and the
//! others translate back. So what it does is what a link without outages would do for packets that
//! come at the moments that its own clock shows.

use trustbed_units::{Ns, Span};

use crate::check::time;
use crate::{EmulateError, OutageDescription};

/// When nothing passes, counted from the moment at which the times of the link begin. Until then
/// there is none.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    lost: Vec<Interval>,
    kept: Vec<Standstill>,
    origin: Option<Ns>,
}

#[derive(Debug, Clone, Copy)]
struct Interval {
    begin: Span,
    end: Span,
}

#[derive(Debug, Clone, Copy)]
struct Standstill {
    interval: Interval,
    /// How long the sender was stopped in front of it and behind it.
    before: Span,
    after: Span,
}

impl Standstill {
    /// What the sender's own clock shows.
    fn own(&self) -> Span {
        self.interval.begin - self.before
    }
}

impl Outages {
    /// Nothing if there are none.
    pub(crate) fn new(
        descriptions: &[OutageDescription],
        location: &str,
    ) -> Result<Option<Box<Self>>, EmulateError> {
        let location = || format!("{location}: outages");
        let mut outages = Self { lost: vec![], kept: vec![], origin: None };
        let mut last = Span::ZERO;
        let mut still = Span::ZERO;
        for (index, outage) in descriptions.iter().enumerate() {
            let begin = Span(time(outage.at_ns, || format!("{}.at_ns", location()))?);
            let lasts = Span(time(outage.lasts_ns, || format!("{}.lasts_ns", location()))?);
            if lasts == Span::ZERO {
                let location = format!("{}.lasts_ns", location());
                return Err(EmulateError::OutOfBounds {
                    location,
                    value: 0.0,
                    expected: "a time above 0",
                });
            }
            if begin < last {
                return Err(EmulateError::Overlap { location: location(), index });
            }
            last = begin + lasts;
            let interval = Interval { begin, end: last };
            if outage.keeps {
                outages.kept.push(Standstill { interval, before: still, after: still + lasts });
                still += lasts;
            } else {
                outages.lost.push(interval);
            }
        }
        Ok((!descriptions.is_empty()).then(|| Box::new(outages)))
    }

    /// Times are counted from here.
    pub(crate) fn begin_times(&mut self, at: Ns) {
        self.origin = Some(at);
    }

    /// Whether a packet is lost whose sending begins and ends then. One that takes no time is lost
    /// if it is sent within an interval.
    pub(crate) fn loses(&self, start: Ns, end: Ns) -> bool {
        let Some(origin) = self.origin else { return false };
        let (start, end) = (start - origin, end - origin);
        // The first interval that is not over by the start.
        let next = self.lost.get(self.lost.partition_point(|interval| interval.end <= start));
        next.is_some_and(|interval| interval.begin < end || interval.begin == start)
    }

    /// What the sender's own clock shows.
    pub(crate) fn own(&self, moment: Ns) -> Ns {
        let Some(origin) = self.origin else { return moment };
        let passed = moment - origin;
        let begun = self.kept.partition_point(|still| still.interval.begin < passed);
        let stopped = self.kept[..begun].last().map_or(Span::ZERO, |still| {
            still.before + (passed.min(still.interval.end) - still.interval.begin)
        });
        moment - stopped
    }

    /// When something begins for which the sender's own clock shows this: behind the interval, if
    /// the clock stood there.
    pub(crate) fn begins(&self, own: Ns) -> Ns {
        self.real(own, |stands, shown| stands <= shown)
    }

    /// When something is over for which the sender's own clock shows this: before the interval, if
    /// the clock stood there.
    pub(crate) fn ends(&self, own: Ns) -> Ns {
        self.real(own, |stands, shown| stands < shown)
    }

    fn real(&self, own: Ns, passed: impl Fn(Span, Span) -> bool) -> Ns {
        let Some(origin) = self.origin else { return own };
        let shown = own - origin;
        let over = self.kept.partition_point(|still| passed(still.own(), shown));
        own + self.kept[..over].last().map_or(Span::ZERO, |still| still.after)
    }
}
