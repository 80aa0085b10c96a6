//! A capture of super-packets of as many frames as are cut, for tests.

use std::sync::Arc;

use trustbed_capture::Input;
use trustbed_flow::Unsegment;

/// Frames of each.
pub(crate) const FRAMES: u32 = Unsegment::MOST_FRAMES;

/// An MSS of 48 bytes, the smallest that is accepted.
const MSS: u8 = 48;

/// A SYN with the MSS, and so many super-packets a millisecond apart, of each of which only the
/// headers were captured.
pub(crate) fn capture(super_packets: u32) -> Input {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    record(&mut bytes, 0, 0);
    for number in 1..=super_packets {
        record(&mut bytes, number, u32::from(MSS) * FRAMES);
    }
    Input::Memory { name: "super-packets".to_owned(), bytes: Arc::from(bytes) }
}

/// A record of raw IP; the first is the SYN.
fn record(bytes: &mut Vec<u8>, number: u32, payload: u32) {
    let [syn, options] = if number == 0 { [2, 4] } else { [16, 0] };
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(40 + u32::from(options) + payload).unwrap().to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x9c, 0x40, 0x14, 0x51]);
    packet.extend(number.wrapping_mul(payload).to_be_bytes());
    packet.extend([0, 0, 0, 0, (5 + options / 4) << 4, syn, 0xff, 0xff, 0, 0, 0, 0]);
    if options > 0 {
        packet.extend([2, 4, 0, MSS]);
    }
    let captured = u32::try_from(packet.len()).unwrap();
    let nanoseconds = number % 1000 * 1_000_000;
    for word in [1_700_000_000 + number / 1000, nanoseconds, captured, captured + payload] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(packet);
}
