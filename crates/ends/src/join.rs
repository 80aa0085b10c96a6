//! Every frame of one capture looked for in the other.
//!
//! Show it the frames of both places, roughly in the order of time by the clock of the first ([`Relation::by_first`]): they may come early
//! or late by less than the patience. Say when a capture has ended ([`Join::on_end`]), since one that is silent may still go on. A frame
//! that its other place has not seen within the patience is lost, if it was seen where it comes from, or else unseen there. What was seen
//! before the other capture began, or was on its way when it began or ended, is undecided: what arrives was not seen where it comes from
//! only if an earlier one of its direction was, or if that capture had begun long before it can have left.
//!
//! Connections of which only one direction was seen at both places are not joined: which place they begin at is not known. Of a connection of
//! which no frame passed everything is undecided: it may go elsewhere, as the other clients of a server do. It was lost only if nothing
//! arrived at either place while other connections between the same two addresses passed.

use hashbrown::HashTable;
use trustbed_flow::FlowKey;
use trustbed_units::{Ns, Span};

use crate::crossing::Passed;
use crate::pending::{Pending, Waiting};
use crate::{Crossing, End, Frame, Relation};

/// How long and how much is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinLimits {
    /// How long a frame has to appear at the other place.
    pub patience: Span,
    /// Frames of a direction that may wait at a place; beyond, the oldest is decided as if the captures ended.
    pub waiting: usize,
    /// Frames that may wait in all; beyond, the oldest quarter is decided like that.
    pub waiting_in_all: usize,
    /// Connections that are held; beyond, a quarter of them, those that were silent longest, are finished.
    pub connections: usize,
}

impl Default for JoinLimits {
    fn default() -> Self {
        Self {
            patience: Span::from_secs(10),
            waiting: 1 << 17,
            waiting_in_all: 1 << 20,
            connections: 1 << 13,
        }
    }
}

/// What was done besides joining.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JoinFacts {
    /// Frames that were shown, of either place.
    pub frames: [u64; 2],
    /// Frames of endpoints that are near neither place, as far as is known.
    pub placeless: [u64; 2],
    /// Connections that were finished because too many were held.
    pub evicted: u64,
    /// Frames that waited at the same time, at most.
    pub most_waiting: usize,
}

/// At the end of the captures: a frame that has not appeared within this, while others were seen there, is lost.
const AT_THE_END: Span = Span::from_secs(1);
/// At their beginning: a frame that arrives may have been on its way for so much longer than the least.
const AT_THE_BEGINNING: Span = Span::from_secs(1);

/// Joins two captures.
#[derive(Debug)]
pub struct Join {
    horizon: Horizon,
    relation: Relation,
    connections: usize,
    /// Frames that wait, of all connections.
    waiting: usize,
    pairs: HashTable<Pair>,
    finished: Vec<Crossing>,
    facts: JoinFacts,
    turn: u64,
}

/// What is known of how far the captures reach, by the clock of the first place.
#[derive(Debug)]
struct Horizon {
    patience: Span,
    waiting: usize,
    waiting_in_all: usize,
    first: [Option<Ns>; 2],
    latest: [Option<Ns>; 2],
    has_ended: [bool; 2],
    /// The smallest delays from the first place and from the second.
    floor: [Span; 2],
}

/// A connection.
#[derive(Debug)]
struct Pair {
    key: FlowKey,
    /// Other connections between its addresses passed.
    is_between: bool,
    ways: [Option<Way>; 2],
    turn: u64,
}

/// One of its directions.
#[derive(Debug)]
struct Way {
    crossing: Crossing,
    /// What waits at either place.
    pending: [Pending; 2],
    /// The sequence number of its SYN.
    opening: Option<u32>,
    /// Something was seen where it goes, passed or not.
    has_arrived: bool,
    /// At either place the lowest and the highest number of a frame that was seen at both.
    met: [Option<(u64, u64)>; 2],
}

