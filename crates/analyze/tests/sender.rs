//! Spacing, idle time with open window, trains and outstanding data against a twin that follows
//! their definitions word by word.
#![allow(clippy::cast_precision_loss, reason = "numbers of a test")]

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Category, Pause, SenderView, Sent, Turn};
use trustbed_units::{Ns, Span};

const MSS: i64 = 1000;
const MS: i64 = 1_000_000;
const BASE: Span = Span::from_millis(20);

#[derive(Debug, Clone, Copy)]
enum Event {
    /// Everything below `una` has arrived, and so much more may come.
    Receive { at: i64, una: i64, window: u32 },
    /// Bytes up to `end` leave.
    Send { at: i64, end: i64, length: u32, repeats: bool },
}

fn sent(at: i64, end: i64, length: u32, repeats: bool) -> Sent {
    Sent {
        now: Ns(at),
        end,
        length,
        repeats,
        mss: 1000,
        rtt_base: Some(BASE),
        held_by_network: false,
    }
}

fn run(events: &[Event]) -> (SenderView, Vec<Option<Turn>>) {
    let mut view = SenderView::new(0, 10_000, 0);
    let mut turns = Vec::new();
    for event in events {
        match *event {
            Event::Receive { at, una, window } => view.on_receive(Ns(at), una, window, 1000, false),
            Event::Send { at, end, length, repeats } => {
                turns.push(view.on_send(&sent(at, end, length, repeats), false));
            }
        }
    }
    (view, turns)
}

/// The definitions, word by word.
#[derive(Debug, Default)]
struct Twin {
    turns: Vec<Option<Turn>>,
    gaps: Vec<i64>,
    trains: Vec<u32>,
    outstanding: Vec<(i64, i64)>,
    pauses: Vec<Pause>,
}

fn twin(events: &[Event]) -> Twin {
    let mut twin = Twin::default();
    let (mut una, mut snd_max) = (0_i64, 0_i64);
    let mut last_rx: Option<(i64, i64, bool)> = None;
    let mut open_since: Option<i64> = None;
    let mut previous: Option<(i64, i64)> = None;
    for event in events {
        match *event {
            Event::Receive { at, una: to, window } => {
                una = una.max(to);
                let usable = una + i64::from(window) - snd_max;
                last_rx = Some((at, usable, una >= snd_max));
                open_since = open_since.or((usable >= MSS).then_some(at));
            }
            Event::Send { at, end, length, repeats } => {
                let turn =
                    last_rx.filter(|_| previous.is_some()).map(|(received, usable, empty)| {
                        let repeats = repeats && !(end <= una && at - received > BASE.0);
                        let category = match (repeats, usable < MSS.min(i64::from(length))) {
                            (true, _) => Category::RecoveryWait,
                            (false, true) => Category::WindowWait,
                            (false, false) => Category::Spacing,
                        };
                        let response = open_since.map(|open| Span(at - open));
                        Turn { spacing: Some(Span(at - received)), response, category, empty }
                    });
                match (&turn, previous) {
                    (None, Some((then, _))) => {
                        twin.gaps.push(at - then);
                        if let Some(train) = twin.trains.last_mut() {
                            *train += 1;
                        }
                    }
                    _ => twin.trains.push(1),
                }
                if let Some((then, outstanding)) = previous {
                    twin.outstanding.push((outstanding, at - then));
                    if at - then > BASE.0 {
                        twin.pauses.push(Pause { from: Ns(then), to: Ns(at) });
                    }
                }
                twin.turns.push(turn);
                snd_max = snd_max.max(end);
                previous = Some((at, (snd_max - una).max(0)));
                (last_rx, open_since) = (None, None);
            }
        }
    }
    twin
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let step = (
        0..40 * MS,
        any::<bool>(),
        0_i64..4,
        prop_oneof![3 => Just(1000_u32), 1 => 1_u32..3000],
        prop_oneof![4 => Just(10_000_u32), 1 => 0_u32..3_000],
        0_u8..8,
    );
    vec(step, 1..120).prop_map(|steps| {
        let (mut at, mut snd_max, mut una) = (0, 0, 0);
        let events = steps.into_iter().map(|(passed, receive, count, length, window, kind)| {
            at += passed;
            if receive {
                una = (una + count * 1000).min(snd_max);
                return Event::Receive { at, una, window };
            }
            let repeats = kind == 0 && snd_max > 0;
            let end = if repeats {
                snd_max.min(una + i64::from(length))
            } else {
                snd_max + i64::from(length)
            };
            snd_max = snd_max.max(end);
            Event::Send { at, end, length, repeats }
        });
        events.collect()
    })
}

