//! What a transfer's losses, gaps and late data tell the trackers of token buckets and policers.

use trustbed_flow::{Cause, Class, Segment, Sight};
use trustbed_units::Span;

use super::Transfer;
use crate::series::since;
use crate::{Distribution, RoundTrips};

impl Transfer {
    /// What came for the first time was new, or had been lost before it came here.
    pub(super) fn note_new(&mut self, segment: &Segment, mss: u32) {
        let offset = segment.start - self.start_offset;
        let at = since(self.start, segment.now);
        match (segment.class, segment.cause) {
            (Class::Fill, Cause::LostUpstream)
                if segment.tsval.is_some_and(|tsval| self.clock.is_older(tsval)) =>
            {
                self.overtaken += 1;
                self.policing.on_overtaken(segment.start);
            }
            (Class::Fill, Cause::LostUpstream) => {
                let before = self.bucket.on_fill(offset, segment.length);
                self.answers.on_loss_upstream(before);
            }
            (Class::Fill, _) => {}
            _ => {
                let echo = self.answers.last_echo();
                let passed_over = self.bucket.on_new(at, offset, segment.length, echo);
                if self.far.is_some()
                    && let Some(from) = passed_over
                {
                    let within = Span(self.echo.min().unwrap_or(0) + self.rtt.min().unwrap_or(0));
                    let passed_over = from + self.start_offset..segment.start;
                    self.policing.on_gap(at, passed_over, mss, within);
                }
            }
        }
    }

    /// A retransmission shows when the packet that it replaces was sent, unless that was one
    /// itself.
    pub(super) fn note_loss(&mut self, sight: &Sight<'_>, segment: &Segment) {
        if segment.cause == Cause::Spurious {
            return;
        }
        if let Some(record) = sight.stream.records.holding(segment.start)
            && record.sent == 2
        {
            let sent = since(self.start, record.first_sent);
            self.bucket.on_loss(sent, segment.start - self.start_offset, segment.length);
        }
    }

    /// Losses and packets of the present exchange.
    pub(super) fn note_exchange(&mut self, sight: &Sight<'_>, segment: &Segment) {
        let first = self.start;
        if segment.class == Class::Retransmission && segment.cause != Cause::Spurious {
            self.policing.on_loss(segment.start, &sight.stream.records, |then| since(first, then));
        }
        let (at, peer) = (since(first, segment.now), sight.peer.snd_max);
        let (rtt, there) = (&mut self.rtt, self.far.as_ref().and_then(|_| self.echo.min()));
        self.policing.on_data(at, segment, peer, || round_trips(rtt, there));
    }

    /// How late the data came at most, for what was lost before the capture.
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds")]
    pub(super) fn note_lag(&mut self, segment: &Segment) {
        if segment.tsval.is_some()
            && self.clock.is_settled()
            && let Some(tick) = self.clock.fine_tick()
        {
            self.policing.on_lag(Span(self.lag + tick as i64));
        }
    }

    /// What the losses show of a policer.
    pub(crate) fn policed(&mut self) -> Option<crate::Policed> {
        let there = self.far.as_ref().and_then(|_| self.echo.min());
        self.policing.result(round_trips(&mut self.rtt, there))
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a round trip")]
fn round_trips(rtt: &mut Distribution, there: Option<i64>) -> Option<RoundTrips> {
    // Beside the receiver an answer may take no time at all, so that there is no sample.
    let beside = there.map(|_| 0);
    let onward = rtt.min().or(beside)? as f64;
    let median = rtt.quantile(0.5).or(there.map(|_| 0.0))?;
    let there = there.unwrap_or(0) as f64;
    Some(RoundTrips { base: onward + there, median: median + there, onward })
}
