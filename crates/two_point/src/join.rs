//! Finds every frame of one capture in the other.
//!
//! Takes the frames of both captures roughly in time order by the first clock
//! ([`Relation::by_first`]): early or late by less than the patience. [`Join::on_end`] marks the
//! end of a capture, since a silent one may continue. A frame missing from the other capture after
//! the patience is lost if it was captured at its sender, else missed there. Frames captured before
//! the other capture began, or in flight when it began or ended, are indeterminate: an arriving
//! frame counts as missed only if an earlier one of its direction was matched, or if the sender's
//! capture began long before the frame can have left.
//!
//! A connection with only one direction in both captures is not joined: its capture points are
//! unknown. If no frame of a connection is in both captures, all are indeterminate: it may go
//! elsewhere, like the other clients of a server. It is lost only if nothing arrived at either
//! point while other connections between the same two addresses were delivered.

use hashbrown::HashTable;
use trustbed_flow::FlowKey;
use trustbed_units::{Ns, Span};

use crate::direction::Delivered;
use crate::pending::{Pending, Waiting};
use crate::{Capture, Direction, Frame, Relation};

/// Time and memory limits of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinLimits {
    /// Time within which a frame must appear in the other capture.
    pub patience: Span,
    /// Pending frames per capture and direction; beyond, the oldest is decided as if the captures
    /// ended.
    pub waiting: usize,
    /// Pending frames in total; beyond, the oldest quarter is decided likewise.
    pub waiting_total: usize,
    /// Delivered frames that are not acknowledged in total; beyond, the directions with most of them
    /// drop their oldest until a quarter is free; see [`crate::RoundTrips::left_out`].
    pub outstanding_total: usize,
    /// Connections in memory; beyond, the quarter silent for longest is finished.
    pub connections: usize,
    /// What only this run knows: it chooses where a connection is kept, so that nobody can make
    /// captures whose connections are all kept in one spot. No result depends on it.
    pub hash_secret: u64,
}

impl Default for JoinLimits {
    fn default() -> Self {
        Self {
            patience: Span::from_secs(10),
            waiting: 1 << 17,
            waiting_total: 1 << 20,
            outstanding_total: 1 << 20,
            connections: 1 << 13,
            hash_secret: 0,
        }
    }
}

/// Counts of a join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JoinFacts {
    /// Frames of each capture.
    pub frames: [u64; 2],
    /// Frames whose sender has no known capture point, per capture.
    pub without_capture_point: [u64; 2],
    /// Connections finished early because of the limit.
    pub evicted: u64,
    /// Most frames pending at a time.
    pub most_waiting: usize,
    /// Most delivered frames unacknowledged at a time.
    pub most_outstanding: usize,
}

/// At the end of the captures: a frame is lost if others appear for this long after it.
const AT_THE_END: Span = Span::from_secs(1);
/// At their beginning: an arriving frame may exceed the minimum one-way delay by this much.
const AT_THE_BEGINNING: Span = Span::from_secs(1);

/// Joins two captures.
#[derive(Debug)]
pub struct Join {
    coverage: Coverage,
    relation: Relation,
    connections: usize,
    outstanding_total: usize,
    hash_secret: u64,
    /// Pending frames of all connections.
    waiting: usize,
    /// Their delivered frames that are not acknowledged.
    outstanding: usize,
    connections_held: HashTable<Connection>,
    finished: Vec<Direction>,
    facts: JoinFacts,
    turn: u64,
}

/// Time covered by the captures, by the first clock.
#[derive(Debug)]
struct Coverage {
    patience: Span,
    waiting: usize,
    waiting_total: usize,
    first: [Option<Ns>; 2],
    latest: [Option<Ns>; 2],
    has_ended: [bool; 2],
    /// Minimum one-way delays from the first capture point and from the second.
    owd_min: [Span; 2],
}

/// A connection.
#[derive(Debug)]
struct Connection {
    key: FlowKey,
    /// Other connections between its addresses are in both captures.
    is_between: bool,
    delays: [Option<DirectionState>; 2],
    turn: u64,
}

/// One of its directions.
#[derive(Debug)]
struct DirectionState {
    direction: Direction,
    /// Pending frames of either capture.
    pending: [Pending; 2],
    /// The sequence number of its SYN.
    opening: Option<u32>,
    /// The capture at the receiver holds a frame, matched or not.
    has_arrived: bool,
    /// Lowest and highest number of a matched frame, per capture.
    met: [Option<(u64, u64)>; 2],
}

