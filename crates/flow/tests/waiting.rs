//! Packets that wait are measured as if each had been measured when it came.

mod packets;
mod recorder;

use packets::{Ends, Made, S, Side, batch};
use proptest::collection::vec;
use proptest::prelude::*;
use recorder::{Event, Recorder, feed, table};
use trustbed_flow::Limits;
use trustbed_units::Span;
use trustbed_wire::{Batch, Bits, TcpFlags};

/// More connections than a table holds without letting packets wait.
const FLOWS: u16 = 48;

/// Handshakes of all flows, then whatever comes.
fn traffic() -> impl Strategy<Value = Vec<Made>> {
    let flags = prop_oneof![
        60 => Just(TcpFlags::ACK),
        1 => Just(TcpFlags::SYN),
        1 => Just(TcpFlags::SYN | TcpFlags::ACK),
        2 => Just(TcpFlags::FIN | TcpFlags::ACK),
        1 => Just(TcpFlags::RST),
    ];
    let length = prop_oneof![2 => Just(0_u32), 4 => Just(1000), 1 => Just(1)];
    let passed = prop_oneof![60 => 0_i64..3_000, 1 => 0_i64..S, 1 => 0_i64..300 * S];
    // Most packets belong to few flows: in them, packets wait until there is no more room.
    let flow = prop_oneof![2 => 0..4_u16, 1 => 0..FLOWS];
    let packet = (flow, any::<bool>(), flags, (0_i64..40, 0_i64..40), length, passed, any::<u8>());
    vec(packet, 100..600).prop_map(|packets| {
        let mut now = 0;
        let mut made: Vec<Made> = Vec::new();
        for flow in 0..FLOWS {
            let ends = Ends::with_port(50_000 + flow);
            now += 1_000;
            made.push(ends.syn(now));
            if flow % 3 != 0 {
                made.extend([ends.syn_ack(now + 100), ends.client(now + 200)]);
            }
        }
        for (flow, client, flags, (seq, ack), length, passed, kind) in packets {
            now += passed;
            let side = if client { Side::Client } else { Side::Server };
            let packet = Ends::with_port(50_000 + flow)
                .packet(side, now)
                .flags(flags)
                .seq(seq * 500)
                .ack(ack * 500)
                .data(length);
            made.push(match kind {
                0..100 => packet.clock(u32::from(kind) * 10, u32::from(kind) * 9),
                100..110 => packet.sack(&[(ack * 500 + 500, ack * 500 + 1500)]),
                110..115 => packet.window(0),
                // Near, too far away for a FIN to count, and the other way round.
                115..120 => packet.seq(1 << (25 + kind - 115)),
                120..123 => packet.ack(1 << (28 + kind - 120)),
                123 => packet.seq(-(1 << 30) - 1),
                124 => packet.bits(Bits::FRAGMENT_LATER),
                _ => packet,
            });
        }
        made
    })
}

fn record(packets: &Batch, limits: Limits, step_at: usize, has_time: bool) -> Recorder {
    let mut recorder = Recorder { has_time, removes_duplicates: true, ..Recorder::default() };
    let mut table = table(limits);
    for (n, packet) in packets.packets.iter().enumerate() {
        let epoch = u32::from(n >= step_at);
        feed(&mut table, packet, packets.options_of(packet), epoch, &mut recorder);
    }
    table.finish(&mut recorder);
    recorder.facts = table.facts();
    recorder
}

/// Every connection that left, with all that was counted of it.
fn gone(recorder: &Recorder) -> Vec<String> {
    let told = |gone: &recorder::Gone| {
        let one = &gone.connection;
        let ended = (one.first_index, gone.at_index, gone.evicted, one.state, one.last);
        let found = (&one.streams, &one.handshake, one.flags, one.packets_after_close);
        format!("{ended:?} {found:?} {:?}", one.transfers)
    };
    recorder.gone.iter().map(told).collect()
}

/// What was reported of packets, in their order.
fn events(recorder: &Recorder) -> Vec<String> {
    let mut events: Vec<(u64, String)> = recorder
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Data { segment, .. } => Some((segment.index, format!("{event:?}"))),
            Event::Ack { ack, .. } => Some((ack.index, format!("{event:?}"))),
            _ => None,
        })
        .collect();
    events.sort();
    events.into_iter().map(|(_, event)| event).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_waits_is_measured_as_if_it_had_not(
        made in traffic(),
        connections in prop_oneof![Just(40_usize), Just(1000)],
        waiting in prop_oneof![Just(16_usize), Just(1000)],
        step_at in 0_usize..2000,
    ) {
        let packets = batch(&made);
        let idle = Span::from_secs(200);
        let limits = Limits { connections, waiting, idle, ..Limits::default() };
        let at_once = record(&packets, limits, step_at, false);
        let later = record(&packets, limits, step_at, true);
        prop_assert_eq!(gone(&at_once), gone(&later));
        prop_assert_eq!(events(&at_once), events(&later));
        prop_assert_eq!(at_once.facts, later.facts);
    }
}

#[test]
fn packets_of_an_open_connection_among_many_wait_for_those_of_others() {
    let mut made: Vec<Made> = Vec::new();
    for flow in 0..FLOWS {
        let ends = Ends::with_port(50_000 + flow);
        let now = 1_000 * i64::from(flow);
        made.extend([ends.syn(now), ends.syn_ack(now + 100), ends.client(now + 200)]);
    }
    let first = Ends::with_port(50_000);
    let second = Ends::with_port(50_001);
    for n in 0..3 {
        made.push(first.client(S + 1_000 * n).seq(1000 * n).data(1000));
        made.push(second.client(S + 1_000 * n + 500).seq(1000 * n).data(1000));
        if n == 1 {
            made.push(first.server(S + 1_700).ack(2000).flags(TcpFlags::FIN | TcpFlags::ACK));
        }
    }
    let later = record(&batch(&made), Limits::default(), usize::MAX, true);
    let data = later.events.iter().filter_map(|event| match event {
        Event::Data { segment, .. } => Some(segment.index),
        _ => None,
    });
    let from = 3 * u64::from(FLOWS);
    let expected: Vec<u64> = [1, 3, 6, 2, 4, 7].map(|n| from + n).to_vec();
    assert_eq!(data.collect::<Vec<_>>(), expected, "connection by connection, a FIN among them");
}
