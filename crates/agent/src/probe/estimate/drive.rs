//! Drives an estimator: sends the runs that it requests and returns their outcome, until it
//! concludes or a limit is reached.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use trustbed_probe::{
    Ending, PathChirp, PathChirpSettings, Pathload, PathloadReport, PathloadSettings, Sighting,
    Step,
};
use trustbed_units::{Ns, Span};

use super::connection::Asking;
use super::flight::{Flight, Planned, Sent, Went};
use super::report::{Discarded, Runs};
use super::wire::Request;
use crate::session::{Failure, Stop};
use crate::sys::clock;

/// Requests of nothing, the fastest answer to which is taken for the round-trip time.
const ECHOES: u32 = 5;
/// Datagrams of one size that are sent, one after the other, until one arrives.
const SOUNDINGS: u32 = 3;
/// Sizes of IP packets that paths take which do not take those of 1500 bytes: behind `PPPoE`, in
/// tunnels, and wherever there is IPv6 (RFC 8200).
const SMALLER_IP_BYTES: [u32; 4] = [1492, 1420, 1380, 1280];
/// A run that was invalid so often in a row cannot be sent here.
const MOST_INVALID: u64 = 10;
/// A longer gap within a train is a pause of the sender.
const TRAIN_PAUSE: Span = Span::from_millis(1);
/// Estimates that are listed; those behind them only count.
const MOST_ESTIMATES: usize = 100_000;

/// Progress.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Progress {
    sent_runs: u64,
    used_runs: u64,
    sent_ip_bytes: u64,
    /// The latest estimate of pathChirp.
    estimate_bits_per_second: Option<f64>,
}

/// Why a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// The interval is as narrow as requested.
    Resolution,
    /// Between its bounds streams disagree.
    GreyRegion,
    /// Time was up.
    TimeLimit,
    /// No rate that can be sent was too high.
    HighestRate,
    /// Every rate was too high.
    LowestRate,
    /// Fewer than half of the streams could be used, twice in a row.
    Unusable,
    /// As many bytes as were allowed.
    ByteLimit,
    /// Ten trains or streams in a row were invalid, most of them because the sender was late.
    SenderLate,
    /// As above; the sender's queue had no room.
    NoRoom,
    /// As above; the receiver's socket had no room.
    ReceiverDropped,
    /// As above; the receiver's real-time clock was stepped.
    ClockStepped,
    /// The receiver does not answer any more.
    ReceiverLost,
    /// Stop was requested.
    Stopped,
}

impl From<Ending> for Ended {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Resolution => Self::Resolution,
            Ending::GreyRegion => Self::GreyRegion,
            Ending::Timeout => Self::TimeLimit,
            Ending::HighestRate => Self::HighestRate,
            Ending::LowestRate => Self::LowestRate,
            Ending::Unusable => Self::Unusable,
        }
    }
}

impl From<Invalid> for Ended {
    fn from(reason: Invalid) -> Self {
        match reason {
            Invalid::SenderLate => Self::SenderLate,
            Invalid::NoRoom => Self::NoRoom,
            Invalid::ReceiverDropped => Self::ReceiverDropped,
            Invalid::ClockStepped => Self::ClockStepped,
            Invalid::CutOff => Self::TimeLimit,
        }
    }
}

/// Why no more runs are sent.
#[derive(Debug)]
pub(super) enum Halt {
    Ended(Ended),
    /// Nothing can be sent at all.
    Failed(Failure),
}

/// The results of pathChirp.
#[derive(Debug, Default)]
pub(super) struct Chirped {
    /// The first ones: when, the rate, whether it is only a lower bound.
    pub(super) estimates: Vec<(Span, f64, bool)>,
    pub(super) left_out: u64,
    /// The rates of the chirps from a moment on, lowest and highest.
    pub(super) ranges: Vec<(Span, f64, f64)>,
    /// Those behind the latest change of the rates: how many, their sum, and that of their squares
    /// about the first.
    pub(super) latest: Moments,
    /// Unusable chirps: packets lost, reordered, or batched in the receiver.
    pub(super) unusable: u64,
}

/// The mean and the deviation of numbers, one after the other (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub(super) count: u64,
    pub(super) mean: f64,
    squares: f64,
}

