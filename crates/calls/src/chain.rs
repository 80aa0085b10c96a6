//! A chain: how often each call follows each state.
//!
//! Every state that was met has an index, and every transition knows the index of the state it
//! leads to, so counting a call is one look-up in one table, whatever the order. The tables are
//! as large as what was met: sparse.

use hashbrown::HashTable;

use crate::sum::float;
use crate::{CallsError, Order, State};

/// Counts of transitions; the last state of a sequence has no transition from it.
#[derive(Debug, Clone)]
pub struct Chain {
    order: Order,
    bound: usize,
    states: Vec<State>,
    /// Transitions from each state: c(x).
    visits: Vec<u64>,
    by_state: HashTable<u32>,
    pub(crate) edges: Vec<Edge>,
    by_edge: HashTable<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    count: u64,
    from: u32,
    pub(crate) to: u32,
    call: u16,
}

/// A transition with its count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// The state it leaves.
    pub from: State,
    /// The call that leads out of it.
    pub call: u16,
    /// How often.
    pub count: u64,
    /// Its share of the transitions from its state: w(x→y).
    pub weight: f64,
}

/// Where a sequence is between two stretches of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    state: State,
    seen: usize,
}

impl Cursor {
    /// The last calls of the sequence, at most as many as the order has.
    pub(crate) fn tail(self, order: Order) -> Vec<u16> {
        self.state.calls(order).skip(order.calls() - self.seen).collect()
    }

    /// Takes the calls that the first state still lacks; the rest.
    pub(crate) fn begin<'a>(&mut self, calls: &'a [u16], order: Order) -> &'a [u16] {
        let (first, rest) = calls.split_at(calls.len().min(order.calls() - self.seen));
        for call in first {
            self.state = self.state.then(*call, order);
        }
        self.seen += first.len();
        rest
    }

    /// The state, once it is complete.
    pub(crate) fn state(self, order: Order) -> Option<State> {
        (self.seen == order.calls()).then_some(self.state)
    }

    pub(crate) const fn arrive(&mut self, state: State) {
        self.state = state;
    }
}

