//! Traffic through whole networks, and what became of it.

#![allow(clippy::needless_pass_by_value, reason = "values of JSON, written where they are used")]

use std::net::IpAddr;

use proptest::prelude::*;
use serde_json::{Value, json};
use trustbed_emulate::{Description, Network, Offered, Record, Summary, Topology};
use trustbed_units::Ns;

/// The network of a description, which keeps its ledger.
pub fn network<P: Clone>(description: Value, seed: u64) -> Network<P, Vec<Record>> {
    let description: Description = serde_json::from_value(description).unwrap();
    Network::new(&Topology::new(&description).unwrap(), seed, Vec::new()).unwrap()
}

/// An address of a host.
pub fn address(host: usize, number: usize) -> IpAddr {
    format!("10.0.{host}.{number}").parse().unwrap()
}

/// A packet from an address of a host to another host's.
pub fn packet<P>(
    host: usize,
    from: usize,
    to: (usize, usize),
    length: u32,
    payload: P,
) -> Offered<P> {
    Offered { host, source: address(host, from), destination: address(to.0, to.1), length, payload }
}

/// A host with two addresses.
pub fn host(name: &str, number: usize) -> Value {
    json!({"name": name, "addresses": [address(number, 0), address(number, 1)]})
}

/// Two addresses on each side, with access pipes on the left only.
pub fn dumbbell(up: Value, down: Value, access: Value) -> Value {
    let mut left = host("left host", 0);
    left["access"] = access;
    json!({"dumbbell": {"left": [left], "right": [host("right host", 1)], "up": up, "down": down}})
}

/// Where, when and what: the moment, whether left to right, both numbers of addresses, the length.
pub type Traffic = Vec<(i64, bool, usize, usize, u32)>;

/// Packets in order of time, many at the same.
pub fn traffic() -> impl Strategy<Value = Traffic> {
    let gap = prop_oneof![Just(0), 0..2_000_000_i64, 0..50_000_000_i64];
    prop::collection::vec((gap, any::<bool>(), 0..2_usize, 0..2_usize, 40..1500_u32), 1..150)
        .prop_map(|steps| {
            let mut time = 0;
            steps
                .into_iter()
                .map(|(gap, up, from, to, length)| {
                    time += gap;
                    (time, up, from, to, length)
                })
                .collect()
        })
}

/// Links of all kinds.
pub fn links() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"rate_bits_per_second": 8_000_000, "delay_ns": 1_000_000,
               "queue": {"kind": "drop_tail", "limit_packets": 5}}),
        json!({"rate_bits_per_second": 3_000_000, "loss": {"kind": "periodic", "every": 7},
               "queue": {"kind": "codel", "target_ns": 500_000, "interval_ns": 5_000_000}}),
        json!({"rate_trace": {"opportunities_ms": [1, 2, 5]}, "queue": {"kind": "red",
               "minimum_packets": 2, "maximum_packets": 5, "weight": 0.3}}),
        json!({"delay_ns": 5_000_000, "duplicate": {"probability": 0.2},
               "jitter": {"kind": "uniform", "spread_ns": 3_000_000, "keep_order": false}}),
        json!({"rate_bits_per_second": 9_000_000,
               "shaper": {"rate_bits_per_second": 4_000_000, "burst_bytes": 4000},
               "outages": [{"at_ns": 20_000_000, "lasts_ns": 30_000_000, "keeps": true},
                           {"at_ns": 90_000_000, "lasts_ns": 20_000_000}]}),
        json!({"policer": {"rate_bits_per_second": 2_000_000, "burst_bytes": 5000},
               "delay_steps": {"keep_order": false, "steps": [
                   {"at_ns": 0, "delay_ns": 9_000_000},
                   {"at_ns": 50_000_000, "delay_ns": 2_000_000}]}}),
        json!({"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 9_000_000},
                              {"at_ns": 40_000_000, "rate_bits_per_second": 2_000_000}],
               "queue": {"kind": "drop_tail", "limit_bytes": 9000},
               "outages": [{"at_ns": 60_000_000, "lasts_ns": 10_000_000, "keeps": true}]}),
        json!({"loss": {"kind": "periodic", "every": 5}, "duplicate": {"probability": 0.2},
               "reorder": {"probability": 0.2, "held_ns": 3_000_000}}),
    ])
}

/// Whether every packet and every copy is somewhere, once.
pub fn conserved(summary: &Summary) -> bool {
    let (mut copies, mut dropped) = (0, 0);
    for pipe in &summary.pipes {
        copies += pipe.copies;
        dropped += pipe
            .dropped
            .iter()
            .filter(|(cause, _)| **cause != "inside")
            .map(|(_, count)| count)
            .sum::<u64>();
    }
    summary.offered_packets + copies
        == summary.delivered_packets + dropped + summary.unsent_packets + summary.inside_packets
}

/// Sends traffic, asking at these moments too; every packet is done when it was due, every seventh
/// cannot be sent. The last moment ends it.
pub fn run(
    description: &Value,
    traffic: &Traffic,
    polls: &[i64],
    end: i64,
) -> (Vec<Record>, Summary) {
    let mut network = network(description.clone(), 5);
    let take = |network: &mut Network<usize, Vec<Record>>, now: i64| {
        let mut last = Ns::MIN;
        while let Some(departure) = network.take_due(Ns(now)) {
            assert!(departure.due.0 <= now && departure.due >= last);
            last = departure.due;
            if departure.payload % 7 == 6 {
                network.unsent(departure.ticket);
            } else {
                network.sent(departure.ticket, departure.due);
            }
        }
        assert!(network.next_due().is_none_or(|due| due.0 > now));
        assert!(conserved(&network.summary()));
    };
    let mut polls = polls.iter().copied().peekable();
    for (payload, &(time, up, from, to, length)) in traffic.iter().enumerate() {
        while let Some(now) = polls.next_if(|now| *now <= time) {
            take(&mut network, now);
        }
        let (host, other) = if up { (0, 1) } else { (1, 0) };
        network.offer(Ns(time), packet(host, from, (other, to), length, payload)).unwrap();
        assert!(conserved(&network.summary()));
    }
    take(&mut network, end);
    let empty = network.next_due().is_none();
    assert_eq!(empty, network.inside().packets == 0 && network.inside().bytes == 0);
    network.close();
    let summary = network.summary();
    assert!(network.next_due().is_none() && network.inside().packets == 0);
    let mut records = network.into_ledger();
    records.sort_by_key(|record| {
        (record.number, record.pipe, record.arrived, record.copy, record.due, record.fate)
    });
    (records, summary)
}
