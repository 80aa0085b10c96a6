//! Pieces of a transfer's time, each with what was measured in it, in bounded number.

/// What a piece of time was, as far as its moment shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Peer,
    Think,
    Outage,
    Timeout,
    Recovery,
    ZeroWindow,
    ReceiverWindow,
    Window,
    IdleApplication,
    IdleSender,
    /// Sending at the pace of acknowledgements: the rounds around it decide why at that pace.
    Clocked,
    Unknown,
}

/// Number of kinds.
pub(crate) const KINDS: usize = 12;
/// Pieces at most; beyond, neighbours are joined.
const MOST: usize = 1024;

/// A piece of time.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// When it begins and ends, in nanoseconds after the first data.
    pub start: i64,
    pub end: i64,
    /// Bytes acknowledged for the first time.
    pub delivered: i64,
    /// Most bytes outstanding.
    pub flight: i64,
    /// Delays measured: sum, smallest, number.
    delay_sum: i64,
    delay_least: i64,
    delay_count: u32,
    /// Losses that began to be repaired.
    pub losses: u32,
    /// Smallest window advertised.
    pub window: u32,
    kind: Kind,
    /// Time of its kind, while it has no other.
    time: i64,
    /// Time by kind, of a piece that was joined or whose kind holds for a part of it: few.
    times: Option<Box<[i64; KINDS]>>,
}

impl Piece {
    fn new(start: i64, kind: Kind) -> Self {
        Self {
            start,
            end: start,
            delivered: 0,
            flight: 0,
            delay_sum: 0,
            delay_least: i64::MAX,
            delay_count: 0,
            losses: 0,
            window: u32::MAX,
            kind,
            time: 0,
            times: None,
        }
    }

    /// The mean delay.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of delays")]
    pub(crate) fn delay(&self) -> Option<f64> {
        (self.delay_count > 0).then(|| self.delay_sum as f64 / f64::from(self.delay_count))
    }

    /// The smallest delay.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of delays")]
    pub(crate) fn least_delay(&self) -> Option<f64> {
        (self.delay_count > 0).then_some(self.delay_least as f64)
    }

    /// How many delays were measured.
    pub(crate) fn delay_count(&self) -> u32 {
        self.delay_count
    }

    pub(crate) fn time(&self, kind: Kind) -> i64 {
        match &self.times {
            Some(times) => times[kind as usize],
            None if kind == self.kind => self.time,
            None => 0,
        }
    }

    /// Whether nothing but an application was waited for.
    pub(crate) fn is_idle(&self) -> bool {
        let waits = [Kind::Peer, Kind::Think, Kind::IdleApplication];
        waits.iter().map(|&kind| self.time(kind)).sum::<i64>() == self.end - self.start
    }

    /// Whether nothing was outstanding in it and nothing was acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.flight == 0 && self.delivered == 0
    }

    /// Adds to the time of its kind.
    #[inline]
    fn add_time(&mut self, time: i64) {
        match &mut self.times {
            Some(times) => times[self.kind as usize] += time,
            None => self.time += time,
        }
    }

    /// Time by kind, to be changed.
    fn by_kind(&mut self) -> &mut [i64; KINDS] {
        let (kind, time) = (self.kind, self.time);
        self.times.get_or_insert_with(|| {
            let mut times = Box::new([0; KINDS]);
            times[kind as usize] = time;
            times
        })
    }

    /// All time of one kind is of another one.
    fn turn(&mut self, to: Kind) {
        if let Some(times) = &mut self.times {
            times[to as usize] += std::mem::take(&mut times[self.kind as usize]);
        }
        self.kind = to;
    }

    fn join(&mut self, other: &Self) {
        self.end = other.end;
        let times = self.by_kind();
        match &other.times {
            Some(more) => times.iter_mut().zip(more.iter()).for_each(|(time, more)| *time += more),
            None => times[other.kind as usize] += other.time,
        }
        self.delivered += other.delivered;
        self.delay_sum = self.delay_sum.saturating_add(other.delay_sum);
        self.delay_count += other.delay_count;
        self.delay_least = self.delay_least.min(other.delay_least);
        self.flight = self.flight.max(other.flight);
        self.losses += other.losses;
        self.window = self.window.min(other.window);
    }
}

