//! What came back, and what did not: time in which repeated timeouts were left unanswered,
//! acknowledgements that repair themselves without a retransmission, and the round-trip time just
//! before losses.
//!
//! Bias: away from the sender nothing is unanswered for long, because what arrives is acknowledged
//! at once; there these stay 0.

use trustbed_units::{Ns, Span};

use crate::Distribution;

/// The shortest time without an answer that counts.
const SILENT: Span = Span::from_millis(500);
/// Share of the round trip for which a lone packet stays alone: a sender whose timeout expired
/// sends one and waits for its answer.
const ALONE: i64 = 2;
/// Retransmissions without an answer that make it more than a lost packet.
const REPEATS: u32 = 2;

/// What a data packet is to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// Bytes for the first time.
    New,
    /// Bytes again.
    Again,
    /// Bytes again, and a recovery begins with them.
    Recovery,
    /// Bytes again that had been acknowledged before.
    InVain,
}

/// Answers of the receiver.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Since when an answer is due, and how often it was probed since.
    due: Option<(Ns, u32)>,
    /// Time without an answer, in nanoseconds.
    pub unanswered: i64,
    /// Last data, and whether they were a full segment.
    arrived: Option<(Ns, bool)>,
    /// A silence that ended with a packet of which it is not yet known whether it is alone.
    broken: Option<(Span, Ns)>,
    /// Silences amid full segments that ended with a timeout of the sender, in nanoseconds: a
    /// repeated or a lone packet.
    pub interrupted: i64,
    duplicates: bool,
    /// Packets in vain whose duplicate acknowledgement (RFC 2883) has not come yet.
    in_vain: u32,
    /// Until this offset is acknowledged, an advance may be a retransmission's doing.
    repaired_until: Option<i64>,
    /// Times that duplicate acknowledgements ended although nothing had been retransmitted: a
    /// segment was late, not lost.
    pub late: u32,
    last: Option<Span>,
    last_echo: Option<Span>,
    /// Round-trip times just before losses, beside the sender.
    pub before_loss: Distribution,
    /// Times to the sender and back just before losses, away from it.
    pub before_loss_echo: Distribution,
}

impl Answers {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.before_loss.held_bytes() + self.before_loss_echo.held_bytes()
    }

    /// Data were sent, up to `top` in all.
    #[inline]
    pub fn on_data(&mut self, now: Ns, top: i64, passing: Passing) {
        let due = self.due.get_or_insert((now, 0));
        if passing != Passing::New {
            due.1 = due.1.saturating_add(1);
            self.repaired_until = Some(top);
        }
        if passing == Passing::InVain {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        if passing == Passing::Recovery {
            if let Some(last) = self.last {
                self.before_loss.add(last.0);
            }
            if let Some(last) = self.last_echo {
                self.before_loss_echo.add(last.0);
            }
        }
    }

    /// Data came by, a `full` segment or less; `rtt` is the smallest time to the sender and back.
    ///
    /// A sender that stopped goes on with all that its window allows, one whose packets were not
    /// answered with a single packet.
    #[inline]
    pub fn on_passing(&mut self, now: Ns, full: bool, repeats: bool, rtt: Option<Span>) {
        if let (Some((silence, then)), Some(rtt)) = (self.broken.take(), rtt)
            && (now - then).0 >= rtt.0 / ALONE
        {
            self.interrupted += silence.0;
        }
        if let Some((last, true)) = self.arrived
            && now - last >= SILENT
        {
            if repeats {
                self.interrupted += (now - last).0;
            } else {
                self.broken = Some((now - last, now));
            }
        }
        self.arrived = Some((now, full));
    }

    /// A packet of the receiver came; all below `una` is acknowledged of what ends at `top`.
    #[inline]
    pub fn on_ack(&mut self, now: Ns, (una, top): (i64, i64), advanced: bool, duplicate: bool) {
        self.settle(now);
        self.due = (una < top).then_some((now, 0));
        if duplicate && self.in_vain > 0 {
            self.in_vain -= 1;
        } else if duplicate {
            self.duplicates = true;
        }
        if advanced {
            self.late += u32::from(self.duplicates && self.repaired_until.is_none());
            self.duplicates = false;
            self.repaired_until = self.repaired_until.filter(|until| una < *until);
        }
    }

    /// A packet had been sent in vain although it did not seem so; the acknowledgement that shows
    /// comes next.
    pub fn on_disproved(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// A packet had been lost before the capture, when `before` was the last time to the sender and
    /// back.
    pub fn on_loss_upstream(&mut self, before: Option<Span>) {
        if let Some(before) = before {
            self.before_loss_echo.add(before.0);
        }
    }

    /// In the middle of a path: the round-trip time just before losses, of both halves; `rtt` and
    /// `echo` are their medians.
    ///
    /// A loss behind the capture leaves the times of both halves, one before it only that of the
    /// half to the sender: of the other half the median is taken then. Where most are before it,
    /// the few behind it (a retransmission that was lost, too) show nothing.
    pub fn before_loss_between(&mut self, rtt: Option<f64>, echo: Option<f64>) -> Option<f64> {
        let behind = 2 * self.before_loss.count() >= self.before_loss_echo.count();
        let here = self.before_loss.quantile(0.5).filter(|_| behind);
        match (here, self.before_loss_echo.quantile(0.5)) {
            (None, None) => None,
            (here, there) => Some(here.or(rtt)? + there.or(echo)?),
        }
    }

    /// The last time to the sender and back.
    #[inline]
    pub fn last_echo(&self) -> Option<Span> {
        self.last_echo
    }

    /// A round-trip time was measured.
    #[inline]
    pub fn on_rtt(&mut self, rtt: Span) {
        self.last = Some(rtt);
    }

    /// The round trip to the sender was measured.
    #[inline]
    pub fn on_echo(&mut self, echo: Span) {
        self.last_echo = Some(echo);
    }

    /// The connection ended, or nothing more was captured.
    pub fn on_end(&mut self, now: Ns) {
        self.settle(now);
        self.due = None;
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.due = None;
        self.arrived = None;
        self.broken = None;
    }

    fn settle(&mut self, now: Ns) {
        if let Some((since, repeats)) = self.due
            && repeats >= REPEATS
            && now - since >= SILENT
        {
            self.unanswered += (now - since).0;
        }
    }
}
