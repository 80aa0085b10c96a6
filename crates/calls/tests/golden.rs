//! `tests/golden/compare.json`: the published example of walks, and three sequences compared.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may read a golden file")]

use serde_json::Value;
use trustbed_calls::{
    Alphabet, Chain, Chains, Order, Pruned, Smoothed, Smoothing, State, Topology, Walk,
};

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/compare.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["computed"].clone()
}

fn close(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    let error = (found - expected).abs();
    assert!(error <= 1e-9 * expected.abs(), "{found} is not {expected}");
}

/// Each letter is a call.
fn calls(letters: &str) -> Vec<u16> {
    letters.bytes().map(u16::from).collect()
}

fn order(calls: usize) -> Order {
    Order::new(calls).unwrap()
}

fn chain(letters: &str, calls_of_state: usize) -> Chain {
    let mut chain = Chain::new(order(calls_of_state));
    chain.add(&calls(letters)).unwrap();
    chain
}

fn sequence<'a>(golden: &'a Value, name: &str) -> &'a str {
    golden["chain"][name].as_str().unwrap()
}

#[test]
fn walks_on_the_published_chain_have_their_probabilities() {
    let mut alphabet = Alphabet::default();
    let mut chain = Chain::new(Order::FIRST);
    let counts =
        [("open", "error", 1), ("open", "read", 99), ("read", "read", 75), ("read", "close", 25)];
    for (from, to, count) in counts {
        let pair = [from, to].map(|name| alphabet.intern(name).unwrap());
        for _ in 0..count {
            chain.add(&pair).unwrap();
        }
    }
    for expected in golden()["figure_1_walks"].as_array().unwrap() {
        let length = usize::try_from(expected["sequence_length"].as_u64().unwrap()).unwrap();
        let head = expected["head"].as_array().unwrap().iter();
        let mut walked: Vec<u16> =
            head.map(|name| alphabet.call(name.as_str().unwrap()).unwrap()).collect();
        walked.resize(length, *walked.last().unwrap());
        let walk = chain.walk(&walked);
        assert_eq!((walk.invalid, walk.transitions), (0, length as u64 - 1));
        close(walk.log10, &expected["log10"]);
        close(10_f64.powf(walk.log10_probability().unwrap()), &expected["probability"]);
    }
}

/// Weights as the golden file writes them: state, next state, weight.
fn written(weights: &Value) -> Vec<(String, String, f64)> {
    let states = weights.as_object().unwrap().iter();
    let mut found: Vec<_> = states
        .flat_map(|(state, next)| {
            let next = next.as_object().unwrap().iter();
            next.map(|(to, weight)| (state.clone(), to.clone(), weight.as_f64().unwrap()))
        })
        .collect();
    found.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    found
}

fn letters(state: State, order: Order) -> String {
    state.calls(order).map(|call| char::from(u8::try_from(call).unwrap())).collect()
}

fn assert_weights(edges: impl Iterator<Item = (State, u16, f64)>, order: Order, expected: &Value) {
    let mut found: Vec<_> = edges
        .map(|(from, call, weight)| {
            (letters(from, order), letters(from.then(call, order), order), weight)
        })
        .collect();
    found.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    let expected = written(expected);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((&found.0, &found.1), (&expected.0, &expected.1));
        assert!((found.2 - expected.2).abs() <= 1e-9 * expected.2);
    }
}

#[test]
fn chains_of_order_one_and_two_have_their_weights() {
    let golden = golden();
    for (calls_of_state, name) in [(1, "A_order1"), (2, "A_order2")] {
        let chain = chain(sequence(&golden, "A"), calls_of_state);
        let edges = chain.transitions().into_iter().map(|one| (one.from, one.call, one.weight));
        assert_weights(edges, chain.order(), &golden["chain"][name]);
    }
}

#[test]
fn a_pruned_chain_is_scaled_to_one() {
    let golden = golden();
    let pruned = Pruned::of(&chain(sequence(&golden, "A"), 1), 0.2);
    assert_weights(pruned.edges(), Order::FIRST, &golden["chain"]["A_pruned_0.2"]);
}

#[test]
fn walks_have_their_logarithms_and_invalid_transitions() {
    let golden = golden();
    for (name, walked, calls_of_state) in [
        ("walk_A_on_A", "A", 1),
        ("walk_B_on_A", "B", 1),
        ("walk_C_on_A", "C", 1),
        ("walk_B_on_A_order2", "B", 2),
    ] {
        let on = chain(sequence(&golden, "A"), calls_of_state);
        let letters = sequence(&golden, walked);
        let walks: [Walk; 2] =
            [on.walk(&calls(letters)), on.walk_counted(&chain(letters, calls_of_state)).unwrap()];
        for walk in walks {
            close(walk.log10, &golden["chain"][name][0]);
            assert_eq!(walk.invalid, golden["chain"][name][1].as_u64().unwrap());
            assert_eq!(walk.transitions, (letters.len() - calls_of_state) as u64);
            assert_eq!(walk.log10_probability().is_none(), walk.invalid > 0);
        }
    }
}

#[test]
fn a_walk_is_compared_with_one_as_long() {
    let golden = golden();
    let (first, second) = (sequence(&golden, "A"), sequence(&golden, "B"));
    let on = chain(first, 1);
    let relative = on.walk(&calls(second)).log10 - on.walk(&calls(&first[..second.len()])).log10;
    close(relative, &golden["chain"]["relative_B_to_A_first_18"]);
}

#[test]
fn topologies_have_their_distances() {
    let golden = golden();
    let [first, second] = ["A", "B"].map(|name| chain(sequence(&golden, name), 1));
    let expected = &golden["chain"]["jaccard_distance_and_mean_weight_gap_A_B"];
    let found = Topology::between(&first, &second, 0.001).unwrap();
    close(found.jaccard_distance.unwrap(), &expected[0]);
    close(found.weight_gap.unwrap(), &expected[1]);
    // By hand: of A's 20 transitions 7 leave b, where |5/7 − 4/6| + |1/7 − 2/6| + 1/7 = 8/21.
    let by_hand = 7.0 / 20.0 * 0.5 * (8.0 / 21.0);
    assert!((found.total_variation.unwrap() - by_hand).abs() < 1e-12);
}

#[test]
fn smoothed_sequences_have_their_bits_per_call() {
    let golden = golden();
    let chains = |name: &str| {
        let mut chains = Chains::new(Order::FIRST);
        chains.push(&calls(sequence(&golden, name))).unwrap();
        chains
    };
    let reference = chains("A");
    for name in ["A", "B", "C"] {
        let other = chains(name);
        let smoothed =
            Smoothed::new(&reference, Smoothing::default(), reference.vocabulary(&other));
        let key = format!("cross_entropy_bits_{name}_on_A");
        close(smoothed.bits(&other).unwrap().unwrap(), &golden["chain"][key]);
    }
}
