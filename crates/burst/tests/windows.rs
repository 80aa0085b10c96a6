//! Windows against the definition, in pieces, in parts, live, and in long silence.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::float_cmp, reason = "the arithmetic is exact, and so is what is expected")]

mod reference;

use proptest::prelude::*;
use reference::{Options, Packet, agree, columns, cuts, milliseconds, rates, traffic, windows};
use trustbed_burst::{BurstError, Drain, Grid, Mode, Packets, Part, Plan, Row, Summary, Windows};
use trustbed_units::{Ns, Rate, Span};

fn modes() -> impl Strategy<Value = (Mode, Rate)> {
    (0..4_usize, rates()).prop_filter_map("a rate", |(which, rate)| {
        let link = Drain::at(rate).ok()?;
        Some((
            [Mode::Static(link), Mode::DynamicSame, Mode::DynamicPrevious, Mode::DynamicSameCarry]
                [which],
            rate,
        ))
    })
}

fn questions() -> impl Strategy<Value = Options> {
    let length = prop_oneof![300_000..5_000_000_i64, 20_000..300_000_i64, Just(1_i64 << 40)];
    (modes(), length, -1_000_000..1_000_000_i64, -1_000_000..20_000_000_i64)
        .prop_map(|((mode, rate), length, origin, end)| Options { mode, rate, origin, length, end })
}

fn plan(question: Options) -> Plan {
    Plan {
        mode: question.mode,
        grid: Grid::beginning_at(Ns(question.origin), Span(question.length)).unwrap(),
    }
}

/// Serially, all at once.
fn rows(plan: Plan, packets: &[Packet], end: i64) -> Vec<Row> {
    let (times, lengths) = columns(packets);
    let mut windows = Windows::new(plan);
    windows.push(Packets::new(&times, &lengths).unwrap());
    windows.finish(Ns(end))
}

