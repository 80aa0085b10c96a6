//! Playback: order and lengths of a recording, in its milliseconds.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::sync::Arc;

use proptest::prelude::*;
use trustbed_traffic::{
    Departure, Headers, IpVersion, Playback, PlaybackCounts, Recording, Release, Schedule, Source,
    TrafficError, Transport,
};
use trustbed_units::{Ns, Rate, Span};

const UDP: Headers = Headers::of(IpVersion::V4, Transport::Udp);
const TCP: Headers = Headers::of(IpVersion::V4, Transport::Tcp);

type Frame = (i64, Option<u32>);

fn recording(frames: &[Frame]) -> Arc<Recording> {
    Arc::new(frames.iter().map(|&(time, length)| (Ns(time), length)).collect())
}

fn play(frames: &[Frame], headers: Headers) -> Playback {
    Playback::new(recording(frames), Span::from_millis(1), 1500, headers).unwrap()
}

/// The rule, packet by packet.
fn twin(frames: &[Frame], headers: Headers) -> Vec<Departure> {
    let packets: Vec<(i64, u32)> =
        frames.iter().filter_map(|&(time, length)| Some((time, length?))).collect();
    let mut departures = vec![];
    let mut latest = i64::MIN;
    for &(time, length) in &packets {
        latest = latest.max(time);
        let due = Span((latest - packets[0].0) / 1_000_000 * 1_000_000);
        let mut lengths = vec![length];
        if headers.transport() == Transport::Udp {
            while *lengths.last().unwrap() > 1500 {
                let rest = lengths.pop().unwrap() - 1500;
                lengths.extend([1500, rest]);
            }
        } else if length <= headers.bytes() {
            continue;
        }
        departures.extend(lengths.into_iter().map(|length| {
            let payload = length.saturating_sub(headers.bytes());
            Departure { due, length: headers.bytes() + payload, payload }
        }));
    }
    departures
}

proptest! {

    #[test]
    fn it_plays_by_the_rule(
        frames in prop::collection::vec(
            (-5_000_000..5_000_000_i64, prop::option::weighted(0.9, 20..9_000_u32)),
            1..60,
        ),
        origin in prop_oneof![Just(0), Just(1_700_000_000_000_000_000_i64)],
        headers in
            prop_oneof![Just(UDP), Just(TCP), Just(Headers::of(IpVersion::V6, Transport::Udp))],
    ) {
        let frames: Vec<Frame> =
            frames.into_iter().map(|(time, length)| (origin + time, length)).collect();
        prop_assume!(frames.iter().any(|(_, length)| length.is_some()));
        let expected = twin(&frames, headers);
        let mut played = play(&frames, headers);
        prop_assert_eq!(played.by_ref().collect::<Vec<_>>(), expected);
        let counts = played.counts();
        let lengths = || frames.iter().filter_map(|&(_, length)| length);
        prop_assert_eq!(
            counts.skipped_frames,
            frames.iter().filter(|(_, length)| length.is_none()).count() as u64
        );
        let (long, empty) = if headers.transport() == Transport::Udp {
            (lengths().filter(|&length| length > 1500).count(), 0)
        } else {
            (0, lengths().filter(|&length| length <= headers.bytes()).count())
        };
        prop_assert_eq!((counts.cut_packets, counts.empty_packets), (long as u64, empty as u64));
    }
}

#[test]
fn tcp_writes_what_packets_carried_and_leaves_acknowledgements_out() {
    let mut played = play(
        &[(0, Some(1500)), (400_000, Some(52)), (1_100_000, Some(40)), (2_700_000, Some(576))],
        TCP,
    );
    let writes: Vec<_> =
        played.by_ref().map(|departure| (departure.due, departure.payload)).collect();
    assert_eq!(writes, [(Span::ZERO, 1448), (Span::from_millis(2), 524)]);
    assert_eq!(
        played.counts(),
        PlaybackCounts { cut_packets: 0, empty_packets: 2, skipped_frames: 0, steps_back: 0 }
    );
}

#[test]
fn a_super_packet_leaves_in_pieces_that_add_up() {
    let mut played = play(&[(0, Some(4000)), (0, None), (1, Some(1500))], UDP);
    assert_eq!(
        played.by_ref().map(|departure| departure.length).collect::<Vec<_>>(),
        [1500, 1500, 1000, 1500]
    );
    assert_eq!(
        played.counts(),
        PlaybackCounts { cut_packets: 1, empty_packets: 0, skipped_frames: 1, steps_back: 0 }
    );
}

#[test]
fn the_rate_of_a_recording_is_its_own() {
    let second =
        recording(&[(5, Some(1500)), (500_000_005, Some(1000)), (1_000_000_005, Some(1500))]);
    assert_eq!((second.mean_rate(), second.bytes()), (Some(Rate(32_000)), 4000));
    assert_eq!(recording(&[(5, Some(1500))]).mean_rate(), None);
    let model: trustbed_traffic::Description =
        serde_json::from_str(r#"{"kind": "playback", "capture": "a.pcap"}"#).unwrap();
    assert_eq!(model.rate(), None);
    assert_eq!(model.split(1).unwrap(), std::slice::from_ref(&model));
    let parts = model.split(2).unwrap();
    let written: Vec<_> =
        parts.iter().map(|part| serde_json::to_value(part).unwrap()["part"].clone()).collect();
    assert_eq!(written, [serde_json::Value::Null, 1.into()]);
    assert_eq!(parts[1].split(2).unwrap_err(), TrafficError::SharedAlready { parts: 2 });
    assert_eq!(model.split(0).unwrap_err(), TrafficError::NoParts { sources: 0 });
}

#[test]
fn a_schedule_needs_the_recording_and_only_playback_takes_one() {
    let source = |model: &str| Source {
        model: serde_json::from_str(model).unwrap(),
        headers: UDP,
        release: Release::Paced,
        seed: 0,
        duration: Some(Span::from_millis(2)),
    };
    let playback = source(r#"{"kind": "playback", "capture": "a.pcap"}"#);
    let cbr = source(r#"{"kind": "cbr", "rate_bits_per_second": 1000}"#);
    let three = recording(&[(0, Some(100)), (1_999_999, Some(100)), (2_000_000, Some(100))]);
    let mut schedule = Schedule::new(&playback, Some(three.clone())).unwrap();
    assert_eq!(schedule.by_ref().count(), 2);
    assert!(schedule.playback().is_some());
    assert!(Schedule::new(&cbr, None).unwrap().playback().is_none());
    let refused = |source, recording| Schedule::new(source, recording).unwrap_err().to_string();
    let errors = [
        refused(&playback, None),
        refused(&cbr, Some(three)),
        refused(&playback, Some(recording(&[(0, None)]))),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}
