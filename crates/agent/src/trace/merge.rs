//! Joins the rings of all processors so that the calls of every thread are in order.
//!
//! A thread may move between two calls, so a look at the rings one after the other could see its
//! later call and not its earlier one. Only rows that returned up to a moment *before* the look
//! are taken: a thread's earlier call was in its ring before its later one was entered, so if the
//! later one is taken, the look has seen the earlier one. What is newer waits for the next look.

use super::maps::Returned;

/// A ring with rows from `tail` on, in the order in which they returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visible {
    pub(super) processor: u32,
    pub(super) tail: u64,
    pub(super) head: u64,
}

/// Hands out rows that returned up to `until`, the earliest first, and moves the tails behind them.
/// How many they were.
pub(super) fn merge(
    rings: &mut [Visible],
    until: u64,
    row: impl Fn(u32, u64) -> Returned,
    mut take: impl FnMut(&Returned),
) -> u64 {
    let first = |ring: &Visible| (ring.tail < ring.head).then(|| row(ring.processor, ring.tail));
    let mut firsts: Vec<Option<Returned>> = rings.iter().map(first).collect();
    let mut taken = 0;
    loop {
        let earliest =
            firsts.iter().enumerate().filter_map(|(at, one)| one.map(|one| (one.left, at))).min();
        let Some((returned, at)) = earliest else { return taken };
        if returned > until {
            return taken;
        }
        if let Some(one) = &firsts[at] {
            take(one);
        }
        taken += 1;
        rings[at].tail += 1;
        firsts[at] = first(&rings[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(at: u64, thread: u32) -> Returned {
        Returned {
            entered: at - 1,
            left: at,
            result: 0,
            process: 1,
            thread,
            call: 0,
            first: 0,
            processor: 0,
        }
    }

    #[test]
    fn a_thread_that_moved_stays_in_order_and_newer_rows_wait() {
        let rows = [vec![returned(1, 7), returned(5, 8), returned(9, 7)], vec![returned(3, 7)]];
        let mut rings = [
            Visible { processor: 0, tail: 0, head: 3 },
            Visible { processor: 1, tail: 0, head: 1 },
        ];
        let mut found = Vec::new();
        let at = |ring: u32, position: u64| rows[ring as usize][usize::try_from(position).unwrap()];
        assert_eq!(merge(&mut rings, 8, at, |one| found.push(one.left)), 3);
        assert_eq!((found.as_slice(), rings[0].tail, rings[1].tail), ([1, 3, 5].as_slice(), 2, 1));
        assert_eq!(merge(&mut rings, 9, at, |one| found.push(one.left)), 1);
        assert_eq!(found, [1, 3, 5, 9]);
    }
}
