//! What a frame counts for: when, and how many bytes; for a super-packet the frames that it was on the wire.
//!
//! The same as for a file: [`trustbed_flow::Unsegment`] cuts, [`Basis`] says what counts, a frame without an IP header has no IP length.

use trustbed_burst::Basis;
use trustbed_capture::Frame;
use trustbed_flow::{Spacing, Unsegment, Way};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Contents, DecodeOptions, Decoder, Filter, Record};

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

    /// Calls `count` for what a frame counts for. False if the filter does not mean it.
    pub(super) fn frame(&mut self, frame: &Frame<'_>, count: impl FnMut(Ns, u32)) -> bool {
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

    fn count(&mut self, frame: &Frame<'_>, record: Option<&Record<'_>>, mut count: impl FnMut(Ns, u32)) {
        if let (Some(unsegment), Some(record)) = (&mut self.unsegment, record) {
            self.batch.clear();
            if self.decoder.decode(record, &mut self.batch).is_ok()
                && let Some(packet) = self.batch.packets.first()
            {
                unsegment.learn(packet, self.batch.options_of(packet));
                let basis = self.basis;
                unsegment.expand(packet, Way::Unknown, |ts, length, ip| {
                    // An IP length is given, so every basis has one.
                    if let Some(length) = basis.length(length, Some(ip)) {
                        count(ts, length);
                    }
                });
                return;
            }
        }
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let ip = if self.basis == Basis::Ip { record.and_then(|record| Contents::of(record, false).ip).map(|ip| ip.length) } else { None };
        match self.basis.length(frame.original_length.max(captured), ip) {
            Some(length) => count(frame.ts, length),
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
