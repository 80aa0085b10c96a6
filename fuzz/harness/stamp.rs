//! What must hold for every test packet that comes to a reflector, and for every answer. The fuzz
//! target `stamp` calls this with bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate
//! `probe` calls it with those in `fuzz/corpus`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use trustbed_probe::{
    ErrorEstimate, Reflector, ReflectorPacket, ReflectorSettings, SenderPacket, StampTime,
    TimeFormat,
};
use trustbed_units::{Ns, Span};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LARGEST: usize = 200;
const BASE: usize = 44;
const SECOND: i64 = 1_000_000_000;

/// Packets of so many bytes (the first), from whom and how much later (the second), follow one
/// another.
fn packets(mut data: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [length, whence, rest @ ..] = data {
        let (payload, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        found.push((*whence, payload));
        data = rest;
    }
    found
}

/// The peer is answered, nobody else; at the allowed rate, by packets as long as the requests.
/// Every packet is counted once.
pub fn stamp(data: &[u8]) {
    let [first, data @ ..] = data else { return };
    let settings = ReflectorSettings {
        peer: PEER,
        peer_port: (first & 1 != 0).then_some(5000),
        session: (first & 2 != 0).then_some(7),
        stateful: first & 4 != 0,
        largest_bytes: LARGEST,
        packets_per_second: u32::from(first >> 4),
        burst_packets: u32::from(first >> 3 & 1),
    };
    let mut reflector = Reflector::new(settings);
    let (mut now, mut answered, mut refused) = (Ns(0), 0_u64, 0_u64);
    let estimate = ErrorEstimate::of(Span::from_millis(1), true, TimeFormat::Ntp);
    for (whence, payload) in packets(data) {
        now = Ns(now.0 + i64::from(whence >> 4) * SECOND / 8);
        let address = if whence & 1 == 0 { PEER } else { OTHER };
        let from = SocketAddr::new(address, 5000 + u16::from(whence >> 1 & 7));
        match reflector.on_packet(from, payload, now) {
            Ok(accepted) => {
                let reply = reflector.answer(&accepted, payload, (now, None), now, estimate);
                reflector.on_sent(&accepted);
                answered += 1;
                assert_eq!(address, PEER);
                assert!(payload.len() <= LARGEST);
                assert_eq!(reply.len(), payload.len().max(BASE));
                let (asked, told) = (
                    SenderPacket::read(payload).expect("what is answered is a packet"),
                    ReflectorPacket::read(&reply).expect("an answer is one"),
                );
                assert_eq!(told.sender_sequence, asked.sequence);
                assert_eq!(told.sender_timestamp, asked.timestamp);
                assert!(settings.session.is_none_or(|session| asked.session == session));
            }
            Err(_) => refused += 1,
        }
        read(payload, now);
    }
    let counts = reflector.counts();
    assert_eq!(counts.answered, answered);
    let reasons = [
        counts.other_peer,
        counts.too_short,
        counts.too_large,
        counts.other_session,
        counts.too_fast,
        counts.too_many_sessions,
    ];
    assert_eq!(reasons.iter().sum::<u64>(), refused);
    let rate = u64::from(settings.packets_per_second.max(1));
    let most = u64::try_from(now.0).unwrap_or(0) * rate / SECOND.unsigned_abs();
    assert!(answered <= most + u64::from(settings.burst_packets.max(1)) + 1);
}

/// What is read is written again with the same bytes, as far as they mean something; every time is
/// one or none.
fn read(payload: &[u8], near: Ns) {
    if let Some(packet) = SenderPacket::read(payload) {
        let written = packet.payload(payload.len());
        let meant = if payload.len() < 16 { 14 } else { 16 };
        assert_eq!(written[..meant], payload[..meant]);
        for format in [TimeFormat::Ntp, TimeFormat::Ptp] {
            if let Some(moment) = packet.timestamp.moment(format, near) {
                let again = StampTime::of(moment, format).moment(format, near);
                assert_eq!(again, Some(moment));
            }
        }
        let _ = packet.error_estimate.error();
    }
    if let Some(packet) = ReflectorPacket::read(payload) {
        assert_eq!(ReflectorPacket::read(&packet.payload(payload)), Some(packet));
    }
}
