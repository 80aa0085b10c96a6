//! How many of a fixed set of values are present, by rank: a binary indexed tree (Fenwick,
//! Software: Practice and Experience 24, 1994). Every step takes the logarithm of the number of
//! values.

/// Present values, each known by its rank among all values that there can be.
#[derive(Debug)]
pub(crate) struct Ranks {
    /// Sums over ranges; the first entry is not used.
    sums: Vec<usize>,
    present: usize,
}

impl Ranks {
    /// None of `values` values is present.
    pub(crate) fn of(values: usize) -> Self {
        Self { sums: vec![0; values + 1], present: 0 }
    }

    /// One more value of this rank, counted from 0.
    pub(crate) fn insert(&mut self, rank: usize) {
        self.present += 1;
        self.change(rank, |sum| *sum += 1);
    }

    /// One value fewer of this rank, which was present.
    pub(crate) fn remove(&mut self, rank: usize) {
        self.present -= 1;
        self.change(rank, |sum| *sum -= 1);
    }

    fn change(&mut self, rank: usize, by: impl Fn(&mut usize)) {
        let mut at = rank + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            by(sum);
            at += at & at.wrapping_neg();
        }
    }

    /// The rank of the `nth` largest value, from 1; none if fewer are present.
    pub(crate) fn largest(&self, nth: usize) -> Option<usize> {
        // The last rank that fewer than this many values are up to is the one before it.
        let mut before = self.present.checked_sub(nth)?;
        let mut at = 0;
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.sums.get(at + step)
                && sum <= before
            {
                at += step;
                before -= sum;
            }
            step /= 2;
        }
        (nth > 0).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nth_largest_is_that_of_a_sorted_list(
            all in 1_usize..20,
            steps in vec((any::<bool>(), 0_usize..20), 0..60),
        ) {
            let (mut ranks, mut list) = (Ranks::of(all), Vec::new());
            for (inserts, rank) in steps {
                let rank = rank % all;
                let held = list.iter().position(|&other| other == rank);
                match (inserts, held) {
                    (true, _) => {
                        ranks.insert(rank);
                        list.push(rank);
                    }
                    (false, Some(at)) => {
                        ranks.remove(rank);
                        list.remove(at);
                    }
                    (false, None) => {}
                }
                list.sort_unstable_by(|a, b| b.cmp(a));
                for nth in 0..list.len() + 2 {
                    let expected = nth.checked_sub(1).and_then(|at| list.get(at)).copied();
                    prop_assert_eq!(ranks.largest(nth), expected);
                }
            }
        }
    }
}
