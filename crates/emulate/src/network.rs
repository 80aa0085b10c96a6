//! Packets in a topology, in virtual time.
//!
//! A packet comes to its next pipe at the moment scheduled by the pipe before it, not when the
//! caller polls: a late packet is not later at the next pipe. Only behind the last pipe is it
//! handed over, to be sent at its scheduled time; what is then late is the departure error.
//!
//! Memory is bounded: what is inside counts with its length and [`OVERHEAD`], and what does not fit
//! is refused and counted. Copies that pipes make count when they come out of the pipe that made
//! them, and are dropped there if they do not fit ([`Fate::EmulatorFull`]).

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use trustbed_units::{Ns, Span};

use crate::agenda::Agenda;
use crate::paths::number;
use crate::summary::Tally;
use crate::taps::{Passing, Taps};
use crate::topology::Route;
use crate::{
    EmulateError, Fate, Ledger, Link, Outcome, Pipe, PipeSummary, Record, Summary, Topology,
};

/// How much may be inside a network at once by default: 256 MiB.
pub const LIMIT_INSIDE: u64 = 256 << 20;
/// What a packet takes besides its length, in bytes.
pub const OVERHEAD: u64 = 128;

/// A running network; `P` is whatever packets carry, `L` takes the records.
///
/// Call [`offer`](Self::offer) for every packet as it comes, in order of time as well as possible;
/// call [`take_due`](Self::take_due) until it gives nothing, at the latest when
/// [`next_due`](Self::next_due) gives; report [`sent`](Self::sent) or [`unsent`](Self::unsent) for
/// each. At the end [`close`](Self::close), then [`summary`](Self::summary). A packet that is
/// dropped is dropped with what it carries.
///
/// ```
/// use trustbed_emulate::{Description, Network, Offered, Topology};
/// use trustbed_units::Ns;
/// let text = r#"{"hosts": [{"name": "near", "addresses": ["10.0.0.1"]},
///                         {"name": "far", "addresses": ["10.0.0.2"]}],
///     "pipes": [{"name": "up", "from": "near", "to": "far",
///                "rate_bits_per_second": 8000000, "delay_ns": 10000000},
///               {"name": "down", "from": "far", "to": "near", "delay_ns": 10000000}]}"#;
/// let topology = Topology::new(&serde_json::from_str::<Description>(text)?)?;
/// let mut network = Network::new(&topology, 1, Vec::new())?;
/// let (source, destination) = ("10.0.0.1".parse()?, "10.0.0.2".parse()?);
/// network.offer(Ns(0), Offered { host: 0, source, destination, length: 1000, payload: "hello" })?;
/// assert_eq!(network.next_due(), Some(Ns(11_000_000)));
/// assert!(network.take_due(Ns(10_999_999)).is_none());
/// let departure = network.take_due(Ns(11_000_500)).unwrap();
/// assert_eq!((departure.payload, departure.host, departure.due), ("hello", 1, Ns(11_000_000)));
/// network.sent(departure.ticket, Ns(11_002_000));
/// assert_eq!(network.summary().departure_error.spread.max_ns, Some(2_000));
/// assert_eq!(network.into_ledger()[0].actual, Some(Ns(11_002_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Network<P, L> {
    topology: Topology,
    pipes: Vec<Link<Traveller<P>>>,
    agenda: Agenda,
    /// Behind their last pipe, in the order in which they are due.
    ready: VecDeque<Departure<P>>,
    ledger: L,
    taps: Taps<P>,
    inside: Inside,
    /// Handed over, their sending not reported yet.
    owed: u64,
    /// Inside at the end.
    closed: u64,
    counts: Counts,
    tally: Tally,
}

/// A packet that comes into the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered<P> {
    /// The index in [`Topology::hosts`] of the host that sent it.
    pub host: usize,
    /// Its source address.
    pub source: IpAddr,
    /// Its destination address.
    pub destination: IpAddr,
    /// The length that links see, in bytes.
    pub length: u32,
    /// What it carries.
    pub payload: P,
}

