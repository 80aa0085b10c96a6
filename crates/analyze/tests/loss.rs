//! Loss recoveries, their time, persistence, and silences.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use trustbed_analyze::{Losses, Silence, Silences};
use trustbed_units::{Ns, Span};

const MICRO: i64 = 1_000;
const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

// Recoveries: one begins at the first retransmission beyond the previous recovery point.

#[test]
fn retransmissions_up_to_the_recovery_point_are_one_event() {
    let mut losses = Losses::default();
    losses.on_retransmission(1_000, 10_000, 1_000, Span(0), true);
    losses.on_retransmission(3_000, 12_000, 1_000, Span(1), true);
    losses.on_retransmission(9_999, 12_000, 3_000, Span(2), true);
    assert_eq!(losses.events, 1, "all lie below 10 000, the highest byte when it began");
    losses.on_retransmission(10_000, 20_000, 9_000, Span(3), true);
    assert_eq!(losses.events, 2);
    losses.on_retransmission(15_000, 22_000, 9_000, Span(4), true);
    assert_eq!(losses.events, 2, "the second one ends at 20 000");
}

#[test]
fn a_recovery_lasts_until_its_point_is_acknowledged() {
    let mut losses = Losses::default();
    assert!(!losses.in_recovery(0));
    losses.on_retransmission(1_000, 10_000, 1_000, Span(0), true);
    assert!(losses.in_recovery(1_000) && losses.in_recovery(9_999));
    assert!(!losses.in_recovery(10_000));
    losses.on_retransmission(10_000, 11_000, 10_000, Span(1), true);
    assert_eq!(losses.events, 2, "the same byte again after that is another loss");
}

#[test]
fn what_was_acknowledged_begins_no_recovery() {
    let mut losses = Losses::default();
    losses.on_retransmission(1_000, 10_000, 5_000, Span(0), false);
    assert_eq!(losses.events, 0);
    assert!(!losses.in_recovery(5_000));
}

// Persistence: the share of ten equal slices with a genuine retransmission.

fn persistence(times: impl IntoIterator<Item = i64>, duration: i64) -> f64 {
    let mut losses = Losses::default();
    for time in times {
        losses.on_retransmission(0, 1, 0, Span(time), true);
    }
    losses.persistence(Span(duration))
}

fn slices(times: impl IntoIterator<Item = i64>, duration: i64) -> f64 {
    let hit: std::collections::BTreeSet<i64> =
        times.into_iter().map(|t| (t * 10 / duration).min(9)).collect();
    f64::from(u32::try_from(hit.len()).unwrap_or(0)) / 10.0
}

#[test]
fn one_loss_hits_one_slice_and_steady_loss_hits_all() {
    assert!(persistence([], SECOND).abs() < 1e-12);
    assert!((persistence([350 * MS], SECOND) - 0.1).abs() < 1e-12);
    assert!(
        (persistence([SECOND], SECOND) - 0.1).abs() < 1e-12,
        "the last moment belongs to the last slice"
    );
    assert!((persistence((0..10).map(|n| n * 100 * MS), SECOND) - 1.0).abs() < 1e-12);
    assert!((persistence((0..50_000).map(|n| n * MS), 50 * SECOND) - 1.0).abs() < 1e-12);
    assert!(
        (persistence((0..50_000).map(|n| n * MS), 100 * SECOND) - 0.5).abs() < 0.1 + 1e-12,
        "a slot may reach into the next slice"
    );
}

#[test]
fn spurious_retransmissions_and_disproved_ones_do_not_count() {
    let mut losses = Losses::default();
    losses.on_retransmission(0, 1, 0, Span(50 * MS), false);
    losses.on_retransmission(0, 1, 0, Span(250 * MS), true);
    losses.on_retransmission(0, 1, 0, Span(450 * MS), true);
    assert!((losses.persistence(Span(SECOND)) - 0.2).abs() < 1e-12);
    losses.on_disproved(Span(250 * MS));
    assert!((losses.persistence(Span(SECOND)) - 0.1).abs() < 1e-12);
}

