//! What must hold for every frame, whatever it is made of. The fuzz target `decode` calls this with
//! bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate `wire` calls it with those in
//! `fuzz/corpus`.

use trustbed_units::Ns;
use trustbed_wire::{Batch, DecodeOptions, Decoder, LinkType, Record};

const LINKS: [LinkType; 8] = [
    LinkType::Ethernet,
    LinkType::LinuxCooked,
    LinkType::LinuxCooked2,
    LinkType::Raw,
    LinkType::Ipv4,
    LinkType::Ipv6,
    LinkType::Loopback,
    LinkType::Ppp,
];

/// Bytes in front of a frame: link type, flags, length on the wire, captured length.
const HEADER: usize = 5;

/// Frames one after the other, for every link type if so marked: the fast path and the slow path
/// say the same of each.
pub fn decode(data: &[u8]) {
    let inner = data.first().is_some_and(|first| first & 0x80 != 0);
    let options = DecodeOptions { inner };
    let (mut fast, mut slow) = (Decoder::new(options), Decoder::new(options));
    let (mut by_fast, mut by_slow) = (Batch::default(), Batch::default());
    let mut rest = data;
    let mut index = 0;
    while let Some((header, frames)) = rest.split_at_checked(HEADER) {
        let (bytes, later) = frames.split_at(usize::from(header[4]).min(frames.len()));
        rest = later;
        let links = if header[1] & 1 == 1 {
            &LINKS[..]
        } else {
            std::slice::from_ref(&LINKS[usize::from(header[0]) % LINKS.len()])
        };
        for &link in links {
            index += 1;
            let original_length = u32::from(u16::from_be_bytes([header[2], header[3]]));
            let record = Record {
                ts: Ns(index * 1_000_000),
                index: index.unsigned_abs(),
                link,
                interface: 0,
                original_length,
                bytes,
            };
            assert_eq!(
                fast.decode(&record, &mut by_fast),
                slow.decode_slowly(&record, &mut by_slow),
                "{link:?}"
            );
            assert_eq!(by_fast, by_slow, "{link:?}");
        }
    }
}
