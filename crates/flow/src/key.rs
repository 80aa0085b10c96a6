//! The flow key: protocol and both endpoints, the lower one first, so that both directions share
//! it.

use trustbed_wire::Packet;

/// Protocol and endpoints of a flow. `low` is the endpoint whose (address, port) compares lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    /// Address of the lower endpoint, 16 bytes.
    pub low: [u8; 16],
    /// Address of the higher endpoint, 16 bytes.
    pub high: [u8; 16],
    /// Port of the lower endpoint.
    pub low_port: u16,
    /// Port of the higher endpoint.
    pub high_port: u16,
    /// IP protocol: 6 or 17.
    pub protocol: u8,
}

impl FlowKey {
    /// The key of a packet, and its direction: 0 when it goes from the lower endpoint to the
    /// higher.
    #[inline]
    pub fn of(packet: &Packet) -> (Self, usize) {
        let source = (u128::from_be_bytes(packet.source), packet.source_port);
        let destination = (u128::from_be_bytes(packet.destination), packet.destination_port);
        if source <= destination {
            let key = Self {
                low: packet.source,
                high: packet.destination,
                low_port: packet.source_port,
                high_port: packet.destination_port,
                protocol: packet.protocol,
            };
            (key, 0)
        } else {
            let key = Self {
                low: packet.destination,
                high: packet.source,
                low_port: packet.destination_port,
                high_port: packet.source_port,
                protocol: packet.protocol,
            };
            (key, 1)
        }
    }

    /// A hash for looking connections up. `secret`: what only this run knows, so that nobody can
    /// make a capture whose connections collide; no result may depend on it.
    pub fn hash(&self, secret: u64) -> u64 {
        let ports = u64::from(self.low_port) << 16 | u64::from(self.high_port);
        let [low, high] = [self.low, self.high].map(u128::from_be_bytes);
        let halves = [low >> 64, low, high >> 64, high];
        #[expect(clippy::cast_possible_truncation, reason = "halves are taken")]
        let words = halves.into_iter().map(|half| half as u64);
        words
            .chain([ports << 8 | u64::from(self.protocol)])
            .fold(0, |state, word| mixed(state ^ word, secret))
    }

    /// Address and port of the endpoint that sends in `direction`.
    pub fn source(&self, direction: usize) -> ([u8; 16], u16) {
        if direction == 0 { (self.low, self.low_port) } else { (self.high, self.high_port) }
    }
}

/// A number that depends on every bit of a hash and of the secret: multiplied with a constant, the
/// halves of the product folded onto each other.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are needed")]
pub(crate) const fn mixed(hash: u64, secret: u64) -> u64 {
    let product = (hash ^ secret) as u128 * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}
