//! What the wire does: losses, copies, delays and reordering, counted against what they were
//! described to be.
//!
//! Seeds are fixed; counts must lie within five standard deviations of what is expected, so a wrong
//! distribution fails, and a right one would with one seed in two millions.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::{by_number, likely, link, run, spread};
use trustbed_emulate::{Fate, Link};
use trustbed_units::Ns;

const MANY: u32 = 100_000;

fn losses(text: &str, packets: u32) -> Vec<bool> {
    by_number(&run(&link(&format!(r#"{{"loss": {text}}}"#)), 42, packets, 1000))
        .iter()
        .map(|passage| passage.fate == Fate::Lost)
        .collect()
}

fn count(losses: &[bool]) -> usize {
    losses.iter().filter(|lost| **lost).count()
}

#[test]
fn independent_losses_are_as_many_as_described() {
    let lost = losses(r#"{"kind": "independent", "probability": 0.01}"#, MANY);
    assert!(likely(count(&lost), lost.len(), 0.01));
    let behind = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect::<Vec<_>>();
    assert!(
        likely(count(&behind), behind.len(), 0.01),
        "the one behind a lost one is lost as often"
    );
    assert_eq!(count(&losses(r#"{"kind": "independent", "probability": 0}"#, MANY)), 0);
    assert_eq!(count(&losses(r#"{"kind": "independent", "probability": 1}"#, MANY)), MANY as usize);
}

#[test]
fn gilbert_elliott_loses_in_bursts() {
    let (to_bad, to_good) = (0.01, 0.25);
    let lost = losses(
        r#"{"kind": "gilbert_elliott", "good_to_bad": 0.01, "bad_to_good": 0.25}"#,
        4 * MANY,
    );
    // In the long run p/(p+r); the states of neighbours are correlated by 1 − p − r, which widens
    // the variance.
    let correlation = 1.0 - to_bad - to_good;
    assert!(spread(
        count(&lost),
        lost.len(),
        to_bad / (to_bad + to_good),
        (1.0 + correlation) / (1.0 - correlation)
    ));
    let behind = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect::<Vec<_>>();
    assert!(likely(count(&behind), behind.len(), 1.0 - to_good), "a burst ends with r");
    let behind = lost.windows(2).filter(|pair| !pair[0]).map(|pair| pair[1]).collect::<Vec<_>>();
    assert!(likely(count(&behind), behind.len(), to_bad), "a burst begins with p");
}

#[test]
fn gilbert_elliott_loses_in_both_states() {
    let lost = losses(
        r#"{"kind": "gilbert_elliott", "good_to_bad": 0.5, "bad_to_good": 0.5,
            "loss_in_good": 0.1, "loss_in_bad": 0.7}"#,
        MANY,
    );
    assert!(likely(count(&lost), lost.len(), 0.4), "states of neighbours are independent here");
    assert_eq!(
        count(&losses(r#"{"kind": "gilbert_elliott", "good_to_bad": 0, "bad_to_good": 0}"#, 100)),
        0
    );
}

#[test]
fn periodic_and_recorded_losses_are_those() {
    let numbers = |text| {
        losses(text, 20)
            .iter()
            .enumerate()
            .filter(|(_, lost)| **lost)
            .map(|(number, _)| number)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(r#"{"kind": "periodic", "every": 7}"#), [6, 13]);
    assert_eq!(numbers(r#"{"kind": "periodic", "every": 7, "first": 1}"#), [0, 7, 14]);
    assert_eq!(numbers(r#"{"kind": "recorded", "lost": [0, 3, 4]}"#), [0, 3, 4]);
    assert_eq!(
        numbers(r#"{"kind": "recorded", "lost": [0, 3], "period_packets": 8}"#),
        [0, 3, 8, 11, 16, 19]
    );
    assert_eq!(numbers(r#"{"kind": "recorded", "lost": []}"#), [0_usize; 0]);
}

#[test]
fn a_lost_packet_has_used_the_rate() {
    let description =
        link(r#"{"rate_bits_per_second": 8000000, "loss": {"kind": "recorded", "lost": [0]}}"#);
    let passages = by_number(&run(&description, 1, 2, 0));
    assert_eq!((passages[0].fate, passages[0].departed), (Fate::Lost, Some(Ns(1_000_000))));
    assert_eq!(passages[1].due, Some(Ns(2_000_000)));
}

#[test]
fn copies_are_as_many_as_described_and_come_with_their_originals() {
    let outcomes =
        run(&link(r#"{"duplicate": {"probability": 0.2}, "delay_ns": 5000}"#), 42, MANY, 1000);
    let copies: Vec<_> = outcomes.iter().filter(|outcome| outcome.passage.copy).collect();
    assert!(likely(copies.len(), MANY as usize, 0.2));
    assert_eq!(outcomes.len(), MANY as usize + copies.len());
    for pair in outcomes.windows(2).filter(|pair| pair[1].passage.copy) {
        assert_eq!((pair[0].content, pair[0].passage.due), (pair[1].content, pair[1].passage.due));
    }
}

#[test]
fn reordering_holds_back_and_loses_nothing() {
    // Held back by 10.5 packets: eleven are launched later and come out earlier... of which the
    // first ten and no more pass it.
    let description =
        link(r#"{"reorder": {"probability": 0.05, "held_ns": 10500}, "delay_ns": 100000}"#);
    let outcomes = run(&description, 42, MANY, 1000);
    assert_eq!(by_number(&outcomes).len(), MANY as usize);
    let held: Vec<_> = by_number(&outcomes)
        .iter()
        .map(|passage| (passage.due.unwrap() - passage.departed.unwrap()).0)
        .collect();
    assert!(held.iter().all(|held| [100_000, 110_500].contains(held)));
    let count = held.iter().filter(|held| **held > 100_000).count();
    assert!(likely(count, MANY as usize, 0.05));
    let mut latest = 0;
    let overtaken = outcomes
        .iter()
        .filter(|outcome| {
            let behind = outcome.content < latest;
            latest = latest.max(outcome.content);
            behind
        })
        .count();
    assert!(overtaken > count * 9 / 10, "all but those whose followers are held as well");
    assert!(outcomes.windows(2).all(|pair| pair[0].passage.due <= pair[1].passage.due));
}

/// Deviations from the mean delay of a second, in units of a millisecond.
#[allow(clippy::cast_precision_loss, reason = "delays of a test")]
fn deviations(jitter: &str) -> Vec<f64> {
    let text =
        format!(r#"{{"delay_ns": 1000000000, "jitter": {{{jitter}, "keep_order": false}}}}"#);
    let passages = by_number(&run(&link(&text), 42, MANY, 1000));
    passages
        .iter()
        .map(|passage| (passage.due.unwrap() - passage.departed.unwrap()).0 as f64 / 1e6 - 1000.0)
        .collect()
}

/// Whether the shares at or below these values are those of the distribution.
fn distributed(deviations: &[f64], cumulative: &[(f64, f64)]) {
    for &(value, share) in cumulative {
        let below = deviations.iter().filter(|deviation| **deviation <= value).count();
        assert!(
            likely(below, deviations.len(), share),
            "{below} of {} at or below {value}, expected {share}",
            deviations.len()
        );
    }
}

#[test]
fn jitter_is_distributed_as_described() {
    let uniform = deviations(r#""kind": "uniform", "spread_ns": 1000000"#);
    distributed(&uniform, &[(-0.9, 0.05), (0.0, 0.5), (0.5, 0.75)]);
    assert!(uniform.iter().all(|deviation| deviation.abs() <= 1.0));
    let normal = deviations(r#""kind": "normal", "deviation_ns": 1000000"#);
    distributed(
        &normal,
        &[(-2.0, 0.022_750), (-1.0, 0.158_655), (0.0, 0.5), (1.0, 0.841_345), (3.0, 0.998_650)],
    );
    // 1 − (mean + deviation·z)^−shape, with mean 3/2 and deviation √3/2 for shape 3.
    let pareto = deviations(r#""kind": "pareto", "deviation_ns": 1000000"#);
    let below = |z: f64| (z, 1.0 - (1.5 + 3_f64.sqrt() / 2.0 * z).powi(-3));
    distributed(&pareto, &[below(-0.5), below(0.0), below(1.0), below(4.0)]);
    assert!(pareto.iter().all(|deviation| *deviation >= -0.577_36));
}

#[test]
#[allow(clippy::cast_precision_loss, reason = "counts of a test")]
fn a_mixture_has_the_described_mean_and_deviation() {
    let mixed = deviations(r#""kind": "paretonormal", "deviation_ns": 1000000"#);
    let count = mixed.len() as f64;
    let mean = mixed.iter().sum::<f64>() / count;
    assert!(mean.abs() < 5.0 / count.sqrt(), "{mean}");
    // Its fourth moment does not exist, so the square converges slowly; without the scaling it
    // would be 0.625.
    let square = mixed.iter().map(|deviation| deviation * deviation).sum::<f64>() / count;
    assert!((0.85..1.2).contains(&square), "{square}");
    let late = mixed.iter().filter(|deviation| **deviation > 4.0).count();
    let early = mixed.iter().filter(|deviation| **deviation < -4.0).count();
    assert!(late > 100 && early == 0, "late far more than early: {late}, {early}");
}

#[test]
fn a_negative_delay_is_none() {
    let passages = by_number(&run(
        &link(
            r#"{"delay_ns": 1000, "jitter": {"kind": "normal", "deviation_ns": 1000000,
                "keep_order": false}}"#,
        ),
        42,
        MANY,
        1,
    ));
    let at_once = passages.iter().filter(|passage| passage.due == passage.departed).count();
    assert!(
        likely(at_once, MANY as usize, 0.499_601),
        "the share of a normal distribution up to −0.001 deviations"
    );
}

#[test]
fn recorded_delays_are_those() {
    let dues = |text: &str, gap| {
        by_number(&run(&link(text), 1, 5, gap))
            .iter()
            .map(|passage| passage.due.unwrap().0 - passage.arrived.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(dues(r#"{"delay_recorded": {"delays_ns": [5, 1, 3]}}"#, 100), [5, 1, 3, 5, 1]);
    assert_eq!(
        dues(r#"{"delay_recorded": {"delays_ns": [50, 10, 30]}}"#, 10),
        [50, 40, 30, 50, 40],
        "no packet overtakes another"
    );
    assert_eq!(
        dues(r#"{"delay_recorded": {"delays_ns": [50, 10, 30], "keep_order": false}}"#, 10),
        [50, 10, 30, 50, 10]
    );
    assert_eq!(
        dues(r#"{"delay_recorded": {"delays_ns": [5, 1], "step_ns": 200}}"#, 100),
        [5, 5, 1, 1, 5]
    );
}

#[test]
fn a_recording_over_time_begins_when_it_is_started() {
    let mut link =
        Link::new(&link(r#"{"delay_recorded": {"delays_ns": [5, 1], "step_ns": 100}}"#), 1)
            .unwrap();
    link.start(Ns(0));
    assert!(link.offer(Ns(150), 1000, ()).is_none());
    assert_eq!(link.next_wakeup(), Some(Ns(151)));
}
