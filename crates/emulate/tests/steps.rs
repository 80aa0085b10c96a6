//! A delay in steps against looking each packet's step up, with and without overtaking.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::{Packet, by_number, link};
use proptest::prelude::*;
use trustbed_emulate::{
    DelayStepDescription, DelayStepsDescription, Link, LinkDescription, Outcome,
};
use trustbed_units::Ns;

fn described(steps: &[(u64, u64)], keep_order: bool) -> LinkDescription {
    let steps =
        steps.iter().map(|&(at_ns, delay_ns)| DelayStepDescription { at_ns, delay_ns }).collect();
    LinkDescription {
        delay_steps: Some(DelayStepsDescription { steps, keep_order }),
        ..LinkDescription::default()
    }
}

fn through(description: &LinkDescription, packets: &[Packet]) -> Vec<Outcome<u32>> {
    let mut link = Link::new(description, 1).unwrap();
    link.start(Ns(0));
    let mut outcomes = vec![];
    for (number, &(time, length)) in (0..).zip(packets) {
        outcomes.extend(link.offer(Ns(time), length, number));
    }
    outcomes.extend(std::iter::from_fn(|| link.poll(Ns::MAX)));
    outcomes
}

fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..2_000_u64, 0..3_000_u64), 1..10).prop_map(|drawn| {
        let mut at = 0;
        drawn
            .into_iter()
            .enumerate()
            .map(|(number, (gap, delay))| {
                at += if number > 0 { gap } else { 0 };
                (at, delay)
            })
            .collect()
    })
}

proptest! {

    #[test]
    fn each_packet_has_the_delay_of_its_moment(
        steps in steps(),
        gaps in prop::collection::vec(0..800_i64, 1..60),
        keep_order in any::<bool>(),
    ) {
        let mut time = -500;
        let packets: Vec<Packet> = gaps
            .into_iter()
            .map(|gap| {
                time += gap;
                (time, 100)
            })
            .collect();
        let mut latest = i64::MIN;
        let expected: Vec<i64> = packets
            .iter()
            .map(|&(sent, _)| {
                let step = steps
                    .iter()
                    .rev()
                    .find(|(at, _)| i64::try_from(*at).unwrap() <= sent)
                    .unwrap_or(&steps[0]);
                let due = sent + i64::try_from(step.1).unwrap();
                latest = if keep_order { latest.max(due) } else { due };
                latest
            })
            .collect();
        let outcomes = through(&described(&steps, keep_order), &packets);
        let dues: Vec<i64> =
            by_number(&outcomes).iter().map(|passage| passage.due.unwrap().0).collect();
        prop_assert_eq!(dues, expected);
        prop_assert!(
            outcomes.windows(2).all(|pair| pair[0].passage.due <= pair[1].passage.due),
            "they come out in order of time"
        );
    }
}

#[test]
fn a_shorter_route_overtakes_only_where_it_may() {
    let packets: Vec<Packet> = (0..6).map(|number| (number * 100, 100)).collect();
    let order = |keep_order| {
        let outcomes = through(&described(&[(0, 1000), (300, 50)], keep_order), &packets);
        outcomes
            .iter()
            .map(|outcome| (outcome.content, outcome.passage.due.unwrap().0))
            .collect::<Vec<_>>()
    };
    assert_eq!(order(true), [(0, 1000), (1, 1100), (2, 1200), (3, 1200), (4, 1200), (5, 1200)]);
    assert_eq!(order(false), [(3, 350), (4, 450), (5, 550), (0, 1000), (1, 1100), (2, 1200)]);
}

#[test]
fn what_counts_is_when_a_packet_leaves_the_sender() {
    // A packet takes a microsecond; the step lies within the transmission of the second.
    let text = r#"{"rate_bits_per_second": 8000000000, "delay_steps": {"steps": [{"at_ns": 0,
        "delay_ns": 10}, {"at_ns": 1500, "delay_ns": 70}]}}"#;
    let dues: Vec<_> = by_number(&through(&link(text), &[(0, 1000); 3]))
        .iter()
        .map(|passage| passage.due.unwrap().0)
        .collect();
    assert_eq!(dues, [1010, 2070, 3070]);
}

#[test]
fn jitter_varies_around_the_steps() {
    let jitter = r#""jitter": {"kind": "uniform", "spread_ns": 100, "keep_order": false}"#;
    let text = format!(
        r#"{{{jitter}, "delay_steps": {{"steps": [{{"at_ns": 0, "delay_ns": 1000}},
            {{"at_ns": 500000, "delay_ns": 9000}}]}}}}"#
    );
    let packets: Vec<Packet> = (0..1000).map(|number| (number * 1000, 100)).collect();
    let delays: Vec<i64> = by_number(&through(&link(&text), &packets))
        .iter()
        .map(|passage| (passage.due.unwrap() - passage.arrived).0)
        .collect();
    assert!(
        delays[..500].iter().all(|delay| (900..=1100).contains(delay))
            && delays[500..].iter().all(|delay| (8900..=9100).contains(delay))
    );
    assert!(
        delays[..500].iter().any(|delay| *delay < 950)
            && delays[..500].iter().any(|delay| *delay > 1050)
    );
}

#[test]
fn order_is_given_up_where_configured() {
    let text = |steps: bool, jitter: bool| {
        format!(
            r#"{{"delay_steps": {{"steps": [{{"at_ns": 0, "delay_ns": 9000}}], "keep_order":
                {steps}}},
                "jitter": {{"kind": "uniform", "spread_ns": 5000, "keep_order": {jitter}}}}}"#
        )
    };
    let packets: Vec<Packet> = (0..1000).map(|number| (number * 1000, 100)).collect();
    let overtaken = |steps, jitter| {
        let outcomes = through(&link(&text(steps, jitter)), &packets);
        outcomes.windows(2).any(|pair| pair[0].content > pair[1].content)
    };
    assert_eq!(
        [
            overtaken(true, true),
            overtaken(true, false),
            overtaken(false, true),
            overtaken(false, false)
        ],
        [false, true, true, true]
    );
}
