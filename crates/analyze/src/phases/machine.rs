//! The machine that cuts a transfer's time into pieces, in the order in which its sender saw
//! things.

use super::changes::Changes;
use super::events::{Arrival, Departure, Level, Sending, Window};
use super::pieces::{Kind, Measured, Pieces};
use super::train::Train;
use crate::Distribution;

/// A silence is the sender's own from this many of its usual reactions on …
const REACTIONS: i64 = 4;
/// … and from this part of the base round trip on …
const ROUND_TRIP_PART: i64 = 4;
/// … or this long on a longer path.
const CLEARLY_IDLE: i64 = 5_000_000;
/// Shorter silences are nobody's: a kernel's own work.
const PROMPT: i64 = 500_000;
/// Segments that are outstanding where an acknowledgement releases more: a writer of little has
/// fewer.
const RELEASED: i64 = 3;
/// The same from elsewhere: the sender's clock ticks in milliseconds.
const AFAR: i64 = 2_000_000;
/// The sender's clock may be read this late.
const BURST_PART: i64 = 2;
/// Without timestamps a round trip of the moment may be this many times the smallest.
const UNTIMED_TRIPS: i64 = 8;
/// A window below the smallest segment that every host takes (RFC 9293) is closed.
const CLOSED: u32 = 536;
/// A window below this share of the largest so far has shrunk.
const SHRUNK: f64 = 0.75;
/// One in this many delays is entered in their distribution.
const SAMPLED: u32 = 4;
/// Segments over which the rate of departures is read.
const DEPARTURES: i64 = 16;
/// Levels at losses that are kept.
const LEVELS: usize = 256;

/// Whether windows are known by their scale; else only a window of 0 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scale {
    #[default]
    Known,
    Unknown,
}

/// How the newest data ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Ending {
    /// In a full segment.
    #[default]
    Full,
    /// In one that is not full …
    Short,
    /// … and shorter than the one before, as the end of a long write is.
    Remainder,
}

/// The pieces of one transfer.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    una: i64,
    high: i64,
    window: u32,
    scale: Scale,
    largest: u32,
    /// Smallest window since the last departure that left no room.
    narrowest: u32,
    /// Time up to here belongs to a piece.
    until: Option<i64>,
    ending: Ending,
    /// Payload bytes of the last new segment.
    length: u32,
    open_since: Option<i64>,
    all_acknowledged: Option<i64>,
    first_advance: Option<i64>,
    /// The last packet of the receiver since the last departure …
    last_receive: Option<i64>,
    /// … and at all.
    heard: Option<i64>,
    peer: Option<(i64, i64)>,
    recovery: Option<i64>,
    /// The level when data did not come to the capture in order.
    missing: Option<Level>,
    unanswered: u32,
    /// When the wait began that ended in a needless retransmission of a sender that had heard
    /// nothing, and what it repeated; nothing but such has left since.
    unheard: Option<(i64, i64)>,
    reaction: i64,
    /// Running median of the time between departures of new data.
    spacing: i64,
    last_new: Option<i64>,
    afar: bool,
    /// Shorter silences of a sender that is elsewhere may be round trips.
    doubt: i64,
    round_end: i64,
    cut: bool,
    /// The last idle time of the application, and what followed it.
    closing: Option<Closing>,
    /// Packets of the receiver with data.
    asked: u32,
    /// Outstanding at the end of the last round.
    flight: i64,
    measured: Measured,
    last_delay: Option<i64>,
    least_delay: Option<i64>,
    train: Option<Train>,
    departures: Option<(i64, i64)>,
    /// Departures since a silence that is the sender's only if they restore what was outstanding.
    silence: Option<Silence>,
    measured_delays: u32,
    pub(crate) delays: Distribution<7>,
    pub(crate) lag: (i64, u32),
    pub(crate) changes: Changes,
    pub(crate) pieces: Pieces,
    /// Rate at which the path delivered bursts, in bytes per second.
    pub(crate) capacity: Distribution<7>,
    /// Rate of departures, in bytes per second.
    pub(crate) rate: Distribution<7>,
    pub(crate) levels: Vec<Level>,
    /// Silences of the sender: how often, and the longest.
    pub(crate) idle: (u32, i64),
    /// How often data that acknowledgements had released left late.
    pub(crate) burst_after_idle: u32,
    pub(crate) marks: u32,
}