impl Join {
    /// A join without frames.
    pub fn new(relation: Relation, limits: &JoinLimits) -> Self {
        Self {
            coverage: Coverage {
                patience: limits.patience,
                waiting: limits.waiting,
                waiting_total: limits.waiting_total,
                first: [None; 2],
                latest: [None; 2],
                has_ended: [false; 2],
                owd_min: relation.owd_min,
            },
            relation,
            connections: limits.connections.max(4),
            outstanding_total: limits.outstanding_total,
            hash_secret: limits.hash_secret,
            waiting: 0,
            outstanding: 0,
            connections_held: HashTable::new(),
            finished: Vec::new(),
            facts: JoinFacts::default(),
            turn: 0,
        }
    }

    /// How the clocks differ.
    pub const fn relation(&self) -> &Relation {
        &self.relation
    }

    /// Counts so far.
    pub const fn facts(&self) -> JoinFacts {
        self.facts
    }

    /// Takes a frame of a capture.
    pub fn on_frame(&mut self, end: Capture, frame: &Frame) {
        self.facts.frames[end.index()] += 1;
        let Some(from) = self.relation.origin(&frame.key, frame.direction) else {
            self.facts.without_capture_point[end.index()] += 1;
            return;
        };
        let seen = self.relation.by_first(end, frame.at);
        self.coverage.reach(end, seen);
        self.turn += 1;
        let (key, turn, secret) = (frame.key, self.turn, self.hash_secret);
        let mut connection = self
            .connections_held
            .entry(
                key.hash(secret),
                |connection| connection.key == key,
                |connection| connection.key.hash(secret),
            )
            .or_insert_with(|| Connection::new(key, &self.relation));
        let held = connection.get_mut();
        self.waiting -= held.waiting();
        self.outstanding -= held.outstanding();
        if held.is_succeeded_by(frame) {
            std::mem::replace(held, Connection::new(key, &self.relation))
                .end(&self.coverage, &mut self.finished);
        }
        held.turn = turn;
        held.show(end, from, frame, seen, &self.relation);
        held.give_up(&self.coverage, self.coverage.patience);
        self.waiting += held.waiting();
        self.outstanding += held.outstanding();
        self.facts.most_waiting = self.facts.most_waiting.max(self.waiting);
        self.facts.most_outstanding = self.facts.most_outstanding.max(self.outstanding);
        if self.connections_held.len() > self.connections {
            self.make_room();
        }
        if self.waiting > self.coverage.waiting_total {
            self.let_go();
        }
        if self.outstanding > self.outstanding_total {
            self.leave_out();
        }
    }

    /// A capture has ended: no more frames follow.
    pub const fn on_end(&mut self, end: Capture) {
        self.coverage.has_ended[end.index()] = true;
    }

    /// The directions of connections that have ended so far.
    pub fn take(&mut self) -> Vec<Direction> {
        std::mem::take(&mut self.finished)
    }

    /// Both captures have ended: the remaining directions.
    pub fn finish(&mut self) -> Vec<Direction> {
        self.coverage.has_ended = [true; 2];
        let mut connections_held: Vec<Connection> = self.connections_held.drain().collect();
        connections_held.sort_by_key(|connection| connection.turn);
        for connection in connections_held {
            connection.end(&self.coverage, &mut self.finished);
        }
        self.take()
    }

    /// Finishes the connections silent for longest.
    fn make_room(&mut self) {
        let mut turns: Vec<u64> =
            self.connections_held.iter().map(|connection| connection.turn).collect();
        turns.sort_unstable();
        let last = turns[turns.len() / 4];
        let mut silent: Vec<Connection> =
            self.connections_held.extract_if(|connection| connection.turn <= last).collect();
        silent.sort_by_key(|connection| connection.turn);
        self.facts.evicted += silent.len() as u64;
        for connection in silent {
            self.waiting -= connection.waiting();
            self.outstanding -= connection.outstanding();
            connection.end(&self.coverage, &mut self.finished);
        }
    }

