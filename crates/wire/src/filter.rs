//! Which frames are meant, in the language of tcpdump (pcap-filter(7)), evaluated on what was
//! decoded.
//!
//! Understood: `host`, `net`, `port`, `portrange`, each with `src`, `dst`, `src or dst`, `src and
//! dst`; `tcp`, `udp`, `icmp`, `icmp6`, `arp`, `ip`, `ip6`, alone or in front of these; `vlan` with
//! or without an id, `less` and `greater`; `and`, `or`, `not` (`&&`, `||`, `!`), parentheses, and
//! the shorthand `port 80 or 443`. As there, `and` and `or` bind equally and from left to right.
//!
//! Not understood: names of hosts and services, and arithmetic on bytes (`tcp[13]`). Different from
//! there: `vlan` states nothing about what follows it, addresses and ports are found behind tags
//! and MPLS labels anyway; and `host` looks at IP, not at ARP.

mod parse;

use crate::Contents;
use crate::network::protocol;

pub use parse::FilterError;

/// A condition on frames.
///
/// ```
/// use trustbed_wire::{Contents, Filter};
/// let filter: Filter = "less 100 and not arp".parse()?;
/// assert!(filter.matches(&Contents { length: 60, ..Contents::default() }));
/// assert!(!filter.matches(&Contents { length: 60, arp: true, ..Contents::default() }));
/// assert_eq!(
///     "port http".parse::<Filter>().unwrap_err().to_string(),
///     "http (at 6) is no port: a number from 0 to 65535"
/// );
/// # Ok::<(), trustbed_wire::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    expression: Expression,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Is(Test),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// Which end of a packet is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
    Either,
    Both,
}

/// What a test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Ip {
        v6: bool,
    },
    Arp,
    Protocol(u8),
    /// The address under the mask, IPv4 mapped into IPv6.
    Net {
        end: End,
        address: u128,
        mask: u128,
    },
    Port {
        end: End,
        low: u16,
        high: u16,
    },
    Vlan(Option<u16>),
    AtMost(u32),
    AtLeast(u32),
}

impl Filter {
    /// Whether a frame is meant.
    pub fn matches(&self, contents: &Contents) -> bool {
        self.expression.holds(contents)
    }
}

impl Expression {
    fn holds(&self, contents: &Contents) -> bool {
        match self {
            Self::Is(test) => test.holds(contents),
            Self::Not(other) => !other.holds(contents),
            Self::Both(one, other) => one.holds(contents) && other.holds(contents),
            Self::Either(one, other) => one.holds(contents) || other.holds(contents),
        }
    }
}

impl End {
    fn holds<T: Copy>(self, source: T, destination: T, is: impl Fn(T) -> bool) -> bool {
        match self {
            Self::Source => is(source),
            Self::Destination => is(destination),
            Self::Either => is(source) || is(destination),
            Self::Both => is(source) && is(destination),
        }
    }
}

impl Test {
    fn holds(self, contents: &Contents) -> bool {
        let ip = contents.ip;
        match self {
            Self::Ip { v6 } => ip.is_some_and(|ip| ip.is_v6 == v6),
            Self::Arp => contents.arp,
            Self::Protocol(number) => ip.is_some_and(|ip| ip.protocol == number),
            Self::Net { end, address, mask } => ip.is_some_and(|ip| {
                end.holds(ip.source, ip.destination, |found| {
                    u128::from_be_bytes(found) & mask == address
                })
            }),
            Self::Port { end, low, high } => ip.is_some_and(|ip| {
                matches!(ip.protocol, protocol::TCP | protocol::UDP)
                    && ip.ports.is_some_and(|(source, destination)| {
                        end.holds(source, destination, |port| (low..=high).contains(&port))
                    })
            }),
            Self::Vlan(expected) => {
                contents.vlan.is_some_and(|vlan| expected.is_none_or(|expected| expected == vlan))
            }
            Self::AtMost(length) => contents.length <= length,
            Self::AtLeast(length) => contents.length >= length,
        }
    }
}

#[cfg(test)]
mod tests;
