//! What a glance at fixed offsets of a frame shows, at a tenth of the cost of decoding it. Only
//! Ethernet without tags, IPv4 without options and IPv6 without extension headers are glanced at,
//! which is nearly everything; of the rest nothing is claimed.

use crate::{LinkType, Record};

/// False where a glance shows that a frame shows nothing about segment sizes: UDP, and TCP without
/// data that is no SYN. Anything unusual may teach.
#[inline]
pub fn may_teach(record: &Record<'_>) -> bool {
    const SYN: u8 = 0x02;
    let bytes = record.bytes;
    let half = |at: usize| bytes.get(at..at + 2).map(|half| u16::from_be_bytes([half[0], half[1]]));
    if record.link != LinkType::Ethernet {
        return true;
    }
    // Where the transport header begins, its protocol, and the total length that IP states.
    // Fragments (an offset, or more to come) and IP options are unusual.
    let (transport, protocol, rest) = match (half(12), bytes.get(14)) {
        (Some(0x0800), Some(0x45)) if half(20).is_some_and(|fragment| fragment << 2 == 0) => {
            (34, bytes.get(23), half(16))
        }
        (Some(0x86dd), Some(0x60..=0x6f)) => (54, bytes.get(20), half(18)),
        _ => return true,
    };
    let headers = if transport == 34 { 20 } else { 0 };
    match (protocol, bytes.get(transport + 12), bytes.get(transport + 13), rest) {
        (Some(17), ..) => false,
        (Some(6), Some(offset), Some(flags), Some(length)) => {
            flags & SYN != 0 || u32::from(length) != headers + u32::from(offset >> 4) * 4
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use trustbed_units::Ns;

    use super::*;
    use crate::{Batch, DecodeOptions, Decoder, TcpFlags};

    /// Ethernet, IP of either version, TCP or UDP, with bytes of the headers changed at random.
    fn frames() -> impl Iterator<Item = Vec<u8>> {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        (0..200_000).map(move |_| {
            let mut frame = vec![0; 12];
            let (payload, protocol) = ([0, 0, 1, 100][random(4)], [6, 6, 6, 17, 1][random(5)]);
            let length = u16::try_from(20 + payload).unwrap().to_be_bytes();
            if random(2) == 0 {
                let total = u16::try_from(40 + payload).unwrap().to_be_bytes();
                frame.extend([
                    8, 0, 0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1,
                    10, 0, 0, 2,
                ]);
            } else {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, length[0], length[1], protocol, 64]);
                frame.extend([0; 32]);
            }
            frame.extend([
                0,
                80,
                4,
                0,
                0,
                0,
                0,
                1,
                0,
                0,
                0,
                0,
                0x50,
                [0x10, 0x02, 0x12, 0x18][random(4)],
                1,
                0,
                0,
                0,
                0,
                0,
            ]);
            frame.extend(vec![0; payload]);
            if random(3) == 0 {
                let at = 12 + random(42);
                frame[at] = u8::try_from(random(256)).unwrap();
            }
            frame
        })
    }

    #[test]
    fn what_is_passed_over_teaches_nothing() {
        let (mut decoder, mut batch) = (Decoder::new(DecodeOptions::default()), Batch::default());
        let mut passed_over = 0;
        for bytes in frames() {
            let original_length = u32::try_from(bytes.len()).unwrap();
            let record = Record {
                ts: Ns(0),
                index: 1,
                link: LinkType::Ethernet,
                interface: 0,
                original_length,
                bytes: &bytes,
            };
            if may_teach(&record) {
                continue;
            }
            passed_over += 1;
            batch.clear();
            let Ok(()) = decoder.decode(&record, &mut batch) else { continue };
            let packet = batch.packets[0];
            assert!(
                packet.protocol != 6 || (packet.payload == 0 && !packet.flags.any(TcpFlags::SYN)),
                "{bytes:02x?}"
            );
        }
        assert!(passed_over > 50_000, "{passed_over}");
    }
}
