//! The header that senders put into payloads, from which a sink computes loss, order and delay.
//!
//! It takes what room there is: 8 bytes name run, source and packet, 8 more the departure time. A
//! datagram of fewer than 8 bytes is known by its addresses only. The rest of the payload is zeros.
//! A TCP stream begins with a header of 16 bytes, or as much of it as is sent.

use trustbed_units::Ns;

/// The shortest header.
pub(crate) const SHORT: usize = 8;
/// With the moment of sending.
pub(crate) const LONG: usize = 16;

/// One timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayloadHeader {
    /// What all senders and sinks of one run share, so that a stray datagram is not counted.
    pub(crate) nonce: u16,
    /// The source, as its sender numbers it.
    pub(crate) source: u16,
    /// The packet, counted from 0 in the order of the schedule; wraps after 2³².
    pub(crate) sequence: u32,
    /// When it was sent.
    pub(crate) sent: Option<Ns>,
}

impl PayloadHeader {
    /// Writes as much as fits.
    pub(crate) fn write(&self, payload: &mut [u8]) {
        let Some(short) = payload.first_chunk_mut::<SHORT>() else { return };
        short[0..2].copy_from_slice(&self.nonce.to_be_bytes());
        short[2..4].copy_from_slice(&self.source.to_be_bytes());
        short[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        if let (Some(sent), Some(time)) = (self.sent, payload.get_mut(SHORT..LONG)) {
            time.copy_from_slice(&sent.0.to_be_bytes());
        }
    }

    /// Reads what a payload begins with; none when it is too short.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let [n0, n1, s0, s1, q0, q1, q2, q3] = *payload.first_chunk::<SHORT>()?;
        let time = payload.get(SHORT..LONG).and_then(|time| <[u8; 8]>::try_from(time).ok());
        Some(Self {
            nonce: u16::from_be_bytes([n0, n1]),
            source: u16::from_be_bytes([s0, s1]),
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            sent: time.map(|time| Ns(i64::from_be_bytes(time))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_takes_the_room_there_is() {
        let stamp = PayloadHeader {
            nonce: 0xabcd,
            source: 7,
            sequence: 0x0102_0304,
            sent: Some(Ns(1_700_000_000_123_456_789)),
        };
        let mut payload = [0xff_u8; 20];
        stamp.write(&mut payload);
        assert_eq!(PayloadHeader::read(&payload), Some(stamp));
        assert_eq!(payload[16..], [0xff; 4]);
        let mut acknowledgement = [0_u8; 12];
        stamp.write(&mut acknowledgement);
        assert_eq!(
            PayloadHeader::read(&acknowledgement),
            Some(PayloadHeader { sent: None, ..stamp })
        );
        assert_eq!(acknowledgement[8..], [0; 4]);
        let mut tiny = [0_u8; 7];
        stamp.write(&mut tiny);
        assert_eq!((tiny, PayloadHeader::read(&tiny)), ([0; 7], None));
    }
}