impl Join {
    /// Knows how the clocks differ, and nothing else yet.
    pub fn new(relation: Relation, limits: &JoinLimits) -> Self {
        Self {
            horizon: Horizon {
                patience: limits.patience,
                waiting: limits.waiting,
                waiting_in_all: limits.waiting_in_all,
                first: [None; 2],
                latest: [None; 2],
                has_ended: [false; 2],
                floor: relation.floor,
            },
            relation,
            connections: limits.connections.max(4),
            waiting: 0,
            pairs: HashTable::new(),
            finished: Vec::new(),
            facts: JoinFacts::default(),
            turn: 0,
        }
    }

    /// How the clocks differ.
    pub const fn relation(&self) -> &Relation {
        &self.relation
    }

    /// What was done so far.
    pub const fn facts(&self) -> JoinFacts {
        self.facts
    }

    /// A frame that was seen at a place.
    pub fn on_frame(&mut self, end: End, frame: &Frame) {
        self.facts.frames[end.index()] += 1;
        let Some(from) = self.relation.origin(&frame.key, frame.way) else {
            self.facts.placeless[end.index()] += 1;
            return;
        };
        let seen = self.relation.by_first(end, frame.at);
        self.horizon.reach(end, seen);
        self.turn += 1;
        let (key, turn) = (frame.key, self.turn);
        let mut pair = self
            .pairs
            .entry(hash(&key), |pair| pair.key == key, |pair| hash(&pair.key))
            .or_insert_with(|| Pair::new(key, &self.relation));
        let held = pair.get_mut();
        self.waiting -= held.waiting();
        if held.is_succeeded_by(frame) {
            std::mem::replace(held, Pair::new(key, &self.relation))
                .end(&self.horizon, &mut self.finished);
        }
        held.turn = turn;
        held.show(end, from, frame, seen, &self.relation);
        held.give_up(&self.horizon, self.horizon.patience);
        self.waiting += held.waiting();
        self.facts.most_waiting = self.facts.most_waiting.max(self.waiting);
        if self.pairs.len() > self.connections {
            self.make_room();
        }
        if self.waiting > self.horizon.waiting_in_all {
            self.let_go();
        }
    }

    /// A capture has ended: no more frames of it will come.
    pub const fn on_end(&mut self, end: End) {
        self.horizon.has_ended[end.index()] = true;
    }

    /// The crossings of connections that have ended so far.
    pub fn take(&mut self) -> Vec<Crossing> {
        std::mem::take(&mut self.finished)
    }

    /// The captures have ended: everything that is left.
    pub fn finish(&mut self) -> Vec<Crossing> {
        self.horizon.has_ended = [true; 2];
        let mut pairs: Vec<Pair> = self.pairs.drain().collect();
        pairs.sort_by_key(|pair| pair.turn);
        for pair in pairs {
            pair.end(&self.horizon, &mut self.finished);
        }
        self.take()
    }

    /// Finishes the connections that were silent longest.
    fn make_room(&mut self) {
        let mut turns: Vec<u64> = self.pairs.iter().map(|pair| pair.turn).collect();
        turns.sort_unstable();
        let last = turns[turns.len() / 4];
        let mut silent: Vec<Pair> = self.pairs.extract_if(|pair| pair.turn <= last).collect();
        silent.sort_by_key(|pair| pair.turn);
        self.facts.evicted += silent.len() as u64;
        for pair in silent {
            self.waiting -= pair.waiting();
            pair.end(&self.horizon, &mut self.finished);
        }
    }

    /// Decides about what has waited longest, also of connections that are silent, until a quarter of the room is free.
    fn let_go(&mut self) {
        let mut patience = self.horizon.patience;
        while self.waiting > self.horizon.waiting_in_all / 4 * 3 && patience > Span::ZERO {
            self.waiting = 0;
            for pair in &mut self.pairs {
                pair.give_up(&self.horizon, patience);
                self.waiting += pair.waiting();
            }
            patience = Span(patience.0 / 2);
        }
    }
}

