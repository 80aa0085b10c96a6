//! Rows are the same for any number of workers and any size of batches, whatever the traffic.

#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use packets::{Ends, MS, Made, S, Side, batch};
use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Ended, Options, Rows, SHARDS, Samples, Shards, shard_of};
use trustbed_flow::Limits;
use trustbed_wire::{Batch, Bits, TcpFlags};

/// Packets of some dozen flows: handshakes, data, acknowledgements, losses, resets, silences,
/// datagrams, nonsense.
fn traffic() -> impl Strategy<Value = Vec<Made>> {
    let flags = prop_oneof![
        40 => Just(TcpFlags::ACK),
        3 => Just(TcpFlags::SYN),
        2 => Just(TcpFlags::SYN | TcpFlags::ACK),
        1 => Just(TcpFlags::FIN | TcpFlags::ACK),
        1 => Just(TcpFlags::RST),
    ];
    let length = prop_oneof![2 => Just(0_u32), 4 => Just(1000), 1 => Just(1), 1 => 0_u32..5000];
    let passed = prop_oneof![30 => 0_i64..3_000, 3 => 0_i64..S, 1 => 0_i64..700 * S];
    let packet =
        (0_u16..24, any::<bool>(), flags, (0_i64..40, 0_i64..40), length, passed, any::<u8>());
    vec(packet, 1..300).prop_map(|packets| {
        let mut now = 0;
        let packets =
            packets.into_iter().map(|(flow, client, flags, (seq, ack), length, passed, kind)| {
                now += passed;
                let ends = Ends::with_port(50_000 + flow);
                let side = if client { Side::Client } else { Side::Server };
                if flow < 2 {
                    return ends.datagram(side, now, length);
                }
                let made =
                    ends.packet(side, now).flags(flags).seq(seq * 500).ack(ack * 500).data(length);
                match kind {
                    0..60 => made.clock(u32::from(kind) * 10, u32::from(kind) * 9),
                    60..80 => made.sack(&[(ack * 500 + 500, ack * 500 + 1500)]),
                    80..90 => made.window(0),
                    90..95 => made.bits(Bits::FRAGMENT_FIRST),
                    _ => made,
                }
            });
        packets.collect()
    })
}

/// The pieces of a batch, each with the options of its own packets.
fn pieces(whole: &Batch, size: usize) -> Vec<Batch> {
    let piece = |packets: &[trustbed_wire::Packet]| {
        let mut piece = Batch::default();
        for packet in packets {
            let mut packet = *packet;
            if let Some(options) = whole.options_of(&packet) {
                packet.options = u32::try_from(piece.options.len()).unwrap_or(u32::MAX);
                piece.options.push(*options);
            }
            piece.packets.push(packet);
        }
        piece
    };
    whole.packets.chunks(size).map(piece).collect()
}

/// Every worker takes every batch; rows are joined after each, as they are written out.
fn measured(whole: &Batch, workers: usize, size: usize, limits: Limits, step_at: usize) -> Rows {
    let options = Options { samples: true, series: true, crossings: true, ..Options::default() };
    let mut shards: Vec<Shards> =
        (0..workers).map(|worker| Shards::new(options, limits, worker, workers)).collect();
    let mut all = Rows::default();
    let mut take = |shards: &mut [Shards]| {
        let mut rows = Rows::join(shards.iter_mut().map(Shards::take).collect());
        all.ended.append(&mut rows.ended);
        all.samples.rtt.append(&mut rows.samples.rtt);
        all.samples.spacing.append(&mut rows.samples.spacing);
        all.samples.segments.append(&mut rows.samples.segments);
        all.crossings.append(&mut rows.crossings);
    };
    for (n, piece) in pieces(whole, size).iter().enumerate() {
        for one in &mut shards {
            one.on_batch(piece, u32::from(n * size >= step_at));
        }
        take(&mut shards);
    }
    shards.iter_mut().for_each(Shards::finish);
    take(&mut shards);
    all
}

