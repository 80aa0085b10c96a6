//! What several transfers of one host show together: stalls of the host, and how much of a silence
//! the others shared.
#![allow(clippy::cast_precision_loss, reason = "numbers of a test")]

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{HostStall, Pause, Silence, Trail, TransferId, host_overlap, host_stalls};
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

fn host(last: u8) -> [u8; 16] {
    let mut host = [0; 16];
    host[15] = last;
    host
}

fn id(connection: u64) -> TransferId {
    TransferId { connection, by_responder: false }
}

/// A transfer of host 1 that sends from 0 to 100 s, but for these silences.
fn trail(connection: u64, silences: &[(i64, i64)]) -> Trail {
    Trail {
        host: host(1),
        transfer: id(connection),
        first: Ns(0),
        last: Ns(100 * S),
        silences: silences
            .iter()
            .map(|&(from, to)| Silence { from: Ns(from), to: Ns(to), pending: true })
            .collect(),
        pauses: silences.iter().map(|&(from, to)| Pause { from: Ns(from), to: Ns(to) }).collect(),
        rtt_base: Some(Span(20 * MS)),
    }
}

fn lengths(stalls: &[HostStall]) -> Vec<i64> {
    stalls.iter().map(|s| (s.to - s.from).0).collect()
}

/// `silent` of `all` transfers stall from 10 s on, each a little later than the one before,
/// and all go on at 15 s.
fn crowd(silent: u64, all: u64) -> Vec<Trail> {
    (1..=all)
        .map(|n| {
            let from = 10 * S + i64::try_from(n).unwrap_or(0) * 10 * MS;
            if n <= silent { trail(n, &[(from, 15 * S)]) } else { trail(n, &[]) }
        })
        .collect()
}

#[test]
fn four_of_five_are_a_stall_and_three_are_not() {
    for (silent, all, found) in [
        (5, 5, 1),
        (4, 5, 1),
        (3, 5, 0),
        (8, 10, 1),
        (7, 10, 0),
        (2, 2, 1),
        (1, 2, 0),
        (3, 3, 1),
        (2, 3, 0),
    ] {
        let stalls = host_stalls(&crowd(silent, all));
        assert_eq!(stalls.len(), found, "{silent} of {all}");
        if let [stall] = &stalls[..] {
            assert_eq!((stall.host, stall.active), (host(1), usize::try_from(all).unwrap_or(0)));
            assert!(
                stall.transfers.len() * 5 >= stall.active * 4,
                "{silent} of {all}: {:?}",
                stall.transfers
            );
            assert!(stall.transfers.iter().all(|t| t.connection <= silent), "none that went on");
            assert_eq!(stall.to, Ns(15 * S));
        }
    }
}

#[test]
fn it_begins_when_enough_of_them_are_silent() {
    let stalls = host_stalls(&crowd(5, 5));
    assert_eq!(stalls[0].from, Ns(10 * S + 40 * MS), "the fourth of five: 80 %");
}

#[test]
fn it_ends_when_too_few_of_them_are_silent() {
    let ends = [12, 13, 14, 20, 30];
    let trails: Vec<Trail> =
        ends.iter().zip(1..).map(|(&end, n)| trail(n, &[(10 * S, end * S)])).collect();
    assert_eq!(
        lengths(&host_stalls(&trails)),
        [3 * S],
        "from 13 s on only three of five are silent"
    );
}

#[test]
fn one_transfer_is_no_host() {
    assert!(host_stalls(&[trail(1, &[(10 * S, 23 * S)])]).is_empty());
}

#[test]
fn other_hosts_do_not_count() {
    let mut trails = crowd(2, 2);
    trails[1].host = host(2);
    assert!(host_stalls(&trails).is_empty());
}

