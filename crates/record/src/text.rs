//! Addresses as text.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An address as people write it: IPv4 where the packet was IPv4.
pub fn address(bytes: &[u8; 16], ipv6: bool) -> String {
    if ipv6 {
        return Ipv6Addr::from(*bytes).to_string();
    }
    let [.., a, b, c, d] = *bytes;
    Ipv4Addr::new(a, b, c, d).to_string()
}

/// The name of an IP protocol.
pub(crate) fn protocol(number: u8) -> &'static str {
    if number == 6 { "tcp" } else { "udp" }
}
