//! The readers against pcap-parser: files that nothing is wrong with yield the same records.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod writer;

use pcap_parser::{
    Block, LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader, traits::PcapReaderIterator,
};
use proptest::prelude::*;
use trustbed_wire::Packet;
use writer::{Frame, Pcap, Pcapng, read_bytes, tcp};

/// What both sides are compared by: time in ns, captured and original length, TCP sequence number.
type Seen = (i64, u32, u32);

fn sequence(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[38..42].try_into().unwrap())
}

fn ours(packets: &[Packet]) -> Vec<Seen> {
    packets.iter().map(|packet| (packet.ts.0, packet.original_length, packet.seq)).collect()
}

fn blocks(reader: &mut dyn PcapReaderIterator, mut see: impl FnMut(PcapBlockOwned<'_>)) {
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                see(block);
                reader.consume(offset);
            }
            Err(PcapError::Eof) => return,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("the oracle failed: {error:?}"),
        }
    }
}

fn theirs_pcap(bytes: &[u8]) -> Vec<Seen> {
    let mut reader = LegacyPcapReader::new(1 << 16, bytes).unwrap();
    let (mut seen, mut unit) = (Vec::new(), 1_000);
    blocks(&mut reader, |block| match block {
        PcapBlockOwned::LegacyHeader(header) => {
            unit = if header.is_nanosecond_precision() { 1 } else { 1_000 }
        }
        PcapBlockOwned::Legacy(record) => {
            let ts = i64::from(record.ts_sec) * 1_000_000_000 + i64::from(record.ts_usec) * unit;
            seen.push((ts, record.origlen, sequence(record.data)));
        }
        PcapBlockOwned::NG(_) => unreachable!("a pcap file"),
    });
    seen
}

/// Units per second of an `if_tsresol` code. The oracle itself has no answer for powers of two.
fn units(code: u8) -> u64 {
    if code & 0x80 == 0 { 10_u64.pow(code.into()) } else { 1 << (code & 0x7f) }
}

fn theirs_pcapng(bytes: &[u8]) -> Vec<Seen> {
    let mut reader = PcapNGReader::new(1 << 16, bytes).unwrap();
    let mut seen: Vec<Seen> = Vec::new();
    let mut interfaces: Vec<(i64, u64)> = Vec::new();
    let mut big = false;
    blocks(&mut reader, |block| {
        let PcapBlockOwned::NG(block) = block else { unreachable!("a pcapng file") };
        match block {
            Block::SectionHeader(section) => {
                interfaces.clear();
                big = section.big_endian();
            }
            Block::InterfaceDescription(interface) => {
                // The oracle reads the offset in little-endian order whatever the section says.
                let offset = interface.ts_offset();
                interfaces.push((
                    if big { offset.swap_bytes() } else { offset },
                    units(interface.if_tsresol),
                ));
            }
            Block::EnhancedPacket(packet) => {
                let (offset, resolution) = interfaces[packet.if_id as usize];
                let count = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let ns = i64::try_from(count * 1_000_000_000 / u128::from(resolution)).unwrap();
                seen.push((ns + offset * 1_000_000_000, packet.origlen, sequence(packet.data)));
            }
            _ => {}
        }
    });
    seen
}

fn any_frames() -> impl Strategy<Value = Vec<Frame>> {
    let frame = (0_i64..2_000_000_000_000_000_000, any::<u32>(), 0_u16..1_400, 54_usize..1_500);
    proptest::collection::vec(frame, 1..60).prop_map(|frames| {
        let make = |(ts, number, payload, snap): (i64, u32, u16, usize)| {
            let mut frame = tcp(ts, number % 1_000_000, payload);
            frame.bytes.truncate(snap);
            frame
        };
        frames.into_iter().map(make).collect()
    })
}

proptest! {
    #[test]
    fn pcap(frames in any_frames(), big: bool, nanos: bool) {
        let bytes = Pcap { big, ..if nanos { Pcap::NANOS } else { Pcap::MICROS } }.file(&frames);
        let (packets, facts) = read_bytes(&bytes);
        prop_assert_eq!(ours(&packets), theirs_pcap(&bytes));
        prop_assert_eq!(packets.len(), frames.len());
        prop_assert!(facts.problems.is_empty());
    }

    #[test]
    fn pcapng(
        frames in any_frames(),
        sections in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(0_u8..12, 1..4), -1_000_i64..1_000),
            1..4,
        ),
    ) {
        let mut file = Pcapng::default();
        let per_section = frames.len().div_ceil(sections.len());
        for ((big, resolutions, offset), frames) in sections.iter().zip(frames.chunks(per_section))
        {
            file.section(*big, &[(4, b"a writer".to_vec())]);
            for resolution in resolutions {
                // Codes 10 and 11 stand for 2⁻¹⁰ and 2⁻²⁰.
                let code = match resolution {
                    10 => 0x8a,
                    11 => 0x94,
                    code => *code,
                };
                let offset = file.offset_option(*offset);
                file.interface(1, 0, &[(9, vec![code]), offset]);
            }
            for (i, frame) in frames.iter().enumerate() {
                let options = if i % 5 == 0 { vec![(1, b"comment".to_vec())] } else { vec![] };
                // Any count is right as long as it stays within the years that nanoseconds can
                // express.
                file.enhanced(
                    (i % resolutions.len()) as u32,
                    frame.ts_ns.cast_unsigned() >> 30,
                    frame,
                    &options,
                );
                if i % 7 == 0 {
                    file.statistics(0, &[(4, i as u64)]);
                }
            }
        }
        let (packets, facts) = read_bytes(&file.bytes);
        prop_assert_eq!(ours(&packets), theirs_pcapng(&file.bytes));
        prop_assert_eq!(packets.len(), frames.len());
        prop_assert!(facts.problems.is_empty());
    }
}
