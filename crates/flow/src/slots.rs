//! Which slots of a table are in use: a bit a slot, so that a search for a victim passes over 64
//! empty ones in a step, however many a crowd has left behind.

/// A set of slots.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    words: Vec<u64>,
}

/// Slots of a word.
const WORD: u32 = u64::BITS;

impl Slots {
    /// The slot is in use.
    #[inline]
    pub(crate) fn insert(&mut self, slot: u32) {
        let word = (slot / WORD) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (slot % WORD);
    }

    /// The slot is empty.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        if let Some(word) = self.words.get_mut((slot / WORD) as usize) {
            *word &= !(1 << (slot % WORD));
        }
    }

    /// Every slot in use, ascending from the one behind `hand` on, round to `hand` itself.
    pub(crate) fn behind(&self, hand: u32) -> impl Iterator<Item = u32> + '_ {
        let before = self.at_or_above(0).take_while(move |&slot| slot <= hand);
        self.at_or_above(hand + 1).chain(before)
    }

    /// Those from a slot on.
    #[expect(clippy::cast_possible_truncation, reason = "as many words as slots are few")]
    fn at_or_above(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let begin = (first / WORD) as usize;
        let words = self.words.iter().enumerate().skip(begin);
        words.flat_map(move |(n, &word)| {
            let mut rest = if n == begin { word & (u64::MAX << (first % WORD)) } else { word };
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(n as u32 * WORD + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nobody_is_behind_the_hand_of_an_empty_table() {
        assert_eq!(Slots::default().behind(0).count(), 0);
        let mut slots = Slots::default();
        slots.insert(7);
        assert_eq!(slots.behind(7).collect::<Vec<_>>(), [7], "the hand's own comes last");
        slots.remove(7);
        assert_eq!(slots.behind(700).count(), 0);
    }

    proptest! {
        /// The slow twin looks at every slot, one after the other.
        #[test]
        fn the_hand_meets_whom_a_step_from_slot_to_slot_meets(
            steps in vec((any::<bool>(), 0_u32..200), 0..100),
            hand in 0_u32..200,
        ) {
            let (mut slots, mut twin) = (Slots::default(), BTreeSet::new());
            for (inserts, slot) in steps {
                if inserts {
                    slots.insert(slot);
                    twin.insert(slot);
                } else {
                    slots.remove(slot);
                    twin.remove(&slot);
                }
            }
            let round = (1..=200).map(|step| (hand + step) % 200);
            let expected: Vec<u32> = round.filter(|slot| twin.contains(slot)).collect();
            prop_assert_eq!(slots.behind(hand).collect::<Vec<_>>(), expected);
        }
    }
}
