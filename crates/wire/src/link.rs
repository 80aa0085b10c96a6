//! Link types, by the numbers that pcap and pcapng files use (the LINKTYPE_ registry of
//! tcpdump.org).

/// A link type whose frames can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// BSD loopback (0) and OpenBSD loopback (108): four bytes of address family.
    Loopback,
    /// Ethernet (1).
    Ethernet,
    /// The point-to-point protocol, with or without the address and control bytes of HDLC-like
    /// framing (9, as ns-3 and tunnel devices write it), or always with them, or with Cisco's (50).
    Ppp,
    /// Raw IPv4 or IPv6 (101, and the DLT values 12 and 14 found in old files).
    Raw,
    /// Linux cooked capture v1 (113).
    LinuxCooked,
    /// Linux cooked capture v2 (276).
    LinuxCooked2,
    /// Raw IPv4 (228).
    Ipv4,
    /// Raw IPv6 (229).
    Ipv6,
}

impl LinkType {
    /// The link type of a LINKTYPE_ number, if its frames can be decoded.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            9 | 50 => Some(Self::Ppp),
            12 | 14 | 101 => Some(Self::Raw),
            113 => Some(Self::LinuxCooked),
            228 => Some(Self::Ipv4),
            229 => Some(Self::Ipv6),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }
}