proptest! {

    #[test]
    fn every_mode_is_its_definition(packets in traffic(200, 3_000_000), question in questions()) {
        agree(&rows(plan(question), &packets, question.end), &windows(question, &packets))?;
    }

    #[test]
    fn pieces_give_the_same_rows(
        packets in traffic(200, 3_000_000),
        question in questions(),
        indexes in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
    ) {
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let mut pushed = Windows::new(plan(question));
        let mut early = vec![];
        for cut in cuts(packets.len(), &indexes).windows(2) {
            pushed.push(all.slice(cut[0]..cut[1]));
            early.extend(std::iter::from_fn(|| pushed.poll()));
        }
        early.extend(pushed.finish(Ns(question.end)));
        prop_assert_eq!(early, rows(plan(question), &packets, question.end));
    }

    #[test]
    fn joined_parts_give_the_same_rows(
        packets in traffic(200, 3_000_000),
        question in questions(),
        indexes in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        left in any::<bool>(),
    ) {
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let mut parts = vec![];
        for cut in cuts(packets.len(), &indexes).windows(2) {
            let mut part = Part::new(plan(question));
            // In two pushes, so that a part is made of pieces as well.
            let (some, others) = all.slice(cut[0]..cut[1]).split_at((cut[1] - cut[0]) / 2);
            part.push(some);
            part.push(others);
            parts.push(part);
        }
        let join = |earlier: Part, later: Part| earlier.merge(later).unwrap();
        let joined = if left {
            parts.into_iter().reduce(join)
        } else {
            parts.into_iter().rev().reduce(|later, earlier| join(earlier, later))
        };
        prop_assert_eq!(
            joined.unwrap().finish(Ns(question.end)),
            rows(plan(question), &packets, question.end)
        );
    }

    #[test]
    fn time_that_passes_changes_no_row(
        packets in traffic(100, 3_000_000),
        question in questions(),
    ) {
        let mut live = Windows::new(plan(question));
        let mut seen = vec![];
        for &(time, length) in &packets {
            live.advance(Ns(time));
            seen.extend(std::iter::from_fn(|| live.poll()));
            live.push(Packets::new(&[time], &[length])?);
        }
        seen.extend(live.finish(Ns(question.end)));
        prop_assert_eq!(seen, rows(plan(question), &packets, question.end));
    }

    #[test]
    fn a_summary_is_what_its_windows_say(
        packets in traffic(200, 3_000_000),
        question in questions(),
    ) {
        let summary = Summary::of(&rows(plan(question), &packets, question.end));
        let windows = windows(question, &packets);
        let whole: Vec<_> = windows.iter().filter(|window| !window.partial).collect();
        prop_assert_eq!(summary.all.windows(), whole.len() as u64);
        prop_assert_eq!(
            summary.active.windows(),
            whole.iter().filter(|window| window.packets > 0).count() as u64
        );
        prop_assert_eq!(summary.partial, windows.len() as u64 - whole.len() as u64);
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let waits: Vec<f64> = whole
            .iter()
            .filter_map(|window| {
                window.peaks.map(|(wait, _, per_byte)| wait as f64 / per_byte as f64)
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        prop_assert_eq!(summary.all.wait_mean().is_some(), !waits.is_empty());
        prop_assert!(
            summary
                .all
                .wait_mean()
                .is_none_or(|found| (found - mean).abs() <= 1e-9 * mean.max(1.0))
        );
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let system: Vec<f64> = whole
            .iter()
            .filter_map(|window| {
                window.peaks.map(|(_, system, per_byte)| system as f64 / per_byte as f64)
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let mean = system.iter().sum::<f64>() / system.len() as f64;
        prop_assert!(
            summary
                .all
                .system_mean()
                .is_none_or(|found| (found - mean).abs() <= 1e-9 * mean.max(1.0))
        );
        let most = waits.iter().copied().reduce(f64::max);
        prop_assert!(
            summary
                .all
                .wait_max()
                .zip(most)
                .is_none_or(|(found, most)| (found.bytes() - most).abs() <= 1e-9 * most.max(1.0))
        );
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let abw = whole
            .iter()
            .map(|window| window.bytes as f64 * 8e9 / question.length as f64)
            .sum::<f64>()
            / whole.len() as f64;
        prop_assert!(
            summary.all.abw_mean().is_none_or(|found| (found - abw).abs() <= 1e-9 * abw.max(1.0))
        );
    }
}

fn still(mode: Mode, length: Span) -> Plan {
    Plan { mode, grid: Grid::aligned_to_epoch(length).unwrap() }
}

fn link(rate: u64) -> Mode {
    Mode::Static(Drain::at(Rate(rate)).unwrap())
}

#[test]
fn years_of_silence_are_one_row() {
    let years = 10 * 31_557_600_000_000_000_i64;
    for mode in [link(1_000_000), Mode::DynamicSame, Mode::DynamicPrevious, Mode::DynamicSameCarry]
    {
        let rows = rows(still(mode, Span(1000)), &[(0, 1500), (years, 1500)], years);
        let counts: Vec<u64> = rows.iter().map(|row| row.windows).collect();
        assert_eq!(counts, [1, years.unsigned_abs() / 1000 - 1, 1], "{mode:?}");
    }
}

#[test]
fn what_waits_drains_through_windows_without_packets() {
    // 1500 bytes at 1 Mbit/s need 12 ms; windows of 5 ms.
    let rows = rows(still(link(1_000_000), milliseconds(5)), &[(0, 1500)], 25_000_000);
    let system: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.each())
        .filter_map(|row| Some(row.peaks?.system.bytes()))
        .collect();
    assert_eq!(system, [1500.0, 875.0, 250.0, 0.0, 0.0]);
    let mut peaks = rows.iter().flat_map(|row| row.each()).filter_map(|row| row.peaks);
    assert!(peaks.all(|peaks| peaks.wait.is_zero()));
}

#[test]
fn windows_are_aligned_to_the_epoch_or_to_a_moment() {
    let packets = [(1_234_567, 100), (2_300_000, 100)];
    let starts = |grid| {
        rows(Plan { mode: Mode::DynamicSame, grid }, &packets, 0)
            .iter()
            .map(|row| row.start.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(Grid::aligned_to_epoch(milliseconds(1)).unwrap()), [1_000_000, 2_000_000]);
    assert_eq!(
        starts(Grid::beginning_at(Ns(1_234_567), milliseconds(1)).unwrap()),
        [1_234_567, 2_234_567]
    );
}

#[test]
fn a_window_longer_than_the_capture_is_partial() {
    let rows = rows(still(link(1_000_000), Span::MAX), &[(5, 100), (10, 100)], 20);
    assert_eq!(
        rows.iter().map(|row| (row.windows, row.packets, row.partial)).collect::<Vec<_>>(),
        [(1, 2, true)]
    );
    assert_eq!(Summary::of(&rows).all.windows(), 0);
}

#[test]
fn no_packets_give_no_rows_unless_a_start_is_known() {
    let plan = still(link(1_000_000), milliseconds(100));
    assert_eq!(Windows::new(plan).finish(Ns(1_000_000_000)), []);
    assert_eq!(Part::new(plan).finish(Ns(1_000_000_000)), []);
    let rows = Windows::since(plan, Ns(50_000_000)).finish(Ns(350_000_000));
    assert_eq!(
        rows.iter().map(|row| (row.start.0, row.windows, row.partial)).collect::<Vec<_>>(),
        [(0, 3, false), (300_000_000, 1, true)]
    );
}

#[test]
fn what_comes_too_late_is_moved_and_counted() {
    let plan = still(link(8_000_000), milliseconds(1));
    let mut windows = Windows::new(plan);
    windows.push(Packets::new(&[2_500_000], &[1000]).unwrap());
    windows.push(Packets::new(&[1_000_000, 2_400_000, 2_600_000], &[1000, 1000, 1000]).unwrap());
    assert_eq!(windows.steps_back(), 2);
    let moved = rows(
        plan,
        &[(2_500_000, 1000), (2_500_000, 1000), (2_500_000, 1000), (2_600_000, 1000)],
        0,
    );
    assert_eq!(windows.finish(Ns(0)), moved);
}

#[test]
fn windows_without_packets_do_not_wait_for_the_one_that_is_open() {
    let mut windows = Windows::since(still(link(8_000_000), milliseconds(1)), Ns(0));
    windows.push(Packets::new(&[2_500_000], &[100]).unwrap());
    windows.advance(Ns(2_700_000));
    assert_eq!(
        windows.poll().map(|row| (row.start, row.windows, row.packets)),
        Some((Ns(0), 2, 0))
    );
    assert_eq!(windows.poll(), None);
}

#[test]
fn impossible_questions_are_refused() {
    assert_eq!(
        Grid::aligned_to_epoch(Span::ZERO),
        Err(BurstError::NoWindow { length: Span::ZERO })
    );
    assert!(Grid::beginning_at(Ns(0), Span(-5)).is_err());
    let part = |times: &[i64]| {
        let mut part = Part::new(still(Mode::DynamicSame, milliseconds(1)));
        part.push(Packets::new(times, &vec![1; times.len()]).unwrap());
        part
    };
    let refused = part(&[5, 10]).merge(part(&[9])).unwrap_err();
    assert_eq!(refused, BurstError::Overlap { end: Ns(10), start: Ns(9) });
    assert!(part(&[5, 10]).merge(part(&[10])).is_ok());
}
