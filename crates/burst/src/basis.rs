//! What counts as the length of a packet.
//!
//! Rates and queues always use the same basis, and a result names it. A bottleneck link carries
//! more than a capture shows: the frame check sequence, the preamble and the gap between frames
//! (IEEE 802.3, clauses 3 and 4.4.2), so `frame` understates the load of an Ethernet link by 24
//! bytes per packet, and by more for frames below the minimum, which the sender pads after they
//! were captured.

use std::fmt;

/// Frame check sequence of Ethernet.
const FCS: u32 = 4;
/// Frame check sequence 4, preamble and start delimiter 8, gap between frames 12.
const WIRE_OVERHEAD: u32 = 24;
/// The shortest frame with everything around it: 64 + 8 + 12.
const WIRE_MINIMUM: u32 = 84;

/// What counts as the length of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Basis {
    /// The frame as captured, without its check sequence.
    #[default]
    Frame,
    /// With the check sequence: 4 bytes more.
    FrameFcs,
    /// What the frame occupies on an Ethernet wire: 24 bytes more, at least 84.
    Wire,
    /// The length that the IP header states.
    Ip,
}

impl Basis {
    /// All of them, in the order in which they are explained.
    pub const ALL: [Self; 4] = [Self::Frame, Self::FrameFcs, Self::Wire, Self::Ip];

    /// The length in bytes of a frame of `frame` bytes (original length, without check sequence)
    /// that holds an IP packet of `ip` bytes. `None` when IP lengths are requested and the frame
    /// holds no IP packet: such a frame is to be counted, not measured.
    ///
    /// ```
    /// use trustbed_burst::Basis;
    /// assert_eq!(Basis::Frame.length(1514, Some(1500)), Some(1514));
    /// assert_eq!(Basis::Wire.length(1514, Some(1500)), Some(1538));
    /// assert_eq!(Basis::Wire.length(54, Some(40)), Some(84));
    /// assert_eq!(Basis::Ip.length(42, None), None);
    /// ```
    #[inline]
    pub const fn length(self, frame: u32, ip: Option<u32>) -> Option<u32> {
        match self {
            Self::Frame => Some(frame),
            Self::FrameFcs => Some(frame.saturating_add(FCS)),
            Self::Wire => {
                let occupied = frame.saturating_add(WIRE_OVERHEAD);
                Some(if occupied < WIRE_MINIMUM { WIRE_MINIMUM } else { occupied })
            }
            Self::Ip => ip,
        }
    }

    /// The name it has in options and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::FrameFcs => "frame_fcs",
            Self::Wire => "wire",
            Self::Ip => "ip",
        }
    }

    /// The basis of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|basis| basis.name() == name)
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
