//! Packets and links for the tests.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

pub mod course;
pub mod fraction;
pub mod networks;

use proptest::prelude::*;
use trustbed_emulate::{Link, LinkDescription, Outcome, Passage};
use trustbed_units::Ns;

/// Arrival (ns) and length (bytes).
pub type Packet = (i64, u32);

/// Packets in order of time: bursts, and silences of all sizes.
pub fn traffic(most: usize, longest_gap: i64) -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![Just(0), 0..1_000_i64, 0..1_000_000_i64, 0..longest_gap];
    let length = prop_oneof![Just(1500_u32), 40..1500_u32, 0..100_000_u32];
    (
        -1_000_000_000_000..2_000_000_000_000_000_000_i64,
        prop::collection::vec((gap, length), 1..most),
    )
        .prop_map(|(start, steps)| after_gaps(start, steps))
}

/// Packets that come so long after one another, from a moment on.
pub fn after_gaps(start: i64, steps: Vec<Packet>) -> Vec<Packet> {
    let mut time = start;
    steps
        .into_iter()
        .map(|(gap, length)| {
            time += gap;
            (time, length)
        })
        .collect()
}

/// A description from its JSON.
pub fn link(text: &str) -> LinkDescription {
    serde_json::from_str(text).unwrap()
}

/// Sends packets of 1000 bytes, `gap` apart, through a link; what came of each, in the order in
/// which the link reported it.
pub fn run(description: &LinkDescription, seed: u64, packets: u32, gap: i64) -> Vec<Outcome<u32>> {
    let columns: Vec<Packet> = (0..i64::from(packets)).map(|number| (number * gap, 1000)).collect();
    pass(description, seed, &columns)
}

/// Sends packets through a link, and polls for them only at the end.
pub fn pass(description: &LinkDescription, seed: u64, packets: &[Packet]) -> Vec<Outcome<u32>> {
    let mut link = Link::new(description, seed).unwrap();
    let mut outcomes = Vec::new();
    for (number, &(time, length)) in (0..).zip(packets) {
        outcomes.extend(link.offer(Ns(time), length, number));
    }
    outcomes.extend(std::iter::from_fn(|| link.poll(Ns::MAX)));
    assert!(link.is_empty());
    outcomes
}

/// The passages by number of the packet, copies left out.
pub fn by_number(outcomes: &[Outcome<u32>]) -> Vec<Passage> {
    let mut originals: Vec<_> = outcomes.iter().filter(|outcome| !outcome.passage.copy).collect();
    originals.sort_by_key(|outcome| outcome.content);
    originals.iter().map(|outcome| outcome.passage).collect()
}

/// Whether a count of successes among trials is what the probability lets expect: within five
/// standard deviations.
pub fn likely(count: usize, trials: usize, probability: f64) -> bool {
    spread(count, trials, probability, 1.0)
}

/// As `likely`, with a variance so many times that of independent trials.
#[allow(clippy::cast_precision_loss, reason = "counts of a test")]
pub fn spread(count: usize, trials: usize, probability: f64, factor: f64) -> bool {
    let (count, trials) = (count as f64, trials as f64);
    (count - trials * probability).abs()
        <= 5.0 * (trials * probability * (1.0 - probability) * factor).sqrt()
}
