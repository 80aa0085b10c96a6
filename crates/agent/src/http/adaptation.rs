//! The rate of the next chunk. Pure.
//!
//! Two rules. `throughput`: the highest rate below 0.85 of the harmonic mean of the last five
//! chunks' throughput (the estimate of J. Jiang, V. Sekar, H. Zhang, *Improving Fairness,
//! Efficiency, and Stability in HTTP-based Adaptive Video Streaming with FESTIVE*, `CoNEXT` 2012).
//! `buffer`: a map from buffer to rate, Algorithm 1 of T.-Y. Huang et al., *A Buffer-Based Approach
//! to Rate Adaptation: Evidence from a Large Video Streaming Service*, SIGCOMM 2014. Both begin
//! with the lowest rate.

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

/// Chunks whose throughput counts.
const CHUNKS: usize = 5;
/// The share of the throughput that is used.
const SAFETY: f64 = 0.85;

/// How the rate is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    Throughput,
    Buffer,
}

/// A player's choice of rates.
#[derive(Debug, Clone)]
pub(super) struct Adaptation {
    rule: Rule,
    /// In bit/s, ascending.
    rates: Vec<u64>,
    reservoir: Span,
    /// The buffer from which the highest rate is chosen.
    upper: Span,
    /// Of the last chunks, in bit/s.
    throughputs: Vec<f64>,
    last: Option<usize>,
}

impl Adaptation {
    /// `rates` ascend, and there is one at least.
    ///
    /// A chunk is requested when there is room for it, so the buffer then holds at most its size
    /// less a segment. The map begins at 3/8 of that (the paper's 90 of 240 s) and ends at 9/10
    /// (216 s).
    pub(super) fn new(rule: Rule, rates: Vec<u64>, buffer: Span, segment: Span) -> Self {
        let most = (buffer - segment).max(Span::ZERO);
        let (reservoir, upper) = (Span(most.0 / 8 * 3), Span(most.0 / 10 * 9));
        Self { rule, rates, reservoir, upper, throughputs: Vec::new(), last: None }
    }

    /// A chunk of so many bytes took so long, from its request to its last byte.
    #[expect(clippy::cast_precision_loss, reason = "a throughput is a float")]
    pub(super) fn on_chunk(&mut self, bytes: u64, took: Span) {
        if took > Span::ZERO {
            if self.throughputs.len() == CHUNKS {
                self.throughputs.remove(0);
            }
            self.throughputs.push(8.0 * bytes as f64 / took.as_secs_f64());
        }
    }

    /// The rate of the next chunk in bit/s, with so much left to play.
    pub(super) fn choose(&mut self, left: Span) -> u64 {
        let chosen = match (self.rule, self.last) {
            (_, None) => 0,
            (Rule::Throughput, _) => self.by_throughput(),
            (Rule::Buffer, Some(last)) => self.by_buffer(left, last),
        };
        self.last = Some(chosen);
        self.rates.get(chosen).copied().unwrap_or(0)
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate beside a throughput is a float")]
    fn by_throughput(&self) -> usize {
        let slowness: f64 = self.throughputs.iter().map(|throughput| 1.0 / throughput).sum();
        let most = SAFETY * self.throughputs.len() as f64 / slowness;
        self.rates.iter().rposition(|rate| *rate as f64 <= most).unwrap_or(0)
    }

    fn by_buffer(&self, left: Span, last: usize) -> usize {
        let highest = self.rates.len().saturating_sub(1);
        if left <= self.reservoir {
            return 0;
        }
        if left >= self.upper {
            return highest;
        }
        let rate = |index: usize| self.rates.get(index).copied().unwrap_or(0);
        let (above, below) = ((last + 1).min(highest), last.saturating_sub(1));
        let mapped = self.map(left);
        if last < highest && mapped >= rate(above) {
            self.rates.iter().rposition(|rate| *rate < mapped).unwrap_or(0)
        } else if last > 0 && mapped <= rate(below) {
            self.rates.iter().position(|rate| *rate > mapped).unwrap_or(highest)
        } else {
            last
        }
    }

    /// The rate of the map, linear between the lowest and the highest.
    fn map(&self, left: Span) -> u64 {
        let (low, high) =
            (self.rates.first().copied().unwrap_or(0), self.rates.last().copied().unwrap_or(0));
        let (into, cushion) = (
            u128::from((left - self.reservoir).0.max(0).unsigned_abs()),
            u128::from((self.upper - self.reservoir).0.max(1).unsigned_abs()),
        );
        let more = u128::from(high - low) * into / cushion;
        low + u64::try_from(more).unwrap_or(high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    fn player(rule: Rule) -> Adaptation {
        let rates = vec![MBIT, 5 * MBIT / 2, 5 * MBIT];
        Adaptation::new(rule, rates, Span::from_secs(20), Span::from_secs(4))
    }

    fn chosen(player: &mut Adaptation, millis: i64) -> u64 {
        player.choose(Span::from_millis(millis))
    }

    #[test]
    fn the_harmonic_mean_follows_the_slow_chunks() {
        let mut player = player(Rule::Throughput);
        assert_eq!(chosen(&mut player, 0), MBIT);
        // 6 Mbit/s: 0.85 of it are 5.1 Mbit/s.
        player.on_chunk(750_000, Span::from_secs(1));
        assert_eq!(chosen(&mut player, 4000), 5 * MBIT);
        // With one chunk at 2 Mbit/s the harmonic mean is 3 Mbit/s, of which 0.85 are 2.55.
        player.on_chunk(250_000, Span::from_secs(1));
        assert_eq!(chosen(&mut player, 4000), 5 * MBIT / 2);
        for _ in 0..5 {
            player.on_chunk(100_000, Span::from_secs(1));
        }
        assert_eq!(chosen(&mut player, 4000), MBIT);
    }

    /// The map goes from 1 Mbit/s at 6 s to 5 Mbit/s at 14.4 s.
    #[test]
    fn the_buffer_is_mapped_to_a_rate_with_hysteresis() {
        let mut player = player(Rule::Buffer);
        assert_eq!(chosen(&mut player, 12_000), MBIT);
        assert_eq!(chosen(&mut player, 6000), MBIT);
        // f(9 s) = 2.43 Mbit/s is below the next rate, f(10 s) = 2.90 above.
        assert_eq!(chosen(&mut player, 9000), MBIT);
        assert_eq!(chosen(&mut player, 10_000), 5 * MBIT / 2);
        // It stays between the rates beside it.
        assert_eq!(chosen(&mut player, 14_300), 5 * MBIT / 2);
        assert_eq!(chosen(&mut player, 6100), 5 * MBIT / 2);
        assert_eq!(chosen(&mut player, 14_400), 5 * MBIT);
        // f(9 s) is below 2.5 Mbit/s: the lowest rate above it.
        assert_eq!(chosen(&mut player, 9000), 5 * MBIT / 2);
        assert_eq!(chosen(&mut player, 5900), MBIT);
    }

    #[test]
    fn one_rate_is_always_chosen() {
        for rule in [Rule::Throughput, Rule::Buffer] {
            let mut player =
                Adaptation::new(rule, vec![MBIT], Span::from_secs(8), Span::from_secs(4));
            for left in [0, 3500, 8000] {
                assert_eq!(chosen(&mut player, left), MBIT);
                player.on_chunk(1, Span::from_secs(1));
            }
        }
    }
}
