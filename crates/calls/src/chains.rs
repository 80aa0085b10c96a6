//! The chains of every order up to one, over the same sequences: what back-off needs.

use crate::{CallsError, Chain, Cursor, Order, State};

/// Chains of the orders 1 to N.
#[derive(Debug, Clone)]
pub struct Chains {
    /// By order, from 1; never empty.
    by_order: Vec<Chain>,
    cursors: Vec<Cursor>,
    calls: u64,
}

impl Chains {
    /// Empty chains up to that order.
    pub fn new(order: Order) -> Self {
        Self::bounded(order, Chain::MOST)
    }

    /// The same, each holding at most `bound` transitions.
    pub fn bounded(order: Order, bound: usize) -> Self {
        let by_order: Vec<_> = order.up_to().map(|order| Chain::bounded(order, bound)).collect();
        Self { cursors: vec![Cursor::default(); by_order.len()], by_order, calls: 0 }
    }

    /// Takes the next calls of a thread.
    ///
    /// # Errors
    ///
    /// [`CallsError::TooManyTransitions`] at the bound; the chains then lack what followed.
    pub fn push(&mut self, calls: &[u16]) -> Result<(), CallsError> {
        for (chain, cursor) in self.by_order.iter_mut().zip(&mut self.cursors) {
            chain.follow(cursor, calls)?;
        }
        self.calls += calls.len() as u64;
        Ok(())
    }

    /// The thread ends: what is pushed next is another's.
    pub fn end(&mut self) {
        self.cursors.fill(Cursor::default());
    }

    /// Adds the counts of others.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`], and [`CallsError::TooManyTransitions`] at the bound.
    pub fn merge(&mut self, other: &Self) -> Result<(), CallsError> {
        self.highest().same_order(other.highest())?;
        for (chain, other) in self.by_order.iter_mut().zip(&other.by_order) {
            chain.merge(other)?;
        }
        self.calls += other.calls;
        Ok(())
    }

    /// The chain of the highest order.
    pub fn highest(&self) -> &Chain {
        match self.by_order.last() {
            Some(chain) => chain,
            None => unreachable!("an order is 1 at least"),
        }
    }

    /// The chains by order, from 1.
    pub fn by_order(&self) -> &[Chain] {
        &self.by_order
    }

    /// Calls that were pushed.
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// Different calls of these and the others together: |V|.
    pub fn vocabulary(&self, other: &Self) -> usize {
        let mut states: Vec<State> =
            [self, other].into_iter().flat_map(|chains| chains.by_order[0].states()).collect();
        states.sort_unstable();
        states.dedup();
        states.len()
    }
}
