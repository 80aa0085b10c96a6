//! Transfers that were recorded at both ends, whose fate is known: `recordings/truth.json`. Both
//! ends had one clock.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use trustbed_capture::{Input, Reader};
use trustbed_two_point::{Capture, Direction, Frame, Frames, Join, JoinLimits, Relation, Sketch};
use trustbed_units::Span;
use trustbed_wire::{Batch, DecodeOptions};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings")
}

fn truth() -> Vec<Value> {
    let whole: Value =
        serde_json::from_str(include_str!("../../../recordings/truth.json")).unwrap();
    whole.as_array().unwrap().clone()
}

fn frames(name: &str, end: &str) -> Vec<Frame> {
    let path = directory().join(format!("{name}.{end}.pcap.gz"));
    let mut reader = Reader::open(&[Input::Path(path)], DecodeOptions::default()).unwrap();
    let (mut batch, mut cut, mut found) = (Batch::default(), Frames::default(), Vec::new());
    while reader.fill(&mut batch, 1024) {
        for packet in &batch.packets {
            cut.on_packet(packet, batch.options_of(packet), |frame| found.push(frame));
        }
        batch.clear();
    }
    found
}

struct Both {
    seen: [Vec<Frame>; 2],
    relation: Relation,
    two_point: Vec<Direction>,
}

fn both(name: &str) -> Both {
    let seen = [frames(name, "sender"), frames(name, "receiver")];
    let [first, second] = seen.each_ref().map(|frames| {
        let mut sketch = Sketch::default();
        for frame in frames {
            sketch.on_frame(frame);
        }
        sketch
    });
    let relation = Relation::of(&first.matches(&second)).unwrap();
    let mut all: Vec<(Capture, Frame)> = Vec::new();
    for (end, frames) in [Capture::First, Capture::Second].into_iter().zip(&seen) {
        all.extend(frames.iter().map(|frame| (end, *frame)));
    }
    all.sort_by_key(|(end, frame)| relation.by_first(*end, frame.at));
    let mut join = Join::new(relation.clone(), &JoinLimits::default());
    for (end, frame) in &all {
        join.on_frame(*end, frame);
    }
    Both { seen, relation, two_point: join.finish() }
}

/// The slow method: every frame of the sender looked for among all of the receiver, by what stands
/// in its headers and nothing else.
fn only_at_the_sender(seen: &[Vec<Frame>; 2], direction: &Direction) -> usize {
    let of = |frames: &[Frame]| {
        let mut fingerprints: Vec<u64> = frames
            .iter()
            .filter(|one| {
                one.key == direction.key && one.direction == direction.direction && one.length > 0
            })
            .map(|one| one.fingerprint)
            .collect();
        fingerprints.sort_unstable();
        fingerprints
    };
    let [mut sent, mut arrived] = [of(&seen[0]), of(&seen[1])];
    sent.dedup();
    arrived.dedup();
    sent.iter().filter(|fingerprint| arrived.binary_search(fingerprint).is_err()).count()
}

fn largest(two_point: &[Direction]) -> &Direction {
    two_point.iter().max_by_key(|one| one.data.delivered).unwrap()
}

#[test]
fn a_clock_is_found_to_agree_with_itself() {
    for one in truth() {
        let name = one["name"].as_str().unwrap();
        let relation = both(name).relation;
        let wrong = relation.ahead.at(relation.ahead.at).as_secs_f64().abs();
        assert!(wrong <= relation.error.as_secs_f64(), "{name}: {wrong} s");
        assert_eq!(relation.skew_error, None, "{name}");
        if one["cross"].is_null() {
            let delay = one["link"]["one_way_delay_ms"].as_f64().unwrap();
            assert!(wrong < 20e-6, "{name}: {wrong} s");
            assert!(
                (relation.error.as_secs_f64() * 1e3 - delay).abs() < 0.1,
                "{name}: {:?}",
                relation.error
            );
        } else {
            // The queue of the others never empties, in one direction only: it looks longer, and
            // half of the difference like an offset.
            assert!(wrong > 1e-3, "{name}: {wrong} s");
        }
    }
}

#[test]
fn what_was_lost_in_transit_is_what_the_receiver_never_saw() {
    for one in truth() {
        let name = one["name"].as_str().unwrap();
        let both = both(name);
        let data = largest(&both.two_point);
        assert_eq!(
            data.data.sent,
            data.data.delivered + data.data.lost + data.data.indeterminate,
            "{name}"
        );
        assert_eq!((data.data.missed, data.spurious), (0, 0), "{name}");
        // What was in transit when the capture ended is neither.
        let missing = only_at_the_sender(&both.seen, data) as u64;
        assert_eq!(missing, data.data.lost + data.data.indeterminate, "{name}");
        // Whatever is lost is sent again, so iperf3 counts it, except for what was lost in the end.
        let again = one["iperf3"]["retransmits"].as_u64().unwrap();
        assert!(
            again.abs_diff(data.data.lost) <= 1,
            "{name}: {} lost, {again} sent again",
            data.data.lost
        );
    }
}

#[test]
fn the_time_of_a_round_trip_is_spent_where_the_cause_lies() {
    let measured = |name: &str| {
        let mut both = both(name);
        let at = both.two_point.iter().position(|one| one.data.delivered > 1000).unwrap();
        let trips = &mut both.two_point[at].round_trips;
        assert_eq!(trips.negative, 0, "{name}");
        [&mut trips.whole, &mut trips.turnaround, &mut trips.path]
            .map(|one| one.quantile(0.5).unwrap() / 1e6)
    };
    // Their own queue: a path of 20 ms takes more than 60.
    let [whole, turnaround, path] = measured("self-congested");
    assert!(whole > 60.0 && turnaround < 0.1 && path > 60.0, "{whole} {turnaround} {path}");
    // A guest that stalls delays nothing on the path: what it sends is late, not slow.
    let [whole, turnaround, path] = measured("guest-frozen");
    assert!(
        whole < 23.0 && turnaround < 1.0 && (20.0..23.0).contains(&path),
        "{whole} {turnaround} {path}"
    );
}

#[test]
fn delays_above_the_smallest_are_the_queue() {
    let queue = |name: &str| {
        let mut both = both(name);
        let at = both.two_point.iter().position(|one| one.data.delivered > 1000).unwrap();
        let direction = &mut both.two_point[at];
        assert_eq!(direction.delays_negative, 0);
        assert!(
            (direction.owd_min.unwrap() - Span::from_millis(10)).as_secs_f64().abs() < 1e-3,
            "{name}: {:?}",
            direction.owd_min
        );
        direction.owd_increase.quantile(0.5).unwrap() / 1e6
    };
    assert!(queue("self-congested") > 40.0);
    assert!(queue("random-loss") < 1.0);
}
