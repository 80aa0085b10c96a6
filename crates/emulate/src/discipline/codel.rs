//! Controlled delay (RFC 8289): drops at the head of the queue when packets have waited longer than
//! the target for an interval.
//!
//! The decisions of §5 of the RFC, made at the moment at which the link takes the next packet. It
//! drops; it does not mark. Linux counts every drop, the RFC only those after which the next one is
//! scheduled: behind a pause Linux begins again a little faster.

use trustbed_units::{Ns, Span};

use super::{Discipline, Head, Setting};
use crate::check::{bounded, time};
use crate::{EmulateError, Fate, QueueDescription};

/// The state of RFC 8289 §5.2.
#[derive(Debug, Clone)]
struct Codel {
    target: Span,
    interval: Span,
    mtu: u64,
    /// When the wait will have been above the target for an interval.
    first_above: Option<Ns>,
    drop_next: Ns,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// Nothing when the description is one of another discipline.
pub(super) fn make(setting: &Setting<'_>) -> Result<Option<Box<dyn Discipline>>, EmulateError> {
    let &QueueDescription::Codel { target_ns, interval_ns, mtu_bytes, .. } = setting.description
    else {
        return Ok(None);
    };
    let codel = Codel::new(target_ns, interval_ns, mtu_bytes, setting.location)?;
    Ok(Some(Box::new(codel)))
}

impl Codel {
    fn new(
        target_ns: u64,
        interval_ns: u64,
        mtu_bytes: u32,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let target = time(target_ns, || format!("{location}: queue.target_ns"))?;
        let interval = time(interval_ns, || format!("{location}: queue.interval_ns"))?;
        bounded(0.0, interval > 0, "an interval above 0", || {
            format!("{location}: queue.interval_ns")
        })?;
        Ok(Self {
            target: Span(target),
            interval: Span(interval),
            mtu: mtu_bytes.into(),
            first_above: None,
            drop_next: Ns(0),
            count: 0,
            last_count: 0,
            dropping: false,
        })
    }

    /// Whether there is a next packet that has waited too long for too long (RFC 8289 §5.5).
    fn may_drop(&mut self, now: Ns, head: Option<Head>) -> bool {
        let waits = |head: &Head| now - head.arrived >= self.target && head.bytes_behind > self.mtu;
        if !head.as_ref().is_some_and(waits) {
            self.first_above = None;
            return false;
        }
        // Set just now it lies an interval ahead.
        now >= *self.first_above.get_or_insert(now + self.interval)
    }

    /// RFC 8289 §5.3.
    #[expect(clippy::cast_possible_truncation, reason = "at most the interval")]
    fn behind(&self, moment: Ns) -> Ns {
        moment + Span((self.interval.as_f64() / f64::from(self.count).sqrt()) as i64)
    }
}

impl Discipline for Codel {
    fn holds(&self) -> bool {
        true
    }

    /// RFC 8289 §5.6.
    fn drops_in_front(&mut self, now: Ns, heads: &mut dyn Iterator<Item = Head>) -> usize {
        let mut dropped = 0;
        let mut may_drop = self.may_drop(now, heads.next());
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                dropped += 1;
                may_drop = self.may_drop(now, heads.next());
                if may_drop {
                    self.count = self.count.saturating_add(1);
                    self.drop_next = self.behind(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            dropped = 1;
            self.may_drop(now, heads.next());
            self.dropping = true;
            // Dropping shortly before: go on about as fast as it ended then.
            let delta = self.count.wrapping_sub(self.last_count);
            let recently = (now - self.drop_next).0 < self.interval.0.saturating_mul(16);
            self.count = if delta > 1 && delta <= self.count && recently { delta } else { 1 };
            self.drop_next = self.behind(now);
            self.last_count = self.count;
        }
        dropped
    }

    fn fate(&self) -> Fate {
        Fate::CodelDrop
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_as_far_as_the_number_goes() {
        let mut codel = Codel::new(1, 1_000, 0, "").unwrap();
        (codel.dropping, codel.count, codel.first_above, codel.drop_next) =
            (true, u32::MAX, Some(Ns(0)), Ns(5_000));
        let waiting = [2000, 1000, 0].map(|bytes_behind| Head { arrived: Ns(0), bytes_behind });
        let dropped = codel.drops_in_front(Ns(5_000), &mut waiting.into_iter());
        assert_eq!((dropped, codel.count, codel.drop_next), (2, u32::MAX, Ns(5_000)));
    }
}
