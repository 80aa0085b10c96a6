//! What a frame counts for: when, and how many bytes; for a super-packet the frames that it was on
//! the wire.
//!
//! The same as for a file that holds the frames that the filter means: [`trustbed_flow::Unsegment`]
//! learns from them and cuts, [`Basis`] decides what counts, a frame without an IP header has no IP
//! length.

use trustbed_burst::Basis;
use trustbed_capture::Frame;
use trustbed_flow::{Direction, Spacing, Unsegment};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Contents, DecodeOptions, Decoder, Filter, Record, glance};

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
        Self {
            basis,
            filter,
            unsegment,
            decoder,
            batch: Batch::default(),
            left_out: LeftOut::default(),
        }
    }

    /// Calls `count` for what a frame counts for: bytes, and of how many packets they are. False if
    /// the filter does not mean it.
    ///
    /// The packets of a super-packet arrive at one moment, so the longest wait is the last one's:
    /// all before it may as well be one. That takes two calls instead of 45, and what queues and
    /// rates come to is the same, to the bit.
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

    fn count(
        &mut self,
        frame: &Frame<'_>,
        record: Option<&Record<'_>>,
        mut count: impl FnMut(Ns, u32, u32),
    ) {
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let length = frame.original_length.max(captured);
        let basis = self.basis;
        if let (Some(unsegment), Some(record)) = (&mut self.unsegment, record)
            && (length > LONGEST_PLAIN || glance::may_teach(record))
        {
            self.batch.clear();
            if self.decoder.decode(record, &mut self.batch).is_ok()
                && let Some(packet) = self.batch.packets.first()
            {
                unsegment.learn(packet, self.batch.options_of(packet));
                if length > LONGEST_PLAIN {
                    let (mut before, mut last) = (0, 0);
                    let packets = unsegment.expand(packet, Direction::Unknown, |_, length, ip| {
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
        let ip = if basis == Basis::Ip {
            record.and_then(|record| Contents::of(record, false).ip).map(|ip| ip.length)
        } else {
            None
        };
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
