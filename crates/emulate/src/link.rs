//! A link: policer → queue → shaper → rate → wire, in virtual time.
//!
//! A packet is offered when it comes ([`Link::offer`]) and taken when it comes out
//! ([`Link::poll`]), at moments that the link computes; the caller may call later, but not before.
//! A queue that decides as packets come (drop-tail, RED) knows the departure at once; `CoDel`
//! decides when the link becomes free: at that time, before the link handles the next packet. So
//! what a packet suffers depends on what came before it and never on when the calls were made.
//!
//! A link has two time bases. Traces and recordings begin at [`Link::start`]. What is described by
//! times (outages, steps of a rate or delay) counts from there too, unless
//! [`Link::hold_times`] was called before: then it counts from [`Link::begin_times`], and until
//! that is called there is no outage, and the first step holds. What was decided before
//! that call stays as it is.
//!
//! Packets must come in order of time. One that comes before its predecessor is moved to it and
//! counted: its own wait is then under-stated, by as much as it was moved.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use crate::counters::Counters;
use crate::discipline::{Discipline, Setting, discipline};
use crate::flight::Flight;
use crate::policer::Policer;
use crate::queue::{Found, Limit, Line, Standing, Waiting};
use crate::random::{Part, stream};
use crate::sender::Sender;
use crate::wire::Wire;
use crate::{EmulateError, Fate, LinkDescription, QueueDescription};

/// A packet of 1500 bytes with its Ethernet header: what a full frame is, in bytes.
const FRAME_BYTES: u32 = 1514;

/// A link with packets in it; `T` is whatever they carry.
///
/// Call [`offer`](Self::offer) for every packet as it comes; call [`poll`](Self::poll) until it
/// gives nothing, at the latest when [`next_wakeup`](Self::next_wakeup) gives. `now` may not run
/// backwards.
///
/// ```
/// use trustbed_emulate::{Link, LinkDescription};
/// use trustbed_units::Ns;
/// // 8 Mbit/s send 1000 bytes in a millisecond; then they travel for ten.
/// let description = LinkDescription {
///     rate_bits_per_second: Some(8_000_000),
///     delay_ns: Some(10_000_000),
///     ..Default::default()
/// };
/// let mut link = Link::new(&description, 1)?;
/// assert!(link.offer(Ns(0), 1000, "first").is_none());
/// assert!(link.offer(Ns(0), 1000, "second").is_none());
/// assert_eq!(link.next_wakeup(), Some(Ns(11_000_000)));
/// let out = link.poll(Ns(11_500_000)).unwrap();
/// assert_eq!((out.content, out.passage.due), ("first", Some(Ns(11_000_000))));
/// assert!(link.poll(Ns(11_500_000)).is_none());
/// assert_eq!(link.next_wakeup(), Some(Ns(12_000_000)));
/// # Ok::<(), trustbed_emulate::EmulateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Link<T> {
    policer: Option<Box<Policer>>,
    sender: Sender,
    frame_time: Span,
    limit: Limit,
    discipline: Box<dyn Discipline>,
    /// Packets that the discipline holds until the link is free.
    line: Line<T>,
    standing: Standing,
    wire: Wire,
    flight: Flight<T>,
    /// Dropped while time passed, not yet polled.
    dropped: VecDeque<Outcome<T>>,
    latest: Ns,
    /// Whether times begin at [`Link::begin_times`] only.
    times_held: bool,
    counters: Counters,
}

/// A packet that is no longer in the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<T> {
    /// What was offered with it.
    pub content: T,
    /// What happened to it.
    pub passage: Passage,
}

/// What happened to a packet in a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When it came.
    pub arrived: Ns,
    /// When its last bit left; nothing if it was never sent.
    pub departed: Option<Ns>,
    /// When it comes out at the far end; nothing if it never does.
    pub due: Option<Ns>,
    /// How long its own transmission took; 0 without a rate.
    pub transmission: Span,
    /// Its length in bytes.
    pub length: u32,
    /// The packets it found in the queue, the one being sent included.
    pub found_packets: u32,
    /// The bytes it found in the queue that were not sent yet, rounded up.
    pub found_bytes: u64,
    /// What became of it.
    pub fate: Fate,
    /// Whether it is a copy that this link made.
    pub copy: bool,
}

/// The most that ever was in a queue: `units`/`per_byte` bytes, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The numerator.
    pub units: u128,
    /// The denominator.
    pub per_byte: u64,
}

impl<T: Clone> Link<T> {
    /// An empty link. The seed decides everything that is left to chance.
    ///
    /// # Errors
    /// When the description makes no sense; the error names the key.
    pub fn new(description: &LinkDescription, seed: u64) -> Result<Self, EmulateError> {
        Self::named(description, seed, "", "link")
    }

