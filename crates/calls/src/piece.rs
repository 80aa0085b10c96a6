//! A stretch of one thread's calls, counted apart and joined with its neighbours.

use crate::{CallsError, Chain, Cursor, Order};

/// The counts of a stretch, with the calls at its ends that transitions over the seams need.
///
/// ```
/// # use trustbed_calls::{CallsError, Chain, Order, Piece};
/// # fn main() -> Result<(), CallsError> {
/// let order = Order::new(2)?;
/// let (mut first, mut second) = (Piece::new(order), Piece::new(order));
/// first.push(&[1, 2, 3])?;
/// second.push(&[1, 2, 3])?;
/// let mut whole = Chain::new(order);
/// whole.add(&[1, 2, 3, 1, 2, 3])?;
/// assert_eq!(first.join(&second)?.into_chain(), whole);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Piece {
    chain: Chain,
    head: Vec<u16>,
    cursor: Cursor,
}

impl Piece {
    /// An empty stretch: joined with another, it changes nothing.
    pub fn new(order: Order) -> Self {
        Self::bounded(order, Chain::MOST)
    }

    /// The same, holding at most `bound` transitions.
    pub fn bounded(order: Order, bound: usize) -> Self {
        Self { chain: Chain::bounded(order, bound), head: Vec::new(), cursor: Cursor::default() }
    }

    /// Takes the next calls.
    ///
    /// # Errors
    ///
    /// [`CallsError::TooManyTransitions`] at the bound.
    pub fn push(&mut self, calls: &[u16]) -> Result<(), CallsError> {
        self.extend_head(calls);
        self.chain.follow(&mut self.cursor, calls)
    }

    /// This stretch and the one that follows it in the same thread.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`], and [`CallsError::TooManyTransitions`] at the bound.
    pub fn join(mut self, later: &Self) -> Result<Self, CallsError> {
        self.chain.merge(&later.chain)?;
        // Every transition over the seam lies within the N calls before and the N behind it, and
        // neither side has a transition of its own there.
        let mut cursor = self.cursor;
        self.chain.follow(&mut cursor, &later.head)?;
        self.extend_head(&later.head);
        self.cursor =
            if later.head.len() == self.chain.order().calls() { later.cursor } else { cursor };
        Ok(self)
    }

    /// The counts.
    pub fn into_chain(self) -> Chain {
        self.chain
    }

    /// The last calls, at most as many as the order has.
    pub fn tail(&self) -> Vec<u16> {
        self.cursor.tail(self.chain.order())
    }

    fn extend_head(&mut self, calls: &[u16]) {
        let lacking = self.chain.order().calls() - self.head.len();
        self.head.extend(calls.iter().take(lacking));
    }
}
