//! Gaps into seconds: the golden case, and against a twin that looks at every gap for every second.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may read a golden file")]

use std::collections::BTreeMap;

use serde_json::Value;
use trustbed_probe::{
    Availability, AvailabilitySecond, AvailabilitySettings, AvailabilityTotals, DutyCycle, Gap,
    GapLengths, GapTally, Window, cpu_share, node_percent,
};
use trustbed_units::{Ns, Span};

const SECOND: i64 = 1_000_000_000;

fn settings(threshold: i64, duty: DutyCycle, room: usize) -> AvailabilitySettings {
    AvailabilitySettings { threshold: Span(threshold), duty, table: Vec::with_capacity(room) }
}

fn gap(begin: i64, length: i64) -> Gap {
    Gap { begin: Ns(begin), length: Span(length) }
}

/// All that a monitor reports of gaps from its beginning to its end.
fn watched(
    chosen: AvailabilitySettings,
    gaps: &[Gap],
    begin: Ns,
    end: Ns,
) -> (Vec<AvailabilitySecond>, AvailabilityTotals, Vec<Gap>) {
    let mut monitor = Availability::new(chosen, begin);
    let mut seconds = Vec::new();
    for gap in gaps {
        monitor.on_gap(*gap);
        seconds.extend(std::iter::from_fn(|| monitor.poll_second()));
    }
    monitor.finish(end);
    seconds.extend(std::iter::from_fn(|| monitor.poll_second()));
    let recorded = monitor.exchange(Vec::new());
    (seconds, monitor.totals(), recorded)
}

fn near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= 1e-12 * expected.abs()
}

fn all_near(found: &[f64], expected: &Value) -> bool {
    let expected = expected.as_array().unwrap();
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| near(*found, expected))
}

/// `tests/golden/cpu.json`, every value that it expects.
#[test]
fn a_gap_across_the_end_of_a_second_is_lost_in_both() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cpu.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let case = &file["computed"];
    let number = |name: &str| case[name].as_i64().unwrap();
    let pair = |one: &Value| gap(one[0].as_i64().unwrap(), one[1].as_i64().unwrap());
    let gaps: Vec<Gap> = case["gaps"].as_array().unwrap().iter().map(pair).collect();
    let cores = u32::try_from(number("cores")).unwrap();
    let chosen = settings(number("theta_ns"), DutyCycle::always(), 100);
    let (seconds, totals, recorded) =
        watched(chosen, &gaps, Ns(number("start_ns")), Ns(number("end_ns")));

    let mut expect: BTreeMap<String, Value> =
        case["expect"].as_object().unwrap().clone().into_iter().collect();
    let mut expected = |name: &str| expect.remove(name).unwrap();
    let lost: Vec<i64> = seconds.iter().map(|second| second.tally.lost.0).collect();
    assert_eq!(Value::from(lost), expected("lost_ns_per_second"));
    let shares: Vec<f64> = seconds.iter().map(|second| second.tally.share().unwrap()).collect();
    assert!(all_near(&shares, &expected("core_share")), "{shares:?}");
    let percent: Vec<f64> = shares.iter().map(|share| node_percent(*share, cores)).collect();
    assert!(all_near(&percent, &expected("availability_percent_of_node")), "{percent:?}");
    assert_eq!(Value::from(totals.tally.longest.unwrap().0), expected("max_single_gap_ns"));
    assert_eq!(Value::from(totals.noise().unwrap().0), expected("noise_ns_total"));
    assert!(near(
        totals.available_percent().unwrap(),
        &expected("osnoise_style_cpu_available_percent")
    ));
    let bins: serde_json::Map<String, Value> =
        totals.tally.lengths.counts().map(|(bin, count)| (bin.to_string(), count.into())).collect();
    assert_eq!(Value::from(bins), expected("log2_histogram_of_gaps_above_theta"));
    assert_eq!(Value::from(totals.starved_seconds), expected("starved_seconds_below_0.9"));
    assert!(expect.is_empty(), "not held: {expect:?}");
    let above: Vec<Gap> =
        gaps.iter().copied().filter(|gap| gap.length.0 > number("theta_ns")).collect();
    assert_eq!(recorded, above);
}

/// Published nodes: one whole core of four is 25 %, and what a node with two cores shows below 50 %
/// is less than one.
#[test]
fn a_whole_core_of_a_free_node_reads_as_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cpu.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let node = &file["from_paper"]["delta"];
    let cores = u32::try_from(node["cores"].as_u64().unwrap()).unwrap();
    assert!(near(node_percent(1.0, cores), &node["availability_percent"]));
}