/// A packet that is to be sent on to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure<P> {
    /// The index in [`Topology::hosts`] of the host that it goes to.
    pub host: usize,
    /// When it was to be there.
    pub due: Ns,
    /// What it carries.
    pub payload: P,
    /// To be given back when it was sent, or could not be.
    pub ticket: Ticket,
}

/// Stands for a packet that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    record: Record,
    /// Of a full frame on the slowest pipe of the path.
    packet_time: Span,
}

/// Why a packet did not get into the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Refusal {
    /// Its host has access pipes, and the source is not one of the host's addresses; or there is no
    /// such host.
    #[error("the source is no address of the host")]
    UnknownSource,
    /// No host has the destination.
    #[error("no host has the destination")]
    UnknownDestination,
    /// It goes to where it comes from, and no pipe lies between; or the host that leads outside
    /// sent it, and its destination is there too.
    #[error("the destination is the sender")]
    SameHost,
    /// As much as may be is inside.
    #[error("the emulator holds as much as it may")]
    EmulatorFull,
}

/// How much is in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
    /// Packets, but for copies that are still in the pipe that made them.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A packet between its pipes.
#[derive(Debug, Clone)]
struct Traveller<P> {
    payload: P,
    number: u64,
    packet_time: Span,
    /// The next step of the path, and how many are left.
    step: u32,
    steps: u32,
    down: Option<u32>,
    host: u32,
    copy: bool,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    offered_packets: u64,
    offered_bytes: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    unsent: u64,
    refused: BTreeMap<Refusal, u64>,
}

impl Refusal {
    /// What it is called in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::UnknownDestination => "unknown_destination",
            Self::SameHost => "same_host",
            Self::EmulatorFull => "emulator_full",
        }
    }
}

impl<P: Clone, L: Ledger> Network<P, L> {
    /// An empty network.
    ///
    /// # Errors
    /// When a pipe's description makes no sense; the error names pipe and key.
    pub fn new(topology: &Topology, seed: u64, ledger: L) -> Result<Self, EmulateError> {
        let link = |pipe: &Pipe| {
            Link::named(&pipe.link, seed, &pipe.name, &format!("pipe {:?}", pipe.name))
        };
        Ok(Self {
            pipes: topology.pipes().iter().map(link).collect::<Result<_, EmulateError>>()?,
            topology: topology.clone(),
            agenda: Agenda::new(&topology.ahead()),
            ready: VecDeque::new(),
            ledger,
            taps: Taps::new(topology.pipes().len()),
            inside: Inside::default(),
            owed: 0,
            closed: 0,
            counts: Counts::default(),
            tally: Tally::default(),
        })
    }

    /// Traces, and delays recorded over time, begin at this moment rather than with the first
    /// packet of each pipe; and so do the times of outages and of steps, unless they are held.
    pub fn start(&mut self, at: Ns) {
        self.pipes.iter_mut().for_each(|link| link.start(at));
    }

    /// The times of outages and of steps do not begin by themselves.
    pub fn hold_times(&mut self) {
        self.pipes.iter_mut().for_each(Link::hold_times);
    }

    /// The times of outages and of steps are counted from this moment, best one that has not come
    /// yet.
    pub fn begin_times(&mut self, at: Ns) {
        self.pipes.iter_mut().for_each(|link| link.begin_times(at));
    }

