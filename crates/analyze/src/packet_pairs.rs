//! Rates at which full packets that follow one another pass: what the narrowest link before the
//! capture point lets through, and by the acknowledgements what the one behind it does.
//!
//! A packet pair shows a link's rate if both waited in its queue (Keshav, SIGCOMM 1991). Nothing
//! here knows whether they did: a sender that paces, or other traffic between the two, shows less.
//! The median over many pairs is an under-estimate more often than an over-estimate.
//!
//! Bounded: the first 64 pairs of each kind are kept.

use trustbed_flow::{Ack, Class, Segment};
use trustbed_units::Ns;

/// Pairs kept.
const MOST: usize = 64;

/// The pairs of a transfer, in bits of IP packets per second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PacketPairs {
    /// Full packets, one after the other.
    pub sent: Vec<f64>,
    /// Acknowledgements of exactly two full segments, one after the other.
    pub answered: Vec<f64>,
    /// The last data packet, if it was full.
    full: Option<Ns>,
    /// The last acknowledgement, if it covered two full segments.
    answer: Option<Ns>,
}

impl PacketPairs {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        (self.sent.capacity() + self.answered.capacity()) * size_of::<f64>()
    }

    /// Data passed.
    pub fn on_data(&mut self, segment: &Segment, mss: u32) {
        let full = segment.length == mss && segment.class == Class::New;
        if let Some(before) = self.full.filter(|_| full) {
            note(&mut self.sent, before, segment.now, mss + u32::from(segment.headers));
        }
        self.full = full.then_some(segment.now);
    }

    /// An acknowledgement passed; `headers`: those of the data's packets.
    pub fn on_ack(&mut self, ack: &Ack, mss: u32, headers: u16) {
        if ack.advanced == 0 {
            return;
        }
        let two = ack.advanced == 2 * i64::from(mss);
        if let Some(before) = self.answer.filter(|_| two) {
            note(&mut self.answered, before, ack.now, 2 * (mss + u32::from(headers)));
        }
        self.answer = two.then_some(ack.now);
    }
}

fn note(rates: &mut Vec<f64>, before: Ns, now: Ns, bytes: u32) {
    let apart = now - before;
    if apart.0 > 0 && rates.len() < MOST {
        rates.push(f64::from(bytes) * 8.0 / apart.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_neighbours_with_time_between_them() {
        let mut rates = Vec::new();
        let at = |micros: i64| Ns(micros * 1000);
        for (before, now) in [(0, 200), (200, 400), (400, 1400), (1400, 1610), (1610, 1610)] {
            note(&mut rates, at(before), at(now), 1500);
        }
        // The golden values of a packet train on 60 Mbit/s with one gap.
        for (rate, golden) in rates.iter().zip([60.0, 60.0, 12.0, 57.142_857_142_857_146]) {
            assert!((rate / 1e6 - golden).abs() < 1e-9, "{rate}");
        }
        assert_eq!(rates.len(), 4);
    }
}