    /// A link whose random numbers are those of its name; `location` is for errors.
    pub(crate) fn named(
        description: &LinkDescription,
        seed: u64,
        name: &str,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let sender = Sender::new(description, location)?;
        let queue = description.queue.unwrap_or(QueueDescription::Unlimited {});
        let limit = Limit::new(&queue, location)?;
        let discipline = discipline(&Setting {
            description: &queue,
            sender: &sender,
            random: stream(seed, name, Part::Red),
            location,
        })?;
        let wire = Wire::new(description, seed, name, location)?;
        Ok(Self {
            frame_time: frame_time(&sender),
            policer: description
                .policer
                .map(|policer| Policer::new(policer, location).map(Box::new))
                .transpose()?,
            limit,
            discipline,
            line: Line::new(),
            standing: Standing::default(),
            flight: Flight::new(wire.keeps_order()),
            wire,
            dropped: VecDeque::new(),
            latest: Ns::MIN,
            times_held: false,
            counters: Counters::new(sender.per_byte()),
            sender,
        })
    }

    /// A trace, and a delay recorded over time, begin at this moment rather than with the first
    /// packet; and so do the times of outages and of steps, unless they are held.
    pub fn start(&mut self, at: Ns) {
        self.sender.begin(at);
        self.wire.begin(at);
        if !self.times_held {
            self.begin_times(at);
        }
    }

    /// The times of outages and of steps do not begin by themselves.
    pub const fn hold_times(&mut self) {
        self.times_held = true;
    }

    /// The times of outages and of steps are counted from this moment, best one that has not come
    /// yet.
    pub fn begin_times(&mut self, at: Ns) {
        self.times_held = true;
        self.sender.begin_times(at);
        self.wire.begin_times(at);
    }

