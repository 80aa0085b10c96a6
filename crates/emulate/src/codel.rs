//! Controlled delay (RFC 8289): drops at the head of the queue when packets have waited longer than the target for an interval.
//!
//! The decisions of §5 of the RFC, made at the moment at which the link takes the next packet. It drops; it does not mark. Linux counts
//! every drop, the RFC only those after which the next one is scheduled: behind a pause Linux begins again a little faster.

use trustbed_units::{Ns, Span};

use crate::EmulateError;
use crate::check::{bounded, time};
use crate::queue::{Line, Waiting};

/// The state of RFC 8289 §5.2.
#[derive(Debug, Clone)]
pub(crate) struct Codel {
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

impl Codel {
    pub(crate) fn new(
        target_ns: u64,
        interval_ns: u64,
        mtu_bytes: u32,
        place: &str,
    ) -> Result<Self, EmulateError> {
        let target = time(target_ns, || format!("{place}: queue.target_ns"))?;
        let interval = time(interval_ns, || format!("{place}: queue.interval_ns"))?;
        bounded(0.0, interval > 0, "an interval above 0", || {
            format!("{place}: queue.interval_ns")
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

    /// The packet to be sent now; those in front of it that are not go to `dropped` (RFC 8289 §5.6).
    pub(crate) fn take<T>(
        &mut self,
        now: Ns,
        line: &mut Line<T>,
        dropped: &mut impl FnMut(Waiting<T>),
    ) -> Option<Waiting<T>> {
        let (mut packet, mut may_drop) = self.next(now, line);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                packet.into_iter().for_each(&mut *dropped);
                (packet, may_drop) = self.next(now, line);
                if may_drop {
                    self.count = self.count.saturating_add(1);
                    self.drop_next = self.behind(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            packet.into_iter().for_each(&mut *dropped);
            (packet, _) = self.next(now, line);
            self.dropping = true;
            // Dropping shortly before: go on about as fast as it ended then.
            let delta = self.count.wrapping_sub(self.last_count);
            let recently = (now - self.drop_next).0 < self.interval.0.saturating_mul(16);
            self.count = if delta > 1 && delta <= self.count && recently { delta } else { 1 };
            self.drop_next = self.behind(now);
            self.last_count = self.count;
        }
        packet
    }

    /// The next packet, and whether it has waited too long for too long (RFC 8289 §5.5).
    fn next<T>(&mut self, now: Ns, line: &mut Line<T>) -> (Option<Waiting<T>>, bool) {
        let Some(packet) = line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now - packet.arrived < self.target || line.bytes() <= self.mtu {
            self.first_above = None;
            return (Some(packet), false);
        }
        let since = *self.first_above.get_or_insert(now + self.interval);
        // Set just now it lies an interval ahead.
        (Some(packet), now >= since)
    }

    /// RFC 8289 §5.3.
    #[expect(clippy::cast_possible_truncation, reason = "at most the interval")]
    fn behind(&self, moment: Ns) -> Ns {
        moment + Span((self.interval.as_f64() / f64::from(self.count).sqrt()) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Found;

    #[test]
    fn drops_are_counted_as_far_as_the_number_goes() {
        let mut codel = Codel::new(1, 1_000, 0, "").unwrap();
        (codel.dropping, codel.count, codel.first_above, codel.drop_next) =
            (true, u32::MAX, Some(Ns(0)), Ns(5_000));
        let mut line = Line::new();
        for content in 0..3 {
            line.push(Waiting { content, arrived: Ns(0), length: 1000, found: Found::default() });
        }
        let mut dropped = vec![];
        let taken = codel.take(Ns(5_000), &mut line, &mut |packet| dropped.push(packet.content));
        assert_eq!(
            (taken.map(|packet| packet.content), codel.count, codel.drop_next),
            (Some(2), u32::MAX, Ns(5_000))
        );
        assert_eq!(dropped, [0, 1]);
    }
}