#[test]
fn disproof_finds_its_retransmission_among_thousands() {
    let mut losses = Losses::default();
    for n in 0..20_000 {
        losses.on_retransmission(0, 1, 0, Span(n * 50 * MICRO), true);
    }
    for n in 0..20_000 {
        losses.on_disproved(Span(n * 50 * MICRO));
    }
    assert!(losses.persistence(Span(SECOND)).abs() < 1e-12, "none of them was genuine");
}

proptest! {
    #[test]
    fn up_to_256_moments_persistence_is_exact(
        times in btree_set(0_i64..3_000_000, 0..200),
        length in 1_000_000_i64..4_000_000,
    ) {
        let times: Vec<i64> =
            times.into_iter().filter(|&t| t <= length).map(|t| t * MICRO).collect();
        let duration = length * MICRO;
        prop_assert!(
            (persistence(times.clone(), duration) - slices(times, duration)).abs() < 1e-12
        );
    }

    /// Beyond, a retransmission may be taken for one a little earlier.
    #[test]
    fn with_many_moments_it_is_at_most_one_slice_off(
        times in vec(0_i64..3_000_000, 300..1_500),
        length in 3_000_000_i64..4_000_000,
    ) {
        let times: Vec<i64> = times.into_iter().map(|t| t * MICRO).collect();
        let duration = length * MICRO;
        prop_assert!(
            (persistence(times.clone(), duration) - slices(times, duration)).abs() < 0.1 + 1e-12
        );
    }
}

// Silences.

#[test]
fn a_silence_of_two_seconds_is_kept_with_what_was_pending() {
    let mut silences = Silences::default();
    silences.on_new(Ns(0), false, false);
    silences.on_new(Ns(2 * SECOND - 1), true, true);
    assert!(silences.gaps.is_empty());
    silences.on_new(Ns(5 * SECOND), true, true);
    silences.on_new(Ns(9 * SECOND), false, false);
    let kept = [
        Silence { from: Ns(2 * SECOND - 1), to: Ns(5 * SECOND), pending: true },
        Silence { from: Ns(5 * SECOND), to: Ns(9 * SECOND), pending: false },
    ];
    assert_eq!(silences.gaps, kept);
    assert_eq!(silences.last(), Some(Ns(9 * SECOND)));
}

#[test]
fn an_outage_is_silence_with_data_outstanding() {
    let mut silences = Silences::default();
    silences.on_new(Ns(0), false, false);
    silences.on_progress(Ns(3 * SECOND), true);
    assert_eq!(silences.outage, 3 * SECOND, "nothing was acknowledged for three seconds");
    silences.on_new(Ns(8 * SECOND), false, false);
    assert_eq!(silences.outage, 3 * SECOND, "there was nothing to acknowledge");
    silences.on_progress(Ns(9 * SECOND), true);
    assert_eq!(silences.outage, 3 * SECOND, "a second is no outage");
}

#[test]
fn a_transfer_that_never_came_back_ends_in_an_outage() {
    let mut silences = Silences::default();
    silences.on_new(Ns(0), false, false);
    silences.on_end(Ns(7 * SECOND), true);
    assert_eq!(silences.outage, 7 * SECOND);
    assert_eq!(silences.gaps, [Silence { from: Ns(0), to: Ns(7 * SECOND), pending: true }]);
    let mut done = Silences::default();
    done.on_new(Ns(0), false, false);
    done.on_end(Ns(7 * SECOND), false);
    assert_eq!((done.outage, done.gaps.len()), (0, 0), "nothing was outstanding");
}

#[test]
fn no_silence_spans_a_step_of_the_clock() {
    let mut silences = Silences::default();
    silences.on_new(Ns(0), false, false);
    silences.on_clock_step();
    silences.on_new(Ns(10 * SECOND), true, true);
    assert_eq!((silences.outage, silences.gaps.len()), (0, 0));
}

#[test]
fn silences_are_bounded() {
    let mut silences = Silences::default();
    for n in 0..10_000 {
        silences.on_new(Ns(n * 3 * SECOND), true, true);
    }
    assert!(silences.gaps.len() <= 64);
}