impl Moments {
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³")]
    fn add(&mut self, value: f64) {
        self.count += 1;
        let from = value - self.mean;
        self.mean += from / self.count as f64;
        self.squares += from * (value - self.mean);
    }

    /// Standard deviation of the sample; none of fewer than two.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³")]
    pub(super) fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }
}

/// What a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Train,
    Stream,
    Chirp,
}

/// What may be spent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    pub(super) bytes: u64,
    /// How long what is missing of a run is waited for.
    pub(super) patience: Span,
}

/// The two connections to the receiver, and what was exchanged over them.
pub(super) struct Prober {
    pub(super) flight: Flight,
    asking: Asking,
    allowed: Allowed,
    stop: Stop,
    begun: Ns,
    until: Ns,
    /// The receiver's latest clock steps and socket drops.
    known: (u32, Option<u32>),
    /// When the latest run ended.
    free: Ns,
    pub(super) trains: Runs,
    pub(super) streams: Runs,
    pub(super) chirps: Runs,
    pub(super) sent_packets: u64,
    pub(super) sent_ip_bytes: u64,
    pub(super) longest_packet_bytes: Option<u32>,
    pub(super) round_trip: Option<Span>,
    pub(super) lost: Option<String>,
    /// The invalid trains and streams that ended the search, by reason.
    pub(super) invalid_in_a_row: Option<Discarded>,
    progress: Arc<Mutex<Progress>>,
}

impl Prober {
    pub(super) fn new(
        flight: Flight,
        asking: Asking,
        allowed: Allowed,
        stop: Stop,
        progress: Arc<Mutex<Progress>>,
    ) -> Self {
        let now = clock::monotonic();
        Self {
            flight,
            asking,
            allowed,
            stop,
            begun: now,
            until: Ns(i64::MAX),
            known: (0, None),
            free: now,
            trains: Runs::default(),
            streams: Runs::default(),
            chirps: Runs::default(),
            sent_packets: 0,
            sent_ip_bytes: 0,
            longest_packet_bytes: None,
            round_trip: None,
            lost: None,
            invalid_in_a_row: None,
            progress,
        }
    }

    /// How long an answer takes at least; afterwards runs can be sent.
    pub(super) fn measure_round_trip(&mut self) -> Result<Span, Halt> {
        for _ in 0..ECHOES {
            let before = clock::monotonic();
            let answer = self
                .asking
                .ask(Request { run: 0, packets: 0, patience: Span::ZERO })
                .map_err(|error| self.on_lost(&error))?;
            self.known = (answer.clock_steps, answer.dropped);
            let took = clock::monotonic() - before;
            self.round_trip = Some(self.round_trip.map_or(took, |least| least.min(took)));
        }
        Ok(self.round_trip.unwrap_or(Span::ZERO))
    }

    /// The largest payload up to `most` of which a datagram arrives whole: none is fragmented, so
    /// that a path would drop larger ones, with or without an ICMP error (RFC 1191, RFC 8899).
    /// `most` if none arrives, since then the path loses more than its size explains.
    pub(super) fn sound(&mut self, most: u32) -> Result<u32, Halt> {
        let payload = self.largest_that_arrives(most)?;
        self.longest_packet_bytes = Some(payload + self.flight.header_bytes);
        Ok(payload)
    }

    fn largest_that_arrives(&mut self, most: u32) -> Result<u32, Halt> {
        let mut smaller = SMALLER_IP_BYTES.iter();
        let mut payload = most;
        loop {
            for _ in 0..SOUNDINGS {
                // What did not arrive may have taught the kernel what would.
                payload =
                    self.flight.largest_payload().map_or(payload, |largest| payload.min(largest));
                if self.arrives(payload)? {
                    return Ok(payload);
                }
            }
            let below = |bytes: &&u32| **bytes < payload + self.flight.header_bytes;
            let Some(next) = smaller.find(below) else { break };
            payload = next - self.flight.header_bytes;
        }
        Ok(self.flight.largest_payload().map_or(most, |largest| most.min(largest)))
    }

