//! The golden connection of `tests/golden/flows.json`, packet by packet: labels, round-trip
//! samples, counts and loss rates.
//!
//! It wraps 2³² inside its second segment, loses one segment that a timeout repairs, and sends
//! another one that had been acknowledged.

mod flows;
mod packets;
mod recorder;

use flows::{golden, list, number};
use recorder::{Event, Recorder, label, record};
use trustbed_flow::{RttOutcome, State};
use trustbed_units::Span;

/// What the table reported about the packet `index`, in the golden file's words; nothing when it
/// reports nothing of such packets.
fn recorded(recorder: &Recorder, index: u64) -> Option<String> {
    recorder.events.iter().find_map(|event| match event {
        Event::Data { segment, .. } if segment.index == index => Some(label(segment)),
        Event::Ack { ack, .. } if ack.index == index => Some(
            match ack.rtt {
                RttOutcome::Sample { .. } => "ack: rtt sample",
                RttOutcome::Ambiguous => "ack: no sample (Karn)",
                RttOutcome::None if ack.duplicate => "ack: duplicate",
                RttOutcome::None => "ack: no new data",
                _ => "ack: refused",
            }
            .to_owned(),
        ),
        _ => None,
    })
}

#[test]
fn every_packet_has_its_label() {
    let (golden, packets) = golden();
    let recorder = record(&packets);
    for (expected, index) in list(&golden["computed"]["expect"]["labels"]).iter().zip(1..) {
        let expected = expected.as_str().unwrap_or_default();
        // The observer hears of data and of their acknowledgements; the rest is counted.
        let counted = ["syn", "syn-ack", "pure-ack", "keep-alive"].contains(&expected);
        assert_eq!(
            recorded(&recorder, index).as_deref(),
            (!counted).then_some(expected),
            "packet {index}"
        );
    }
    let counters = recorder.client().counters;
    assert_eq!((counters.pure_acks, counters.keep_alives, counters.syn_retransmissions), (1, 1, 0));
    assert_eq!(recorder.only().state, State::Established);
}

#[test]
fn round_trip_samples_follow_karn() {
    let (golden, packets) = golden();
    let recorder = record(&packets);
    let handshake = recorder.only().handshake;
    let first = handshake
        .syn_ack
        .zip(handshake.to_responder())
        .map(|(at, rtt)| (at.0 / 1_000, rtt.0 / 1_000));
    let others = recorder.samples().into_iter().map(|(at, rtt)| (at.0 / 1_000, rtt.0 / 1_000));
    let measured: Vec<(i64, i64)> = first.into_iter().chain(others).collect();
    let rows = list(&golden["computed"]["expect"]["rtt_samples"]).iter();
    let expected: Vec<(i64, i64)> =
        rows.map(|row| (number(&row["t_us"]), number(&row["rtt_us"]))).collect();
    assert_eq!(measured, expected);
    assert_eq!(expected.len(), 5);
}

#[test]
fn counts_and_loss_rates() {
    let (golden, packets) = golden();
    let expected = &golden["computed"]["expect"];
    let counters = record(&packets).client().counters;
    assert_eq!(i64::from(counters.data_packets), number(&expected["data_packets_sent"]));
    assert_eq!(i64::from(counters.retransmitted), number(&expected["retransmitted_data_packets"]));
    assert_eq!(
        i64::try_from(counters.retransmitted_bytes),
        Ok(number(&expected["retransmitted_bytes"]))
    );
    assert_eq!(i64::try_from(counters.unique), Ok(number(&expected["unique_bytes"])));
    assert_eq!(
        (counters.spurious, counters.timeout, counters.fast, counters.tail_loss_probes),
        (1, 1, 0, 0)
    );
    let percent = |part: u32| f64::from(part) * 100.0 / f64::from(counters.data_packets);
    assert_eq!(Some(percent(counters.retransmitted)), expected["loss_rate_percent"].as_f64());
    assert_eq!(
        Some(percent(counters.retransmitted - counters.spurious)),
        expected["loss_rate_without_spurious_percent"].as_f64()
    );
}

#[test]
fn nothing_is_outstanding_at_the_end() {
    let recorder = record(&golden().1);
    let client = recorder.client();
    assert_eq!((client.snd_max, client.una, client.outstanding()), (7500, 7500, 0));
    assert!(client.records.is_empty());
    assert_eq!(client.acknowledged_unseen(), 0);
    assert_eq!(client.nearest_answer, Span::from_micros(20_018), "the smallest data → ACK time");
}