    /// Calls a tap for every packet that passes a router, copies too, at the moment at which it
    /// does.
    ///
    /// # Errors
    /// When there is no such router, or it has a tap already.
    pub fn tap(
        &mut self,
        router: &str,
        watcher: impl FnMut(Passing<'_, P>) + 'static,
    ) -> Result<(), EmulateError> {
        self.taps.add(&self.topology, router, Box::new(watcher))
    }

    /// A packet comes. Returns its number.
    ///
    /// # Errors
    /// Why it did not get in; that is counted too.
    pub fn offer(&mut self, at: Ns, packet: Offered<P>) -> Result<u64, Refusal> {
        self.advance(at);
        let route = self.topology.route(packet.host, packet.source, packet.destination);
        let route = route.and_then(|route| {
            if self.has_room(packet.length) { Ok(route) } else { Err(Refusal::EmulatorFull) }
        });
        let route =
            route.inspect_err(|refusal| *self.counts.refused.entry(*refusal).or_default() += 1)?;
        let number = self.counts.offered_packets;
        self.counts.offered_packets += 1;
        self.counts.offered_bytes += u64::from(packet.length);
        self.inside.enter(packet.length);
        let Route { up, stretch, down, host } = route;
        let traveller = Traveller {
            payload: packet.payload,
            number,
            packet_time: Span::ZERO,
            step: stretch.first,
            steps: stretch.count,
            down,
            host,
            copy: false,
        };
        self.enter(at, up, packet.length, traveller);
        Ok(number)
    }

    /// When to call [`take_due`](Self::take_due) next; nothing while nothing is inside. Nothing is
    /// due earlier; it can turn out that nothing is due then.
    pub fn next_due(&self) -> Option<Ns> {
        let ready = self.ready.front().map(|departure| departure.due);
        ready.into_iter().chain(self.agenda.next_due()).min()
    }

    /// The next packet that is to be sent at `now` or was to be sent earlier.
    pub fn take_due(&mut self, now: Ns) -> Option<Departure<P>> {
        if self.ready.front().is_none_or(|first| first.due > now) {
            self.advance(now);
        }
        // What a later offer brought through ahead of its time stays until its time.
        if self.ready.front()?.due > now {
            return None;
        }
        let departure = self.ready.pop_front()?;
        self.owed += 1;
        self.inside.leave(departure.ticket.record.length);
        Some(departure)
    }

    /// A packet was sent at this moment.
    pub fn sent(&mut self, ticket: Ticket, at: Ns) {
        let due = ticket.record.due.unwrap_or(at);
        self.owed = self.owed.saturating_sub(1);
        self.tally.on_sent(due, at, ticket.packet_time);
        self.counts.delivered_packets += 1;
        self.counts.delivered_bytes += u64::from(ticket.record.length);
        self.ledger.on_record(&Record { actual: Some(at), ..ticket.record });
    }

    /// A packet could not be sent.
    pub fn unsent(&mut self, ticket: Ticket) {
        self.owed = self.owed.saturating_sub(1);
        self.counts.unsent += 1;
        self.ledger.on_record(&Record { fate: Fate::Unsent, ..ticket.record });
    }

    /// The end: what is still inside is written into the ledger as [`Fate::Inside`], and dropped.
    pub fn close(&mut self) {
        self.agenda.clear();
        for departure in std::mem::take(&mut self.ready) {
            self.ledger.on_record(&Record { fate: Fate::Inside, ..departure.ticket.record });
            self.closed += 1;
        }
        for pipe in 0..self.pipes.len() {
            for outcome in self.pipes[pipe].close() {
                self.closed += u64::from(outcome.passage.fate == Fate::Inside);
                self.ledger.on_record(&record(number(pipe), &outcome));
            }
        }
        self.inside = Inside::default();
    }

    /// What is inside at the moment, and not handed over.
    pub const fn inside(&self) -> Inside {
        self.inside
    }

    /// What happened so far.
    pub fn summary(&self) -> Summary {
        let counts = &self.counts;
        let pipes = self.topology.pipes().iter().zip(&self.pipes);
        let inside: usize =
            self.pipes.iter().map(|link| link.len() - link.unpolled()).sum::<usize>()
                + self.ready.len();
        Summary {
            offered_packets: counts.offered_packets,
            offered_bytes: counts.offered_bytes,
            delivered_packets: counts.delivered_packets,
            delivered_bytes: counts.delivered_bytes,
            inside_packets: inside as u64 + self.owed + self.closed,
            unsent_packets: counts.unsent,
            refused: counts
                .refused
                .iter()
                .map(|(refusal, count)| (refusal.name(), *count))
                .collect(),
            departure_error: self.tally.departure_error(),
            pipes: pipes.map(|(pipe, link)| PipeSummary::new(pipe, link.counters())).collect(),
        }
    }

    /// Where the records go.
    pub const fn ledger_mut(&mut self) -> &mut L {
        &mut self.ledger
    }

    /// Where the records went.
    pub fn into_ledger(self) -> L {
        self.ledger
    }

    /// Whether one more of this length may be inside.
    fn has_room(&self, length: u32) -> bool {
        self.inside.bytes + self.inside.packets * OVERHEAD + u64::from(length) + OVERHEAD
            <= self.topology.limit_inside()
    }

    /// Lets everything inside happen that happens up to `now`, in order of time.
    fn advance(&mut self, now: Ns) {
        while let Some(pipe) = self.agenda.take(now) {
            loop {
                // Nothing of this pipe may overtake what another one has to give before.
                let until = self.agenda.turn_ends(pipe).map_or(now, |end| now.min(end));
                let Some(outcome) = self.pipes[pipe as usize].poll(until) else { break };
                self.leave(pipe, outcome);
            }
            self.schedule(pipe);
        }
    }

    /// A packet comes to its next pipe; there is one.
    fn enter(&mut self, at: Ns, up: Option<u32>, length: u32, mut traveller: Traveller<P>) {
        let pipe = up.or_else(|| {
            traveller.steps = traveller.steps.checked_sub(1)?;
            traveller.step += 1;
            Some(self.topology.paths().step(traveller.step - 1))
        });
        let Some(pipe) = pipe.or_else(|| traveller.down.take()) else { return };
        if let Some(outcome) = self.pipes[pipe as usize].offer(at, length, traveller) {
            self.on_dropped(pipe, &outcome);
        }
        self.schedule(pipe);
    }

    /// A packet has left a pipe.
    fn leave(&mut self, pipe: u32, outcome: Outcome<Traveller<P>>) {
        let Some(due) = outcome.passage.due else { return self.on_dropped(pipe, &outcome) };
        let length = outcome.passage.length;
        let record = record(pipe, &outcome);
        let goes_on = outcome.content.steps > 0 || outcome.content.down.is_some();
        if outcome.passage.copy {
            if goes_on && !self.has_room(length) {
                self.pipes[pipe as usize].on_crowded_out(&outcome.passage);
                return self.ledger.on_record(&Record {
                    fate: Fate::EmulatorFull,
                    due: None,
                    ..record
                });
            }
            self.inside.enter(length);
        }
        let mut traveller = outcome.content;
        traveller.copy = record.copy;
        traveller.packet_time = traveller.packet_time.max(self.pipes[pipe as usize].frame_time());
        if goes_on {
            self.ledger.on_record(&record);
            self.taps.on_passing(pipe, Passing { at: due, length, payload: &traveller.payload });
            return self.enter(due, None, length, traveller);
        }
        let ticket = Ticket { record, packet_time: traveller.packet_time };
        // Nearly always the last: only an offer that came late is due before what others brought
        // through ahead of their time.
        let index =
            self.ready.iter().rposition(|ready| ready.due <= due).map_or(0, |before| before + 1);
        self.ready.insert(
            index,
            Departure { host: traveller.host as usize, due, payload: traveller.payload, ticket },
        );
    }

    /// A packet never comes out of a pipe.
    fn on_dropped(&mut self, pipe: u32, outcome: &Outcome<Traveller<P>>) {
        self.inside.leave(outcome.passage.length);
        self.ledger.on_record(&record(pipe, outcome));
    }

    fn schedule(&mut self, pipe: u32) {
        if let Some(next) = self.pipes[pipe as usize].next_wakeup() {
            self.agenda.schedule(pipe, next);
        }
    }
}

impl Inside {
    #[inline]
    fn enter(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }

    #[inline]
    fn leave(&mut self, length: u32) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(length.into());
    }
}

fn record<P>(pipe: u32, outcome: &Outcome<Traveller<P>>) -> Record {
    let passage = &outcome.passage;
    Record {
        number: outcome.content.number,
        pipe,
        arrived: passage.arrived,
        departed: passage.departed,
        due: passage.due,
        actual: None,
        length: passage.length,
        found_packets: passage.found_packets,
        found_bytes: passage.found_bytes,
        fate: passage.fate,
        copy: passage.copy || outcome.content.copy,
    }
}
