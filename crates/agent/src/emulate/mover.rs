//! The loop that forwards packets: read what arrived, hand it to the network, send what is due,
//! wait.
//!
//! Each turn reads the clock first and the sockets second, and sends what was due at the reading of
//! the clock: the network never runs ahead of a packet that has arrived but is unread. It sleeps
//! until shortly before the next packet is due and spins the rest.
//!
//! Bias: a packet counts as sent in the middle of the call that sent it, or of its share of a call
//! that sent several. The kernel delivers it early in that time and then does much of the receiving
//! host's work; so `departure_error` is over-estimated by some microseconds, and by more when a
//! receiver had to be woken.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trustbed_emulate::{Network, Offered, Ticket};
use trustbed_units::{Ns, Span};

use super::error::EmulatorError;
use super::frame::{self, ETHERNET, Packet, Reason};
use super::kernel::{BATCH, Inbox, Outbox, PacketSocket};
use super::ledger::Recorder;
use super::port::Port;
use super::timeline::Timeline;
use super::times::Times;
use crate::session::Stop;
use crate::sys::clock::{self, Granted, Oversleep, Priority, Rest};
use crate::sys::kernel::{self, Poll};

/// The longest sleep: counts are published and records written down at least this often.
const LONGEST_SLEEP: Span = Span::from_millis(200);

/// While frames come at shorter intervals than this, there is no sleep in between: waking up for
/// each would cost its sender more than the rest.
const BUSY: Span = Span::from_micros(50);

/// Counters that other threads may read meanwhile.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) received: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) lost_records: AtomicU64,
    pub(super) times: Times,
}

/// How the loop itself fared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fared {
    pub(super) turns: u64,
    pub(super) asleep: Span,
    /// The longest time between two readings of the sockets, sleep aside.
    pub(super) longest_turn: Span,
}

/// A packet that has arrived and is not in the network yet.
struct Came {
    at: Ns,
    host: usize,
    source: IpAddr,
    destination: IpAddr,
    packet: Packet,
}

/// Forwards packets: [`Mover::run`], which discards those that arrived before the start.
pub(super) struct Mover {
    pub(super) network: Network<Packet, Recorder>,
    pub(super) sockets: Rc<[PacketSocket]>,
    /// In the order of the sockets and of the topology's hosts.
    pub(super) ports: Vec<Port>,
    pub(super) time: Timeline,
    pub(super) granted: Granted,
    pub(super) published: Arc<Published>,
    pub(super) rest: Rest,
    pub(super) fared: Fared,
    start: Ns,
    empty: Vec<Ns>,
    came: Vec<Came>,
    leaving: Vec<Vec<(Ticket, Packet)>>,
    inbox: Inbox,
    outbox: Outbox,
    tend_at: Ns,
    /// When frames were last read, and whether that was soon after the time before.
    read_at: Ns,
    busy: bool,
    oversleep: Oversleep,
}

impl Mover {
    /// A mover between these ports.
    pub(super) fn new(
        network: Network<Packet, Recorder>,
        (sockets, ports): (Vec<PacketSocket>, Vec<Port>),
        granted: Granted,
        published: Arc<Published>,
    ) -> Self {
        let time = Timeline::begin();
        let now = time.now();
        let longest = ports.iter().map(|port| port.mtu).max().unwrap_or(0) + ETHERNET;
        Self {
            network,
            sockets: sockets.into(),
            empty: vec![now; ports.len()],
            leaving: ports.iter().map(|_| Vec::with_capacity(BATCH)).collect(),
            ports,
            time,
            granted,
            published,
            rest: Rest::new(now),
            fared: Fared::default(),
            start: now,
            came: Vec::with_capacity(2 * BATCH),
            inbox: Inbox::new(longest),
            outbox: Outbox::new(),
            tend_at: now,
            read_at: now,
            busy: false,
            oversleep: Oversleep::new(),
        }
    }

    /// Moves packets from a moment of the real-time clock on (none: from now on) until stop is
    /// requested; earlier packets are not forwarded.
    pub(super) fn run(&mut self, start: Option<Ns>, stop: Stop) -> Result<(), EmulatorError> {
        // The time of the network is that of the real-time clock at the start.
        self.time = Timeline::begin();
        let now = self.time.now();
        self.start = start.unwrap_or(now);
        self.rest = Rest::new(now);
        self.network.start(self.start);
        let sockets = Rc::clone(&self.sockets);
        let descriptors: Vec<_> = std::iter::once(stop.descriptor())
            .chain(sockets.iter().map(std::os::fd::AsFd::as_fd))
            .collect();
        let mut poll = Poll::new(&descriptors);
        let mut looked = now;
        loop {
            // The last turn still reads what has arrived.
            let last = stop.is_requested();
            let slept = self.sleep(&mut poll)?;
            let now = self.time.now();
            self.fared.longest_turn = self.fared.longest_turn.max(now - looked - slept);
            self.fared.turns += 1;
            looked = now;
            self.published
                .times
                .take()
                .into_iter()
                .for_each(|at| self.network.begin_times(self.time.at(at)));
            if poll.wait(Some(Span::ZERO)).map_err(waiting)? > 0 {
                self.receive(&poll);
            }
            self.send_due(now);
            self.time.compare(now);
            self.tend(now);
            if last {
                return Ok(());
            }
        }
    }

