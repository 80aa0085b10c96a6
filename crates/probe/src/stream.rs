//! Streams of pathload: packets of one length at equal distances, and what is left of them once the
//! hosts' own pauses are taken out.
//!
//! Jain and Dovrolis, *End-to-End Available Bandwidth: Measurement Methodology, Dynamics, and
//! Relation with TCP Throughput*, SIGCOMM 2002; constants of pathload 1.3.2.

use trustbed_units::{Ns, Span};

use crate::Sighting;
use crate::sighting::lost_share;
use crate::spacing::distorted_share;

/// Up to this rate the gap is the preferred one and the length follows from the rate; from there on
/// the length is the largest.
const FIXED_LENGTH_FROM: f64 = 150e6;

/// At most this part of the gaps may be longer than scheduled without counting: a sender that was
/// kept waiting.
const LARGEST_GAPS: f64 = 0.15;

/// What the hosts and the path can take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamLimits {
    /// Payload of the smallest packet, in bytes.
    pub least_payload: u32,
    /// Payload of the largest packet, in bytes.
    pub largest_payload: u32,
    /// Headers of IP and UDP, in bytes, which count as sent: 28, or 48 with IPv6.
    pub header_bytes: u32,
    /// The preferred gap where the rate allows it: the smallest that the hosts sustain, at least 80
    /// µs.
    pub preferred_gap: Span,
    /// The longest gap.
    pub longest_gap: Span,
    /// What receiving a packet costs the receiver. Packets that come faster than 2.5 times that
    /// (and than 7 µs) waited in its machine.
    pub receive_cost: Span,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            least_payload: 200,
            largest_payload: 1472,
            header_bytes: 28,
            preferred_gap: Span::from_micros(80),
            longest_gap: Span::from_millis(200),
            receive_cost: Span::ZERO,
        }
    }
}

/// A stream to send: `packets` packets of `payload` bytes, `gap` from the start of one to the start
/// of the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// How many packets.
    pub packets: usize,
    /// UDP payload of each, in bytes.
    pub payload: u32,
    /// Headers of IP and UDP of each, in bytes.
    pub header_bytes: u32,
    /// From packet to packet, in nanoseconds; not whole, so that rates are exact.
    pub gap_ns: f64,
}

impl Stream {
    /// The stream that comes closest to the rate, in bit/s of IP packets.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the payloads of a packet"
    )]
    pub fn at(rate: f64, packets: usize, limits: &StreamLimits) -> Self {
        let (least, largest) = (f64::from(limits.least_payload), f64::from(limits.largest_payload));
        let preferred = rate * limits.preferred_gap.as_f64() / 8e9 - f64::from(limits.header_bytes);
        let payload = if rate < FIXED_LENGTH_FROM {
            preferred.clamp(least, largest) as u32
        } else {
            limits.largest_payload
        };
        let bits = 8.0 * f64::from(payload + limits.header_bytes);
        let gap_ns = (bits * 1e9 / rate).min(limits.longest_gap.as_f64());
        Self { packets, payload, header_bytes: limits.header_bytes, gap_ns }
    }

    /// Its rate in bit/s, headers of IP and UDP included.
    pub fn rate(&self) -> f64 {
        8e9 * f64::from(self.ip_bytes()) / self.gap_ns
    }

    /// When a packet is due after the first.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a stream lasts seconds at most"
    )]
    pub fn due(&self, number: usize) -> Span {
        Span((number as f64 * self.gap_ns) as i64)
    }

    /// From its first packet to its last.
    pub fn duration(&self) -> Span {
        self.due(self.packets.saturating_sub(1))
    }

    /// All its bytes, headers of IP and UDP included.
    pub fn bytes(&self) -> u64 {
        u64::from(self.ip_bytes()) * self.packets as u64
    }

    const fn ip_bytes(&self) -> u32 {
        self.payload + self.header_bytes
    }

    /// The rate at which it was really sent, by the sender's stamps, without the largest 15 % of
    /// the gaps; nothing of fewer than two packets.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most some hundred gaps of nanoseconds"
    )]
    pub fn sent_rate(&self, sightings: &[Sighting]) -> Option<f64> {
        let mut gaps: Vec<i64> =
            sightings.windows(2).map(|pair| (pair[1].sent - pair[0].sent).0).collect();
        gaps.sort_unstable();
        let kept = (gaps.len() as f64 * (1.0 - LARGEST_GAPS)).ceil() as usize;
        let total: i64 = gaps.iter().take(kept).sum();
        (kept > 0 && total > 0)
            .then(|| 8e9 * f64::from(self.ip_bytes()) * kept as f64 / total as f64)
    }

    /// Whether the sender kept to it: no more than 15 % of the gaps were off by a quarter and 10
    /// µs, and pauses left a part that is long enough. A stream sent otherwise gives no result of
    /// the path; it is sent again.
    pub fn is_as_scheduled(&self, sightings: &[Sighting]) -> bool {
        let pause = self.pause();
        let longest = sightings
            .chunk_by(|one, next| (next.sent - one.sent).as_f64() <= pause)
            .map(<[_]>::len)
            .max()
            .unwrap_or(0);
        longest > UNUSABLE.min(self.packets.saturating_sub(1))
            && distorted_share(|_| self.gap_ns, sightings) <= LARGEST_GAPS
    }

    /// A longer gap, in nanoseconds, is a pause of the sender.
    fn pause(&self) -> f64 {
        (2.0 * self.gap_ns).max(self.gap_ns + 1e6)
    }

    /// Relative one-way delays in nanoseconds (the least is 0), cut where the sender paused,
    /// without packets that waited in the receiver. Parts of 36 packets and fewer give no result
    /// and are left out.
    pub fn cleaned(&self, sightings: &[Sighting], limits: &StreamLimits) -> Vec<Vec<f64>> {
        let pause = self.pause();
        let waited = limits.receive_cost.as_f64().mul_add(2.5, 0.0).max(7e3);
        let mut parts = vec![Vec::new()];
        let mut before: Option<&Sighting> = None;
        let mut last_received: Option<Ns> = None;
        for sighting in sightings {
            if before.is_some_and(|before| (sighting.sent - before.sent).as_f64() > pause) {
                parts.push(Vec::new());
            }
            before = Some(sighting);
            let (Some(received), Some(delay)) = (sighting.received, sighting.delay()) else {
                continue;
            };
            let at_once = last_received.is_some_and(|last| (received - last).as_f64() <= waited);
            last_received = Some(received);
            if let Some(part) = parts.last_mut().filter(|_| !at_once) {
                part.push(delay);
            }
        }
        parts.retain(|part: &Vec<Span>| part.len() > UNUSABLE);
        let least = parts.iter().flatten().min().copied().unwrap_or(Span::ZERO);
        parts
            .iter()
            .map(|part| part.iter().map(|delay| (*delay - least).as_f64()).collect())
            .collect()
    }

    /// The share of its packets that never came, 0…1.
    pub fn lost_share(sightings: &[Sighting]) -> f64 {
        lost_share(sightings)
    }
}

/// Parts of so many packets, and shorter ones, have no trend.
const UNUSABLE: usize = 36;