/// What was measured since the last piece was cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub delivered: i64,
    pub delays: (i64, u32, i64),
    pub losses: u32,
}

impl Measured {
    /// Whether nothing arrived.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.delivered == 0 && self.delays.1 == 0
    }
}

impl Default for Measured {
    fn default() -> Self {
        Self { delivered: 0, delays: (0, 0, i64::MAX), losses: 0 }
    }
}

/// Pieces in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    all: Vec<Piece>,
    /// How often neighbours were joined.
    pub joined: u32,
}

impl Pieces {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        // Once pieces were joined, all have times by kind; before, hardly one has.
        let mixed = if self.joined > 0 { self.all.len() } else { 0 };
        self.all.capacity() * size_of::<Piece>() + mixed * size_of::<[i64; KINDS]>()
    }

    /// The time from `start` to `end` was of `kind`; `cut` begins a new piece in any case.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (start, end): (i64, i64),
        kind: Kind,
        cut: bool,
        (flight, window): (i64, u32),
        measured: &mut Measured,
    ) {
        if end < start || (end == start && measured.is_empty()) {
            return;
        }
        let fits = !cut && self.all.last().is_some_and(|last| last.kind == kind);
        if !fits {
            if self.all.len() >= MOST {
                self.halve();
            }
            if self.all.len() == self.all.capacity() {
                // Half as many again: doubled vectors are half empty.
                self.all.reserve_exact(4 + self.all.len() / 2);
            }
            self.all.push(Piece::new(start, kind));
        }
        if let Some(piece) = self.all.last_mut() {
            piece.add_time(end - start);
            piece.end = end;
            piece.flight = piece.flight.max(flight);
            piece.window = piece.window.min(window);
            let new = std::mem::take(measured);
            piece.delivered += new.delivered;
            piece.delay_sum = piece.delay_sum.saturating_add(new.delays.0);
            piece.delay_count += new.delays.1;
            piece.delay_least = piece.delay_least.min(new.delays.2);
            piece.losses += new.losses;
        }
    }

    #[cold]
    fn halve(&mut self) {
        let mut joined = Vec::with_capacity(MOST);
        let mut all = self.all.drain(..);
        while let Some(mut first) = all.next() {
            if let Some(second) = all.next() {
                first.join(&second);
            }
            joined.push(first);
        }
        drop(all);
        self.all = joined;
        self.joined += 1;
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The newest piece turns out to be of another kind, where it is of `from`.
    pub(crate) fn turn_last(&mut self, from: Kind, to: Kind) {
        if let Some(piece) = self.all.last_mut().filter(|last| last.kind == from) {
            piece.turn(to);
        }
    }

    /// The piece at `index` turns out to be of another kind from `since` on.
    pub(crate) fn turn(&mut self, index: usize, since: i64, from: Kind, to: Kind) {
        if let Some(piece) = self.all.get_mut(index).filter(|piece| piece.kind == from) {
            let time = piece.time(from);
            let turned = (piece.end - since).clamp(0, time);
            if turned == time {
                piece.turn(to);
            } else {
                let times = piece.by_kind();
                times[from as usize] -= turned;
                times[to as usize] += turned;
            }
        }
    }

    /// From `since` on pieces of one kind turn out to be of another one.
    pub(crate) fn turn_since(&mut self, since: i64, from: Kind, to: Kind) {
        let mut next = i64::MAX;
        for index in (0..self.all.len()).rev() {
            let piece = &self.all[index];
            // What ends after its successor begins was before a step of the clock.
            if piece.end <= since || piece.end > next {
                break;
            }
            next = piece.start;
            self.turn(index, since, from, to);
        }
    }

    /// The pieces in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Piece> {
        self.all.iter()
    }
}
