//! What SACK blocks add: ranges that the receiver holds, and DSACKs (RFC 2883), by which a
//! retransmission turns out to have been unnecessary.

use trustbed_wire::Options;

use super::{Cause, Stream, WILD};
use crate::Retransmission;

impl Stream {
    /// The retransmission that the last SACK declared unnecessary (RFC 2883), once.
    #[inline]
    pub(crate) fn take_disproved(&mut self) -> Option<Retransmission> {
        self.recovery.as_deref_mut().and_then(|r| r.disproved.take())
    }

    /// Enters SACK blocks; returns whether they reported new ranges.
    pub(super) fn on_sack(&mut self, options: &Options, ack: i64) -> bool {
        let count = usize::from(options.sack_count).min(4);
        let una = self.una.max(ack);
        let snd_max = self.snd_max;
        let block = |n: usize| {
            let (left, right) = options.sack[n];
            let left = self.unwrap(left, snd_max);
            (left, left + i64::from(right.wrapping_sub(options.sack[n].0)))
        };
        let blocks =
            [block(0), block(1.min(count - 1)), block(2.min(count - 1)), block(3.min(count - 1))];
        let valid = |&(left, right): &(i64, i64)| {
            left < right && (left - snd_max).abs() <= WILD && right <= snd_max
        };
        let wild = blocks[..count].iter().filter(|b| (b.0 - snd_max).abs() > WILD).count();
        if wild > 0 {
            self.note_wild(u32::try_from(wild).unwrap_or(0));
        }
        let first = blocks[0];
        let duplicate = valid(&first)
            // Below its own cumulative acknowledgement: that of a later one, which overtook it, makes
            // no report a duplicate.
            && (first.1 <= ack || (count > 1 && blocks[1].0 <= first.0 && first.1 <= blocks[1].1));
        let recovery = self.recovery.get_or_insert_default();
        if duplicate && let Some(retransmission) = recovery.disprove(first.0, first.1) {
            self.counters.spurious += 1;
            match retransmission.cause {
                Cause::Fast => self.counters.fast -= 1,
                Cause::TailLossProbe => {
                    self.counters.timeout -= 1;
                    self.counters.tail_loss_probes -= 1;
                }
                _ => self.counters.timeout -= 1,
            }
            recovery.disproved = Some(retransmission);
        }
        let records = &mut self.records;
        let mut fresh = false;
        for &(left, right) in
            blocks[..count].iter().skip(usize::from(duplicate)).filter(|b| valid(b))
        {
            if recovery.is_full() {
                break;
            }
            recovery.sacked.insert(left.max(una), right, |from, to| {
                fresh = true;
                records.sack(from, to);
            });
        }
        fresh
    }
}