#[test]
fn less_than_two_seconds_is_no_stall() {
    for (length, found) in [(2 * S, 1), (2 * S - 1, 0)] {
        // The silences themselves are longer; what they share is not.
        let trails = [trail(1, &[(10 * S, 10 * S + length)]), trail(2, &[(10 * S, 20 * S)])];
        assert_eq!(host_stalls(&trails).len(), found, "{length} ns in common");
    }
}

#[test]
fn a_transfer_without_work_does_not_stall() {
    let mut trails = crowd(2, 2);
    trails[0].silences[0].pending = false;
    assert!(host_stalls(&trails).is_empty());
}

#[test]
fn only_those_that_were_just_active_count() {
    // Two stall at 10 s; three others have not begun, have ended, or have been silent for
    // long.
    let mut trails = crowd(2, 2);
    trails.push(Trail { first: Ns(50 * S), ..trail(3, &[]) });
    trails.push(Trail { last: Ns(5 * S), ..trail(4, &[]) });
    trails.push(trail(5, &[(S, 90 * S)]));
    let stalls = host_stalls(&trails);
    assert_eq!(stalls.len(), 1);
    assert_eq!(stalls[0].active, 2);
    assert!(
        stalls[0].transfers.len() == 2
            && [1, 2].iter().all(|&n| stalls[0].transfers.contains(&id(n)))
    );
}

#[test]
fn multiples_of_a_period_come_out_as_their_lengths() {
    // The published signature: the transmit queue of a network card hangs for multiples of 13 s.
    let gaps = [(5 * S, 18 * S), (30 * S, 56 * S), (60 * S, 73 * S + 200 * MS)];
    let trails: Vec<Trail> = (1..=3).map(|n| trail(n, &gaps)).collect();
    let stalls = host_stalls(&trails);
    assert_eq!(lengths(&stalls), [13 * S, 26 * S, 13 * S + 200 * MS]);
    for length in lengths(&stalls) {
        let periods = (length as f64 / 13e9).round();
        assert!((length as f64 / 1e9 - 13.0 * periods).abs() <= 0.5);
    }
}

#[test]
fn the_order_of_the_trails_does_not_matter() {
    let mut trails = crowd(4, 5);
    trails.extend(crowd(3, 3).into_iter().map(|t| Trail { host: host(7), ..t }));
    let forward = host_stalls(&trails);
    trails.reverse();
    assert_eq!(host_stalls(&trails), forward);
    assert_eq!(forward.iter().map(|s| s.host[15]).collect::<Vec<_>>(), [1, 7]);
}

/// Silences of a transfer, disjoint, in tenths of a second; whether there was work to do.
fn silences() -> impl Strategy<Value = Vec<(i64, i64, bool)>> {
    vec((0_i64..80, 20_i64..90, prop::bool::weighted(0.8)), 0..5).prop_map(|steps| {
        let mut at = 0;
        let silences = steps.into_iter().map(|(gap, length, pending)| {
            let from = at + gap;
            at = from + length;
            (from, at, pending)
        });
        silences.collect()
    })
}

/// The slow twin: every transfer is asked at the beginning of every silence.
fn asked_one_by_one(trails: &[Trail]) -> Vec<(Ns, Ns, usize, Vec<TransferId>)> {
    let mut starts: Vec<Ns> = trails
        .iter()
        .flat_map(|t| t.silences.iter().filter(|s| s.pending).map(|s| s.from))
        .collect();
    starts.sort_unstable();
    let mut stalls: Vec<(Ns, Ns, usize, Vec<TransferId>)> = Vec::new();
    for from in starts {
        if stalls.last().is_some_and(|stall| from < stall.1) {
            continue;
        }
        let active: Vec<&Trail> = trails
            .iter()
            .filter(|t| t.first <= from && from <= t.last + Span(S))
            .filter(|t| !t.silences.iter().any(|s| s.from + Span(S) < from && from < s.to))
            .collect();
        let mut ends: Vec<Ns> = active
            .iter()
            .filter_map(|t| t.silences.iter().find(|s| s.pending && s.from <= from && from < s.to))
            .map(|s| s.to)
            .collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        let needed = (active.len() * 4).div_ceil(5);
        let Some(&to) = needed.checked_sub(1).and_then(|at| ends.get(at)) else { continue };
        if active.len() < 2 || to - from < Span(2 * S) {
            continue;
        }
        let shares = |s: &Silence| s.pending && s.to.min(to) - s.from.max(from) >= Span(2 * S);
        let transfers =
            active.iter().filter(|t| t.silences.iter().any(shares)).map(|t| t.transfer).collect();
        stalls.push((from, to, active.len(), transfers));
    }
    stalls
}

