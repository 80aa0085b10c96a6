//! A recorded rate: delivery opportunities in the format of mahimahi's `mm-link`.
//!
//! Every number is a millisecond at which a fixed number of bytes can leave. Several packets share
//! an opportunity, a long one takes several, and an opportunity at which nothing waits is lost: a
//! packet must have come before it. The last number is also the length of the trace, which then
//! begins again. As coarse as its milliseconds: a packet waits up to one longer than on the link
//! that was recorded.

use trustbed_units::{Ns, Span};

use crate::rate::Sent;
use crate::{EmulateError, TraceDescription};

const NANOSECONDS: i64 = 1_000_000;
/// A year: the products of a trace fit 64 bits.
const LONGEST_MS: u64 = 366 * 24 * 3_600_000;

/// The opportunities and where in them the link is.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    /// In nanoseconds from the start of the trace.
    opportunities: Vec<i64>,
    bytes: u32,
    origin: Option<Ns>,
    at: Option<Opportunity>,
}

/// An opportunity, and what of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Opportunity {
    cycle: i64,
    index: usize,
    left: u32,
}

impl Trace {
    pub(crate) fn new(trace: &TraceDescription, location: &str) -> Result<Self, EmulateError> {
        let key = || format!("{location}: rate_trace.opportunities_ms");
        let milliseconds = &trace.opportunities_ms;
        let Some(&last) = milliseconds.last() else {
            return Err(EmulateError::Empty { location: key() });
        };
        if let Some(index) = milliseconds.windows(2).position(|pair| pair[1] < pair[0]) {
            let (earlier, value) = (milliseconds[index], milliseconds[index + 1]);
            return Err(EmulateError::RunsBackwards {
                location: key(),
                index: index + 1,
                value,
                earlier,
            });
        }
        if last == 0 {
            return Err(EmulateError::TraceWithoutTime { location: key() });
        }
        if last > LONGEST_MS {
            #[expect(clippy::cast_precision_loss, reason = "for the message")]
            return Err(EmulateError::OutOfBounds {
                location: key(),
                value: last as f64,
                expected: "at most a year",
            });
        }
        if trace.opportunity_bytes == 0 {
            let location = format!("{location}: rate_trace.opportunity_bytes");
            return Err(EmulateError::OutOfBounds {
                location,
                value: 0.0,
                expected: "a number of bytes above 0, as 1504",
            });
        }
        let opportunities = milliseconds.iter().map(|ms| ms.cast_signed() * NANOSECONDS).collect();
        Ok(Self { opportunities, bytes: trace.opportunity_bytes, origin: None, at: None })
    }

    pub(crate) fn begin(&mut self, at: Ns) {
        self.origin.get_or_insert(at);
    }

    pub(crate) fn start(&self, ready: Ns) -> Ns {
        self.moment(self.usable(ready))
    }

    pub(crate) fn send(&mut self, ready: Ns, length: u32) -> Sent {
        self.begin(ready);
        let mut opportunity = self.usable(ready);
        let start = self.moment(opportunity);
        let mut needed = length;
        while needed > opportunity.left {
            needed -= opportunity.left;
            opportunity = self.behind(opportunity);
        }
        opportunity.left -= needed;
        self.at = Some(opportunity);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "2³² bytes at one opportunity a year saturate, and are no packet"
        )]
        let time = Span((f64::from(length) * self.mean_time_of_byte()) as i64);
        Sent { start, end: self.moment(opportunity), time }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub(crate) fn mean_time_of_byte(&self) -> f64 {
        self.period() as f64 / (self.opportunities.len() as f64 * f64::from(self.bytes))
    }

    fn period(&self) -> i64 {
        self.opportunities.last().copied().unwrap_or(NANOSECONDS)
    }

    fn moment(&self, opportunity: Opportunity) -> Ns {
        let origin = self.origin.unwrap_or_default();
        Ns(origin
            .0
            .saturating_add(opportunity.cycle.saturating_mul(self.period()))
            .saturating_add(self.opportunities[opportunity.index]))
    }

    fn behind(&self, opportunity: Opportunity) -> Opportunity {
        let index = opportunity.index + 1;
        if index < self.opportunities.len() {
            Opportunity { index, left: self.bytes, ..opportunity }
        } else {
            Opportunity { cycle: opportunity.cycle + 1, index: 0, left: self.bytes }
        }
    }

    /// The first opportunity behind `ready` that has something left.
    fn usable(&self, ready: Ns) -> Opportunity {
        if let Some(at) = self.at {
            let at = if at.left > 0 { at } else { self.behind(at) };
            if self.moment(at) > ready {
                return at;
            }
        }
        let passed = ready.0.saturating_sub(self.origin.unwrap_or(ready).0);
        if passed < 0 {
            return Opportunity { cycle: 0, index: 0, left: self.bytes };
        }
        // The last opportunity lies at the end of the period, so there is always one behind the
        // rest.
        let rest = passed % self.period();
        let index = self.opportunities.partition_point(|&opportunity| opportunity <= rest);
        Opportunity { cycle: passed / self.period(), index, left: self.bytes }
    }
}