    /// A packet comes. Given back at once if it never comes out: dropped, or doomed on the wire.
    pub fn offer(&mut self, at: Ns, length: u32, content: T) -> Option<Outcome<T>> {
        if self.latest == Ns::MIN {
            self.start(at);
        }
        let now = at.max(self.latest);
        self.counters.on_offered(length, now > at);
        self.latest = now;
        self.dequeue(now);
        let found = self.found(now);
        let packet = Waiting { content, arrived: now, length, found };
        let per_byte = self.sender.per_byte();
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, length)) {
            return Some(self.drop_packet(packet, Fate::Policed));
        }
        if self.discipline.drops(now, found.packets, self.standing.last()) {
            return Some(self.drop_packet(packet, self.discipline.fate()));
        }
        if !self.limit.takes(found, length, per_byte) {
            return Some(self.drop_packet(packet, Fate::QueueFull));
        }
        self.counters.on_queued(found, length);
        if !self.discipline.holds() {
            return self.send(packet, now);
        }
        self.line.push(packet);
        self.dequeue(now);
        None
    }

    /// The next packet that is no longer inside at `now`: it came out, or was dropped.
    pub fn poll(&mut self, now: Ns) -> Option<Outcome<T>> {
        // Nothing is decided that lies behind what comes out next: that may come again, on a path
        // that crosses this link twice.
        while self.decide(self.flight.next_due().map_or(now, |due| now.min(due))) {}
        if let Some(outcome) = self.dropped.pop_front() {
            return Some(outcome);
        }
        let outcome = self.flight.land(now, &mut self.counters)?;
        self.counters.on_passed(&outcome.passage);
        Some(outcome)
    }

    /// When to poll next; nothing while nothing is inside.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Ns> {
        if !self.dropped.is_empty() {
            return Some(self.latest);
        }
        self.flight.next_due().into_iter().chain(self.next_decision()).min()
    }

    /// Takes out everything that is inside, with the fate [`Fate::Inside`]. What was dropped and
    /// not polled yet keeps its fate.
    pub fn close(&mut self) -> Vec<Outcome<T>> {
        let mut outcomes: Vec<_> = self.dropped.drain(..).collect();
        let first_inside = outcomes.len();
        while let Some(outcome) = self.flight.land(Ns::MAX, &mut Counters::new(1)) {
            outcomes.push(outcome);
        }
        while let Some(packet) = self.line.pop() {
            outcomes.push(outcome(packet, Fate::Inside, self.sender.per_byte()));
        }
        for outcome in &mut outcomes[first_inside..] {
            outcome.passage.fate = Fate::Inside;
            outcome.passage.due = None;
            self.counters.on_dropped(Fate::Inside);
        }
        outcomes
    }

    /// How long a full frame (1514 bytes) occupies the link, in the mean where that varies; 0
    /// without a rate.
    #[inline]
    pub const fn frame_time(&self) -> Span {
        self.frame_time
    }

    /// How many packets are inside, copies included.
    pub fn len(&self) -> usize {
        self.line.len() + self.flight.len() + self.dropped.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most that was ever in the queue, an accepted packet counted as soon as it comes.
    pub fn deepest(&self) -> Depth {
        Depth { units: self.counters.deepest_units, per_byte: self.sender.per_byte() }
    }

    /// What was counted so far.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many were dropped and counted, but not polled yet.
    pub(crate) fn unpolled(&self) -> usize {
        self.dropped.len()
    }

    /// A copy that came out goes no further: the network has no room for it.
    pub(crate) fn on_crowded_out(&mut self, passage: &Passage) {
        self.counters.on_crowded_out(passage);
    }

    /// Whatever is decided up to `now`.
    #[inline]
    fn dequeue(&mut self, now: Ns) {
        while self.decide(now) {}
    }

    /// When the link is free for the first of the packets that its discipline holds.
    fn next_decision(&self) -> Option<Ns> {
        self.line.first().map(|packet| self.sender.start(packet.arrived, packet.length))
    }

    /// Takes the next decision on the packets that the discipline holds, if it is due by `now`.
    #[inline]
    fn decide(&mut self, now: Ns) -> bool {
        let Some(free) = self.next_decision().filter(|free| *free <= now) else { return false };
        let dropped = self.discipline.drops_in_front(free, &mut self.line.heads());
        for packet in std::iter::from_fn(|| self.line.pop()).take(dropped) {
            let fate = self.discipline.fate();
            self.counters.on_dropped(fate);
            self.dropped.push_back(outcome(packet, fate, self.sender.per_byte()));
        }
        if let Some(packet) = self.line.pop() {
            let lost = self.send(packet, free);
            self.dropped.extend(lost);
        }
        true
    }

    /// Gives a packet to the sender and behind it to the wire, once it is decided that it is sent.
    #[inline]
    fn send(&mut self, packet: Waiting<T>, decided: Ns) -> Option<Outcome<T>> {
        let sent = self.sender.send(packet.arrived, decided, packet.length);
        if self.sender.delays() {
            self.standing.push(sent.end, packet.length);
        }
        self.counters.on_sent(sent.start - packet.arrived, sent.end, packet.length);
        let mut outcome = outcome(packet, Fate::Passed, self.sender.per_byte());
        outcome.passage.departed = Some(sent.end);
        outcome.passage.transmission = sent.time;
        // Drawn in any case, so that an outage does not move what the wire does to other packets.
        let out = self.sender.loses(sent);
        let crossing = self.wire.cross(sent.end, out);
        let lost = if out { Some(Fate::Outage) } else { crossing.is_none().then_some(Fate::Lost) };
        let (None, Some(crossing)) = (lost, crossing) else {
            outcome.passage.fate = lost.unwrap_or(Fate::Lost);
            self.counters.on_dropped(outcome.passage.fate);
            return Some(outcome);
        };
        outcome.passage.due = Some(crossing.due);
        let copy = crossing.twice.then(|| outcome.clone());
        self.flight.launch(crossing.due, outcome);
        if let Some(mut copy) = copy {
            copy.passage.copy = true;
            self.counters.copies += 1;
            self.flight.launch(crossing.due, copy);
        }
        None
    }

    fn drop_packet(&mut self, packet: Waiting<T>, fate: Fate) -> Outcome<T> {
        self.counters.on_dropped(fate);
        outcome(packet, fate, self.sender.per_byte())
    }

    /// What a packet that comes now finds in the queue.
    #[inline]
    fn found(&mut self, now: Ns) -> Found {
        self.standing.expire(now);
        let per_byte = u128::from(self.sender.per_byte());
        let sending =
            self.sender.unsent(now).unwrap_or_else(|| u128::from(self.standing.bytes()) * per_byte);
        let packets = u32::try_from(self.standing.len() + self.line.len()).unwrap_or(u32::MAX);
        Found { packets, units: sending + u128::from(self.line.bytes()) * per_byte }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at one bit per second it is 12 112 s")]
fn frame_time(sender: &Sender) -> Span {
    Span(sender.mean_time(FRAME_BYTES) as i64)
}

fn outcome<T>(packet: Waiting<T>, fate: Fate, per_byte: u64) -> Outcome<T> {
    let passage = Passage {
        arrived: packet.arrived,
        departed: None,
        due: None,
        transmission: Span::ZERO,
        length: packet.length,
        found_packets: packet.found.packets,
        found_bytes: packet.found.bytes(per_byte),
        fate,
        copy: false,
    };
    Outcome { content: packet.content, passage }
}