/// A generator that is good enough to choose cases (Knuth's MMIX).
struct Cases(u64);

impl Cases {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % bound.unsigned_abs()).unwrap()
    }

    /// Gaps of some microseconds to some seconds, one after the other.
    fn gaps(&mut self, begin: Ns, end: Ns) -> Vec<Gap> {
        let (mut found, mut now) = (Vec::new(), begin.0);
        loop {
            let longest = [100_000, 10_000_000, 500_000_000, 3 * SECOND]
                [usize::try_from(self.below(4)).unwrap()];
            // Some follow without a pass between them.
            now += self.below(2) * self.below(longest);
            let length = 1 + self.below(longest);
            if now >= end.0 {
                return found;
            }
            found.push(gap(now, length));
            now += length;
        }
    }
}

fn overlap(left: Window, right: Window) -> i64 {
    (left.until.0.min(right.until.0) - left.from.0.max(right.from.0)).max(0)
}

/// What a second must report: every gap is looked at for every second.
fn slow(
    number: i64,
    chosen: &AvailabilitySettings,
    gaps: &[Gap],
    all: Window,
) -> Option<AvailabilitySecond> {
    let from = Ns(all.from.0.max(number * SECOND));
    let until = Ns(all.until.0.min((number + 1) * SECOND));
    if from >= until {
        return None;
    }
    let window = chosen.duty.in_second(number);
    let seen = Window {
        from: from.max(window.from),
        until: until.min(window.until).max(from.max(window.from)),
    };
    let mut second = AvailabilitySecond { from, until, tally: GapTally::default() };
    second.tally.watched = Span(overlap(seen, seen));
    for gap in gaps.iter().filter(|gap| gap.length > chosen.threshold) {
        second.tally.lost += Span(overlap(seen, Window { from: gap.begin, until: gap.end() }));
        if gap.begin >= from && gap.begin < until {
            second.tally.gaps += 1;
            second.tally.longest = second.tally.longest.max(Some(gap.length));
            second.tally.lengths.add(gap.length);
        }
    }
    Some(second)
}

#[test]
fn seconds_are_those_of_a_twin_that_looks_at_every_gap_for_each() {
    let mut cases = Cases(1);
    for case in 0..400 {
        let begin = Ns(cases.below(5 * SECOND) - 2 * SECOND);
        let all = Window { from: begin, until: Ns(begin.0 + 1 + cases.below(8 * SECOND)) };
        let duty = if case % 2 == 0 {
            DutyCycle::always()
        } else {
            DutyCycle::of(Span(1 + cases.below(SECOND)), 9).unwrap()
        };
        let chosen = settings(1 + cases.below(2_000_000), duty, 0);
        let gaps = cases.gaps(all.from, all.until);
        let (seconds, totals, recorded) =
            watched(settings(chosen.threshold.0, duty, gaps.len()), &gaps, all.from, all.until);
        let first = all.from.0.div_euclid(SECOND);
        let expected: Vec<AvailabilitySecond> =
            (first..first + 11).filter_map(|number| slow(number, &chosen, &gaps, all)).collect();
        assert_eq!(
            seconds, expected,
            "case {case}: {chosen:?} from {} until {}: {gaps:?}",
            all.from.0, all.until.0
        );
        let mut sum = GapTally::default();
        for second in &expected {
            sum.merge(&second.tally);
        }
        assert_eq!((totals.tally, totals.from, totals.until), (sum, all.from, all.until));
        let starved = expected
            .iter()
            .filter(|second| second.tally.share().is_some_and(|share| share < 0.9))
            .count();
        let seen = expected.iter().filter(|second| second.tally.watched.0 > 0).count();
        assert_eq!((totals.starved_seconds, totals.seconds), (starved as u64, seen as u64));
        assert_eq!(
            recorded.len() as u64,
            expected.iter().map(|second| second.tally.gaps).sum::<u64>()
        );
    }
}

#[test]
fn when_seconds_are_closed_changes_nothing_in_them() {
    let mut cases = Cases(2);
    for _ in 0..100 {
        let all =
            Window { from: Ns(cases.below(SECOND)), until: Ns(SECOND + cases.below(6 * SECOND)) };
        let gaps = cases.gaps(all.from, all.until);
        let chosen = || settings(50_000, DutyCycle::of(Span(300_000_000), 3).unwrap(), 10);
        let expected = watched(chosen(), &gaps, all.from, all.until).0;
        let mut monitor = Availability::new(chosen(), all.from);
        let mut found = Vec::new();
        for gap in &gaps {
            monitor.advance(gap.begin);
            found.extend(monitor.poll_second());
            monitor.on_gap(*gap);
            monitor.advance(gap.end().min(all.until));
        }
        monitor.finish(all.until);
        found.extend(std::iter::from_fn(|| monitor.poll_second()));
        let lost = |seconds: &[AvailabilitySecond]| {
            seconds.iter().map(|second| (second.from, second.tally.lost)).collect::<Vec<_>>()
        };
        assert_eq!(lost(&found), lost(&expected));
    }
}