/// A multiplicative hash with its bits mixed: no entropy, so that every run is alike.
#[inline]
pub(crate) const fn mixed(key: u64) -> u64 {
    let product = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

#[inline]
const fn edge_hash(from: u32, call: u16) -> u64 {
    mixed((from as u64) << 16 | call as u64)
}

impl Chain {
    /// Transitions that a chain holds unless its maker allows others: some 70 MB.
    pub const MOST: usize = 1 << 20;

    /// An empty chain.
    pub fn new(order: Order) -> Self {
        Self::bounded(order, Self::MOST)
    }

    /// An empty chain that holds at most `bound` transitions, and as many states and one more.
    pub fn bounded(order: Order, bound: usize) -> Self {
        Self {
            order,
            bound: bound.min(u32::MAX as usize - 1),
            states: Vec::new(),
            visits: Vec::new(),
            by_state: HashTable::new(),
            edges: Vec::new(),
            by_edge: HashTable::new(),
        }
    }

    /// The calls of a state.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// Counts a whole sequence.
    ///
    /// # Errors
    ///
    /// As [`Chain::follow`].
    pub fn add(&mut self, calls: &[u16]) -> Result<(), CallsError> {
        self.follow(&mut Cursor::default(), calls)
    }

    /// Counts the next calls of the sequence that `cursor` is in.
    ///
    /// # Errors
    ///
    /// [`CallsError::TooManyTransitions`] at the bound; the chain then lacks what followed, and
    /// nothing should be concluded from it.
    pub fn follow(&mut self, cursor: &mut Cursor, calls: &[u16]) -> Result<(), CallsError> {
        let rest = cursor.begin(calls, self.order);
        let Some(state) = cursor.state(self.order) else { return Ok(()) };
        let mut at = self.interned(state)?;
        for call in rest {
            at = self.counted(at, *call, 1)?;
        }
        cursor.arrive(self.states[at as usize]);
        Ok(())
    }

    /// Adds the counts of another chain.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`], and [`CallsError::TooManyTransitions`] at the bound.
    pub fn merge(&mut self, other: &Self) -> Result<(), CallsError> {
        self.same_order(other)?;
        for state in &other.states {
            self.interned(*state)?;
        }
        for edge in &other.edges {
            let from = self.interned(other.states[edge.from as usize])?;
            self.counted(from, edge.call, edge.count)?;
        }
        Ok(())
    }

    pub(crate) fn same_order(&self, other: &Self) -> Result<(), CallsError> {
        let (left, right) = (self.order.calls(), other.order.calls());
        if left == right { Ok(()) } else { Err(CallsError::OrdersDiffer { left, right }) }
    }

    /// How often `call` followed `state`.
    pub fn count(&self, state: State, call: u16) -> u64 {
        let edge = self.position(state).and_then(|at| self.edge(at, call));
        edge.map_or(0, |index| self.edges[index].count)
    }

    /// How often any call followed `state`.
    pub fn visits(&self, state: State) -> u64 {
        self.position(state).map_or(0, |at| self.visits[at as usize])
    }

    /// All transitions that were counted, each as often as it was made.
    pub fn total(&self) -> u64 {
        self.visits.iter().sum()
    }

    /// How many different transitions there are.
    pub const fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether no transition was counted.
    pub const fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Every state that was met, with or without a transition from it, in ascending order.
    pub fn states(&self) -> Vec<State> {
        let mut states = self.states.clone();
        states.sort_unstable();
        states
    }

    /// Every transition in ascending order of state and call, so that nothing depends on the order
    /// in which they were met.
    pub fn transitions(&self) -> Vec<Transition> {
        let mut found: Vec<_> = (0..self.edges.len()).map(|index| self.transition(index)).collect();
        found.sort_unstable_by_key(|one| (one.from, one.call));
        found
    }

    pub(crate) fn transition(&self, index: usize) -> Transition {
        let Edge { count, from, call, .. } = self.edges[index];
        Transition { from: self.states[from as usize], call, count, weight: self.weight(index) }
    }

    /// w(x→y) of a transition.
    pub(crate) fn weight(&self, index: usize) -> f64 {
        let Edge { count, from, .. } = self.edges[index];
        float(count) / float(self.visits[from as usize])
    }

    /// The index of a state that was met.
    pub(crate) fn position(&self, state: State) -> Option<u32> {
        let same = |at: &u32| self.states[*at as usize] == state;
        self.by_state.find(mixed(state.0), same).copied()
    }

    /// The transition from the state of that index by that call.
    #[inline]
    pub(crate) fn edge(&self, from: u32, call: u16) -> Option<usize> {
        let same = |index: &u32| {
            let edge = &self.edges[*index as usize];
            edge.from == from && edge.call == call
        };
        self.by_edge.find(edge_hash(from, call), same).map(|index| *index as usize)
    }

    /// Counts a transition; the index of the state it leads to.
    #[inline]
    fn counted(&mut self, from: u32, call: u16, count: u64) -> Result<u32, CallsError> {
        let index = match self.edge(from, call) {
            Some(index) => index,
            None => self.insert(from, call)?,
        };
        let edge = &mut self.edges[index];
        edge.count += count;
        self.visits[from as usize] += count;
        Ok(edge.to)
    }

    #[cold]
    fn insert(&mut self, from: u32, call: u16) -> Result<usize, CallsError> {
        if self.edges.len() >= self.bound {
            return Err(self.full());
        }
        let to = self.interned(self.states[from as usize].then(call, self.order))?;
        let index = self.edges.len();
        self.edges.push(Edge { count: 0, from, to, call });
        let edges = &self.edges;
        self.by_edge.insert_unique(edge_hash(from, call), small(index), |index| {
            let edge = &edges[*index as usize];
            edge_hash(edge.from, edge.call)
        });
        Ok(index)
    }

    /// The index of a state, a new one if it was never met.
    fn interned(&mut self, state: State) -> Result<u32, CallsError> {
        if let Some(at) = self.position(state) {
            return Ok(at);
        }
        if self.states.len() > self.bound {
            return Err(self.full());
        }
        let at = small(self.states.len());
        self.states.push(state);
        self.visits.push(0);
        let states = &self.states;
        self.by_state.insert_unique(mixed(state.0), at, |at| mixed(states[*at as usize].0));
        Ok(at)
    }

    fn full(&self) -> CallsError {
        CallsError::TooManyTransitions { bound: self.bound, order: self.order.calls() }
    }
}

/// Chains are equal when they count the same, in whatever order they met it.
impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        let counts = |chain: &Self| {
            let all = chain.transitions().into_iter();
            all.map(|one| (one.from, one.call, one.count)).collect::<Vec<_>>()
        };
        self.order == other.order && counts(self) == counts(other)
    }
}

/// An index below the bound, which [`Chain::bounded`] keeps below 2³².
#[expect(clippy::cast_possible_truncation, reason = "the bound is below 2^32")]
const fn small(index: usize) -> u32 {
    index as u32
}
