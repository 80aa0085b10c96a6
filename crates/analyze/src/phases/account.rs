//! From pieces to states: what a pace set by acknowledgements was limited by, which only the rounds
//! around it and the transfer as a whole show.

use super::changes::Change;
use super::machine::Budget;
use super::pieces::{Kind, Piece};
use super::state::{STATES, State};
use super::train::QUEUED_PACKETS;

/// Share of the base round trip by which they do where the window is full.
const QUEUED_SHARE: f64 = 0.2;
/// Nobody's queue is shorter than this, in nanoseconds.
const QUEUE_LEAST: f64 = 300_000.0;
/// Delays in a round whose smallest one counts.
const SEVERAL: u32 = 3;
/// A round that delivers this much more than the one before is growing.
const GROWS: f64 = 1.4;
/// A rate within this of the path's own is the path's.
const NEAR_CAPACITY: f64 = 0.9;
/// A level of outstanding data this close to the most that there was is a plateau.
const PLATEAU: f64 = 0.8;
/// So many packets of a round fill nothing …
const FEW: f64 = 2.0;
/// … where the path carries them in less than this part of it.
const FILLED_PART: i64 = 16;
/// A round that lasts longer than this many round trips, and ends in a repair, waited for it.
const WAITED_ROUNDS: f64 = 2.0;
/// Phases kept.
const PHASES: usize = 256;

/// What is known of the transfer as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    /// From the SYN to the first moment at which data could be sent, in nanoseconds.
    pub handshake: i64,
    /// The end: the last acknowledgement, in nanoseconds after the first data.
    pub end: i64,
    /// Base round trip in nanoseconds.
    pub base: Option<f64>,
    /// Payload of a full segment.
    pub mss: f64,
    /// The sender's times are measured, or reconstructed from its clock.
    pub known: bool,
    /// The sender closed the connection.
    pub closed: bool,
}

/// A stretch of a transfer in one state, or in several that were too short to be kept apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// In nanoseconds after the first data; a handshake begins before it.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Bytes acknowledged in it.
    pub bytes: i64,
    /// Time by state.
    pub times: [i64; STATES],
}

impl Phase {
    /// Its state; none where it is mixed.
    pub fn state(&self) -> Option<State> {
        let mut found = None;
        for state in State::ALL {
            if self.times[state.index()] > 0 {
                if found.is_some() {
                    return None;
                }
                found = Some(state);
            }
        }
        found
    }
}

/// Where a transfer's time went, and what decides between readings of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    /// Time by state, in nanoseconds.
    pub times: [i64; STATES],
    /// Phases in order.
    pub phases: Vec<Phase>,
    /// Rate at which the path delivered what had come faster or queued, in bytes per second.
    pub capacity: Option<f64>,
    /// Its tenth and ninetieth percentile.
    pub capacity_range: Option<(f64, f64)>,
    /// Samples behind it.
    pub capacity_samples: u64,
    /// Tenth over ninetieth percentile of the rate of departures.
    pub departures: Option<f64>,
    /// Losses that began to be repaired, with the level of outstanding data: number, coefficient of
    /// variation of that level.
    pub levels: (u32, Option<f64>),
    /// Mean share of the delays that are smaller than the one just before a loss.
    pub delay_rank: Option<f64>,
    /// Median delay above its floor just before losses, in packets at the capacity.
    pub queued_at_loss: Option<f64>,
    /// Mean delay above its floor, weighted by time, in nanoseconds.
    pub queue: Option<f64>,
    /// Silences of the sender: how often, the longest, and how many ended in a burst.
    pub idle: (u32, i64, u32),
    /// Congestion marks echoed.
    pub marks: u32,
    /// Bytes acknowledged while neither side waited for anybody but the path, and that time.
    pub sending: (i64, i64),
    /// The change of the path's rate that explains its rates best.
    pub change: Option<Change>,
    /// Mean time that data spent between the sender's stack and the capture beyond the least, in
    /// nanoseconds.
    pub lag: Option<f64>,
}