impl Horizon {
    fn reach(&mut self, end: End, seen: Ns) {
        let place = end.index();
        self.first[place].get_or_insert(seen);
        self.latest[place] = self.latest[place].max(Some(seen));
    }

    /// Whether the capture at a place had begun when a frame that comes from it left, if the frame arrived at a moment.
    fn covers_start(&self, from: End, arrived: Ns) -> bool {
        self.first[from.index()]
            .is_some_and(|first| first <= arrived - self.floor[from.index()] - AT_THE_BEGINNING)
    }

    /// Whether the capture at a place had begun when a frame that goes to it left.
    fn covers_arrival(&self, to: End, left: Ns) -> bool {
        self.first[to.index()].is_some_and(|first| first <= left)
    }

    /// Whether the capture at a place went on long enough for a frame that was seen at the other one. Frames come in the order of time, so
    /// a capture that has not ended goes on from now.
    fn covers_end(&self, place: End, seen: Ns) -> bool {
        let goes_on = !self.has_ended[place.index()]
            && self.now().is_some_and(|now| seen < now - self.patience);
        goes_on || self.latest[place.index()].is_some_and(|latest| seen + AT_THE_END < latest)
    }

    /// The latest moment of either capture: one may be silent, or not have begun, or have ended.
    fn now(&self) -> Option<Ns> {
        self.latest[0].max(self.latest[1])
    }
}

impl Pair {
    fn new(key: FlowKey, relation: &Relation) -> Self {
        Self { key, is_between: relation.is_between(&key), ways: [None, None], turn: 0 }
    }

    /// Whether a frame opens another connection between the same endpoints.
    fn is_succeeded_by(&self, frame: &Frame) -> bool {
        frame.opens
            && self.ways[frame.way].as_ref().is_some_and(|way| way.opening != Some(frame.seq))
    }

    fn show(&mut self, end: End, from: End, frame: &Frame, seen: Ns, relation: &Relation) {
        let way = self.ways[frame.way].get_or_insert_with(|| Way {
            crossing: Crossing::new(frame, from, seen),
            pending: [Pending::default(), Pending::default()],
            opening: frame.opens.then_some(frame.seq),
            has_arrived: false,
            met: [None; 2],
        });
        way.crossing.last = way.crossing.last.max(seen);
        if end == way.crossing.from {
            way.crossing.tally(frame).sent += 1;
        } else {
            way.has_arrived = true;
        }
        match way.pending[end.other().index()].take(frame.print) {
            None => way.pending[end.index()].push(frame, seen),
            Some(met) => {
                let serial = way.pending[end.index()].skip();
                let passed = way.passed(end, frame, serial, &met, relation);
                for (place, number) in [(end, serial), (end.other(), met.serial)] {
                    let met = &mut way.met[place.index()];
                    *met = Some(met.map_or((number, number), |(low, high)| {
                        (low.min(number), high.max(number))
                    }));
                }
                way.crossing.on_passed(frame, &passed);
                self.acknowledge(frame, &passed);
            }
        }
    }

    /// A frame that passed acknowledges data of the other direction.
    fn acknowledge(&mut self, frame: &Frame, passed: &Passed) {
        let (Some(number), Some(other)) = (frame.ack, self.ways[1 - frame.way].as_mut()) else {
            return;
        };
        if let Some(to) = other.crossing.offset(number) {
            other.crossing.round_trips.on_ack(to, passed.sent, passed.arrived);
        }
    }

    /// Frames that wait.
    fn waiting(&self) -> usize {
        self.ways.iter().flatten().flat_map(|way| &way.pending).map(Pending::len).sum()
    }

