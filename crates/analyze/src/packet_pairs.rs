//! Rates at which full packets that follow one another pass: what the narrowest link before the
//! capture point lets through, and by the acknowledgements what the one behind it does.
//!
//! A packet pair shows a link's rate if both waited in its queue (Keshav, SIGCOMM 1991). Nothing
//! here knows whether they did: a sender that paces, or other traffic between the two, shows less.
//! The median over many pairs is an under-estimate more often than an over-estimate.
//!
//! Where other traffic comes between most packets, it is an under-estimate by far: a link carries
//! no less than it was seen to carry ([`Carried`]).
//!
//! Bounded: the first 64 pairs of each kind are kept.

use trustbed_flow::{Ack, Class, Segment};
use trustbed_units::{Ns, Span};

/// Pairs kept.
const MOST: usize = 64;
/// The smallest full segment (RFC 9293, section 3.7.1): what is always shorter is no full one.
const LEAST_SEGMENT: u32 = 536;
/// Packets of a run, and how long it takes at least: a driver hands over a few at once.
const RUN: u64 = 16;
const RUN_TIME: Span = Span::from_millis(10);

/// The pairs of a transfer, in bits of IP packets per second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PacketPairs {
    /// Full packets, one after the other.
    pub sent: Vec<f64>,
    /// Acknowledgements of exactly two full segments, one after the other.
    pub answered: Vec<f64>,
    /// What the data ran at.
    pub carried: Carried,
    /// The last data packet, if it was full.
    full: Option<Ns>,
    /// The last acknowledgement, if it covered two full segments.
    answer: Option<Ns>,
}

/// The largest rate of 16 full packets or more over 10 ms or more, in bits of IP packets per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Carried {
    /// Of all runs; none without one.
    pub fastest: Option<f64>,
    /// When the run began, and its bytes since.
    since: Option<Ns>,
    bytes: u64,
}

impl Carried {
    #[expect(clippy::cast_precision_loss, reason = "bytes of a run")]
    fn add(&mut self, now: Ns, bytes: u64, full: u64) {
        let since = *self.since.get_or_insert(now);
        if since != now {
            self.bytes += bytes;
        }
        let took = now - since;
        if self.bytes >= RUN * full && took >= RUN_TIME {
            let rate = self.bytes as f64 * 8.0 / took.as_secs_f64();
            self.fastest = Some(self.fastest.map_or(rate, |fastest| fastest.max(rate)));
            (self.since, self.bytes) = (Some(now), 0);
        }
    }
}

impl PacketPairs {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        (self.sent.capacity() + self.answered.capacity()) * size_of::<f64>()
    }

    /// Data passed.
    pub fn on_data(&mut self, segment: &Segment, mss: u32) {
        let headers = u32::from(segment.headers);
        if segment.class == Class::New {
            let bytes = u64::from(segment.length + headers);
            let full = u64::from(mss.max(LEAST_SEGMENT) + headers);
            self.carried.add(segment.now, bytes, full);
        }
        let full = segment.length == mss && mss >= LEAST_SEGMENT && segment.class == Class::New;
        if let Some(before) = self.full.filter(|_| full) {
            note(&mut self.sent, before, segment.now, mss + headers);
        }
        self.full = full.then_some(segment.now);
    }

    /// An acknowledgement passed; `headers`: those of the data's packets.
    pub fn on_ack(&mut self, ack: &Ack, mss: u32, headers: u16) {
        if ack.advanced == 0 {
            return;
        }
        let two = ack.advanced == 2 * i64::from(mss) && mss >= LEAST_SEGMENT;
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

    #[test]
    fn a_link_carries_what_it_was_seen_to_carry() {
        let mut carried = Carried::default();
        let at = |micros: i64| Ns(micros * 1000);
        // 1500 bytes every 2 ms.
        for packet in 0..40 {
            carried.add(at(packet * 2000), 1500, 1500);
        }
        assert!((carried.fastest.unwrap() - 6e6).abs() < 1.0);
        let mut batches = Carried::default();
        // Handed over eight at a time: 12 Mbit/s all the same.
        for packet in 0..64 {
            batches.add(at(packet / 8 * 8000 + packet % 8), 1500, 1500);
        }
        let rate = batches.fastest.unwrap();
        assert!((11e6..14e6).contains(&rate), "{rate}");
        assert_eq!(Carried::default().fastest, None);
    }
}