impl Budget {
    /// The account of a transfer that is over.
    pub fn account(&mut self, whole: &Whole) -> Account {
        self.on_end(whole.end);
        if whole.closed {
            self.on_closed();
        }
        let capacity = self.capacity.quantile(0.5);
        let mut account = Account {
            capacity,
            capacity_range: self.capacity.quantile(0.1).zip(self.capacity.quantile(0.9)),
            capacity_samples: self.capacity.count(),
            departures: self
                .rate
                .quantile(0.1)
                .zip(self.rate.quantile(0.9))
                .map(|(low, high)| if high > 0.0 { low / high } else { 0.0 }),
            idle: (self.idle.0, self.idle.1, self.burst_after_idle),
            marks: self.marks,
            change: self.changes.best(),
            lag: (self.lag.1 > 0).then(|| lossy(self.lag.0) / f64::from(self.lag.1)),
            ..Account::default()
        };
        self.losses(&mut account, whole);
        let floor = self.floor(whole);
        let mut judge = Rounds {
            floor,
            packet: capacity.map(|rate| whole.mss * 1e9 / rate),
            capacity,
            base: whole.base.unwrap_or(0.0),
            flight: self.pieces.all().map(|piece| piece.flight).max().unwrap_or(0),
            lossy: false,
            repaired_next: false,
            before: None,
        };
        if whole.handshake > 0 {
            let mut times = [0; STATES];
            times[State::Handshake.index()] = whole.handshake;
            account.phases.push(Phase { start: -whole.handshake, end: 0, bytes: 0, times });
        }
        let mut queue = (0.0, 0.0);
        let mut pieces = self.pieces.all().peekable();
        while let Some(piece) = pieces.next() {
            judge.repaired_next = pieces.peek().is_some_and(|next| next.losses > 0);
            if piece.start >= whole.end && (piece.is_idle() || piece.is_empty()) {
                continue; // what was sent after it, the receiver never acknowledged
            }
            let mut times = judge.states(piece);
            if !whole.known {
                let unsure = [State::IdleApplication, State::IdleSender, State::Think];
                for state in unsure {
                    times[State::Unknown.index()] += std::mem::take(&mut times[state.index()]);
                }
            }
            if let Some((delay, floor)) = piece.delay().zip(floor) {
                let weight = lossy(piece.end - piece.start);
                queue = (queue.0 + (delay - floor) * weight, queue.1 + weight);
            }
            let phase = Phase { start: piece.start, end: piece.end, bytes: piece.delivered, times };
            match account.phases.last_mut() {
                Some(last) if last.state().is_some() && last.state() == phase.state() => {
                    last.end = phase.end;
                    last.bytes += phase.bytes;
                    add(&mut last.times, &phase.times);
                }
                _ => account.phases.push(phase),
            }
        }
        account.queue = (queue.1 > 0.0).then(|| queue.0 / queue.1);
        for phase in &account.phases {
            add(&mut account.times, &phase.times);
        }
        account.sending = sending(&account.phases);
        shorten(&mut account.phases);
        account
    }

    /// The smallest delay that lasted: a single sample may be a fault of a clock.
    fn floor(&self, whole: &Whole) -> Option<f64> {
        let least = self.pieces.all().filter_map(Piece::least_delay).min_by(f64::total_cmp)?;
        Some(whole.base.map_or(least, |base| base.min(least)))
    }

    /// At what level of outstanding data and at what delay losses fell.
    #[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds")]
    fn losses(&mut self, account: &mut Account, whole: &Whole) {
        let events = u32::try_from(self.levels.len()).unwrap_or(u32::MAX);
        let levels: Vec<f64> = self.levels.iter().map(|level| level.flight as f64).collect();
        account.levels = (events, variation(&levels));
        let Some(floor) = self.floor(whole) else { return };
        let mut known: Vec<f64> =
            self.levels.iter().filter_map(|level| level.delay).map(|delay| delay as f64).collect();
        let all = self.delays.count() as f64;
        if known.is_empty() || all <= 0.0 {
            return;
        }
        let below = |at: f64| 1.0 - self.delays.above(at - 1.0).0 / all;
        let sum: f64 = known.iter().copied().map(below).sum();
        account.delay_rank = Some(sum / known.len() as f64);
        if let Some(capacity) = account.capacity {
            let half = known.len() / 2;
            let middle = *known.select_nth_unstable_by(half, f64::total_cmp).1;
            account.queued_at_loss = Some((middle - floor) * capacity / whole.mss / 1e9);
        }
    }
}

/// What rounds are judged by.
struct Rounds {
    floor: Option<f64>,
    packet: Option<f64>,
    capacity: Option<f64>,
    base: f64,
    flight: i64,
    lossy: bool,
    /// In the next piece a loss begins to be repaired, or a congestion mark comes.
    repaired_next: bool,
    /// Rate of the round before.
    before: Option<f64>,
}

impl Rounds {
    fn states(&mut self, piece: &Piece) -> [i64; STATES] {
        let mut times = [0; STATES];
        for (kind, state) in [
            (Kind::Peer, State::Peer),
            (Kind::Think, State::Think),
            (Kind::Outage, State::Outage),
            (Kind::Timeout, State::Timeout),
            (Kind::Recovery, State::Recovery),
            (Kind::ZeroWindow, State::ZeroWindow),
            (Kind::ReceiverWindow, State::ReceiverWindow),
            (Kind::IdleApplication, State::IdleApplication),
            (Kind::IdleSender, State::IdleSender),
            (Kind::Unknown, State::Unknown),
        ] {
            times[state.index()] += piece.time(kind);
        }
        let window = piece.time(Kind::Window);
        if window > 0 {
            let queued = self.queued(piece, QUEUED_SHARE);
            let carried = if queued { self.carried(piece).min(window) } else { 0 };
            // A link that carries what the window allows without a break is full.
            let path = if carried * 10 >= window * 7 { window } else { carried };
            times[State::Path.index()] += path;
            times[State::Window.index()] += window - path;
        }
        let clocked = piece.time(Kind::Clocked);
        if clocked > 0 {
            times[self.clocked(piece, clocked).index()] += clocked;
        }
        self.lossy |= piece.losses > 0;
        times
    }