fn total(turns: &[Option<Turn>], category: Category, of: fn(&Turn) -> Option<Span>) -> (u64, i64) {
    let times = turns.iter().flatten().filter(|turn| turn.category == category).filter_map(of);
    times.fold((0, 0), |(n, sum), time| (n + 1, sum + time.0))
}

proptest! {
    #[test]
    fn it_follows_the_definitions(events in events()) {
        let (view, turns) = run(&events);
        let twin = twin(&events);
        prop_assert_eq!(&turns, &twin.turns);
        let spacing = total(&turns, Category::Spacing, |turn| turn.spacing);
        prop_assert_eq!((view.spacing.count(), view.spacing.sum()), spacing);
        prop_assert_eq!(view.window_wait, total(&turns, Category::WindowWait, |turn| turn.spacing));
        prop_assert_eq!(
            view.recovery_wait,
            total(&turns, Category::RecoveryWait, |turn| turn.spacing)
        );
        let responses = [Category::Spacing, Category::WindowWait]
            .map(|category| total(&turns, category, |turn| turn.response));
        prop_assert_eq!(
            (view.response.count(), view.response.sum()),
            (responses[0].0 + responses[1].0, responses[0].1 + responses[1].1)
        );
        prop_assert_eq!(view.train_gaps, (twin.gaps.len() as u64, twin.gaps.iter().sum()));
        let packets: u32 = twin.trains.iter().sum();
        prop_assert_eq!(
            view.trains,
            (
                twin.trains.len() as u64,
                u64::from(packets),
                twin.trains.iter().copied().max().unwrap_or(0)
            )
        );
        prop_assert_eq!(
            view.outstanding.total(),
            twin.outstanding.iter().map(|o| o.1).sum::<i64>()
        );
        let weighted: f64 =
            twin.outstanding.iter().map(|&(bytes, time)| bytes as f64 * time as f64).sum();
        let mean = weighted / view.outstanding.total() as f64;
        prop_assert!(
            view.outstanding.mean().is_none_or(|m| (m - mean).abs() <= 1e-9 * mean.max(1.0))
        );
        prop_assert_eq!(&view.pauses[..], &twin.pauses[..twin.pauses.len().min(64)]);
    }

    /// Samples never overlap: their sum cannot exceed the time of the transfer.
    #[test]
    fn spacing_and_trains_fit_into_the_transfer(events in events()) {
        let (view, _) = run(&events);
        let times: Vec<i64> = events
            .iter()
            .filter_map(|e| if let Event::Send { at, .. } = e { Some(*at) } else { None })
            .collect();
        let whole = times.last().zip(times.first()).map_or(0, |(last, first)| last - first);
        let spent =
            view.spacing.sum() + view.window_wait.1 + view.recovery_wait.1 + view.train_gaps.1;
        prop_assert!(spent <= whole, "{} of {}", spent, whole);
        prop_assert!(view.response.sum() <= whole);
        prop_assert!(view.window_limited <= whole);
        let end = events.last().map_or(0, |e| match e {
            Event::Send { at, .. } | Event::Receive { at, .. } => *at,
        });
        prop_assert!(view.blocked + view.recovering <= end - times.first().copied().unwrap_or(end));
    }
}

#[test]
fn the_last_reception_counts_for_spacing_and_the_first_for_the_response() {
    let (_, turns) = run(&[
        Event::Send { at: 0, end: 1000, length: 1000, repeats: false },
        Event::Receive { at: 10 * MS, una: 500, window: 10_000 },
        Event::Receive { at: 25 * MS, una: 1000, window: 10_000 },
        Event::Send { at: 30 * MS, end: 2000, length: 1000, repeats: false },
    ]);
    let turn = Turn {
        spacing: Some(Span(5 * MS)),
        response: Some(Span(20 * MS)),
        category: Category::Spacing,
        empty: true,
    };
    assert_eq!(turns, [None, Some(turn)]);
}

#[test]
fn the_response_begins_when_the_window_opens() {
    let (_, turns) = run(&[
        Event::Send { at: 0, end: 10_000, length: 10_000, repeats: false },
        Event::Receive { at: 10 * MS, una: 1000, window: 9_000 },
        Event::Receive { at: 20 * MS, una: 2000, window: 9_000 },
        Event::Receive { at: 24 * MS, una: 2000, window: 9_000 },
        Event::Send { at: 26 * MS, end: 11_000, length: 1000, repeats: false },
    ]);
    let turn = Turn {
        spacing: Some(Span(2 * MS)),
        response: Some(Span(6 * MS)),
        category: Category::Spacing,
        empty: false,
    };
    assert_eq!(turns[1], Some(turn));
}

