//! The transfer through its sender's eyes: what it was allowed to send, when it learned so, and
//! when it sent.
//!
//! From this come packet spacing (the idle time between the last reception and the next data),
//! idle time with open window (from the *first* reception that opened the window), packet trains,
//! outstanding data and the time spent in each limiting state. The owner calls
//! [`SenderView::on_receive`] and [`SenderView::on_send`] in the order in which the sender saw
//! these events. At a capture beside the sender that is the order of the capture; elsewhere
//! acknowledgements are delayed by the time to the sender first (see `elsewhere`).
//!
//! Bias: "allowed" means by the receiver's window. A small congestion window also keeps a sender
//! silent, so that time is read together with loss.

use trustbed_units::{Ns, Span};

use crate::{Distribution, TimeWeighted};

/// Why a turn took as long as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The segment sent is a retransmission, and no sign that the sender stalled.
    RecoveryWait,
    /// The receiver's window did not allow a segment.
    WindowWait,
    /// Neither: the sender had permission.
    Spacing,
}

impl Category {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RecoveryWait => "recovery_wait",
            Self::WindowWait => "window_wait",
            Self::Spacing => "spacing",
        }
    }
}

/// One receive → send turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From the last reception to the send.
    pub spacing: Option<Span>,
    /// From the first reception that opened the window to the send.
    pub response: Option<Span>,
    /// Why.
    pub category: Category,
    /// Nothing was outstanding at the last reception.
    pub empty: bool,
}

/// A data packet, as the sender view needs it.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// When it was sent.
    pub now: Ns,
    /// One past its last byte.
    pub end: i64,
    /// Payload bytes.
    pub length: u32,
    /// It repeats bytes.
    pub repeats: bool,
    /// Largest segment.
    pub mss: u32,
    /// Smallest round-trip time so far.
    pub rtt_base: Option<Span>,
    /// The network, not the sender, explains the pause before it (only known elsewhere).
    pub held_by_network: bool,
}

/// A silence between two data packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// The last data packet before it.
    pub from: Ns,
    /// The next data packet.
    pub to: Ns,
}

/// Pauses kept at most: the longest ones.
const PAUSES: usize = 64;
/// Segments that Linux waits to send at once (`tcp_min_tso_segs`).
const AT_ONCE: i64 = 2;

/// The state after a send.
#[derive(Debug, Clone, Copy)]
struct LastSend {
    at: Ns,
    outstanding: u64,
    /// Less than a segment of room was left.
    limited: bool,
    /// Less room was left than the next send waits for.
    full: bool,
}

/// What the sender saw and did.
#[derive(Debug, Clone, Default)]
pub struct SenderView {
    una: i64,
    window: u32,
    snd_max: i64,
    last_receive: Option<(Ns, i64, bool)>,
    open_since: Option<Ns>,
    last_event: Option<Ns>,
    last_send: Option<LastSend>,
    last_short: bool,
    train: u32,
    /// Turns of category spacing.
    pub spacing: Distribution,
    /// Turns of any category but recovery, from the opening of the window.
    pub response: Distribution,
    /// Those of them that began with nothing outstanding after a short segment.
    pub response_idle: Distribution,
    /// Spacing of the same turns.
    pub idle: Distribution,
    /// Turns that waited for the window.
    pub window_wait: (u64, i64),
    /// Turns that ended in a retransmission, those aside before which the sender stalled.
    pub recovery_wait: (u64, i64),
    /// Pauses that the network explains.
    pub held_by_network: (u64, i64),
    /// Gaps inside trains: number and sum.
    pub train_gaps: (u64, i64),
    /// Trains: number, packets, longest.
    pub trains: (u64, u64, u32),
    /// Outstanding data over time, as it stood after each send.
    pub outstanding: TimeWeighted,
    most: u64,
    /// Time with less than a segment of room, as it stood after each send.
    pub window_limited: i64,
    /// Time with less room than Linux waits for, as it stood after each send: it counts as limited
    /// by the window there.
    pub window_full: i64,
    /// Time without room for a segment, outside recovery.
    pub blocked: i64,
    /// Time in loss recovery.
    pub recovering: i64,
    /// Time with nothing outstanding and an open window.
    pub empty: i64,
    /// The shortest of the pauses, once no more of them are kept.
    shortest: Span,
    /// The longest silences between data packets that exceed the round-trip time.
    pub pauses: Vec<Pause>,
}