    /// Decides the oldest pending frames, of silent connections too, until a quarter of the limit
    /// is free. Frames that all carry the latest time go together: however a capture is timed, a
    /// quarter of the limit has to come before every connection is asked again.
    fn let_go(&mut self) {
        let mut patience = self.coverage.patience;
        while self.waiting > self.coverage.waiting_total / 4 * 3 {
            self.waiting = 0;
            for connection in &mut self.connections_held {
                connection.give_up(&self.coverage, patience);
                self.waiting += connection.waiting();
            }
            if patience < Span::ZERO {
                break;
            }
            patience = if patience > Span::ZERO { Span(patience.0 / 2) } else { Span(-1) };
        }
    }

    /// Drops the oldest unacknowledged frames of the directions that have most of them, until a
    /// quarter of the limit is free: a quarter has to come before every connection is asked again.
    fn leave_out(&mut self) {
        let mut most = self.outstanding_total;
        while self.outstanding > self.outstanding_total / 4 * 3 {
            most /= 2;
            self.outstanding = 0;
            for connection in &mut self.connections_held {
                for direction in connection.delays.iter_mut().flatten() {
                    direction.direction.round_trips.keep(most);
                }
                self.outstanding += connection.outstanding();
            }
        }
    }
}

impl Coverage {
    fn reach(&mut self, end: Capture, seen: Ns) {
        let capture = end.index();
        self.first[capture].get_or_insert(seen);
        self.latest[capture] = self.latest[capture].max(Some(seen));
    }

    /// Whether the sender's capture had begun when a frame left that arrived at this time.
    fn covers_start(&self, from: Capture, arrived: Ns) -> bool {
        self.first[from.index()]
            .is_some_and(|first| first <= arrived - self.owd_min[from.index()] - AT_THE_BEGINNING)
    }

    /// Whether the receiver's capture had begun when a frame left.
    fn covers_arrival(&self, to: Capture, left: Ns) -> bool {
        self.first[to.index()].is_some_and(|first| first <= left)
    }

    /// Whether a capture went on long enough to hold a frame of the other one. Frames come in time
    /// order, so a capture that has not ended goes on from now.
    fn covers_end(&self, capture: Capture, seen: Ns) -> bool {
        let goes_on = !self.has_ended[capture.index()]
            && self.now().is_some_and(|now| seen < now - self.patience);
        goes_on || self.latest[capture.index()].is_some_and(|latest| seen + AT_THE_END < latest)
    }

    /// Latest time of either capture: one may be silent, not have begun, or have ended.
    fn now(&self) -> Option<Ns> {
        self.latest[0].max(self.latest[1])
    }
}

impl Connection {
    fn new(key: FlowKey, relation: &Relation) -> Self {
        Self { key, is_between: relation.is_between(&key), delays: [None, None], turn: 0 }
    }

    /// Whether a frame opens another connection between the same endpoints.
    fn is_succeeded_by(&self, frame: &Frame) -> bool {
        frame.opens
            && self.delays[frame.direction]
                .as_ref()
                .is_some_and(|direction| direction.opening != Some(frame.seq))
    }

    fn show(&mut self, end: Capture, from: Capture, frame: &Frame, seen: Ns, relation: &Relation) {
        let direction = self.delays[frame.direction].get_or_insert_with(|| DirectionState {
            direction: Direction::new(frame, from, seen),
            pending: [Pending::default(), Pending::default()],
            opening: frame.opens.then_some(frame.seq),
            has_arrived: false,
            met: [None; 2],
        });
        direction.direction.last = direction.direction.last.max(seen);
        if end == direction.direction.from {
            direction.direction.fates(frame).sent += 1;
        } else {
            direction.has_arrived = true;
        }
        match direction.pending[end.other().index()].take(frame.fingerprint) {
            None => direction.pending[end.index()].push(frame, seen),
            Some(met) => {
                let serial = direction.pending[end.index()].skip();
                let delivered = direction.delivered(end, frame, serial, &met, relation);
                for (capture, number) in [(end, serial), (end.other(), met.serial)] {
                    let met = &mut direction.met[capture.index()];
                    *met = Some(met.map_or((number, number), |(low, high)| {
                        (low.min(number), high.max(number))
                    }));
                }
                direction.direction.on_delivered(frame, &delivered);
                self.acknowledge(frame, &delivered);
            }
        }
    }