#[test]
fn a_full_window_is_a_window_wait_unless_the_segment_is_small_enough() {
    for (length, category) in
        [(1000, Category::WindowWait), (501, Category::WindowWait), (500, Category::Spacing)]
    {
        let (_, turns) = run(&[
            Event::Send { at: 0, end: 10_000, length: 10_000, repeats: false },
            Event::Receive { at: 10 * MS, una: 1000, window: 9_500 },
            Event::Send { at: 11 * MS, end: 10_000 + i64::from(length), length, repeats: false },
        ]);
        assert_eq!(
            turns[1].map(|turn| (turn.category, turn.response)),
            Some((category, None)),
            "{length} bytes into 500"
        );
    }
}

#[test]
fn a_retransmission_is_a_recovery_wait_whatever_the_window() {
    let (view, turns) = run(&[
        Event::Send { at: 0, end: 1000, length: 1000, repeats: false },
        Event::Receive { at: 10 * MS, una: 0, window: 10_000 },
        Event::Send { at: 300 * MS, end: 1000, length: 1000, repeats: true },
    ]);
    assert_eq!(turns[1].map(|turn| turn.category), Some(Category::RecoveryWait));
    assert_eq!(
        (view.spacing.count(), view.response.count(), view.recovery_wait),
        (0, 0, (1, 290 * MS))
    );
}

#[test]
fn who_repeats_what_was_acknowledged_long_ago_stood_still() {
    let repeated = |una: i64, at: i64| {
        let (view, turns) = run(&[
            Event::Send { at: 0, end: 2000, length: 1000, repeats: false },
            Event::Receive { at: 10 * MS, una, window: 10_000 },
            Event::Send { at, end: 2000, length: 1000, repeats: true },
        ]);
        (turns[1].map(|turn| turn.category), view.spacing.max(), view.recovery_wait.0)
    };
    assert_eq!(repeated(2000, 150 * MS), (Some(Category::Spacing), Some(140 * MS), 0));
    assert_eq!(
        repeated(1000, 150 * MS),
        (Some(Category::RecoveryWait), None, 1),
        "it was not acknowledged"
    );
    assert_eq!(
        repeated(2000, 30 * MS),
        (Some(Category::RecoveryWait), None, 1),
        "within a round trip of 20 ms"
    );
}

#[test]
fn nothing_is_measured_across_a_step_of_the_clock() {
    let (mut view, _) = run(&[
        Event::Send { at: 0, end: 1000, length: 1000, repeats: false },
        Event::Receive { at: MS, una: 1000, window: 10_000 },
    ]);
    view.on_clock_step();
    assert_eq!(view.on_send(&sent(90 * MS, 2000, 1000, false), false), None);
    assert_eq!((view.spacing.count(), view.outstanding.total(), view.pauses.len()), (0, 0, 0));
}

#[test]
fn the_longest_pauses_are_kept() {
    let mut view = SenderView::new(0, 10_000, 0);
    let mut at = 0;
    for n in 0..1_000 {
        view.on_send(&sent(at, n + 1, 1, false), false);
        // 21 ms to 520 ms, in no order.
        at += (21 + (n * 7919) % 500) * MS;
    }
    let shortest = view.pauses.iter().map(|p| (p.to - p.from).0).min();
    assert_eq!(view.pauses.len(), 64);
    assert!(shortest.is_some_and(|s| s >= (520 - 64) * MS), "{shortest:?}");
}

#[test]
fn time_goes_to_recovery_before_the_window() {
    let mut view = SenderView::new(0, 1_000, 0);
    view.on_send(&sent(0, 1_000, 1_000, false), false);
    view.on_receive(Ns(10 * MS), 0, 1_000, 1000, false);
    view.on_receive(Ns(30 * MS), 0, 1_000, 1000, true);
    view.on_receive(Ns(35 * MS), 1_000, 10_000, 1000, false);
    view.on_receive(Ns(50 * MS), 1_000, 10_000, 1000, false);
    assert_eq!(
        (view.blocked, view.recovering),
        (15 * MS, 20 * MS),
        "10 ms and 5 ms behind a full window, 20 ms in recovery, then nothing to wait for"
    );
}
