//! What must hold for every packet, whatever stands in it. The fuzz target `flow` calls this with
//! bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate `analyze` calls it with those
//! in `fuzz/corpus`.

use trustbed_analyze::{Rows, Shards};
use trustbed_flow::{Limits, Order};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Bits, Options, Packet, TcpFlags};

/// Bytes of one packet.
const RECORD: usize = 24;

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A packet of one of a few flows whose fields are near enough to one another to mean something, or
/// far off.
fn packet(bytes: &[u8], index: u64, now: &mut i64) -> (Packet, Options) {
    let kind = bytes[0];
    let passed = i64::from(short(bytes, 1));
    *now = now.saturating_add(match bytes[3] % 16 {
        0 => passed * 100_000_000,
        1 => -passed * 1_000_000,
        2 => i64::MAX / 3,
        3 => i64::MIN / 3,
        _ => passed * 1_000,
    });
    let flow = kind % 4;
    let client = kind & 4 == 0;
    let near = |high: u8, low: u16| u32::from(low) << (high % 3 * 8);
    let ends = [([flow; 16], 1000 + u16::from(flow)), ([9; 16], 80)];
    let (source, destination) = if client { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
    let edges = [4, 6, 8].map(|at| u32::from(short(bytes, at)));
    let options = Options {
        sack: [(edges[0], edges[1]), (edges[1], edges[2]), (edges[2], edges[0]), (0, edges[0])],
        sack_count: bytes[10] % 6,
        mss: (bytes[10] & 64 != 0).then(|| short(bytes, 4)),
        window_scale: (bytes[10] & 32 != 0).then_some(bytes[11]),
        sack_permitted: true,
        multipath: bytes[10] & 128 != 0,
    };
    let packet = Packet {
        ts: Ns(*now),
        index,
        flow_hash: u64::from(flow) << 40,
        source: source.0,
        destination: destination.0,
        seq: near(bytes[12], short(bytes, 4)),
        ack: near(bytes[12] >> 2, short(bytes, 6)),
        tsval: u32::from(short(bytes, 13)),
        tsecr: u32::from(short(bytes, 15)),
        payload: near(bytes[12] >> 4, short(bytes, 17)),
        original_length: u32::from(short(bytes, 17)),
        options: 0,
        source_port: source.1,
        destination_port: destination.1,
        window: short(bytes, 19),
        ip_id: 0,
        checksum: 0,
        header_length: u16::from(bytes[21]),
        vlan: 0,
        interface: 0,
        bits: Bits(short(bytes, 21) & 0x3ff),
        flags: TcpFlags(bytes[23]),
        protocol: if kind & 0xf0 == 0xf0 { 17 } else { 6 },
    };
    (packet, options)
}

/// The packets that some bytes describe.
fn packets(data: &[u8]) -> Batch {
    let mut batch = Batch::default();
    let mut now = 0;
    for (bytes, index) in data.chunks_exact(RECORD).zip(1..) {
        let (mut packet, options) = packet(bytes, index, &mut now);
        if packet.bits.any(Bits::OPTIONS) {
            packet.options = u32::try_from(batch.options.len()).unwrap_or(u32::MAX);
            batch.options.push(options);
        }
        batch.packets.push(packet);
    }
    batch
}

/// Copies of a packet, each of another connection.
const COPIES: u64 = 256;

/// As [`flow`], with every packet in hundreds of connections: a few bytes are thousands of them,
/// in tables that hold fewer.
#[allow(dead_code, reason = "a target of its own")]
pub fn flows(data: &[u8]) {
    let few = packets(&data[..data.len().min(64 * RECORD)]);
    let mut batch = Batch { options: few.options, ..Batch::default() };
    for packet in few.packets {
        for copy in 0..COPIES {
            let [_, .., high, low] = copy.to_be_bytes();
            let mut one = packet;
            let address =
                if one.source_port == 80 { &mut one.destination } else { &mut one.source };
            address[14..].copy_from_slice(&[high, low]);
            // Of half of the inputs, all hash alike.
            let alike = data.first().is_some_and(|first| first & 8 == 0);
            one.flow_hash ^= if alike { 0 } else { copy.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
            one.index = batch.packets.len() as u64 + 1;
            batch.packets.push(one);
        }
    }
    check(batch, Limits { connections: 300, lingering: 20, ..Limits::default() });
}

/// Arbitrary packets through the reorder buffer and all shards: nothing panics, every packet is
/// counted once.
#[allow(dead_code, reason = "a target of its own")]
pub fn flow(data: &[u8]) {
    check(packets(data), Limits { connections: 3, lingering: 2, ..Limits::default() });
}

fn check(batch: Batch, limits: Limits) {
    let count = batch.packets.len() as u64;
    let asked = trustbed_analyze::Options {
        samples: true,
        series: true,
        ..trustbed_analyze::Options::default()
    };
    let mut shards = Shards::new(asked, limits, 0, 1);
    let mut order = Order::default();
    order.push(batch);
    order.finish();
    while let Some(ready) = order.pop() {
        shards.on_batch(&ready.batch, ready.epoch);
    }
    shards.finish();
    let rows = Rows::join(vec![shards.take()]);
    let counted: u64 = rows
        .ended
        .iter()
        .map(|e| e.connection.from_initiator.packets + e.connection.from_responder.packets)
        .sum();
    assert_eq!(counted, count, "every packet belongs to one connection");
    for transfer in rows.ended.iter().flat_map(|e| &e.transfers) {
        let counters = transfer.counters;
        assert_eq!(
            counters.retransmitted,
            counters.spurious + counters.fast + counters.timeout,
            "sub-classes add up"
        );
        let fractions = [
            transfer.loss_rate,
            transfer.long_pause_fraction,
            transfer.idle_open_window_fraction,
            transfer.pipe_full,
            transfer.window_saturated,
        ];
        assert!(
            fractions.iter().flatten().all(|share| (0.0..=1.0).contains(share)),
            "shares are shares: {fractions:?}"
        );
    }
}