    /// Whether a single datagram arrives.
    fn arrives(&mut self, payload: u32) -> Result<bool, Halt> {
        let due = [Span::ZERO];
        self.check_allowed(payload, due.len())?;
        let sent = self
            .flight
            .send(&Planned { due: &due, payload, begin: clock::monotonic(), until: self.until })
            .map_err(Halt::Failed)?;
        self.count(&sent, payload);
        Ok(self
            .outcome(&sent, due.len(), |_| true)?
            .is_ok_and(|seen| seen.iter().any(|packet| packet.received.is_some())))
    }

    /// Whether so many packets may still be sent.
    fn check_allowed(&self, payload: u32, packets: usize) -> Result<(), Halt> {
        let bytes = u64::from(payload + self.flight.header_bytes) * packets as u64;
        if self.sent_ip_bytes + bytes > self.allowed.bytes {
            Err(Halt::Ended(Ended::ByteLimit))
        } else {
            Ok(())
        }
    }

    fn count(&mut self, sent: &Sent, payload: u32) {
        self.sent_packets += sent.packets();
        self.sent_ip_bytes += u64::from(payload + self.flight.header_bytes) * sent.packets();
    }

    /// pathload until it has concluded, or nothing more may be sent: what is known then.
    pub(super) fn pathload(
        &mut self,
        settings: PathloadSettings,
    ) -> Result<(Ended, PathloadReport), Failure> {
        (self.begun, self.free) = (clock::monotonic(), clock::monotonic());
        self.until = self.begun + settings.time_limit;
        let mut pathload = Pathload::new(settings)
            .map_err(|error| Failure::configuration(error.to_string(), "correct the estimator"))?;
        let ended = match self.search(&mut pathload) {
            Ok(report) => return Ok((report.ending.into(), report)),
            Err(Halt::Failed(failure)) => return Err(failure),
            Err(Halt::Ended(ended)) => ended,
        };
        match pathload.next(Span::MAX) {
            Step::End(report) => Ok((ended, report)),
            step => unreachable!("behind its time limit pathload asks for {step:?}"),
        }
    }

    fn search(&mut self, pathload: &mut Pathload) -> Result<PathloadReport, Halt> {
        let mut invalid = Discarded::default();
        loop {
            let outcome = match pathload.next(clock::monotonic() - self.begun) {
                Step::End(report) => return Ok(report),
                Step::Train { packets, payload } => {
                    let due = vec![Span::ZERO; packets];
                    let whole = |seen: &[Sighting]| {
                        seen.windows(2).all(|pair| pair[1].sent - pair[0].sent <= TRAIN_PAUSE)
                    };
                    self.fly(Kind::Train, &due, payload, self.free, whole)?
                        .map(|seen| pathload.on_train(&seen))
                }
                Step::Stream { after, stream } => {
                    let due: Vec<Span> =
                        (0..stream.packets).map(|number| stream.due(number)).collect();
                    let is_as_scheduled = |seen: &[Sighting]| stream.is_as_scheduled(seen);
                    self.fly(
                        Kind::Stream,
                        &due,
                        stream.payload,
                        self.free + after,
                        is_as_scheduled,
                    )?
                    .map(|seen| pathload.on_stream(&seen))
                }
            };
            let Err(reason) = outcome else {
                invalid = Discarded::default();
                continue;
            };
            invalid.count(reason);
            if invalid.total() >= MOST_INVALID {
                let ended = invalid.most_frequent().into();
                self.invalid_in_a_row = Some(invalid);
                return Err(Halt::Ended(ended));
            }
        }
    }

    /// pathChirp until its time is over, or nothing more may be sent.
    pub(super) fn pathchirp(
        &mut self,
        settings: PathChirpSettings,
        duration: Span,
    ) -> Result<(Ended, Chirped), Failure> {
        (self.begun, self.free) = (clock::monotonic(), clock::monotonic());
        self.until = self.begun + duration;
        let pathchirp = PathChirp::new(settings)
            .map_err(|error| Failure::configuration(error.to_string(), "correct the estimator"))?;
        let mut found = Chirped::default();
        match self.chirp(pathchirp, &mut found) {
            Halt::Ended(ended) => Ok((ended, found)),
            Halt::Failed(failure) => Err(failure),
        }
    }