    /// Sleeps if nothing is due soon, or if it has to; how long it did.
    fn sleep(&mut self, poll: &mut Poll<'_>) -> Result<Span, EmulatorError> {
        let now = self.time.now();
        let due = self.network.next_due().map_or(LONGEST_SLEEP, |due| due - now);
        let free = (due - self.oversleep.margin()).min(LONGEST_SLEEP);
        self.busy &= now - self.read_at < BUSY;
        let slept = if free > Span::ZERO && !self.busy {
            let woken = poll.wait(Some(free)).map_err(waiting)? > 0;
            let slept = self.time.now() - now;
            if !woken {
                self.oversleep.add(slept - free);
            }
            slept
        } else if let (Priority::Fifo, Some(nap)) = (self.granted.priority, self.rest.due(now, due))
        {
            kernel::sleep_until(clock::monotonic() + nap);
            self.time.now() - now
        } else {
            return Ok(Span::ZERO);
        };
        self.rest.on_sleep(slept);
        self.fared.asleep += slept;
        Ok(slept)
    }

    fn receive(&mut self, poll: &Poll<'_>) {
        for number in 0..self.ports.len() {
            if poll.is_ready(number + 1) {
                self.receive_from(number);
            }
        }
        let now = self.time.now();
        self.busy = now - self.read_at < BUSY;
        self.read_at = now;
        // Each socket's frames are in order; those of several have to be put in one.
        self.came.sort_by_key(|came| came.at);
        for Came { at, host, source, destination, packet } in self.came.drain(..) {
            let length = length(&packet);
            // A refusal is counted by the network, under its reason.
            let _ = self
                .network
                .offer(at, Offered { host, source, destination, length, payload: packet });
        }
    }

    fn receive_from(&mut self, number: usize) {
        let (Some(socket), Some(port)) = (self.sockets.get(number), self.ports.get_mut(number))
        else {
            return;
        };
        let count = match self.inbox.receive(socket) {
            Ok(count) => count,
            Err(error) => return port.counts.refused_by_kernel("receive", &error),
        };
        let now = self.time.now();
        for frame in 0..count {
            let (arrived, stamp) = self.inbox.frame(frame);
            let at = self.time.arrival(stamp, self.empty[number], now);
            port.counts.received_packets += 1;
            port.counts.received_bytes += arrived.length as u64;
            let found = if at < self.start {
                Err(Reason::BeforeStart)
            } else {
                frame::inspect(&arrived, port.mtu)
            };
            match found {
                Ok(addresses) => self.came.push(Came {
                    at,
                    host: port.host,
                    source: addresses.source,
                    destination: addresses.destination,
                    packet: Packet {
                        bytes: Rc::from(&arrived.bytes[ETHERNET..]),
                        version: addresses.version,
                    },
                }),
                Err(reason) => port.counts.refused.count(reason),
            }
        }
        if count < BATCH {
            self.empty[number] = now;
        }
    }

    /// Sends what is due, at most some, so that sockets are read in between.
    fn send_due(&mut self, now: Ns) {
        for _ in 0..BATCH {
            let Some(departure) = self.network.take_due(now) else { break };
            // The network knows the topology's hosts, and each has a port.
            if let Some(leaving) = self.leaving.get_mut(departure.host) {
                leaving.push((departure.ticket, departure.payload));
            }
        }
        for number in 0..self.leaving.len() {
            if !self.leaving[number].is_empty() {
                self.send_through(number);
            }
        }
    }

    fn send_through(&mut self, number: usize) {
        let (Some(socket), Some(port)) = (self.sockets.get(number), self.ports.get_mut(number))
        else {
            return;
        };
        let leaving = &mut self.leaving[number];
        let mut rest = leaving.as_slice();
        while let Some((first, _)) = rest.first() {
            let frames = rest
                .iter()
                .map(|(_, packet)| (&port.headers.of(packet.version)[..], &packet.bytes[..]));
            let begun = self.time.now();
            match self.outbox.send(socket, frames) {
                Ok(sent) => {
                    let (sent, later) = rest.split_at(sent.min(rest.len()));
                    let lasted = self.time.now() - begun;
                    for (index, (ticket, packet)) in (0..).zip(sent) {
                        self.network.sent(*ticket, begun + middle_of(lasted, index, sent.len()));
                        port.counts.sent_packets += 1;
                        port.counts.sent_bytes += u64::from(length(packet));
                    }
                    rest = later;
                }
                Err(error) => {
                    self.network.unsent(*first);
                    port.counts.refused_by_kernel("send", &error);
                    rest = &rest[1..];
                }
            }
        }
        leaving.clear();
    }

    /// Housekeeping, now and then.
    fn tend(&mut self, now: Ns) {
        if now < self.tend_at {
            return;
        }
        self.tend_at = now + LONGEST_SLEEP;
        let recorder = self.network.ledger_mut();
        recorder.flush();
        self.published.lost_records.store(recorder.lost(), Ordering::Relaxed);
        let sum = |of: fn(&Port) -> u64| self.ports.iter().map(of).sum();
        self.published.received.store(sum(|port| port.counts.received_packets), Ordering::Relaxed);
        self.published.sent.store(sum(|port| port.counts.sent_packets), Ordering::Relaxed);
        self.published.refused.store(sum(|port| port.counts.refused.total()), Ordering::Relaxed);
    }
}

/// A packet's length on a link: with its Ethernet header, as captures and the kernel's queues have
/// it.
#[expect(clippy::cast_possible_truncation, reason = "a packet is shorter than an MTU")]
fn length(packet: &Packet) -> u32 {
    (packet.bytes.len() + ETHERNET) as u32
}

/// The middle of one of so many equal shares of a time.
fn middle_of(whole: Span, index: i64, of: usize) -> Span {
    let halves = i64::try_from(of).map_or(i64::MAX, |of| of.saturating_mul(2)).max(1);
    Span(whole.0.saturating_mul(2 * index + 1) / halves)
}

fn waiting(source: std::io::Error) -> EmulatorError {
    EmulatorError::System { step: "wait for packets", source }
}
