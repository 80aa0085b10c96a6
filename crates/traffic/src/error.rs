//! What can be wrong with a description of traffic.

use trustbed_units::{Rate, Span};

/// A source that cannot be: nothing is ever sent, or nothing that fits into a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// A source of rate 0 never sends anything.
    #[error(
        "a source of 0 bit/s never sends a packet; give rate_bits_per_second above 0, or leave \
         the source out"
    )]
    ZeroRate,
    /// Above what any link carries, and what the arithmetic was sized for.
    #[error(
        "{rate} is beyond the largest rate of a source, {largest}; give a smaller \
         rate_bits_per_second"
    )]
    RateTooHigh {
        /// The rate that was given.
        rate: Rate,
        /// The largest that is accepted.
        largest: Rate,
    },
    /// A packet must hold its own headers, and with TCP at least one byte to write.
    #[error("packets of {length} bytes cannot hold {headers} bytes of headers{more}; give {key} \
     of {least} or more", more = if least > headers { " and a byte to write" } else { "" })]
    PacketTooSmall {
        /// The key.
        key: &'static str,
        /// The IP length that was given.
        length: u32,
        /// What IP and transport take of it.
        headers: u32,
        /// The smallest length that is accepted.
        least: u32,
    },
    /// The length field of IP has 16 bits.
    #[error("packets of {length} bytes are longer than IP allows; give {key} of {largest} or less")]
    PacketTooLarge {
        /// The key.
        key: &'static str,
        /// The IP length that was given.
        length: u32,
        /// The largest length that is accepted.
        largest: u32,
    },
    /// Limits that exclude each other.
    #[error(
        "packets of at least {minimum} and at most {packet} bytes do not exist; give \
         minimum_packet_bytes of {packet} or less"
    )]
    MinimumAboveMaximum {
        /// The smallest packet that was given.
        minimum: u32,
        /// The largest packet that was given.
        packet: u32,
    },
    /// A unit of time in which bytes are drawn, or in which packets of a recording leave together,
    /// must have a length that is of use.
    #[error("{key} of {length} is out of range; give from {shortest} to {longest}")]
    NoUnit {
        /// The key.
        key: &'static str,
        /// The length that was given.
        length: Span,
        /// The smallest that is accepted.
        shortest: Span,
        /// The largest that is accepted.
        longest: Span,
    },
    /// A key that means nothing in this mode.
    #[error(
        "{key} means nothing for Poisson traffic of mode \"packets\"; leave it out, or give mode \
         \"bytes\""
    )]
    OnlyForBytes {
        /// The key.
        key: &'static str,
    },
    /// A timer that never fires, or fires more often than any.
    #[error(
        "a timer of {hertz} Hz releases nothing; give timer_hz from 1 to {largest}, such as 100, \
         250 or 1000"
    )]
    NoTimer {
        /// What was given.
        hertz: u32,
        /// The largest that is accepted.
        largest: u32,
    },
    /// A rate that several sources share must leave something for each.
    #[error(
        "{rate} cannot be shared by {sources} sources; give from 1 source to one for each bit/s"
    )]
    NothingToShare {
        /// The rate that was to be shared.
        rate: Rate,
        /// Among how many.
        sources: usize,
    },
    /// Parts of a recording are numbered with 16 bits.
    #[error("a recording cannot be dealt to {sources} sources; give from 1 to 65535")]
    NoParts {
        /// Among how many it was to be shared.
        sources: usize,
    },
    /// A part of a recording is not dealt once more.
    #[error("a part of a recording that is dealt to {parts} sources is not shared once more")]
    SharedAlready {
        /// Among how many it is shared.
        parts: u16,
    },
    /// A recording without a packet that could be played.
    #[error(
        "the recording holds no IP packet to play ({skipped} other frames); choose another \
         capture or direction"
    )]
    NothingToPlay {
        /// What it holds instead.
        skipped: u64,
    },
    /// Playback was described, but the caller gave no recording.
    #[error("playback needs a recording; read {capture:?} first")]
    NoRecording {
        /// The capture that the description names.
        capture: String,
    },
    /// A class of a model of which nothing can be drawn.
    #[error("class {class} has no {key}; leave the class out, or extract the model again")]
    EmptyClass {
        /// The class.
        class: String,
        /// What it has none of.
        key: &'static str,
    },
    /// A recording was handed over for a model that draws its own packets.
    #[error("only playback takes a recording, not {kind} traffic")]
    NeedsNoRecording {
        /// The kind of the model.
        kind: &'static str,
    },
}
