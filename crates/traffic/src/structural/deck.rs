//! Draws from an empirical distribution as from a deck of cards: shuffled, dealt to the last card,
//! shuffled again.
//!
//! Every value comes as often as it was seen, so that sums over a whole deck are exact and the mean
//! of what was drawn approaches that of the distribution like 1/n rather than 1/√n. Bias: draws
//! within one deck are not independent (a value that was dealt comes no sooner than with the next
//! shuffle).

use rand_chacha::ChaCha8Rng;

use crate::seed::below;

/// Values that are dealt one after the other.
#[derive(Debug, Clone)]
pub struct Deck<T> {
    values: Vec<T>,
    next: usize,
    in_order: bool,
}

impl<T: Clone> Deck<T> {
    /// A deck that is shuffled before the first draw.
    pub const fn new(values: Vec<T>) -> Self {
        let next = values.len();
        Self { values, next, in_order: false }
    }

    /// A deck that is dealt in its own order, again and again.
    pub fn in_order(values: Vec<T>) -> Self {
        Self { in_order: true, ..Self::new(values) }
    }

    /// The next value; none from an empty deck.
    pub(crate) fn draw(&mut self, random: &mut ChaCha8Rng) -> Option<T> {
        if self.next >= self.values.len() {
            self.next = 0;
            if !self.in_order {
                self.shuffle(random);
            }
        }
        let value = self.values.get(self.next).cloned();
        self.next += 1;
        value
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, random: &mut ChaCha8Rng) {
        for last in (1..self.values.len()).rev() {
            let other = below(random, last as u64 + 1);
            self.values.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::generator;

    #[test]
    fn every_card_is_dealt_once_before_any_is_dealt_again() {
        let mut random = generator(7);
        let mut deck = Deck::new((0..100).collect());
        let mut rounds: Vec<Vec<i32>> = Vec::new();
        for _ in 0..3 {
            rounds.push((0..100).filter_map(|_| deck.draw(&mut random)).collect());
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
        for mut round in rounds {
            round.sort_unstable();
            assert_eq!(round, (0..100).collect::<Vec<_>>());
        }
        let mut kept = Deck::in_order(vec![3, 1, 2]);
        let dealt: Vec<_> = (0..5).filter_map(|_| kept.draw(&mut random)).collect();
        assert_eq!(dealt, [3, 1, 2, 3, 1]);
        assert_eq!(Deck::<i32>::new(Vec::new()).draw(&mut random), None);
    }
}