/// A silence of a sender that is elsewhere: a late acknowledgement leaves one, too, unless all that
/// was outstanding before follows at once.
#[derive(Debug, Clone, Copy)]
struct Silence {
    piece: usize,
    since: i64,
    until: i64,
    before: i64,
}

/// An idle time of the application before what may close the session.
#[derive(Debug, Clone, Copy)]
struct Closing {
    since: i64,
    /// The longest idle time before.
    longest: i64,
    piece: u32,
    /// Bytes that followed.
    length: u32,
}

/// Bytes that close a session: an alert of TLS (`close_notify`, RFC 8446 section 6.1) in a record
/// of any common cipher, and before it a GOAWAY of HTTP/2 (RFC 9113 section 6.8), if any.
const GOODBYE: std::ops::RangeInclusive<u32> = 24..=170;

impl Budget {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.delays.held_bytes()
            + self.capacity.held_bytes()
            + self.rate.held_bytes()
            + self.changes.held_bytes()
            + self.pieces.held_bytes()
            + self.levels.capacity() * size_of::<Level>()
    }

    /// What was known when the first data left.
    pub fn new(una: i64, window: Window, high: i64) -> Self {
        let (window, scale) = match window {
            // The handshake's window is offered before the receiver knows what it will take.
            Window::Known(bytes) => (bytes, Scale::Known),
            Window::Estimated => (u32::MAX, Scale::Unknown),
        };
        Self { una, high, window, scale, round_end: high, ..Self::default() }
    }

    /// The handshake went on after the first data (RFC 7413): how windows are scaled is known.
    #[inline]
    pub fn know_windows(&mut self) {
        self.scale = Scale::Known;
    }

    /// Data left the sender.
    #[inline]
    pub fn on_departure(&mut self, departure: &Departure) {
        let Some(until) = self.until else {
            self.until = Some(departure.at);
            self.sent(departure.at, departure);
            return;
        };
        let at = departure.at.max(until);
        let whole = departure.afar.is_some_and(|afar| afar.whole);
        if whole && departure.start > self.high && self.recovery.is_none() {
            // What lies between was lost, or overtaken, on the way to the capture.
            self.last_delay = Some(departure.lag + departure.onward);
            self.missing.get_or_insert(self.level());
        }
        match departure.sending {
            Sending::New => {
                if departure.start < self.high {
                    // Overtaken.
                    self.missing = None;
                }
                self.on_new(at, departure);
            }
            Sending::Repair => self.on_repair(at, departure),
            Sending::Fill => {
                if self.recovery.is_none() {
                    self.lose(departure.mss);
                }
                self.settle(at, Kind::Recovery);
            }
            Sending::Timer => self.on_timer(at, departure),
            Sending::Needless => {
                let answers = self.peer.is_some() && self.all_acknowledged.is_some();
                if answers && !departure.unheard {
                    self.unheard = None;
                    return; // It has been asked: the next new data are the answer.
                }
                self.on_needless(at, until, departure);
            }
        }
        if departure.sending != Sending::Needless {
            self.unheard = None;
        }
        self.sent(at, departure);
    }

    fn on_new(&mut self, at: i64, departure: &Departure) {
        let until = self.until.unwrap_or(at);
        let full = self.full();
        if self.recovery.is_some() {
            self.settle(at, Kind::Recovery);
            self.find_pause_within_recovery(at, departure);
            return;
        }
        let tolerance = self.tolerance(departure);
        self.afar = departure.afar.is_some();
        let untimed = departure.afar.filter(|afar| !afar.timed);
        self.doubt =
            untimed.and(departure.base).map_or(0, |base| base.saturating_mul(UNTIMED_TRIPS));
        let open = self.open_since.map_or(at, |open| open.clamp(until, at));
        if open > until {
            self.settle(open, full);
        }
        // After a short segment nothing more had been written: the time until the next is a pause
        // of the writer's, however short.
        let silent = at - open > if departure.afar.is_some() { AFAR } else { PROMPT };
        if let Some(all) = self.all_acknowledged.filter(|all| *all <= at) {
            let tolerances = (tolerance, self.patience(departure));
            let any = (i64::MAX, i64::MAX);
            let tolerances = if departure.prompted { any } else { tolerances };
            self.after_all(at, all, tolerances, departure.base);
        } else if silent && self.is_short() {
            let released = self.was_released(at, departure.mss);
            self.settle(at, if released { Kind::Clocked } else { Kind::IdleApplication });
        } else {
            // Where nothing came since the last data left, what leaves now could have left before,
            // unless a pacer or the timer of a tail-loss probe released it.
            let probe = departure.smoothed.is_some_and(|rtt| at - open >= rtt + rtt / 2);
            let paced = at - open <= REACTIONS * self.spacing;
            let trigger = match self.last_receive {
                Some(receive) => receive.clamp(open, at),
                None if probe || paced || departure.afar.is_some() => at,
                None => open,
            };
            if at - trigger > self.patience(departure) && !departure.prompted {
                self.settle(trigger, Kind::Clocked);
                self.settle_idle(at, Kind::IdleSender);
            } else {
                if self.until == Some(trigger) && self.measured.is_empty() {
                    // Nothing came in no time: the round goes on.
                    self.cut = false;
                }
                self.settle(at, Kind::Clocked);
                if let Some(first) = self.first_advance.map(|first| first.max(open))
                    && at - first > tolerance
                    && departure.end > self.high
                    && self.pieces.len() > 0
                {
                    // Acknowledgements released data, and they left late.
                    self.pieces.turn(self.pieces.len() - 1, first, Kind::Clocked, Kind::IdleSender);
                    self.idle.0 += 1;
                    self.burst_after_idle += 1;
                }
            }
        }
        if let Some(receive) = self.last_receive.filter(|_| !self.is_short()) {
            self.react(at - receive.max(open));
        }
    }

    /// New data leave while a loss is repaired. Where all that had been written was sent before and
    /// no arrival released them, the writer had paused: without the loss it would have paused, too.
    fn find_pause_within_recovery(&mut self, at: i64, departure: &Departure) {
        let Some(since) = self.last_new.filter(|_| self.ending == Ending::Remainder) else {
            return;
        };
        // A pacer follows an arrival later.
        let soon = PROMPT.max(REACTIONS * self.spacing);
        let prompted = self.peer.is_some() || self.heard.is_some_and(|heard| at - heard <= soon);
        // What the capture did not see may have left or come in between.
        let seen = departure.afar.is_none() && departure.start == self.high;
        if !seen || prompted || at - since <= self.patience(departure) {
            return;
        }
        self.pieces.turn_since(since, Kind::Recovery, Kind::IdleApplication);
        self.idle = (self.idle.0 + 1, self.idle.1.max(at - since));
    }

    /// Whether an acknowledgement released data: they left as it came, and several segments had
    /// been outstanding. A full send buffer ends in a short segment, too.
    fn was_released(&self, at: i64, mss: u32) -> bool {
        self.last_receive.is_some_and(|receive| at - receive <= PROMPT)
            && self.high - self.una >= RELEASED * i64::from(mss)
    }

    /// Everything was acknowledged before these data left.
    fn after_all(
        &mut self,
        at: i64,
        all: i64,
        (tolerance, patience): (i64, i64),
        base: Option<i64>,
    ) {
        if let Some((first, last)) = self.peer {
            // An answer that acknowledges everything itself came when its sender had one.
            let waited = self.until.zip(base).filter(|_| first <= all);
            let all = waited.map_or(all, |(until, base)| all.min(until.saturating_add(base)));
            self.settle(all.min(last), Kind::Clocked);
            self.settle(last.min(at), if last > all { Kind::Peer } else { Kind::Clocked });
            let asked = last.max(all).min(at);
            self.settle(asked, Kind::Clocked);
            self.settle(at, if at - asked > tolerance { Kind::Think } else { Kind::Clocked });
            return;
        }
        self.settle(all, Kind::Clocked);
        let longest = if self.is_short() { tolerance } else { patience };
        if at - all.max(self.until.unwrap_or(all)) <= longest {
            self.settle(at, Kind::Clocked);
        } else if self.is_short() {
            let (since, longest) = (self.until.unwrap_or(at), self.idle.1);
            self.settle_idle(at, Kind::IdleApplication);
            let piece = u32::try_from(self.pieces.len().saturating_sub(1)).unwrap_or(u32::MAX);
            self.closing = Some(Closing { since, longest, piece, length: 0 });
        } else {
            self.settle_idle(at, Kind::IdleSender);
        }
    }

    fn on_repair(&mut self, at: i64, departure: &Departure) {
        if self.recovery.is_none() {
            self.lose(departure.mss);
        }
        self.settle(at, Kind::Recovery);
    }

    /// Acknowledgements that the capture saw and the sender did not hear of were lost in between,
    /// from the second retransmission on: a host that stalled hears of them after the first.
    fn on_needless(&mut self, at: i64, until: i64, departure: &Departure) {
        let (start, unheard) = (departure.start, departure.unheard);
        // Of one timeout many segments may be sent again: a timer that expires anew repeats one.
        let first = self.unheard.filter(|&(_, again)| unheard && start <= again);
        self.unheard = unheard.then_some((until, start));
        if let Some((first, _)) = first {
            for kind in [Kind::Clocked, Kind::IdleSender] {
                self.pieces.turn_since(first, kind, Kind::Outage);
            }
            self.settle(at, Kind::Outage);
            return;
        }
        let since = self.last_receive.map_or(until, |receive| receive.max(until));
        self.settle(since, Kind::Clocked);
        self.settle(at, Kind::IdleSender);
    }

    fn on_timer(&mut self, at: i64, departure: &Departure) {
        if self.recovery.is_none() {
            self.lose(departure.mss);
        }
        let until = self.until.unwrap_or(at);
        if self.last_receive.is_none() && at - until < departure.smoothed.unwrap_or(0) {
            // More of what one timeout repeats.
            self.settle(at, Kind::Recovery);
            return;
        }
        if self.last_receive.is_none() {
            self.unanswered += 1;
            if self.unanswered >= 2 {
                self.pieces.turn_last(Kind::Timeout, Kind::Outage);
                self.settle(at, Kind::Outage);
                return;
            }
        } else {
            self.unanswered = 1;
        }
        let last = self.last_receive.unwrap_or(until);
        let due = (last + departure.smoothed.unwrap_or(0)).clamp(until, at);
        let full = self.full();
        self.settle(due, if self.open_since.is_none() { full } else { Kind::Clocked });
        self.settle(at, Kind::Timeout);
    }

    /// A loss begins to be repaired.
    fn lose(&mut self, mss: u32) {
        self.recovery = Some(self.high);
        self.measured.losses += 1;
        let level = self.missing.take().unwrap_or_else(|| self.level());
        if self.levels.len() < LEVELS && level.flight >= i64::from(mss) {
            self.levels.push(level);
        }
    }

    fn level(&self) -> Level {
        Level { flight: self.high - self.una, delay: self.last_delay }
    }

    /// A packet of the receiver reached the sender.
    #[inline]
    pub fn on_arrival(&mut self, arrival: &Arrival, mss: u32) {
        let Some(until) = self.until else {
            (self.una, self.window) = (self.una.max(arrival.una), arrival.window);
            return;
        };
        let at = arrival.at.max(until);
        if self.unanswered >= 2 {
            self.settle(at, Kind::Outage);
        }
        self.unanswered = 0;
        let advanced = arrival.una - self.una;
        if advanced > 0 {
            self.measured.delivered += advanced;
            self.una = arrival.una;
            // What the capture missed had left, too.
            self.high = self.high.max(arrival.una);
            self.first_advance.get_or_insert(at);
        }
        if arrival.marked {
            self.marks = self.marks.saturating_add(1);
            self.measured.losses += 1;
        }
        self.window = arrival.window;
        self.largest = self.largest.max(arrival.window);
        (self.last_receive, self.heard) = (Some(at), Some(at));
        if arrival.data {
            self.asked = self.asked.saturating_add(1);
            self.peer = Some((self.peer.map_or(at, |peer| peer.0), at));
        }
        if self.open_since.is_none() {
            if self.room() >= i64::from(mss) {
                self.open_since = Some(at);
            } else {
                self.narrowest = self.narrowest.min(arrival.window);
            }
        }
        if self.una >= self.high {
            self.all_acknowledged.get_or_insert(at);
        }
        // What an answer acknowledges with it may have waited for the answer.
        let delay = arrival.delay.filter(|_| !arrival.data || self.una < self.high);
        if let Some(delay) = delay {
            self.delay(delay);
        }
        if advanced > 0 {
            let sent = arrival.sent.zip(delay);
            self.train(at, sent, mss);
        }
        if self.recovery.is_some_and(|recovery| self.una >= recovery) {
            self.settle(at, Kind::Recovery);
            self.recovery = None;
        }
        if self.una >= self.round_end {
            self.cut = true;
            self.flight = self.high - self.una;
            self.round_end = self.high;
        }
    }

    /// The sender closed the connection after its last data. Where these do no more than close a
    /// session in which the receiver asks, it had waited for a request.
    pub(crate) fn on_closed(&mut self) {
        let Some(closing) = self.closing.take() else { return };
        if self.asked > 0 && GOODBYE.contains(&closing.length) {
            let piece = usize::try_from(closing.piece).unwrap_or(usize::MAX);
            self.pieces.turn(piece, closing.since, Kind::IdleApplication, Kind::Peer);
            self.idle = (self.idle.0.saturating_sub(1), closing.longest);
        }
    }

    /// Nothing more was captured; the transfer ended with the acknowledgement at `at`.
    pub fn on_end(&mut self, at: i64) {
        let until = self.until.unwrap_or(at);
        if at > until {
            let kind = if self.unanswered >= 2 {
                Kind::Outage
            } else if self.recovery.is_some() {
                Kind::Recovery
            } else {
                Kind::Clocked
            };
            self.settle(at, kind);
        }
    }

    /// The clock stepped: what lies on both sides of the step cannot be measured.
    pub fn on_clock_step(&mut self) {
        let kept = std::mem::take(self);
        *self = Self {
            una: kept.una,
            high: kept.high,
            window: kept.window,
            scale: kept.scale,
            largest: kept.largest,
            pieces: kept.pieces,
            capacity: kept.capacity,
            rate: kept.rate,
            ..Self::default()
        };
    }

    /// Something of what every packet needs, from all over it.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        (self.una ^ self.high ^ self.reaction ^ self.lag.0 ^ self.flight).unsigned_abs()
            ^ u64::from(self.marks)
    }

    fn is_short(&self) -> bool {
        self.ending != Ending::Full
    }

    fn room(&self) -> i64 {
        self.una + i64::from(self.window) - self.high
    }

    /// What a full window means.
    fn full(&self) -> Kind {
        let is_known = self.scale == Scale::Known;
        if self.narrowest < CLOSED && (self.narrowest == 0 || is_known) {
            Kind::ZeroWindow
        } else if !is_known {
            Kind::Unknown
        } else if f64::from(self.narrowest) < SHRUNK * f64::from(self.largest) {
            Kind::ReceiverWindow
        } else {
            Kind::Window
        }
    }

    /// Silences longer than this are no reaction.
    fn tolerance(&self, departure: &Departure) -> i64 {
        let part = departure.base.map_or(CLEARLY_IDLE, |base| base / ROUND_TRIP_PART);
        (REACTIONS * self.reaction)
            .min(8 * CLEARLY_IDLE)
            .max(part.min(CLEARLY_IDLE))
            .max(if departure.afar.is_some() { AFAR } else { PROMPT })
    }

    /// The same for what would be the sender's silence. Without the sender's clock the round trip
    /// of the moment is not known elsewhere: it may be twice the smallest.
    fn patience(&self, departure: &Departure) -> i64 {
        let more = departure.afar.filter(|afar| !afar.timed).and(departure.base).unwrap_or(0);
        self.tolerance(departure).max(more)
    }

    /// The usual reaction.
    fn react(&mut self, reaction: i64) {
        follow(&mut self.reaction, reaction);
    }

    /// The time until `at` was of `kind`.
    #[inline]
    fn settle(&mut self, at: i64, kind: Kind) {
        let until = self.until.unwrap_or(at);
        if at < until {
            return;
        }
        if at == until && self.measured.is_empty() {
            (self.cut, self.until) = (false, Some(at));
            return;
        }
        let flight = self.high - self.una;
        let cut = std::mem::take(&mut self.cut);
        self.pieces.add((until, at), kind, cut, (flight, self.window), &mut self.measured);
        self.until = Some(at);
    }

    fn settle_idle(&mut self, at: i64, kind: Kind) {
        let since = self.until.unwrap_or(at);
        if self.afar && kind == Kind::IdleSender {
            self.cut = true;
            self.settle(at, Kind::Clocked);
            let before = self.flight.max(self.high - self.una);
            self.silence = Some(Silence { piece: self.pieces.len() - 1, since, until: at, before });
            return;
        }
        self.idle = (self.idle.0 + 1, self.idle.1.max(at - since));
        self.settle(at, kind);
    }

    /// Whether the departures after a silence show that it was the sender's.
    #[inline]
    fn judge_silence(&mut self, at: i64, mss: i64) {
        let Some(silence) = self.silence else { return };
        let length = silence.until - silence.since;
        if (at - silence.until) * BURST_PART > length {
            self.silence = None;
        } else if self.high - self.una >= (silence.before - mss).max(2 * mss) {
            let kind = if length < self.doubt { Kind::Unknown } else { Kind::IdleSender };
            self.pieces.turn(silence.piece, silence.since, Kind::Clocked, kind);
            if kind == Kind::IdleSender {
                self.idle = (self.idle.0 + 1, self.idle.1.max(length));
            }
            self.silence = None;
        }
    }

    /// Data have left; the next silence begins.
    fn sent(&mut self, at: i64, departure: &Departure) {
        let new = departure.end > self.high;
        self.high = self.high.max(departure.end);
        let mss = i64::from(departure.mss);
        self.lag = (self.lag.0.saturating_add(departure.lag), self.lag.1.saturating_add(1));
        if new {
            if let Some(last) = self.last_new.replace(at) {
                follow(&mut self.spacing, at - last);
            }
            if let Some(closing) = &mut self.closing {
                closing.length = closing.length.saturating_add(departure.length);
            }
            self.judge_silence(at, mss);
            self.ending = if i64::from(departure.length) % mss == 0 {
                Ending::Full
            } else if departure.length < self.length {
                Ending::Remainder
            } else {
                Ending::Short
            };
            self.length = departure.length;
            self.depart(at, mss);
        }
        self.narrowest = self.window;
        self.open_since = (self.room() >= mss).then_some(at);
        (self.all_acknowledged, self.first_advance) = (None, None);
        (self.last_receive, self.peer) = (None, None);
    }

    fn delay(&mut self, delay: i64) {
        self.last_delay = Some(delay);
        self.least_delay = Some(self.least_delay.map_or(delay, |least| least.min(delay)));
        self.measured.delays.0 = self.measured.delays.0.saturating_add(delay);
        self.measured.delays.1 += 1;
        self.measured.delays.2 = self.measured.delays.2.min(delay);
        self.measured_delays = self.measured_delays.wrapping_add(1);
        if self.measured_delays % SAMPLED == 1 {
            self.delays.add(delay);
        }
    }

    /// The rate at which the path delivers.
    #[expect(clippy::cast_possible_truncation, reason = "bytes per second of a train")]
    fn train(&mut self, at: i64, sent: Option<(i64, i64)>, mss: u32) {
        let Some((sent, delay)) = sent.filter(|_| self.recovery.is_none()) else {
            self.train = None;
            return;
        };
        let last = Train { at, una: self.una, outstanding: self.high - self.una, sent, delay };
        let first = *self.train.get_or_insert(last);
        if !first.ends_with(&last, mss) {
            return;
        }
        self.train = Some(last);
        if let Some(rate) = first.rate(&last, self.least_delay.unwrap_or(0), mss) {
            self.capacity.add(rate as i64);
            self.changes.add(at, self.una, rate);
        }
    }

    /// How evenly data leave.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "bytes per second of departures"
    )]
    fn depart(&mut self, at: i64, mss: i64) {
        let Some((then, from)) = self.departures else {
            self.departures = Some((at, self.high));
            return;
        };
        if self.high - from >= DEPARTURES * mss {
            if at > then && self.recovery.is_none() {
                self.rate.add(((self.high - from) as f64 * 1e9 / (at - then) as f64) as i64);
            }
            self.departures = Some((at, self.high));
        }
    }
}

/// Moves a running median towards a value.
fn follow(median: &mut i64, value: i64) {
    let step = (*median / 16).max(1_000);
    if value > *median {
        *median += step;
    } else {
        *median = (*median - step).max(0);
    }
}
