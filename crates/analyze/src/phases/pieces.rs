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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// When it begins and ends, in nanoseconds after the first data.
    pub start: i64,
    pub end: i64,
    /// Time by kind; a piece that was never joined has one.
    pub times: [i64; KINDS],
    /// Bytes acknowledged for the first time.
    pub delivered: i64,
    /// Delays measured: sum, number, smallest.
    pub delays: (i64, u32, i64),
    /// Most bytes outstanding.
    pub flight: i64,
    /// Losses that began to be repaired.
    pub losses: u32,
    /// Smallest window advertised.
    pub window: u32,
}

impl Piece {
    fn new(start: i64, kind: Kind) -> Self {
        let mut times = [0; KINDS];
        times[kind as usize] = 0;
        Self {
            start,
            end: start,
            times,
            delivered: 0,
            delays: (0, 0, i64::MAX),
            flight: 0,
            losses: 0,
            window: u32::MAX,
        }
    }

    /// The mean delay.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of delays")]
    pub(crate) fn delay(&self) -> Option<f64> {
        (self.delays.1 > 0).then(|| self.delays.0 as f64 / f64::from(self.delays.1))
    }

    pub(crate) fn time(&self, kind: Kind) -> i64 {
        self.times[kind as usize]
    }

    /// Whether nothing but an application was waited for.
    pub(crate) fn is_idle(&self) -> bool {
        let waits = [Kind::Peer, Kind::Think, Kind::IdleApplication];
        waits.iter().map(|&kind| self.time(kind)).sum::<i64>() == self.end - self.start
    }

    fn join(&mut self, other: &Self) {
        self.end = other.end;
        for (time, more) in self.times.iter_mut().zip(other.times) {
            *time += more;
        }
        self.delivered += other.delivered;
        self.delays.0 += other.delays.0;
        self.delays.1 += other.delays.1;
        self.delays.2 = self.delays.2.min(other.delays.2);
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
    all: Vec<(Piece, Kind)>,
    /// How often neighbours were joined.
    pub joined: u32,
}

impl Pieces {
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
        let fits = !cut && self.all.last().is_some_and(|last| last.1 == kind);
        if !fits {
            if self.all.len() >= MOST {
                self.halve();
            }
            self.all.push((Piece::new(start, kind), kind));
        }
        if let Some((piece, _)) = self.all.last_mut() {
            piece.times[kind as usize] += end - start;
            piece.end = end;
            piece.flight = piece.flight.max(flight);
            piece.window = piece.window.min(window);
            let new = std::mem::take(measured);
            piece.delivered += new.delivered;
            piece.delays.0 += new.delays.0;
            piece.delays.1 += new.delays.1;
            piece.delays.2 = piece.delays.2.min(new.delays.2);
            piece.losses += new.losses;
        }
    }

    #[cold]
    fn halve(&mut self) {
        let mut joined = Vec::with_capacity(MOST);
        for pair in self.all.chunks(2) {
            let mut first = pair[0];
            if let Some(second) = pair.get(1) {
                first.0.join(&second.0);
            }
            joined.push(first);
        }
        self.all = joined;
        self.joined += 1;
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The newest piece turns out to be of another kind, where it is of `from`.
    pub(crate) fn turn_last(&mut self, from: Kind, to: Kind) {
        if let Some((piece, kind)) = self.all.last_mut().filter(|last| last.1 == from) {
            piece.times[to as usize] += std::mem::take(&mut piece.times[from as usize]);
            *kind = to;
        }
    }

    /// The piece at `index` turns out to be of another kind from `since` on.
    pub(crate) fn turn(&mut self, index: usize, since: i64, from: Kind, to: Kind) {
        if let Some((piece, kind)) = self.all.get_mut(index).filter(|piece| piece.1 == from) {
            let time = piece.times[from as usize];
            let turned = (piece.end - since).clamp(0, time);
            piece.times[from as usize] -= turned;
            piece.times[to as usize] += turned;
            if turned == time {
                *kind = to;
            }
        }
    }

    /// The pieces in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Piece> {
        self.all.iter().map(|(piece, _)| piece)
    }
}
