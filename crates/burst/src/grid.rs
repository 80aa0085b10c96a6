//! Where windows begin and end, and which rate the bottleneck has in each.
//!
//! Windows are half-open: a packet that arrives on a boundary belongs to the window that begins
//! there.

use trustbed_units::{Ns, Span};

use crate::{BurstError, Drain, Packets};

/// Windows of one length, on end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    origin: Ns,
    length: Span,
}

/// Which rate the virtual bottleneck has in a window, and whether it takes its backlog along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A given rate; the backlog is carried from window to window.
    Static(Drain),
    /// The average rate of the very window; nothing waits at its start. With its own average as
    /// rate a link has no capacity to spare, so a backlog carried into a steady window would never
    /// leave.
    DynamicSame,
    /// The average of the last earlier window that had one above 0; nothing waits at the start.
    /// Unknown until there is one.
    DynamicPrevious,
    /// As `DynamicSame`, but the backlog is carried: to see what the reset hides.
    DynamicSameCarry,
}

/// How a capture is cut into windows and what each is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Which rate.
    pub mode: Mode,
    /// Which windows.
    pub grid: Grid,
}

impl Grid {
    /// Windows that begin at multiples of `length` since the Unix epoch, so that those of different
    /// captures coincide.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] when the length is not above 0.
    pub const fn aligned_to_epoch(length: Span) -> Result<Self, BurstError> {
        Self::beginning_at(Ns(0), length)
    }

    /// Windows of which one begins at `origin`, such as the first packet of a capture.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] when the length is not above 0.
    pub const fn beginning_at(origin: Ns, length: Span) -> Result<Self, BurstError> {
        if length.0 <= 0 {
            Err(BurstError::NoWindow { length })
        } else {
            Ok(Self { origin, length })
        }
    }

    /// How long each window is.
    pub const fn length(&self) -> Span {
        self.length
    }

    /// The number of the window that holds a moment; the one that begins at the origin is number 0.
    pub(crate) fn index(&self, time: Ns) -> i128 {
        (i128::from(time.0) - i128::from(self.origin.0)).div_euclid(i128::from(self.length.0))
    }

    /// Where a window begins, in nanoseconds since the epoch. It may lie before what [`Ns`] can
    /// hold.
    pub(crate) fn start(&self, index: i128) -> i128 {
        i128::from(self.origin.0) + index * i128::from(self.length.0)
    }

    /// How many of the packets, the first of which lies in window `index`, lie in it.
    pub(crate) fn count_in(&self, index: i128, packets: Packets<'_>) -> usize {
        let Ok(end) = i64::try_from(self.start(index + 1)) else { return packets.len() };
        let times = packets.times();
        if times.last().is_some_and(|last| *last < end) {
            return times.len();
        }
        // Windows may hold a million packets or one: the search takes twice the logarithm of what
        // the window holds.
        let mut reach = 1;
        while times.get(reach).is_some_and(|time| *time < end) {
            reach *= 2;
        }
        let from = reach / 2;
        from + times[from..times.len().min(reach)].partition_point(|time| *time < end)
    }
}

impl Mode {
    /// The name it has in options and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Static(_) => "static",
            Self::DynamicSame => "dynamic-same",
            Self::DynamicPrevious => "dynamic-previous",
            Self::DynamicSameCarry => "dynamic-same-carry",
        }
    }

    /// Whether a window begins with what was left by the one before.
    pub(crate) const fn carries(&self) -> bool {
        matches!(self, Self::Static(_) | Self::DynamicSameCarry)
    }

    /// Whether a window's rate is known only with its last packet. At a given rate, parts of a
    /// window can be measured apart.
    pub(crate) const fn needs_packets(&self) -> bool {
        !matches!(self, Self::Static(_))
    }
}
