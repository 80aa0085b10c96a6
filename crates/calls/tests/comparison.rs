//! Smoothing with back-off, changes and occurrences against their definitions.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_calls::{
    CallsError, Chains, Occurrences, Order, Pruned, Smoothed, Smoothing, State, Threads, Topology,
    changes,
};

fn order(calls: usize) -> Order {
    Order::new(calls).unwrap()
}

fn chains(n: usize, calls: &[u16]) -> Chains {
    let mut chains = Chains::new(order(n));
    chains.push(calls).unwrap();
    chains
}

/// How often `pattern` is in `calls`, but for an end that nothing follows.
fn followed(calls: &[u16], pattern: &[u16]) -> usize {
    let all = calls.len().saturating_sub(1);
    calls[..all].windows(pattern.len()).filter(|window| *window == pattern).count()
}

fn count(calls: &[u16], pattern: &[u16]) -> usize {
    calls.windows(pattern.len()).filter(|window| *window == pattern).count()
}

/// The definition, read off the sequence itself.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn probability(trained: &[u16], state: &[u16], call: u16, vocabulary: f64) -> f64 {
    let pattern = [state, &[call]].concat();
    let (made, visits) = (count(trained, &pattern) as f64, followed(trained, state) as f64);
    if state.len() == 1 {
        return (made + 0.01) / (visits + 0.01 * vocabulary);
    }
    (made + probability(trained, &state[1..], call, vocabulary)) / (visits + 1.0)
}

fn calls() -> impl Strategy<Value = Vec<u16>> {
    vec(0_u16..4, 6..60)
}

