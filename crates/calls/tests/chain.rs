//! Chains against an obvious count of windows, however the calls come, and at their bounds.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_calls::{CallsError, Chain, Chains, Cursor, Order, Piece, State, Walker};

fn order(calls: usize) -> Order {
    Order::new(calls).unwrap()
}

/// What a chain is: a count of every N + 1 calls in a row.
fn windows(order: Order, calls: &[u16]) -> BTreeMap<(State, u16), u64> {
    let mut counts = BTreeMap::new();
    for window in calls.windows(order.calls() + 1) {
        let (from, to) = window.split_at(order.calls());
        *counts.entry((State::of(from), to[0])).or_insert(0) += 1;
    }
    counts
}

fn chain(order: Order, calls: &[u16]) -> Chain {
    let mut chain = Chain::new(order);
    chain.add(calls).unwrap();
    chain
}

/// log₁₀ of the probability, transition by transition.
fn walked(counts: &BTreeMap<(State, u16), u64>, order: Order, calls: &[u16]) -> (f64, u64) {
    let (mut log10, mut invalid) = (0.0, 0);
    for window in calls.windows(order.calls() + 1) {
        let (from, to) = window.split_at(order.calls());
        let from = State::of(from);
        let visits: u64 = counts.range((from, 0)..=(from, u16::MAX)).map(|(_, count)| *count).sum();
        match counts.get(&(from, to[0])) {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            Some(count) => log10 += (*count as f64 / visits as f64).log10(),
            None => invalid += 1,
        }
    }
    (log10, invalid)
}

/// Few different calls, so that transitions repeat, and some with large numbers.
fn calls() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![8 => 0_u16..4, 1 => 65_530_u16..=65_535], 0..120)
}

proptest! {
    #[test]
    fn a_chain_counts_windows(calls in calls(), n in 1_usize..=4) {
        let order = order(n);
        let found: BTreeMap<_, _> = chain(order, &calls)
            .transitions()
            .into_iter()
            .map(|one| ((one.from, one.call), one.count))
            .collect();
        prop_assert_eq!(found, windows(order, &calls));
    }

    #[test]
    fn weights_from_a_state_sum_to_one(calls in calls(), n in 1_usize..=4) {
        let mut sums: BTreeMap<State, f64> = BTreeMap::new();
        for one in chain(order(n), &calls).transitions() {
            *sums.entry(one.from).or_default() += one.weight;
        }
        prop_assert!(sums.values().all(|sum| (sum - 1.0).abs() < 1e-12));
    }

    #[test]
    fn pieces_joined_are_the_whole(
        calls in calls(), n in 1_usize..=4, cuts in vec(0_usize..120, 0..6)
    ) {
        let order = order(n);
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= calls.len()).collect();
        cuts.extend([0, calls.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| {
            let mut piece = Piece::new(order);
            piece.push(&calls[ends[0]..ends[1]]).unwrap();
            piece
        });
        let pieces: Vec<_> = pieces.collect();
        let left = pieces
            .iter()
            .cloned()
            .fold(Piece::new(order), |whole, piece| whole.join(&piece).unwrap());
        let right = pieces
            .into_iter()
            .rev()
            .fold(Piece::new(order), |whole, piece| piece.join(&whole).unwrap());
        prop_assert_eq!(left.tail(), right.tail());
        let whole = chain(order, &calls);
        prop_assert_eq!(left.into_chain(), whole.clone());
        prop_assert_eq!(right.into_chain(), whole);
    }

    #[test]
    fn stretches_follow_each_other(calls in calls(), n in 1_usize..=4, size in 1_usize..9) {
        let order = order(n);
        let (mut stretched, mut cursor) = (Chain::new(order), Cursor::default());
        let whole = chain(order, &calls);
        let mut walker = Walker::new(&whole);
        for stretch in calls.chunks(size) {
            stretched.follow(&mut cursor, stretch).unwrap();
            walker.push(stretch);
        }
        prop_assert_eq!(&stretched, &whole);
        prop_assert_eq!(walker.finish(), whole.walk(&calls));
    }

    #[test]
    fn merging_adds_counts(one in calls(), other in calls(), n in 1_usize..=4) {
        let order = order(n);
        let mut both = chain(order, &one);
        both.add(&other).unwrap();
        let mut merged = chain(order, &one);
        merged.merge(&chain(order, &other)).unwrap();
        prop_assert_eq!(merged, both);
    }

    #[test]
    fn walks_are_products_of_weights(on in calls(), calls in calls(), n in 1_usize..=4) {
        let order = order(n);
        let chain_walked_on = chain(order, &on);
        let (log10, invalid) = walked(&windows(order, &on), order, &calls);
        let transitions = calls.len().saturating_sub(n) as u64;
        let direct = chain_walked_on.walk(&calls);
        let counted = chain_walked_on.walk_counted(&chain(order, &calls)).unwrap();
        for walk in [direct, counted] {
            prop_assert_eq!((walk.invalid, walk.transitions), (invalid, transitions));
            prop_assert!((walk.log10 - log10).abs() <= 1e-9 * log10.abs().max(1.0));
        }
    }

    #[test]
    fn a_vocabulary_is_the_calls_of_both(one in calls(), other in calls(), n in 1_usize..=4) {
        let [first, second] = [&one, &other].map(|calls| {
            let mut chains = Chains::new(order(n));
            chains.push(calls).unwrap();
            chains
        });
        let mut both = [one, other].concat();
        both.sort_unstable();
        both.dedup();
        prop_assert_eq!(first.vocabulary(&second), both.len());
    }
}

#[test]
fn a_sequence_of_one_state_has_no_transition() {
    for n in 1..=4 {
        let order = order(n);
        let chain = chain(order, &vec![7; n]);
        assert!(chain.is_empty());
        assert_eq!(chain.states().len(), 1);
        assert_eq!(chain.walk(&vec![7; n]).transitions, 0);
    }
}

#[test]
fn an_order_is_one_to_four() {
    assert!((1..=4).all(|calls| Order::new(calls).is_ok()));
    for wrong in [0, 5, 256, 257] {
        assert_eq!(Order::new(wrong), Err(CallsError::Order { order: wrong }));
    }
}

#[test]
fn a_chain_refuses_more_transitions_than_its_bound() {
    let mut chain = Chain::bounded(Order::FIRST, 3);
    chain.add(&[1, 2, 3, 1, 2, 3, 1]).unwrap();
    let refused = chain.add(&[3, 2]).unwrap_err();
    assert_eq!(refused, CallsError::TooManyTransitions { bound: 3, order: 1 });
    assert!(refused.to_string().contains("more than 3 different transitions of order 1"));
    let mut other = Chain::new(Order::FIRST);
    other.add(&[9, 8]).unwrap();
    assert!(chain.merge(&other).is_err());
    chain.add(&[1, 2]).unwrap();
    assert_eq!(chain.count(State(1), 2), 3);
}

#[test]
fn a_chain_refuses_more_lone_states_than_its_bound() {
    let mut chain = Chain::bounded(Order::FIRST, 2);
    let results: Vec<_> = (0..4).map(|call| chain.add(&[call]).is_ok()).collect();
    assert_eq!(results, [true, true, true, false]);
}

#[test]
fn chains_of_different_orders_are_not_combined() {
    let (mut one, two) = (Chain::new(order(1)), Chain::new(order(2)));
    let differ = CallsError::OrdersDiffer { left: 1, right: 2 };
    assert_eq!(one.merge(&two), Err(differ.clone()));
    assert_eq!(one.walk_counted(&two), Err(differ));
}
