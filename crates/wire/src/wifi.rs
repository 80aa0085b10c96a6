//! From an IEEE 802.11 data frame to the LLC header in it, for tunnels that carry such frames.
//!
//! Not opened: encrypted frames, fragments, and aggregates of several packets (A-MSDU), which one
//! record cannot stand for.

use crate::Skip;
use crate::frame::Frame;

/// Two bits of the first byte: management, control, data.
const KIND: u8 = 0x0c;
const DATA: u8 = 0x08;
/// Subtypes of data, by their bits.
const WITHOUT_DATA: u8 = 0x40;
const QOS: u8 = 0x80;
/// The second byte.
const TO_AND_FROM_DISTRIBUTION_SYSTEM: u8 = 0x03;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// The first byte of the `QoS` control field.
const AGGREGATE: u8 = 0x80;

/// The body of a data frame (IEEE 802.11-2020, section 9.3.2).
pub(crate) fn body(frame: Frame<'_>) -> Result<Frame<'_>, Skip> {
    let header = frame.chunk::<24>()?;
    let (kind, flags) = (header[0], header[1]);
    if kind & 0x03 != 0 {
        return Err(Skip::BadHeader);
    }
    if kind & KIND != DATA || kind & WITHOUT_DATA != 0 {
        return Err(Skip::NotIp);
    }
    let fragment_number = header[22] & 0x0f;
    if flags & (PROTECTED | MORE_FRAGMENTS) != 0 || fragment_number != 0 {
        return Err(Skip::Tunnel);
    }
    let four_addresses = flags & TO_AND_FROM_DISTRIBUTION_SYSTEM == TO_AND_FROM_DISTRIBUTION_SYSTEM;
    let rest = frame.after_checked(if four_addresses { 30 } else { 24 })?;
    if kind & QOS == 0 {
        return Ok(rest);
    }
    let [control, _] = *rest.chunk::<2>()?;
    if control & AGGREGATE != 0 {
        return Err(Skip::Tunnel);
    }
    // The bit of order states in a QoS frame that a field of high throughput control follows.
    rest.after_checked(if flags & ORDER == 0 { 2 } else { 6 })
}
