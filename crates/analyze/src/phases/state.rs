//! The states of a transfer: what it waited for.

/// What a transfer waited for, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// The connection was being set up.
    Handshake,
    /// The peer had not asked or answered yet.
    Peer,
    /// The peer had asked, and this side had not begun to answer.
    Think,
    /// Repeated retransmissions went unanswered.
    Outage,
    /// A lost packet waited for the retransmission timer.
    Timeout,
    /// Losses that acknowledgements had shown were being repaired.
    Recovery,
    /// The receiver advertised less than a segment.
    ZeroWindow,
    /// The window was full, and smaller than it had been.
    ReceiverWindow,
    /// The window was full, and no queue stood before the link.
    Window,
    /// The sender had nothing to send: all it had was sent, or its last segment was short.
    IdleApplication,
    /// The sender was allowed to send and did not.
    IdleSender,
    /// Outstanding data grew, and neither loss nor queue held it back.
    Growing,
    /// The path was full.
    Path,
    /// Less was outstanding than path and window allow, because losses or marks had cut it.
    BelowPath,
    /// Outstanding data stood at a level below the window, without loss or queue.
    SenderBuffer,
    /// The evidence is missing.
    Unknown,
}

/// Number of states.
pub const STATES: usize = 16;

impl State {
    /// Every state, in the order of the tables.
    pub const ALL: [Self; STATES] = [
        Self::Handshake,
        Self::Peer,
        Self::Think,
        Self::Outage,
        Self::Timeout,
        Self::Recovery,
        Self::ZeroWindow,
        Self::ReceiverWindow,
        Self::Window,
        Self::IdleApplication,
        Self::IdleSender,
        Self::Growing,
        Self::Path,
        Self::BelowPath,
        Self::SenderBuffer,
        Self::Unknown,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Peer => "peer",
            Self::Think => "think",
            Self::Outage => "outage",
            Self::Timeout => "timeout",
            Self::Recovery => "recovery",
            Self::ZeroWindow => "zero_window",
            Self::ReceiverWindow => "receiver_window",
            Self::Window => "window",
            Self::IdleApplication => "idle_application",
            Self::IdleSender => "idle_sender",
            Self::Growing => "growing",
            Self::Path => "path",
            Self::BelowPath => "below_path",
            Self::SenderBuffer => "sender_buffer",
            Self::Unknown => "unknown",
        }
    }

    /// Position in an array over all states.
    pub const fn index(self) -> usize {
        self as usize
    }
}
