//! What several transfers of one host show together: that the host stalled.
//!
//! A stall is a maximal interval of at least two seconds in which at least 80 % of the transfers
//! active at its beginning (at least two) send no new data although each had work. A transfer is
//! active when it sent new data in the second before. Whether a single transfer's silence is its
//! host's cannot be distinguished here: that is an outage of the transfer.
//!
//! One sweep over the edges of all silences of a host: the work grows with their number times its
//! logarithm, however many transfers a host has. Where a clock that stepped makes two silences of
//! a transfer overlap, the later one counts from the end of the earlier.

use std::collections::BTreeSet;

use trustbed_units::{Ns, Span};

use crate::ranks::Ranks;
use crate::transfer_row::Trail;
use crate::{Silence, TransferId};

/// A host stalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStall {
    /// The host.
    pub host: [u8; 16],
    /// When it began.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// The transfers that stalled.
    pub transfers: Vec<TransferId>,
    /// Transfers active when it began.
    pub active: usize,
}

const SHORTEST: Span = Span::from_secs(2);
const ACTIVE: Span = Span::from_secs(1);

/// Finds the stalls of every host. `trails` in any order; the result is ordered by host and time.
pub fn host_stalls(trails: &[Trail]) -> Vec<HostStall> {
    let mut by_host: Vec<&Trail> = trails.iter().collect();
    by_host.sort_by_key(|t| (t.host, t.transfer));
    by_host
        .chunk_by(|a, b| a.host == b.host)
        .filter(|trails| trails.len() >= 2)
        .flat_map(|trails| Sweep::of(trails).stalls())
        .collect()
}

/// What changes at an edge, in the order in which edges of one moment are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// A silence ends: at its end it is over.
    SilenceEnds,
    /// New data for the first time.
    Begins,
    /// A silence begins.
    SilenceBegins(usize),
    /// A silence with work to do begins here: does a stall?
    MayStall,
    /// A silence has lasted for a second: the transfer is not active from the next moment on.
    Fades,
    /// The last new data were sent a second ago.
    Ends,
}

/// Something changes for a transfer, given by its index.
type Edge = (Ns, Change, usize);

/// The transfers of one host, and where the sweep is.
struct Sweep<'a> {
    trails: &'a [&'a Trail],
    /// Of every transfer, disjoint and in order.
    silences: Vec<Vec<Silence>>,
    /// The ends of silences with work to do, in order.
    ends: Vec<Ns>,
    states: Vec<State>,
    /// Indices of active transfers.
    active: BTreeSet<usize>,
    /// The ends of the silences that active transfers are in, as ranks among `ends`.
    silent_until: Ranks,
}

/// A transfer at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    has_begun: bool,
    /// Silent for more than a second.
    has_faded: bool,
    /// The rank of the end of the silence that it is in, if it has work to do.
    silent_until: Option<usize>,
}

impl<'a> Sweep<'a> {
    fn of(trails: &'a [&'a Trail]) -> Self {
        let silences: Vec<Vec<Silence>> = trails.iter().map(|t| disjoint(&t.silences)).collect();
        let mut ends: Vec<Ns> =
            silences.iter().flatten().filter(|s| s.pending).map(|s| s.to).collect();
        ends.sort_unstable();
        ends.dedup();
        Self {
            trails,
            silences,
            states: vec![State::default(); trails.len()],
            active: BTreeSet::new(),
            silent_until: Ranks::of(ends.len()),
            ends,
        }
    }

    fn stalls(mut self) -> Vec<HostStall> {
        let mut stalls: Vec<HostStall> = Vec::new();
        for (at, change, index) in self.edges() {
            match change {
                Change::MayStall if stalls.last().is_none_or(|last| last.to <= at) => {
                    stalls.extend(self.stall(at));
                }
                Change::MayStall => {}
                _ => self.apply(change, index),
            }
        }
        stalls
    }

    fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (index, (trail, silences)) in self.trails.iter().zip(&self.silences).enumerate() {
            if trail.first <= trail.last + ACTIVE {
                edges.push((trail.first, Change::Begins, index));
                edges.push((trail.last + ACTIVE, Change::Ends, index));
            }
            for (nth, silence) in silences.iter().enumerate() {
                edges.push((silence.from, Change::SilenceBegins(nth), index));
                edges.push((silence.to, Change::SilenceEnds, index));
                if silence.from + ACTIVE < silence.to {
                    edges.push((silence.from + ACTIVE, Change::Fades, index));
                }
                if silence.pending {
                    // Which transfer asks does not matter: one question a moment.
                    edges.push((silence.from, Change::MayStall, 0));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn apply(&mut self, change: Change, index: usize) {
        let mut state = self.states[index];
        if state.is_active()
            && let Some(rank) = state.silent_until
        {
            self.silent_until.remove(rank);
        }
        match change {
            Change::Begins => state.has_begun = true,
            Change::Ends => state.has_begun = false,
            Change::Fades => state.has_faded = true,
            Change::SilenceBegins(nth) => {
                let silence = self.silences[index][nth];
                let rank = self.ends.partition_point(|&end| end < silence.to);
                state.silent_until = silence.pending.then_some(rank);
            }
            Change::SilenceEnds => (state.has_faded, state.silent_until) = (false, None),
            Change::MayStall => {}
        }
        self.states[index] = state;
        if state.is_active() {
            self.active.insert(index);
            if let Some(rank) = state.silent_until {
                self.silent_until.insert(rank);
            }
        } else {
            self.active.remove(&index);
        }
    }

    /// The stall that begins at `from`, if one does. Each transfer in it has a silence that began
    /// at most a second before, so that all stalls together are no longer than all silences.
    fn stall(&self, from: Ns) -> Option<HostStall> {
        let active = self.active.len();
        let needed = (active * 4).div_ceil(5);
        let to = *self.ends.get(self.silent_until.largest(needed)?)?;
        if active < 2 || to - from < SHORTEST {
            return None;
        }
        let stalls = |&&index: &&usize| {
            let silences = &self.silences[index];
            let first = silences.partition_point(|s| s.to <= from);
            silences[first..]
                .iter()
                .take_while(|s| s.from < to)
                .any(|s| s.pending && s.to.min(to) - s.from.max(from) >= SHORTEST)
        };
        Some(HostStall {
            host: self.trails[0].host,
            from,
            to,
            transfers: self
                .active
                .iter()
                .filter(stalls)
                .map(|&i| self.trails[i].transfer)
                .collect(),
            active,
        })
    }
}

impl State {
    /// Whether the transfer sent new data in the second before (inclusive) and was not over.
    const fn is_active(self) -> bool {
        self.has_begun && !self.has_faded
    }
}

/// Silences in order, each from the end of the one before at the earliest.
fn disjoint(silences: &[Silence]) -> Vec<Silence> {
    let mut ordered = silences.to_vec();
    ordered.sort_by_key(|s| (s.from, s.to));
    let mut over = Ns::MIN;
    ordered
        .into_iter()
        .filter_map(|silence| {
            let from = silence.from.max(over);
            over = over.max(silence.to);
            (from < silence.to).then_some(Silence { from, ..silence })
        })
        .collect()
}
