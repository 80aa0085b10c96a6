//! One record of a capture: the bytes of a frame and what the capture states about them.

use trustbed_units::Ns;

use crate::LinkType;

/// A frame as the capture holds it, before anything in it has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The frame's timestamp in the capture.
    pub ts: Ns,
    /// Position in the capture, counted from 1 over all records.
    pub index: u64,
    /// What the bytes begin with.
    pub link: LinkType,
    /// Capture interface.
    pub interface: u16,
    /// Bytes of the frame on the wire, as the capture states them.
    pub original_length: u32,
    /// The bytes that were kept: all of them, or the first ones up to the snap length.
    pub bytes: &'a [u8],
}