proptest! {
    #[test]
    fn a_sweep_finds_what_asking_everybody_finds(
        all in vec((silences(), 0_i64..300, 0_i64..400), 2..12),
    ) {
        let trails: Vec<Trail> = all
            .iter()
            .zip(1..)
            .map(|((silences, first, last), n)| Trail {
                first: Ns(first * S / 10),
                last: Ns(last * S / 10),
                silences: silences
                    .iter()
                    .map(|&(from, to, pending)| Silence {
                        from: Ns(from * S / 10),
                        to: Ns(to * S / 10),
                        pending,
                    })
                    .collect(),
                ..trail(n, &[])
            })
            .collect();
        let swept: Vec<_> = host_stalls(&trails)
            .into_iter()
            .map(|stall| (stall.from, stall.to, stall.active, stall.transfers))
            .collect();
        prop_assert_eq!(swept, asked_one_by_one(&trails));
    }
}

#[test]
fn fifty_thousand_transfers_of_a_host_are_one_sweep() {
    // In pairs, each with a stall of its own. Asking every transfer at every silence would be
    // five thousand million questions, and never end.
    let trails: Vec<Trail> = (0..50_000)
        .map(|n| {
            let begin = i64::try_from(n / 2).unwrap_or(0) * 20 * S;
            Trail {
                first: Ns(begin),
                last: Ns(begin + 9 * S),
                ..trail(n, &[(begin + S, begin + 8 * S)])
            }
        })
        .collect();
    let stalls = host_stalls(&trails);
    assert_eq!(stalls.len(), 25_000);
    assert!(stalls.iter().all(|stall| stall.active == 2 && stall.transfers.len() == 2));
}

#[test]
fn silences_that_a_stepped_clock_makes_overlap_count_once() {
    let twisted = [(30 * S, 40 * S), (10 * S, 20 * S), (15 * S, 25 * S), (11 * S, 12 * S)];
    let trails: Vec<Trail> = (1..=2).map(|n| trail(n, &twisted)).collect();
    assert_eq!(lengths(&host_stalls(&trails)), [10 * S, 5 * S, 10 * S]);
}

// Overlap: the share of a transfer's long pauses during which every other transfer of the host
// was silent too.

fn overlap(trails: &[Trail], connection: u64) -> Option<f64> {
    host_overlap(trails)
        .into_iter()
        .find(|(transfer, _)| *transfer == id(connection))
        .map(|(_, share)| share)
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-9)
}

#[test]
fn shared_silence_points_at_the_host() {
    let trails = [
        trail(1, &[(10 * S, 15 * S)]),
        trail(2, &[(9 * S, 16 * S)]),
        trail(3, &[(10 * S, 15 * S)]),
    ];
    assert!(close(overlap(&trails, 1), 1.0));
    assert!(close(overlap(&trails, 2), 5.0 / 7.0));
}

#[test]
fn silence_while_another_talks_does_not() {
    let trails = [trail(1, &[(10 * S, 15 * S)]), trail(2, &[])];
    assert!(close(overlap(&trails, 1), 0.0));
    assert_eq!(overlap(&trails, 2), None, "it has no long pause");
}