    /// A delivered frame acknowledges data of the other direction.
    fn acknowledge(&mut self, frame: &Frame, delivered: &Delivered) {
        let (Some(number), Some(other)) = (frame.ack, self.delays[1 - frame.direction].as_mut())
        else {
            return;
        };
        if let Some(to) = other.direction.offset(number) {
            other.direction.round_trips.on_ack(to, delivered.sent, delivered.arrived);
        }
    }

    /// Pending frames.
    fn waiting(&self) -> usize {
        self.delays
            .iter()
            .flatten()
            .flat_map(|direction| &direction.pending)
            .map(Pending::len)
            .sum()
    }

    /// Delivered frames that are not acknowledged.
    fn outstanding(&self) -> usize {
        self.delays
            .iter()
            .flatten()
            .map(|direction| direction.direction.round_trips.outstanding())
            .sum()
    }

    /// Decides frames pending for longer than `patience`, and those beyond the limit.
    fn give_up(&mut self, coverage: &Coverage, patience: Span) {
        let Some(moment) = coverage.now().map(|now| now - patience) else { return };
        for direction in self.delays.iter_mut().flatten() {
            for capture in [Capture::First, Capture::Second] {
                while let Some(waiting) = direction.pending[capture.index()].expire(moment) {
                    direction.decide(capture, &waiting, coverage);
                }
                while direction.pending[capture.index()].len() > coverage.waiting {
                    let Some(waiting) = direction.pending[capture.index()].pop() else { break };
                    direction.decide(capture, &waiting, coverage);
                }
            }
        }
    }

    /// No more frames follow.
    fn end(mut self, coverage: &Coverage, finished: &mut Vec<Direction>) {
        for direction in self.delays.iter_mut().flatten() {
            for capture in [Capture::First, Capture::Second] {
                while let Some(waiting) = direction.pending[capture.index()].pop() {
                    direction.decide(capture, &waiting, coverage);
                }
            }
        }
        let (has_delivered, has_arrived) = (
            self.any_direction(|direction| direction.direction.has_delivered()),
            self.any_direction(|direction| direction.has_arrived),
        );
        if !has_delivered && (has_arrived || !self.is_between) {
            self.delays
                .iter_mut()
                .flatten()
                .for_each(|direction| direction.direction.set_indeterminate());
        }
        let mut two_point: Vec<Direction> =
            self.delays.into_iter().flatten().map(|direction| direction.direction).collect();
        two_point.sort_by_key(|direction| (direction.first, direction.direction));
        finished.extend(two_point);
    }

    fn any_direction(&self, is: impl Fn(&DirectionState) -> bool) -> bool {
        self.delays.iter().flatten().any(is)
    }
}

impl DirectionState {
    /// A frame captured now at `end` and matched with a pending frame of the other capture.
    fn delivered(
        &self,
        end: Capture,
        frame: &Frame,
        serial: u64,
        met: &Waiting,
        relation: &Relation,
    ) -> Delivered {
        let from = self.direction.from;
        let (here, there) = (frame.at, met.frame.at);
        let (sent, arrived) = if end == from { (here, there) } else { (there, here) };
        let (first, second) = if end == Capture::First { (here, there) } else { (there, here) };
        let delay = relation.delay(from, first, second);
        Delivered {
            sent,
            arrived,
            serial: if end == from { serial } else { met.serial },
            delay,
            increase: delay - relation.owd_min[from.index()],
        }
    }

    /// Whether the other capture covers the time at which it would hold a frame.
    fn is_covered(&self, capture: Capture, waiting: &Waiting, coverage: &Coverage) -> bool {
        let other = capture.other();
        let (follows, is_overtaken) = self.met[capture.index()]
            .map_or((false, false), |(low, high)| (low < waiting.serial, waiting.serial < high));
        let is_after_start = if capture == self.direction.from {
            coverage.covers_arrival(other, waiting.seen)
        } else {
            follows || coverage.covers_start(other, waiting.seen)
        };
        is_after_start && (is_overtaken || coverage.covers_end(other, waiting.seen))
    }

    /// Counts a frame that has no match: lost, missed or indeterminate.
    fn decide(&mut self, capture: Capture, waiting: &Waiting, coverage: &Coverage) {
        if !self.is_covered(capture, waiting, coverage) {
            self.direction.fates(&waiting.frame).indeterminate += 1;
        } else if capture == self.direction.from {
            self.direction.on_lost(waiting);
        } else {
            self.direction.fates(&waiting.frame).missed += 1;
        }
    }
}
