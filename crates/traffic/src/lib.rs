//! When a source sends, and how much: constant rate, Poisson, playback of a capture.
//!
//! A schedule says at which nanosecond after the start a packet is due. Nothing here waits or sends, and the same seed gives the same
//! schedule.
