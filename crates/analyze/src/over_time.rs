//! A quantity over time in bounded memory: how long it had which value. Up to 64 different
//! stretches as they are, then in bins, 128 per power of two: levels are few and lie close together
//! (multiples of a segment), and a threshold must not fall between two of one bin.

use crate::bins::{edges, grow, index};

/// Stretches kept as they are.
const EXACT: usize = 64;
/// Bins per power of two, as a power of two.
const FINENESS: u32 = 7;

/// A quantity over time: how long it had which value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeWeighted {
    total: i64,
    product: f64,
    levels: Levels,
}

#[derive(Debug, Clone, PartialEq)]
enum Levels {
    Exact(Vec<(u64, i64)>),
    Binned(Box<[i64]>, usize),
}

impl Default for Levels {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl TimeWeighted {
    /// The quantity had `value` for `duration` nanoseconds.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn add(&mut self, value: u64, duration: i64) {
        if duration <= 0 {
            return;
        }
        self.total += duration;
        self.product += value as f64 * duration as f64;
        match &mut self.levels {
            Levels::Binned(times, first) => enter_time(times, first, value, duration),
            Levels::Exact(exact) => {
                if let Some(last) = exact.last_mut()
                    && last.0 == value
                {
                    last.1 += duration;
                } else if exact.len() < EXACT {
                    exact.push((value, duration));
                } else {
                    self.bin(value, duration);
                }
            }
        }
    }

    /// Goes over from values to bins.
    #[cold]
    fn bin(&mut self, value: u64, duration: i64) {
        let (mut times, mut first) = (Box::default(), 0);
        if let Levels::Exact(exact) = &self.levels {
            let (least, most) =
                exact.iter().fold((value, value), |(a, b), &(v, _)| (a.min(v), b.max(v)));
            grow(&mut times, &mut first, index::<FINENESS>(least));
            grow(&mut times, &mut first, index::<FINENESS>(most));
            for &(value, duration) in exact.iter().chain([&(value, duration)]) {
                enter_time(&mut times, &mut first, value, duration);
            }
        }
        self.levels = Levels::Binned(times, first);
    }

    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        match &self.levels {
            Levels::Exact(exact) => exact.capacity() * size_of::<(u64, i64)>(),
            Levels::Binned(times, _) => size_of_val(&**times),
        }
    }

    /// Nanoseconds entered.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The time-weighted mean.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.product / self.total as f64)
    }

    /// Nanoseconds during which the quantity was at least `threshold`. The bin that the threshold
    /// cuts is taken as evenly filled.
    #[expect(clippy::cast_precision_loss, reason = "durations and byte counts")]
    pub fn at_least(&self, threshold: f64) -> f64 {
        let (times, first) = match &self.levels {
            Levels::Binned(times, first) => (times, *first),
            Levels::Exact(exact) => {
                return exact
                    .iter()
                    .filter(|(v, _)| *v as f64 >= threshold)
                    .map(|&(_, t)| t as f64)
                    .sum();
            }
        };
        let mut total = 0.0;
        for (n, &time) in times.iter().enumerate().filter(|(_, t)| **t > 0) {
            let (low, high) = edges::<FINENESS>(first + n);
            let (low, high) = (low as f64, high as f64);
            let share = if low >= threshold {
                1.0
            } else {
                ((high - threshold) / (high - low)).clamp(0.0, 1.0)
            };
            total += share * time as f64;
        }
        total
    }
}

#[inline]
fn enter_time(times: &mut Box<[i64]>, first: &mut usize, value: u64, duration: i64) {
    let at = index::<FINENESS>(value);
    if at.wrapping_sub(*first) >= times.len() {
        grow(times, first, at);
    }
    times[at - *first] += duration;
}