impl SenderView {
    /// A view that begins with what is known of the connection.
    pub fn new(una: i64, window: u32, snd_max: i64) -> Self {
        Self { una, window, snd_max, ..Self::default() }
    }

    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        [&self.spacing, &self.response, &self.response_idle, &self.idle]
            .into_iter()
            .map(Distribution::held_bytes)
            .sum::<usize>()
            + self.outstanding.held_bytes()
            + self.pauses.capacity() * size_of::<Pause>()
    }

    /// Highest acknowledgement that the sender has received.
    pub fn una(&self) -> i64 {
        self.una
    }

    /// Most bytes outstanding after a send.
    pub fn outstanding_most(&self) -> u64 {
        self.most
    }

    /// A packet of the receiver reached the sender.
    #[inline]
    pub fn on_receive(&mut self, now: Ns, una: i64, window: u32, mss: u32, in_recovery: bool) {
        self.account(now, mss, in_recovery);
        self.una = self.una.max(una);
        self.window = window;
        let usable = self.una + i64::from(window) - self.snd_max;
        self.last_receive = Some((now, usable, self.una >= self.snd_max));
        if self.open_since.is_none() && usable >= i64::from(mss) {
            self.open_since = Some(now);
        }
    }

    /// The sender sent data. Returns the turn that this ends, if it ends one.
    #[inline]
    pub fn on_send(&mut self, sent: &Sent, in_recovery: bool) -> Option<Turn> {
        self.account(sent.now, sent.mss, in_recovery);
        let started = self.last_send.is_some();
        let turn = if started { self.turn(sent) } else { None };
        self.train(sent, turn.is_some() || !started);
        if let Some(last) = self.last_send {
            let held = sent.now - last.at;
            self.outstanding.add(last.outstanding, held.0);
            if last.limited {
                self.window_limited += held.0.max(0);
            }
            if last.full {
                self.window_full += held.0.max(0);
            }
            if sent.rtt_base.is_some_and(|base| held > base) {
                self.pause(Pause { from: last.at, to: sent.now });
            }
        }
        self.snd_max = self.snd_max.max(sent.end);
        self.last_receive = None;
        self.open_since = None;
        self.last_short = sent.length < sent.mss;
        let outstanding = (self.snd_max - self.una).max(0);
        let room = i64::from(self.window) - outstanding;
        self.most = self.most.max(outstanding.unsigned_abs());
        self.last_send = Some(LastSend {
            at: sent.now,
            outstanding: outstanding.unsigned_abs(),
            limited: room < i64::from(sent.mss),
            full: room < AT_ONCE * i64::from(sent.mss),
        });
        turn
    }

    /// Pauses and turns that span this moment are not measured: the clock stepped.
    pub fn on_clock_step(&mut self) {
        self.last_receive = None;
        self.open_since = None;
        self.last_event = None;
        self.last_send = None;
    }

    fn turn(&mut self, sent: &Sent) -> Option<Turn> {
        let (received, usable, empty) = self.last_receive?;
        let spacing = sent.now - received;
        let response = self.open_since.map(|open| sent.now - open);
        let needed = i64::from(sent.mss.min(sent.length));
        let idle = empty && self.last_short;
        // A sender that repeats what was acknowledged to it a round trip ago has not looked yet:
        // when it ran again, its timer came first.
        let stood_still = sent.end <= self.una && sent.rtt_base.is_some_and(|base| spacing > base);
        let recovers = sent.repeats && !stood_still;
        let category = if recovers {
            self.recovery_wait.0 += 1;
            self.recovery_wait.1 += spacing.0;
            Category::RecoveryWait
        } else if sent.held_by_network {
            self.held_by_network.0 += 1;
            self.held_by_network.1 += spacing.0;
            return None;
        } else if usable < needed {
            self.window_wait.0 += 1;
            self.window_wait.1 += spacing.0;
            Category::WindowWait
        } else {
            self.spacing.add(spacing.0);
            if empty {
                self.empty += spacing.0.max(0);
            }
            if idle {
                self.idle.add(spacing.0);
            }
            Category::Spacing
        };
        if let (Some(response), false) = (response, recovers) {
            self.response.add(response.0);
            if idle {
                self.response_idle.add(response.0);
            }
        }
        Some(Turn { spacing: Some(spacing), response, category, empty })
    }

    /// Gaps between segments sent without a reception in between belong to one train.
    #[inline]
    fn train(&mut self, sent: &Sent, begins: bool) {
        if begins {
            self.trains.0 += 1;
            self.train = 0;
        } else if let Some(last) = self.last_send {
            self.train_gaps.0 += 1;
            self.train_gaps.1 += (sent.now - last.at).0.max(0);
        }
        self.train += 1;
        self.trains.1 += 1;
        self.trains.2 = self.trains.2.max(self.train);
    }

    /// Where the time since the last event went.
    #[inline]
    fn account(&mut self, now: Ns, mss: u32, in_recovery: bool) {
        if let Some(last) = self.last_event
            && self.last_send.is_some()
        {
            let passed = (now - last).0.max(0);
            if in_recovery {
                self.recovering += passed;
            } else if self.una + i64::from(self.window) - self.snd_max < i64::from(mss)
                && (self.snd_max > self.una || self.window < mss)
            {
                self.blocked += passed;
            }
        }
        self.last_event = Some(now);
    }

    fn pause(&mut self, pause: Pause) {
        let length = |p: &Pause| p.to - p.from;
        if self.pauses.len() < PAUSES {
            self.pauses.push(pause);
        } else if length(&pause) <= self.shortest {
            return;
        } else if let Some(shortest) = self.pauses.iter_mut().min_by_key(|p| length(p)) {
            *shortest = pause;
        }
        if self.pauses.len() == PAUSES {
            self.shortest = self.pauses.iter().map(length).min().unwrap_or(Span::ZERO);
        }
    }
}
