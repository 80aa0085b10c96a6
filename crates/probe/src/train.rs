//! A train of packets sent back to back: what the narrowest link spreads it to.

use crate::Sighting;

/// Asymptotic dispersion rate in bit/s, of packets of `ip_bytes` each: the bits behind the first
/// packet over the time from the first reception to the last. It lies between the available
/// bandwidth and the capacity. Nothing where a packet is missing, or all came at once.
#[expect(clippy::cast_precision_loss, reason = "a train of some dozen packets")]
pub fn dispersion_rate(ip_bytes: u32, packets: &[Sighting]) -> Option<f64> {
    let received: Option<Vec<_>> = packets.iter().map(|packet| packet.received).collect();
    let received = received?;
    let spread = (*received.iter().max()? - *received.iter().min()?).as_secs_f64();
    (spread > 0.0).then(|| 8.0 * f64::from(ip_bytes) * (received.len() - 1) as f64 / spread)
}
