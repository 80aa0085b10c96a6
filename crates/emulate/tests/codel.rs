//! Controlled delay against RFC 8289's own words: its routines, written down once more as they
//! stand there, on a plain queue.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::collections::VecDeque;

use common::{Packet, by_number, link, pass, run};
use proptest::prelude::*;
use trustbed_emulate::{Fate, LinkDescription, QueueDescription};
use trustbed_units::Ns;

const TARGET: i64 = 1_000_000;
const INTERVAL: i64 = 10_000_000;
const MTU: u64 = 1514;

/// 8 Mbit/s: a byte takes a microsecond.
fn description() -> LinkDescription {
    let queue = QueueDescription::Codel {
        target_ns: 1_000_000,
        interval_ns: 10_000_000,
        mtu_bytes: 1514,
        limit_packets: None,
        limit_bytes: None,
    };
    LinkDescription {
        rate_bits_per_second: Some(8_000_000),
        queue: Some(queue),
        ..LinkDescription::default()
    }
}

/// The variables of the RFC under their names, and a queue of (number, arrival, length).
#[derive(Default)]
struct Reference {
    queue: VecDeque<(usize, i64, u32)>,
    first_above_time: i64,
    drop_next: i64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: Vec<usize>,
}

/// A packet, and whether it may be dropped.
type Dequeued = (Option<(usize, i64, u32)>, bool);

impl Reference {
    fn dodequeue(&mut self, now: i64) -> Dequeued {
        let packet = self.queue.pop_front();
        let mut ok_to_drop = false;
        match packet {
            None => self.first_above_time = 0,
            Some((_, arrival, _)) => {
                let sojourn_time = now - arrival;
                let bytes: u64 = self.queue.iter().map(|packet| u64::from(packet.2)).sum();
                if sojourn_time < TARGET || bytes <= MTU {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + INTERVAL;
                } else if now >= self.first_above_time {
                    ok_to_drop = true;
                }
            }
        }
        (packet, ok_to_drop)
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "as the RFC writes it"
    )]
    fn control_law(time: i64, count: u32) -> i64 {
        time + (INTERVAL as f64 / f64::from(count).sqrt()) as i64
    }

    fn dequeue(&mut self, now: i64) -> Option<(usize, i64, u32)> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.1 {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(r.0.map(|packet| packet.0));
                r = self.dodequeue(now);
                if r.1 {
                    self.count += 1;
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.1 {
            self.dropped.extend(r.0.map(|packet| packet.0));
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.0
    }
}

/// (number, departure) of those that are sent, and the numbers of the dropped ones.
type Course = (Vec<(usize, i64)>, Vec<usize>);

fn reference(packets: &[Packet]) -> Course {
    let mut codel = Reference::default();
    let mut sent = vec![];
    let mut free = i64::MIN;
    let mut coming = packets.iter().enumerate().peekable();
    // The link takes the next packet when it is free and there is one; a packet that comes by then
    // is in the queue.
    while let Some(first) = codel
        .queue
        .front()
        .map(|packet| packet.1)
        .or_else(|| coming.peek().map(|(_, packet)| packet.0))
    {
        let now = free.max(first);
        while let Some((number, &(time, length))) = coming
            .next_if(|(_, packet)| packet.0 < now || codel.queue.is_empty() && packet.0 <= now)
        {
            codel.queue.push_back((number, time, length));
        }
        if let Some((number, _, length)) = codel.dequeue(now) {
            free = now + i64::from(length) * 1000;
            sent.push((number, free));
        }
    }
    (sent, codel.dropped)
}

fn both(packets: &[Packet]) -> [Course; 2] {
    let passages = by_number(&pass(&description(), 1, packets));
    let numbered = || passages.iter().enumerate();
    let sent = numbered()
        .filter_map(|(number, passage)| passage.departed.map(|departed| (number, departed.0)))
        .collect();
    let dropped = numbered()
        .filter(|(_, passage)| passage.fate == Fate::CodelDrop)
        .map(|(number, _)| number)
        .collect();
    let (expected, mut lost) = reference(packets);
    lost.sort_unstable();
    [(sent, dropped), (expected, lost)]
}

/// Loads from idle to three times the rate, in stretches, so that it begins and ends to drop many
/// times.
fn loads() -> impl Strategy<Value = Vec<Packet>> {
    let stretch = (300_001..3_000_000_i64, 1..120_usize, 1..1500_u32);
    prop::collection::vec(stretch, 1..12).prop_map(|stretches| {
        // Odd moments: no packet comes at the nanosecond at which the link becomes free.
        let mut time = 1_000_000_000_001;
        let mut packets = vec![];
        for (gap, count, length) in stretches {
            for _ in 0..count {
                packets.push((time, length));
                time += (gap / 1000) * 1000;
            }
        }
        packets
            .iter()
            .enumerate()
            .map(|(number, &(time, length))| {
                (time + i64::try_from(number % 7).unwrap() + 1, length)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn it_is_the_rfc(packets in loads()) {
        let [found, expected] = both(&packets);
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_lasting_overload_is_dropped_ever_faster() {
    // 1000 bytes every 800 µs, where they take 1000.
    let packets: Vec<Packet> = (0..4000).map(|number| (1 + number * 800_003, 1000)).collect();
    let [found, expected] = both(&packets);
    assert_eq!(found, expected);
    let dropped = &found.1;
    let gaps: Vec<usize> = dropped.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps[0] >= 10 && gaps[10..20].iter().all(|gap| 2 * gap < gaps[0]),
        "from an interval apart to ever fewer packets: {gaps:?}"
    );
    assert!(
        dropped.len().abs_diff(800) < 40,
        "in the end it is the overload, one in five: {}",
        dropped.len()
    );
}

#[test]
fn a_burst_shorter_than_the_interval_passes() {
    let packets: Vec<Packet> = (0..9).map(|number| (number, 1000)).collect();
    assert!(both(&packets)[0].1.is_empty());
    assert!(
        by_number(&pass(&description(), 1, &packets))
            .iter()
            .all(|passage| passage.fate == Fate::Passed)
    );
}

#[test]
fn a_single_waiting_packet_is_never_dropped() {
    // Packets of 9000 bytes wait 9 ms for one another, above the target all the time, but only one
    // of them waits.
    let packets: Vec<Packet> = (0..2000)
        .map(|number| (number * 9_000_000 - i64::from(number > 0) * 1_000_000, 9000))
        .collect();
    assert!(
        by_number(&pass(&description(), 1, &packets))
            .iter()
            .all(|passage| passage.fate == Fate::Passed)
    );
}

#[test]
fn its_queue_can_have_a_limit() {
    let text =
        r#"{"rate_bits_per_second": 8000000, "queue": {"kind": "codel", "limit_packets": 5}}"#;
    let passages = by_number(&run(&link(text), 1, 8, 1));
    let full: Vec<_> = passages.iter().map(|passage| passage.fate == Fate::QueueFull).collect();
    assert_eq!(full, [false, false, false, false, false, true, true, true]);
    assert_eq!(passages[4].found_packets, 4);
    assert_eq!(passages[4].found_bytes, 4000, "3999.996 are not sent yet");
    assert_eq!(passages[4].arrived, Ns(4));
}