    fn chirp(&mut self, mut pathchirp: PathChirp, found: &mut Chirped) -> Halt {
        let mut next = self.begun;
        loop {
            let chirp = pathchirp.chirp().clone();
            let range = chirp
                .rates()
                .first()
                .zip(chirp.rates().last())
                .map_or((0.0, 0.0), |(lowest, highest)| (*lowest, *highest));
            found.ranges.push((next.max(clock::monotonic()) - self.begun, range.0, range.1));
            found.latest = Moments::default();
            let due: Vec<Span> = (0..chirp.packets()).map(|number| chirp.due(number)).collect();
            while *pathchirp.chirp() == chirp {
                next = next.max(clock::monotonic());
                let seen = match self.fly(Kind::Chirp, &due, chirp.payload(), next, |seen| {
                    chirp.is_as_scheduled(seen)
                }) {
                    Ok(seen) => seen,
                    Err(halt) => return halt,
                };
                next = next + pathchirp.interval();
                let estimate = seen.ok().and_then(|seen| pathchirp.on_chirp(&seen));
                let Some(estimate) = estimate else {
                    found.unusable = pathchirp.unusable();
                    continue;
                };
                found.on_estimate((
                    clock::monotonic() - self.begun,
                    estimate.rate,
                    estimate.at_limit,
                ));
                self.publish(|progress| progress.estimate_bits_per_second = Some(estimate.rate));
            }
        }
    }

    /// Sends a run and learns when its packets left and arrived; for an invalid run, the reason.
    fn fly(
        &mut self,
        kind: Kind,
        due: &[Span],
        payload: u32,
        begin: Ns,
        is_as_scheduled: impl Fn(&[Sighting]) -> bool,
    ) -> Result<Result<Vec<Sighting>, Invalid>, Halt> {
        self.check_allowed(payload, due.len())?;
        let sent = self
            .flight
            .send(&Planned { due, payload, begin, until: self.until })
            .map_err(Halt::Failed)?;
        self.free = clock::monotonic();
        self.count(&sent, payload);
        if sent.packets() > 0 {
            self.runs(kind).sent += 1;
        }
        let outcome = self.outcome(&sent, due.len(), is_as_scheduled);
        let used = u64::from(matches!(outcome, Ok(Ok(_))));
        if let Ok(Err(reason)) = outcome
            && sent.packets() > 0
        {
            self.runs(kind).discarded.count(reason);
        }
        self.runs(kind).used += used;
        let ip_bytes = self.sent_ip_bytes;
        self.publish(|progress| {
            progress.sent_runs += u64::from(sent.packets() > 0);
            progress.used_runs += used;
            progress.sent_ip_bytes = ip_bytes;
        });
        match outcome {
            Ok(Err(Invalid::CutOff)) => Err(Halt::Ended(if self.stop.is_requested() {
                Ended::Stopped
            } else {
                Ended::TimeLimit
            })),
            outcome => outcome,
        }
    }

    fn outcome(
        &mut self,
        sent: &Sent,
        packets: usize,
        is_as_scheduled: impl Fn(&[Sighting]) -> bool,
    ) -> Result<Result<Vec<Sighting>, Invalid>, Halt> {
        match sent.went {
            Went::Whole => {}
            Went::CutOff => return Ok(Err(Invalid::CutOff)),
            Went::NoRoom => return Ok(Err(Invalid::NoRoom)),
        }
        let request = Request {
            run: sent.number,
            packets: u32::try_from(packets).unwrap_or(0),
            patience: self.allowed.patience,
        };
        let arrivals = self.asking.ask(request).map_err(|error| self.on_lost(&error))?;
        let moments = self.flight.moments(sent);
        let before = std::mem::replace(&mut self.known, (arrivals.clock_steps, arrivals.dropped));
        if before.0 != arrivals.clock_steps {
            return Ok(Err(Invalid::ClockStepped));
        }
        if before.1 != arrivals.dropped {
            return Ok(Err(Invalid::ReceiverDropped));
        }
        let seen: Vec<Sighting> = moments
            .into_iter()
            .zip(arrivals.received)
            .map(|(sent, received)| Sighting { sent, received })
            .collect();
        Ok(if is_as_scheduled(&seen) { Ok(seen) } else { Err(Invalid::SenderLate) })
    }