#[test]
fn a_full_table_leaves_single_gaps_out_and_loses_no_time() {
    let gaps: Vec<Gap> = (0..10).map(|number| gap(number * 100_000_000, 1_000_000)).collect();
    let mut monitor = Availability::new(settings(50_000, DutyCycle::always(), 0), Ns(0));
    let mut table = Vec::with_capacity(4);
    table.push(gap(1, 1));
    let room = table.capacity() as u64;
    assert!(monitor.exchange(table).is_empty());
    for gap in &gaps {
        monitor.on_gap(*gap);
    }
    monitor.finish(Ns(SECOND));
    let second = monitor.poll_second().unwrap();
    assert_eq!(
        (second.tally.gaps, second.tally.gaps_left_out, second.tally.lost),
        (10, 10 - room, Span::from_millis(10))
    );
    let recorded = monitor.exchange(Vec::new());
    assert_eq!(recorded, gaps[..recorded.len()]);
    assert_eq!((recorded.len() as u64, recorded.capacity() as u64), (room, room));
}

#[test]
fn a_gap_that_is_reported_late_or_twice_loses_no_time_twice() {
    let mut monitor = Availability::new(settings(50_000, DutyCycle::always(), 9), Ns(0));
    monitor.on_gap(gap(-5_000_000, 105_000_000));
    monitor.on_gap(gap(50_000_000, 60_000_000));
    monitor.on_gap(gap(60_000_000, 10_000_000));
    monitor.advance(Ns(SECOND));
    monitor.on_gap(gap(900_000_000, 200_000_000));
    monitor.finish(Ns(2 * SECOND));
    let lost: Vec<i64> =
        std::iter::from_fn(|| monitor.poll_second()).map(|second| second.tally.lost.0).collect();
    assert_eq!(lost, [110_000_000, 100_000_000]);
}

#[test]
fn of_what_was_not_watched_nothing_is_reported() {
    let duty = DutyCycle::of(Span::from_millis(100), 5).unwrap();
    let end = Ns(duty.in_second(0).from.0);
    let (seconds, totals, _) = watched(settings(50_000, duty, 9), &[], Ns(0), end);
    assert_eq!((seconds[0].tally.share(), seconds[0].is_starved()), (None, None));
    assert_eq!((totals.noise(), totals.available_percent(), totals.seconds), (None, None, 0));
    assert_eq!(cpu_share(&seconds, Ns(0), end), None);
}

#[test]
fn noise_is_scaled_up_from_the_windows_to_all_of_the_time() {
    let duty = DutyCycle::of(Span::from_millis(100), 5).unwrap();
    let gaps: Vec<Gap> =
        (0..10).map(|second| gap(duty.in_second(second).from.0, 30_000_000)).collect();
    let (seconds, totals, _) = watched(settings(50_000, duty, 99), &gaps, Ns(0), Ns(10 * SECOND));
    assert_eq!(
        (totals.tally.watched, totals.tally.lost),
        (Span::from_secs(1), Span::from_millis(300))
    );
    assert_eq!(totals.noise(), Some(Span::from_secs(3)));
    assert!(near(totals.available_percent().unwrap(), &70.0.into()));
    assert!(near(cpu_share(&seconds, Ns(SECOND / 2), Ns(7 * SECOND)).unwrap(), &0.7.into()));
}

#[test]
fn moments_at_the_ends_of_all_time_end_as_well() {
    for (begin, end) in [(Ns::MIN, Ns(i64::MIN + 5)), (Ns(i64::MAX - 5), Ns::MAX)] {
        let mut monitor = Availability::new(settings(1, DutyCycle::always(), 1), begin);
        monitor.on_gap(Gap { begin, length: Span::MAX });
        monitor.finish(end);
        assert!(monitor.totals().tally.lost <= monitor.totals().tally.watched);
    }
    let mut lengths = GapLengths::default();
    for length in [Span::MAX, Span(0), Span(-7), Span(1)] {
        lengths.add(length);
    }
    assert_eq!(lengths.counts().collect::<Vec<_>>(), [(0, 1), (62, 1)]);
}
