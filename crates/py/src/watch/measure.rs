//! What a frame counts for: when, and how many bytes; for a super-packet the frames that it was on the wire.
//!
//! The same as for a file that holds the frames that the filter means: [`trustbed_flow::Unsegment`] learns from them and cuts, [`Basis`] says
//! what counts, a frame without an IP header has no IP length.

use trustbed_burst::Basis;
use trustbed_capture::Frame;
use trustbed_flow::{Spacing, Unsegment, Way};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Contents, DecodeOptions, Decoder, Filter, LinkType, Record};

/// A full Ethernet frame with a VLAN tag; what is longer may be a super-packet.
const LONGEST_PLAIN: u32 = 1518;

/// Takes frames in their order.
pub(super) struct Measure {
    basis: Basis,
    filter: Option<Filter>,
    /// None: super-packets count as they were captured.
    unsegment: Option<Unsegment>,
    decoder: Decoder,
    batch: Batch,
    left_out: LeftOut,
}

/// Frames that do not count, by reason.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeftOut {
    /// The filter does not mean them.
    pub(super) filtered: u64,
    /// Only IP lengths count, and they have none.
    pub(super) without_ip: u64,
}

impl Measure {
    pub(super) fn new(basis: Basis, filter: Option<Filter>, expands: bool) -> Self {
        let unsegment = expands.then(|| Unsegment::new(Spacing::Stacked));
        let decoder = Decoder::new(DecodeOptions::default());
        Self { basis, filter, unsegment, decoder, batch: Batch::default(), left_out: LeftOut::default() }
    }

    /// Calls `count` for what a frame counts for: bytes, and of how many packets they are. False if the filter does not mean it.
    ///
    /// The packets of a super-packet arrive at one moment, so the longest wait is the last one's: all before it may as well be one. That takes
    /// two calls in place of 45, and what queues and rates come to is the same, to the bit.
    pub(super) fn frame(&mut self, frame: &Frame<'_>, count: impl FnMut(Ns, u32, u32)) -> bool {
        let record = frame.record();
        if let (Some(filter), Some(record)) = (&self.filter, &record)
            && !filter.matches(&Contents::of(record, false))
        {
            self.left_out.filtered += 1;
            return false;
        }
        self.count(frame, record.as_ref(), count);
        true
    }

    fn count(&mut self, frame: &Frame<'_>, record: Option<&Record<'_>>, mut count: impl FnMut(Ns, u32, u32)) {
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let length = frame.original_length.max(captured);
        let basis = self.basis;
        if let (Some(unsegment), Some(record)) = (&mut self.unsegment, record)
            && (length > LONGEST_PLAIN || may_teach(record))
        {
            self.batch.clear();
            if self.decoder.decode(record, &mut self.batch).is_ok()
                && let Some(packet) = self.batch.packets.first()
            {
                unsegment.learn(packet, self.batch.options_of(packet));
                if length > LONGEST_PLAIN {
                    let (mut before, mut last) = (0, 0);
                    let packets = unsegment.expand(packet, Way::Unknown, |_, length, ip| {
                        before += last;
                        // An IP length is given, so every basis has one.
                        last = basis.length(length, Some(ip)).unwrap_or(0);
                    });
                    if packets > 1 {
                        count(frame.ts, before, packets - 1);
                    }
                    count(frame.ts, last, 1);
                    return;
                }
            }
        }
        let ip = if basis == Basis::Ip { record.and_then(|record| Contents::of(record, false).ip).map(|ip| ip.length) } else { None };
        match basis.length(length, ip) {
            Some(length) => count(frame.ts, length, 1),
            None => self.left_out.without_ip += 1,
        }
    }

    pub(super) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// How many super-packets were cut.
    pub(super) fn expanded(&self) -> u64 {
        self.unsegment.as_ref().map_or(0, |unsegment| unsegment.facts().super_packets)
    }
}

/// False where a glance shows that a frame tells nothing about segment sizes: UDP, and TCP without data that is no SYN. That is most frames of
/// many loads, and a glance costs a tenth of decoding. Anything unusual may teach.
#[inline]
fn may_teach(record: &Record<'_>) -> bool {
    const SYN: u8 = 0x02;
    let bytes = record.bytes;
    let half = |at: usize| bytes.get(at..at + 2).map(|half| u16::from_be_bytes([half[0], half[1]]));
    if record.link != LinkType::Ethernet {
        return true;
    }
    // Where the transport header begins, its protocol, and how long IP says it all is. Fragments (an offset, or more to come) and IP options
    // are unusual.
    let (transport, protocol, rest) = match (half(12), bytes.get(14)) {
        (Some(0x0800), Some(0x45)) if half(20).is_some_and(|fragment| fragment << 2 == 0) => (34, bytes.get(23), half(16)),
        (Some(0x86dd), Some(0x60..=0x6f)) => (54, bytes.get(20), half(18)),
        _ => return true,
    };
    let headers = if transport == 34 { 20 } else { 0 };
    match (protocol, bytes.get(transport + 12), bytes.get(transport + 13), rest) {
        (Some(17), ..) => false,
        (Some(6), Some(offset), Some(flags), Some(length)) => flags & SYN != 0 || u32::from(length) != headers + u32::from(offset >> 4) * 4,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use trustbed_wire::TcpFlags;

    use super::*;

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
                frame.extend([8, 0, 0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            } else {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, length[0], length[1], protocol, 64]);
                frame.extend([0; 32]);
            }
            frame.extend([0, 80, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, [0x10, 0x02, 0x12, 0x18][random(4)], 1, 0, 0, 0, 0, 0]);
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
            let record = Record { ts: Ns(0), index: 1, link: LinkType::Ethernet, interface: 0, original_length, bytes: &bytes };
            if may_teach(&record) {
                continue;
            }
            passed_over += 1;
            batch.clear();
            let Ok(()) = decoder.decode(&record, &mut batch) else { continue };
            let packet = batch.packets[0];
            assert!(packet.protocol != 6 || (packet.payload == 0 && !packet.flags.any(TcpFlags::SYN)), "{bytes:02x?}");
        }
        assert!(passed_over > 50_000, "{passed_over}");
    }
}