    /// Decides about what has waited for longer than this, and about what is too much.
    fn give_up(&mut self, horizon: &Horizon, patience: Span) {
        let Some(moment) = horizon.now().map(|now| now - patience) else { return };
        for way in self.ways.iter_mut().flatten() {
            for place in [End::First, End::Second] {
                while let Some(waiting) = way.pending[place.index()].expire(moment) {
                    way.decide(place, &waiting, horizon);
                }
                while way.pending[place.index()].len() > horizon.waiting {
                    let Some(waiting) = way.pending[place.index()].pop() else { break };
                    way.decide(place, &waiting, horizon);
                }
            }
        }
    }

    /// No more frames come.
    fn end(mut self, horizon: &Horizon, finished: &mut Vec<Crossing>) {
        for way in self.ways.iter_mut().flatten() {
            for place in [End::First, End::Second] {
                while let Some(waiting) = way.pending[place.index()].pop() {
                    way.decide(place, &waiting, horizon);
                }
            }
        }
        let (has_passed, has_arrived) =
            (self.some_way(|way| way.crossing.has_passed()), self.some_way(|way| way.has_arrived));
        if !has_passed && (has_arrived || !self.is_between) {
            self.ways.iter_mut().flatten().for_each(|way| way.crossing.leave_undecided());
        }
        let mut crossings: Vec<Crossing> =
            self.ways.into_iter().flatten().map(|way| way.crossing).collect();
        crossings.sort_by_key(|crossing| (crossing.first, crossing.way));
        finished.extend(crossings);
    }

    fn some_way(&self, is: impl Fn(&Way) -> bool) -> bool {
        self.ways.iter().flatten().any(is)
    }
}

impl Way {
    /// What is known of a frame that was seen at `end` just now, and had been met at the other place before.
    fn passed(
        &self,
        end: End,
        frame: &Frame,
        serial: u64,
        met: &Waiting,
        relation: &Relation,
    ) -> Passed {
        let from = self.crossing.from;
        let (here, there) = (frame.at, met.frame.at);
        let (sent, arrived) = if end == from { (here, there) } else { (there, here) };
        let (first, second) = if end == End::First { (here, there) } else { (there, here) };
        let delay = relation.delay(from, first, second);
        Passed {
            sent,
            arrived,
            serial: if end == from { serial } else { met.serial },
            delay,
            above_floor: delay - relation.floor[from.index()],
        }
    }

    /// Whether the other capture had begun, and had not ended, when it could have seen a frame.
    fn is_covered(&self, place: End, waiting: &Waiting, horizon: &Horizon) -> bool {
        let other = place.other();
        let (follows, is_overtaken) = self.met[place.index()]
            .map_or((false, false), |(low, high)| (low < waiting.serial, waiting.serial < high));
        let is_after_start = if place == self.crossing.from {
            horizon.covers_arrival(other, waiting.seen)
        } else {
            follows || horizon.covers_start(other, waiting.seen)
        };
        is_after_start && (is_overtaken || horizon.covers_end(other, waiting.seen))
    }

    /// A frame will not be seen at its other place, or nobody can tell.
    fn decide(&mut self, place: End, waiting: &Waiting, horizon: &Horizon) {
        if !self.is_covered(place, waiting, horizon) {
            self.crossing.tally(&waiting.frame).undecided += 1;
        } else if place == self.crossing.from {
            self.crossing.on_lost(waiting);
        } else {
            self.crossing.tally(&waiting.frame).unseen += 1;
        }
    }
}

/// The same in every run: no entropy.
fn hash(key: &FlowKey) -> u64 {
    let fold = |bytes: &[u8; 16]| {
        let number = u128::from_be_bytes(*bytes);
        #[expect(clippy::cast_possible_truncation, reason = "halves are taken")]
        let halves = number as u64 ^ (number >> 64) as u64;
        halves
    };
    let ports = u64::from(key.low_port) << 16 | u64::from(key.high_port);
    (fold(&key.low).rotate_left(17) ^ fold(&key.high) ^ ports)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xff51_afd7_ed55_8ccd)
}