    fn runs(&mut self, kind: Kind) -> &mut Runs {
        match kind {
            Kind::Train => &mut self.trains,
            Kind::Stream => &mut self.streams,
            Kind::Chirp => &mut self.chirps,
        }
    }

    fn on_lost(&mut self, error: &io::Error) -> Halt {
        if self.stop.is_requested() {
            return Halt::Ended(Ended::Stopped);
        }
        self.lost = Some(error.to_string());
        Halt::Ended(Ended::ReceiverLost)
    }

    fn publish(&self, change: impl FnOnce(&mut Progress)) {
        // A thread that panicked leaves numbers that are whole.
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// When the estimator began.
    pub(super) const fn begun(&self) -> Ns {
        self.begun
    }

    /// Since the estimator began.
    pub(super) fn duration(&self) -> Span {
        clock::monotonic() - self.begun
    }
}

/// Why a run is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invalid {
    /// Its gaps were not those that were requested.
    SenderLate,
    /// A packet found no room in the sender's queue.
    NoRoom,
    /// The receiver's socket had no room.
    ReceiverDropped,
    /// The receiver's real-time clock was stepped.
    ClockStepped,
    /// The time was over, or the end requested.
    CutOff,
}

impl Chirped {
    fn on_estimate(&mut self, estimate: (Span, f64, bool)) {
        self.latest.add(estimate.1);
        if self.estimates.len() < MOST_ESTIMATES {
            self.estimates.push(estimate);
        } else {
            self.left_out += 1;
        }
    }
}

impl Invalid {
    /// From the first to be named, of reasons that are equally frequent.
    const ALL: [Self; 5] =
        [Self::SenderLate, Self::NoRoom, Self::ReceiverDropped, Self::ClockStepped, Self::CutOff];

    fn words(self) -> &'static str {
        match self {
            Self::SenderLate => "the sender was late",
            Self::NoRoom => "the sender's queue had no room",
            Self::ReceiverDropped => "the receiver's socket had no room",
            Self::ClockStepped => "the receiver's clock was stepped",
            Self::CutOff => "the run was cut off",
        }
    }
}

impl Discarded {
    fn of(&mut self, reason: Invalid) -> &mut u64 {
        match reason {
            Invalid::SenderLate => &mut self.sender_late,
            Invalid::NoRoom => &mut self.no_room,
            Invalid::ReceiverDropped => &mut self.receiver_dropped,
            Invalid::ClockStepped => &mut self.clock_stepped,
            Invalid::CutOff => &mut self.cut_off,
        }
    }

    fn count(&mut self, reason: Invalid) {
        *self.of(reason) += 1;
    }

    fn by_reason(&self) -> [(Invalid, u64); 5] {
        let mut counts = self.clone();
        Invalid::ALL.map(|reason| (reason, *counts.of(reason)))
    }

    fn total(&self) -> u64 {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// The first of those that are equally frequent.
    fn most_frequent(&self) -> Invalid {
        let mut all = self.by_reason();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all[0].0
    }

    /// The counts in words, the most frequent reason first.
    pub(super) fn message(&self) -> String {
        let mut all = self.by_reason();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let reasons: Vec<String> = all
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| format!("{} ({count})", reason.words()))
            .collect();
        format!("{} invalid runs in a row: {}", self.total(), reasons.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_runs_end_the_search_under_their_most_frequent_reason() {
        let mut invalid = Discarded::default();
        for (reason, count) in
            [(Invalid::SenderLate, 3), (Invalid::ReceiverDropped, 5), (Invalid::NoRoom, 2)]
        {
            (0..count).for_each(|_| invalid.count(reason));
        }
        assert_eq!(invalid.total(), MOST_INVALID);
        assert_eq!(Ended::from(invalid.most_frequent()), Ended::ReceiverDropped);
        assert_eq!(
            invalid.message(),
            "10 invalid runs in a row: the receiver's socket had no room (5), \
             the sender was late (3), the sender's queue had no room (2)"
        );
        invalid.sender_late += 2;
        assert_eq!(invalid.most_frequent(), Invalid::SenderLate, "the first of equals");
    }
}
