//! Walks: how probable a sequence is on a chain.
//!
//! A walk begins in the state of its first N calls, whose own probability does not count.
//! A transition that the chain lacks is invalid; a walk with one has probability 0, and its
//! logarithm covers the valid transitions alone.

use crate::sum::{Sum, float};
use crate::{CallsError, Chain, Cursor};

/// What a walk found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Walk {
    /// Sum of log₁₀ w over the valid transitions.
    pub log10: f64,
    /// Transitions that the chain lacks.
    pub invalid: u64,
    /// All transitions, valid or not.
    pub transitions: u64,
}

impl Walk {
    /// log₁₀ of the probability; `None` where an invalid transition makes it 0.
    pub const fn log10_probability(&self) -> Option<f64> {
        if self.invalid == 0 { Some(self.log10) } else { None }
    }
}

impl Chain {
    /// The walk of one sequence.
    pub fn walk(&self, calls: &[u16]) -> Walk {
        let mut walker = Walker::new(self);
        walker.push(calls);
        walker.finish()
    }

    /// The walks of all sequences that another chain counted, as one: their probability is a
    /// matter of how often each transition was made.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`].
    pub fn walk_counted(&self, walked: &Self) -> Result<Walk, CallsError> {
        self.same_order(walked)?;
        let (mut log10, mut invalid) = (Sum::default(), 0);
        for one in walked.transitions() {
            match self.position(one.from).and_then(|at| self.edge(at, one.call)) {
                Some(index) => log10.add(float(one.count) * self.weight(index).log10()),
                None => invalid += one.count,
            }
        }
        Ok(Walk { log10: log10.value(), invalid, transitions: walked.total() })
    }
}

/// A walk whose sequence comes in stretches.
#[derive(Debug, Clone)]
pub struct Walker<'a> {
    chain: &'a Chain,
    cursor: Cursor,
    /// How often each transition of the chain was made.
    made: Vec<u64>,
    invalid: u64,
}

impl<'a> Walker<'a> {
    /// A walk on that chain, before its first call.
    pub fn new(chain: &'a Chain) -> Self {
        Self { chain, cursor: Cursor::default(), made: vec![0; chain.len()], invalid: 0 }
    }

    /// Takes the next calls.
    pub fn push(&mut self, calls: &[u16]) {
        let chain = self.chain;
        let order = chain.order();
        let rest = self.cursor.begin(calls, order);
        let Some(mut state) = self.cursor.state(order) else { return };
        let mut at = chain.position(state);
        for call in rest {
            state = state.then(*call, order);
            at = if let Some(index) = at.and_then(|at| chain.edge(at, *call)) {
                self.made[index] += 1;
                Some(chain.edges[index].to)
            } else {
                self.invalid += 1;
                chain.position(state)
            };
        }
        self.cursor.arrive(state);
    }

    /// What it found.
    pub fn finish(self) -> Walk {
        let steps = self.made.iter().zip(0..).filter(|(made, _)| **made > 0);
        let log10: Sum =
            steps.map(|(made, index)| float(*made) * self.chain.weight(index).log10()).collect();
        let valid: u64 = self.made.iter().sum();
        Walk { log10: log10.value(), invalid: self.invalid, transitions: valid + self.invalid }
    }
}
