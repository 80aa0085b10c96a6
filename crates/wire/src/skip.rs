//! Why a record is not measured. Nothing is skipped without one of these.

/// The reason why a record yields no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[repr(u8)]
pub enum Skip {
    /// Not IP: ARP, spanning tree, LLDP and the like.
    #[error("not an IP packet")]
    NotIp,
    /// IP, but neither TCP nor UDP.
    #[error("neither TCP nor UDP")]
    OtherProtocol,
    /// A tunnel whose inside was not requested (`--inner`), or cannot be reached: a kind that is
    /// not opened, too many in one another, or a later fragment of a tunnel packet.
    #[error("a tunnel that was not opened")]
    Tunnel,
    /// A header was cut by the snap length.
    #[error("a header was cut by the snap length")]
    Truncated,
    /// A header contradicts itself (lengths that lie, impossible offsets).
    #[error("a header contradicts itself")]
    BadHeader,
    /// A fragment whose first part was not seen.
    #[error("a fragment whose first part was not seen")]
    FragmentWithoutFirst,
    /// The link type cannot be decoded.
    #[error("the link type cannot be decoded")]
    UnsupportedLink,
    /// An empty record.
    #[error("an empty record")]
    Empty,
}

impl Skip {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::NotIp,
        Self::OtherProtocol,
        Self::Tunnel,
        Self::Truncated,
        Self::BadHeader,
        Self::FragmentWithoutFirst,
        Self::UnsupportedLink,
        Self::Empty,
    ];

    /// The reason's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIp => "not_ip",
            Self::OtherProtocol => "other_protocol",
            Self::Tunnel => "tunnel",
            Self::Truncated => "truncated",
            Self::BadHeader => "bad_header",
            Self::FragmentWithoutFirst => "fragment_without_first",
            Self::UnsupportedLink => "unsupported_link",
            Self::Empty => "empty",
        }
    }
}
