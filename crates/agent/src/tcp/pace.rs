//! An application that writes or reads at its own pace: bursts with pauses between them, or a rate.
//!
//! A pause begins when the connection has taken (or given) the burst, so that a delayed application
//! pauses as long as any other. A rate has no memory: what it missed while the connection blocked
//! is not made up for, except for [`CREDIT`].
//!
//! The kernel's buffers go on moving meanwhile: a pause shows on the wire once the send buffer is
//! empty, a slow reader once the receive buffer is full.

use serde::Deserialize;
use trustbed_units::{Ns, Span};

use crate::session::Failure;
use crate::session::workers::span;

/// What a rate may make up for: moments in which the process itself was late.
const CREDIT: Span = Span::from_millis(10);
/// Pieces of a rate that are moved in a second, unless they would be less than a segment.
const PIECES: u64 = 100;
const LEAST_PIECE: u64 = 1448;

/// The pace of an application, as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pace {
    burst_bytes: Option<u64>,
    pause_ns: Option<u64>,
    rate_bits_per_second: Option<u64>,
}

impl Pace {
    /// The pace of an application with a fixed rate.
    pub(crate) const fn at_rate(bits_per_second: u64) -> Self {
        Self { burst_bytes: None, pause_ns: None, rate_bits_per_second: Some(bits_per_second) }
    }

    /// Refuses a pace that is neither bursts nor a rate.
    pub(crate) fn check(self, key: &str) -> Result<(), Failure> {
        let whole = match self {
            Self { burst_bytes: Some(burst), pause_ns: Some(_), rate_bits_per_second: None } => {
                burst > 0
            }
            Self { burst_bytes: None, pause_ns: None, rate_bits_per_second: Some(rate) } => {
                rate > 0
            }
            _ => false,
        };
        let hint = "give burst_bytes and pause_ns, or rate_bits_per_second; more than 0";
        if whole {
            Ok(())
        } else {
            Err(Failure::configuration(
                format!("{key}: is neither bursts with pauses nor a rate"),
                hint,
            ))
        }
    }
}

/// Where an application is in its pace. In this order, again and again: [`Pacer::piece`], moving so
/// much or less, [`Pacer::on_moved`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacer {
    pace: Option<Pace>,
    /// Of the burst.
    left: u64,
    /// From when on the next piece may be moved, of a rate.
    due: Option<Ns>,
}

impl Pacer {
    pub(crate) fn new(pace: Option<Pace>) -> Self {
        Self { pace, left: pace.and_then(|pace| pace.burst_bytes).unwrap_or(u64::MAX), due: None }
    }

    /// How much to move at once, where there is room for `room`.
    pub(crate) fn piece(&self, room: usize) -> usize {
        let most = match self.pace.and_then(|pace| pace.rate_bits_per_second) {
            Some(rate) => (rate / 8 / PIECES).max(LEAST_PIECE),
            None => self.left,
        };
        usize::try_from(most).unwrap_or(usize::MAX).min(room)
    }

    /// So much was moved until now: how long to pause, if at all.
    pub(crate) fn on_moved(&mut self, bytes: u64, now: Ns) -> Option<Span> {
        let pace = self.pace?;
        let pause = if let Some(rate) = pace.rate_bits_per_second {
            let takes = i128::from(bytes) * 8_000_000_000 / i128::from(rate);
            let due = self.due.unwrap_or(now).max(now - CREDIT)
                + Span(i64::try_from(takes).unwrap_or(i64::MAX));
            self.due = Some(due);
            due - now
        } else {
            self.left = self.left.saturating_sub(bytes);
            if self.left > 0 {
                return None;
            }
            self.left = pace.burst_bytes?;
            span(pace.pause_ns?)
        };
        (pause.0 > 0).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURSTS: Pace =
        Pace { burst_bytes: Some(2500), pause_ns: Some(7_000_000), rate_bits_per_second: None };
    const RATE: Pace =
        Pace { burst_bytes: None, pause_ns: None, rate_bits_per_second: Some(8_000_000) };

    #[test]
    fn a_burst_is_moved_in_pieces_and_followed_by_its_pause() {
        let mut pacer = Pacer::new(Some(BURSTS));
        for _ in 0..3 {
            let mut pieces = Vec::new();
            let pause = loop {
                let piece = pacer.piece(1000);
                pieces.push(piece);
                if let Some(pause) = pacer.on_moved(piece as u64, Ns(0)) {
                    break pause;
                }
            };
            assert_eq!(
                (pieces.as_slice(), pause),
                ([1000, 1000, 500].as_slice(), Span::from_millis(7))
            );
        }
    }

    #[test]
    fn a_rate_holds_however_late_single_pieces_are() {
        let mut pacer = Pacer::new(Some(RATE));
        let (mut now, mut moved) = (Ns(0), 0);
        for number in 0..1000 {
            let piece = pacer.piece(1 << 20) as u64;
            moved += piece;
            if let Some(pause) = pacer.on_moved(piece, now) {
                now = now + pause + Span::from_micros(number % 9 * 500);
            }
        }
        assert_eq!(moved, 10_000_000);
        assert!((now - Span::from_secs(10)).0.abs() < CREDIT.0 + 4_000_000, "{now:?}");
    }

    #[test]
    fn time_lost_to_the_connection_is_not_made_up_for() {
        let mut pacer = Pacer::new(Some(RATE));
        pacer.on_moved(10_000, Ns(0));
        let held = Ns(0) + Span::from_secs(5);
        // 10 kB take 10 ms at this rate, which is what may be made up for.
        assert_eq!(pacer.on_moved(10_000, held), None);
        assert_eq!(pacer.on_moved(10_000, held), Some(Span::from_millis(10)));
    }

    #[test]
    fn without_a_pace_there_are_no_pauses() {
        let mut pacer = Pacer::new(None);
        assert_eq!((pacer.piece(77), pacer.on_moved(77, Ns(0))), (77, None));
    }

    #[test]
    fn a_pace_is_bursts_or_a_rate() {
        let none = Pace { burst_bytes: None, pause_ns: None, rate_bits_per_second: None };
        for wrong in [
            none,
            Pace { pause_ns: None, ..BURSTS },
            Pace { burst_bytes: Some(0), ..BURSTS },
            Pace { burst_bytes: Some(1), ..RATE },
        ] {
            assert!(
                wrong.check("write").unwrap_err().message().starts_with("write: "),
                "{wrong:?}"
            );
        }
        assert!(BURSTS.check("write").is_ok() && RATE.check("read").is_ok());
    }
}