proptest! {
    #[test]
    fn probabilities_back_off(trained in calls(), state in vec(0_u16..5, 4), n in 1_usize..=4) {
        let trained_chains = chains(n, &trained);
        let smoothed = Smoothed::new(&trained_chains, Smoothing::default(), 5);
        let state = &state[..n];
        let each = (0..5).map(|call| smoothed.probability(State::of(state), call));
        let found: Vec<f64> = each.collect();
        for (call, found) in (0..5).zip(&found) {
            let expected = probability(&trained, state, call, 5.0);
            prop_assert!((found - expected).abs() < 1e-12, "{} {}", found, expected);
        }
        prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn bits_are_the_mean_over_transitions(
        trained in calls(), other in calls(), n in 1_usize..=4
    ) {
        let (one, tested) = (chains(n, &trained), chains(n, &other));
        let vocabulary = one.vocabulary(&tested);
        let smoothed = Smoothed::new(&one, Smoothing::default(), vocabulary);
        let bits: Vec<f64> = other
            .windows(n + 1)
            .map(|window| -probability(&trained, &window[..n], window[n], vocabulary as f64).log2())
            .collect();
        let mean = bits.iter().sum::<f64>() / bits.len() as f64;
        let found = smoothed.bits(&tested).unwrap().unwrap();
        prop_assert!((found - mean).abs() < 1e-9);
    }

    #[test]
    fn changes_sum_to_the_excess_and_to_the_divergence(
        one in calls(), other in calls(), n in 1_usize..=4
    ) {
        let (reference, candidate) = (chains(n, &one), chains(n, &other));
        let vocabulary = reference.vocabulary(&candidate);
        let found = changes(&reference, &candidate, Smoothing::default()).unwrap();
        let bits = |on: &Chains, of: &Chains| {
            Smoothed::new(on, Smoothing::default(), vocabulary).bits(of).unwrap().unwrap()
        };
        let excess: f64 = found.iter().map(|one| one.excess).sum();
        let across = bits(&reference, &candidate) - bits(&reference, &reference);
        prop_assert!((excess - across).abs() < 1e-9);
        let divergence: f64 = found.iter().map(|one| one.bits).sum();
        let back = bits(&candidate, &reference) - bits(&candidate, &candidate);
        prop_assert!((divergence - across - back).abs() < 1e-9);
        prop_assert!(found.is_sorted_by(|one, next| one.bits.abs() >= next.bits.abs()));
    }

    #[test]
    fn a_chain_has_no_distance_from_itself(calls in calls(), n in 1_usize..=4) {
        let chains = chains(n, &calls);
        let found = Topology::between(chains.highest(), chains.highest(), 0.001).unwrap();
        prop_assert_eq!(found.jaccard_distance, Some(0.0));
        prop_assert_eq!(found.weight_gap, Some(0.0));
        prop_assert_eq!(found.total_variation, Some(0.0));
        let unchanged = changes(&chains, &chains, Smoothing::default()).unwrap();
        let none = unchanged.iter().all(|one| one.bits.abs() + one.excess.abs() < f64::EPSILON);
        prop_assert!(none);
    }

    #[test]
    fn occurrences_are_where_the_transition_is(
        calls in calls(), n in 1_usize..=4, initial in 0_u64..40, size in 1_usize..9
    ) {
        let wanted: Vec<_> =
            chains(n, &calls).highest().transitions().iter().map(|t| (t.from, t.call)).collect();
        let mut occurrences = Occurrences::new(order(n), &wanted, initial, 2);
        calls.chunks(size).for_each(|stretch| occurrences.push(stretch));
        for ((from, call), found) in wanted.iter().zip(occurrences.finish()) {
            let ends: Vec<u64> = (0..)
                .zip(calls.windows(n + 1))
                .filter(|(_, window)| State::of(&window[..n]) == *from && window[n] == *call)
                .map(|(start, _): (u64, _)| start + n as u64)
                .collect();
            let (early, late): (Vec<u64>, Vec<u64>) = ends.iter().partition(|end| **end < initial);
            for (phase, expected) in [(found.initialisation, early), (found.steady, late)] {
                prop_assert_eq!(phase.count, expected.len() as u64);
                prop_assert_eq!(&phase.first, &expected[..expected.len().min(2)]);
            }
        }
    }

    #[test]
    fn threads_are_taken_apart(trace in vec((0_u32..5, 0_u16..9), 0..80), size in 1_usize..9) {
        let mut threads = Threads::default();
        for stretch in trace.chunks(size) {
            let (ids, calls): (Vec<u32>, Vec<u16>) = stretch.iter().copied().unzip();
            threads.push(&ids, &calls).unwrap();
        }
        let mut seen = Vec::new();
        for (thread, calls) in threads.into_sequences() {
            let own = trace.iter().filter(|one| one.0 == thread).map(|one| one.1);
            prop_assert_eq!(calls, own.collect::<Vec<_>>());
            seen.push(thread);
        }
        let mut first: Vec<u32> = Vec::new();
        for (thread, _) in &trace {
            if !first.contains(thread) {
                first.push(*thread);
            }
        }
        prop_assert_eq!(seen, first);
    }
}

#[test]
fn columns_of_different_lengths_are_no_trace() {
    let refused = Threads::default().push(&[1, 1], &[7]);
    assert_eq!(refused, Err(CallsError::UnequalColumns { threads: 2, calls: 1 }));
}

#[test]
fn smoothing_that_leaves_zeros_is_refused() {
    for (additive, backoff) in [(0.0, 1.0), (0.01, -1.0), (f64::NAN, 1.0), (0.01, f64::INFINITY)] {
        assert!(matches!(Smoothing::new(additive, backoff), Err(CallsError::Smoothing { .. })));
    }
    assert_eq!(Smoothing::new(0.01, 1.0), Ok(Smoothing::default()));
}

#[test]
fn nothing_counted_has_no_bits_and_no_distances() {
    let (empty, some) = (chains(1, &[]), chains(1, &[1, 2, 1]));
    let smoothed = Smoothed::new(&some, Smoothing::default(), 2);
    assert_eq!(smoothed.bits(&empty), Ok(None));
    assert!(changes(&some, &empty, Smoothing::default()).unwrap().is_empty());
    let distances = Topology::between(empty.highest(), empty.highest(), 0.001).unwrap();
    assert_eq!(distances.jaccard_distance, None);
    assert_eq!(distances.weight_gap, None);
    assert_eq!(distances.total_variation, None);
}

#[test]
fn a_state_that_would_lose_all_keeps_its_heaviest() {
    let chain = chains(1, &[0, 1, 0, 2, 0, 2, 0, 3]);
    let pruned = Pruned::of(chain.highest(), 0.9);
    let found: Vec<_> = pruned.edges().collect();
    assert_eq!(found, [(State(0), 2, 1.0), (State(1), 0, 1.0), (State(2), 0, 1.0)]);
}

#[test]
fn a_state_that_the_candidate_lacks_counts_with_half_its_share() {
    // By hand: 2 of the 3 transitions leave 0 or 1, of which the candidate has neither.
    let (reference, candidate) = (chains(1, &[0, 1, 0, 1]), chains(1, &[5, 6, 5]));
    let found = Topology::between(reference.highest(), candidate.highest(), 0.001).unwrap();
    assert_eq!(found.jaccard_distance, Some(1.0));
    assert_eq!(found.weight_gap, None);
    assert!((found.total_variation.unwrap() - 0.5).abs() < 1e-12);
}

#[test]
fn one_more_read_per_request_is_the_largest_change() {
    let request = |reads: usize| [vec![1, 2], vec![3; reads], vec![4]].concat();
    let (reference, candidate) =
        (chains(1, &request(2).repeat(100)), chains(1, &request(3).repeat(100)));
    let found = changes(&reference, &candidate, Smoothing::default()).unwrap();
    assert_eq!((found[0].from, found[0].call), (State(3), 3));
    assert_eq!((found[0].reference, found[0].candidate), (100, 200));
    assert!(found[0].bits > 0.0);
}