    /// Time that the path needs for what was delivered.
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds")]
    fn carried(&self, piece: &Piece) -> i64 {
        self.capacity.map_or(i64::MAX, |rate| (lossy(piece.delivered) * 1e9 / rate) as i64)
    }

    /// Whether the delays of a piece stand above their floor.
    fn queued(&self, piece: &Piece, share: f64) -> bool {
        // A packet's own burst and a path's jitter delay some packets of a round, a standing queue
        // all of them.
        let standing = piece.least_delay().filter(|_| piece.delay_count() >= SEVERAL);
        let (Some(delay), Some(floor)) = (standing.or_else(|| piece.delay()), self.floor) else {
            return false;
        };
        let packets = self.packet.map_or(0.0, |packet| QUEUED_PACKETS * packet);
        self.packet.is_some() && delay - floor >= packets.max(share * self.base).max(QUEUE_LEAST)
    }

    fn clocked(&mut self, piece: &Piece, clocked: i64) -> State {
        let rate = lossy(piece.delivered) * 1e9 / lossy(clocked.max(1));
        let before = self.before.replace(rate);
        // A packet or two that waited behind others' did not fill the path.
        let fill = self.packet.is_none_or(|packet| lossy(self.carried(piece)) > FEW * packet);
        if self.queued(piece, 0.0) && (fill || self.carried(piece) * FILLED_PART >= clocked) {
            return State::Path;
        }
        if self.capacity.is_some_and(|capacity| rate >= NEAR_CAPACITY * capacity) {
            return State::Path;
        }
        let waited =
            self.repaired_next && self.base > 0.0 && lossy(clocked) > WAITED_ROUNDS * self.base;
        if self.lossy || piece.losses > 0 || waited {
            return State::BelowPath;
        }
        if before.is_none_or(|before| rate >= GROWS * before) {
            return State::Growing;
        }
        // What was outstanding when nothing was delivered has just left.
        let level = lossy(piece.flight);
        let plateau = piece.delivered > 0 && level >= PLATEAU * lossy(self.flight);
        if plateau && level < PLATEAU * f64::from(piece.window) {
            return State::SenderBuffer;
        }
        State::Growing
    }
}

/// Bytes and time in which the transfer was neither idle nor waiting for the peer.
fn sending(phases: &[Phase]) -> (i64, i64) {
    let waits = [
        State::Handshake,
        State::Peer,
        State::Think,
        State::Outage,
        State::ZeroWindow,
        State::ReceiverWindow,
        State::IdleApplication,
        State::IdleSender,
        State::Unknown,
    ];
    let mut total = (0, 0);
    for phase in phases {
        let waited: i64 = waits.iter().map(|state| phase.times[state.index()]).sum();
        let whole: i64 = phase.times.iter().sum();
        total.0 += phase.bytes;
        total.1 += whole - waited;
    }
    total
}

/// Joins the shortest neighbours until few enough are left.
fn shorten(phases: &mut Vec<Phase>) {
    while phases.len() > PHASES {
        let mut lengths: Vec<i64> =
            phases.windows(2).map(|pair| pair[1].end - pair[0].start).collect();
        let excess = phases.len() - PHASES;
        let at = excess.min(lengths.len()) - 1;
        let bound = *lengths.select_nth_unstable(at).1;
        let mut joined: Vec<Phase> = Vec::with_capacity(phases.len());
        let mut left = excess;
        for phase in phases.drain(..) {
            match joined.last_mut() {
                Some(last) if left > 0 && phase.end - last.start <= bound => {
                    last.end = phase.end;
                    last.bytes += phase.bytes;
                    add(&mut last.times, &phase.times);
                    left -= 1;
                }
                _ => joined.push(phase),
            }
        }
        *phases = joined;
    }
}

fn add(times: &mut [i64; STATES], more: &[i64; STATES]) {
    for (time, more) in times.iter_mut().zip(more) {
        *time += more;
    }
}

/// Standard deviation over mean, from three values on.
#[expect(clippy::cast_precision_loss, reason = "a number of losses")]
fn variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 3 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt() / mean)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds and bytes as floats")]
fn lossy(value: i64) -> f64 {
    value as f64
}