/// The first row in which the two differ.
fn difference(a: &Rows, b: &Rows) -> Option<String> {
    fn first<T: std::fmt::Debug>(
        a: &[T],
        b: &[T],
        same: impl Fn(&T, &T) -> bool,
    ) -> Option<String> {
        let at = a
            .iter()
            .zip(b)
            .position(|(a, b)| !same(a, b))
            .or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
        Some(format!("row {at}: {:?} and {:?}", a.get(at), b.get(at)))
    }
    let same = |a: &Ended, b: &Ended| {
        a.at_index == b.at_index
            && a.connection == b.connection
            && a.transfers == b.transfers
            && a.trails == b.trails
    };
    first(&a.ended, &b.ended, same)
        .or_else(|| first(&a.samples.rtt, &b.samples.rtt, |a, b| a == b))
        .or_else(|| first(&a.samples.spacing, &b.samples.spacing, |a, b| a == b))
        .or_else(|| first(&a.samples.segments, &b.samples.segments, |a, b| a == b))
        .or_else(|| first(&a.crossings, &b.crossings, |a, b| a == b))
}

fn limits(connections: usize) -> Limits {
    Limits { connections, lingering: 2, ..Limits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_number_of_workers_gives_the_same_rows(
        packets in traffic(),
        connections in 1_usize..4,
        size in 1_usize..100,
    ) {
        let whole = batch(&packets);
        let alone = measured(&whole, 1, size, limits(connections), usize::MAX);
        for workers in [2, 3, 7, SHARDS, SHARDS + 5] {
            prop_assert_eq!(
                difference(
                    &alone,
                    &measured(&whole, workers, size, limits(connections), usize::MAX)
                ),
                None
            );
        }
    }

    #[test]
    fn any_size_of_batches_gives_the_same_rows(
        packets in traffic(),
        connections in 1_usize..4,
        workers in 1_usize..4,
    ) {
        let whole = batch(&packets);
        let once = measured(&whole, 1, packets.len(), limits(connections), usize::MAX);
        for size in [1, 2, 17, 64, 256] {
            prop_assert_eq!(
                difference(
                    &once,
                    &measured(&whole, workers, size, limits(connections), usize::MAX)
                ),
                None
            );
        }
    }

    #[test]
    fn a_step_of_the_clock_changes_nothing_of_that(packets in traffic(), at in 1_usize..200) {
        let whole = batch(&packets);
        let alone = measured(&whole, 1, 1, limits(8), at);
        for workers in [2, 3, 7] {
            prop_assert_eq!(difference(&alone, &measured(&whole, workers, 1, limits(8), at)), None);
        }
    }

    #[test]
    fn no_packet_is_lost(packets in traffic(), workers in 1_usize..8) {
        let rows = measured(&batch(&packets), workers, 32, limits(3), usize::MAX);
        let counted: u64 = rows
            .ended
            .iter()
            .map(|e| e.connection.from_initiator.packets + e.connection.from_responder.packets)
            .sum();
        prop_assert_eq!(counted, packets.len() as u64);
        prop_assert_eq!(rows.crossings.len(), packets.len());
        for transfer in rows.ended.iter().flat_map(|e| &e.transfers) {
            let complete = transfer.account.as_ref().is_none_or(|account| {
                let phases: i64 = account.phases.iter().flat_map(|phase| phase.times).sum();
                account.times.iter().all(|time| *time >= 0)
                    && account.times.iter().sum::<i64>() == phases
                    && account.phases.len() <= 256
                    && account.phases.windows(2).all(|pair| pair[0].end <= pair[1].start)
            });
            prop_assert!(complete, "{:?}", transfer.account);
            for share in [
                transfer.long_pause_fraction,
                transfer.idle_open_window_fraction,
                transfer.window_saturated,
                transfer.window_closed,
                transfer.rwnd_limited,
                transfer.pipe_full,
                transfer.loss_rate,
                transfer.loss_rate_genuine,
                transfer.loss_persistence,
            ] {
                prop_assert!(
                    share.is_none_or(|share| (0.0..=1.0).contains(&share)),
                    "{:?}",
                    transfer
                );
            }
        }
    }
}

/// A handshake's round trip is known long before the data that make it a row.
#[test]
fn late_first_data_change_no_order() {
    let (early, late) = (Ends::with_port(50_001), Ends::with_port(50_002));
    let packets = [
        early.syn(0),
        early.syn_ack(10_000),
        early.client(10_050),
        late.syn(20_000),
        late.syn_ack(30_000),
        late.client(30_050).data(1000),
        late.server(40_050).ack(1000),
        early.client(50_000).data(1000),
        early.server(60_000).ack(1000),
    ];
    let whole = batch(&packets);
    let once = measured(&whole, 1, 100, limits(8), usize::MAX);
    assert_eq!(once.samples.rtt.len(), 4);
    for size in 1..9 {
        assert_eq!(difference(&once, &measured(&whole, 2, size, limits(8), usize::MAX)), None);
    }
}

/// Transfers of 1 to 95 segments at once, in one table: more than it holds without letting packets
/// wait.
fn crowd() -> Batch {
    let ports = (1_024_u16..).filter(|&port| {
        let hash = Ends::with_port(port).client(0).packet.flow_hash;
        shard_of(hash) == 0
    });
    let mut made: Vec<Made> = Vec::new();
    for (n, port) in (0_u32..48).zip(ports) {
        let ends = Ends::with_port(port);
        for round in 0..=2 * n {
            let (at, tick) = (40 * MS * i64::from(round) + 50 * i64::from(n), 40 * round);
            let offset = 1400 * i64::from(round);
            let data = ends.client(at).seq(offset).data(1400).clock(1000 + tick, 3000 + tick);
            let ack = ends.server(at + 20 * MS).ack(offset + 1400).clock(3020 + tick, 1000 + tick);
            made.extend([data, ack]);
            if round % 7 == 6 {
                let again = ends.client(at + 30 * MS).seq(offset).data(1400);
                made.push(again.clock(1030 + tick, 3020 + tick));
            }
        }
    }
    made.sort_by_key(|made| made.packet.ts);
    batch(&made)
}

/// Packets do not wait where rows are made of each.
#[test]
fn what_waits_and_what_is_known_to_be_too_short_is_measured_the_same() {
    let whole = crowd();
    let rows = |samples| {
        let options = Options { samples, ..Options::default() };
        let mut shards = Shards::new(options, Limits::default(), 0, 1);
        shards.on_batch(&whole, 0);
        shards.finish();
        Rows { samples: Samples::default(), ..Rows::join(vec![shards.take()]) }
    };
    let (at_once, later) = (rows(true), rows(false));
    assert_eq!(difference(&at_once, &later), None);
    let short = later.ended.iter().flat_map(|e| &e.transfers).filter(|row| row.too_short).count();
    assert!((20..40).contains(&short), "{short} of {}", later.ended.len());
}

#[test]
fn both_directions_fall_into_one_shard_and_flows_spread_over_all() {
    let mut used = std::collections::BTreeSet::new();
    for port in 1..2_000 {
        let ends = Ends::with_port(port);
        let (there, back) = (ends.client(0).packet.flow_hash, ends.server(0).packet.flow_hash);
        assert_eq!(shard_of(there), shard_of(back));
        assert!(shard_of(there) < SHARDS);
        used.insert(shard_of(there));
    }
    assert_eq!(used.len(), SHARDS);
}

#[test]
fn facts_add_up() {
    let packets: Vec<Made> =
        (0..400_u16).map(|n| Ends::with_port(n + 1).client(i64::from(n)).data(10)).collect();
    let whole = batch(&packets);
    let facts = |workers: usize| {
        let mut shards: Vec<Shards> =
            (0..workers).map(|w| Shards::new(Options::default(), limits(2), w, workers)).collect();
        for one in &mut shards {
            one.on_batch(&whole, 0);
        }
        shards
            .iter()
            .map(Shards::facts)
            .fold((0, 0), |sum, facts| (sum.0 + facts.evicted, sum.1 + facts.most))
    };
    assert_eq!(facts(1), facts(3));
    assert_eq!(facts(1).0 + facts(1).1, 400, "two stay in each shard, the others were thrown out");
}