#[test]
fn partly_shared_silence_counts_in_part() {
    let trails = [trail(1, &[(10 * S, 14 * S), (20 * S, 24 * S)]), trail(2, &[(12 * S, 18 * S)])];
    assert!(close(overlap(&trails, 1), 0.25), "2 of 8 seconds");
}

#[test]
fn a_single_packet_does_not_end_a_silence() {
    let trails = [trail(1, &[(10 * S, 20 * S)]), trail(2, &[(10 * S, 15 * S), (15 * S, 20 * S)])];
    assert!(
        close(overlap(&trails, 1), 1.0),
        "the other sent one packet in ten seconds: {:?}",
        overlap(&trails, 1)
    );
}

#[test]
fn a_transfer_that_was_over_shows_nothing() {
    let ended = Trail { last: Ns(8 * S), ..trail(2, &[]) };
    let trails = [trail(1, &[(10 * S, 15 * S)]), ended, trail(3, &[(10 * S, 15 * S)])];
    assert!(close(overlap(&trails, 1), 1.0), "it had nothing to send at 10 s");
}

#[test]
fn alone_there_is_no_overlap() {
    assert!(host_overlap(&[trail(1, &[(10 * S, 15 * S)])]).is_empty());
    let elsewhere = Trail { host: host(2), ..trail(2, &[]) };
    assert!(host_overlap(&[trail(1, &[(10 * S, 15 * S)]), elsewhere]).is_empty());
}

#[test]
fn times_that_no_clock_shows_overflow_nothing() {
    let ages = [(i64::MIN, i64::MAX), (i64::MIN, 0), (0, i64::MAX)];
    let trails: Vec<Trail> =
        (1..=3).map(|n| Trail { first: Ns::MIN, last: Ns::MAX, ..trail(n, &ages) }).collect();
    assert!(close(overlap(&trails, 1), 1.0), "{:?}", overlap(&trails, 1));
    host_stalls(&trails);
}

#[test]
fn pauses_within_the_round_trip_are_not_long() {
    let short = trail(1, &[(10 * S, 10 * S + 20 * MS)]);
    assert_eq!(overlap(&[short, trail(2, &[(0, 50 * S)])], 1), None);
}

/// Pauses of a transfer, ascending and disjoint, in milliseconds.
fn pauses() -> impl Strategy<Value = Vec<(i64, i64)>> {
    vec((0_i64..400, 30_i64..900), 0..12).prop_map(|steps| {
        let mut at = 0;
        let pauses = steps.into_iter().map(|(gap, length)| {
            let from = at + gap;
            at = from + length;
            (from, at)
        });
        pauses.collect()
    })
}

proptest! {
    /// Millisecond by millisecond.
    #[test]
    fn the_overlap_is_the_share_of_common_silence(all in vec(pauses(), 2..5)) {
        let trails: Vec<Trail> = all
            .iter()
            .zip(1..)
            .map(|(pauses, n)| {
                trail(n, &pauses.iter().map(|&(from, to)| (from * MS, to * MS)).collect::<Vec<_>>())
            })
            .collect();
        let silent =
            |pauses: &[(i64, i64)], at: i64| pauses.iter().any(|&(from, to)| from <= at && at < to);
        for (n, own) in all.iter().enumerate() {
            let long: Vec<i64> = own
                .iter()
                .filter(|(from, to)| to - from > 20)
                .flat_map(|&(from, to)| from..to)
                .collect();
            let shared = long
                .iter()
                .filter(|&&at| {
                    all.iter().enumerate().all(|(other, pauses)| other == n || silent(pauses, at))
                })
                .count();
            let expected = (!long.is_empty()).then(|| shared as f64 / long.len() as f64);
            let measured = overlap(&trails, n as u64 + 1);
            prop_assert_eq!(measured.is_some(), expected.is_some());
            prop_assert!(
                measured.zip(expected).is_none_or(|(m, e)| (m - e).abs() < 1e-9),
                "transfer {}: {:?}, not {:?}",
                n + 1,
                measured,
                expected
            );
        }
    }
}
