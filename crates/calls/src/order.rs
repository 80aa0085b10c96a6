//! States of a chain: the last 1 to 4 calls, packed into 64 bits.

use crate::CallsError;

const CALL_BITS: usize = 16;

/// How many calls a state has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(u8);

impl Order {
    /// A state of one call.
    pub const FIRST: Self = Self(1);

    /// An order of 1 to 4.
    ///
    /// # Errors
    ///
    /// [`CallsError::Order`] for any other.
    pub fn new(order: usize) -> Result<Self, CallsError> {
        match u8::try_from(order) {
            Ok(small @ 1..=4) => Ok(Self(small)),
            _ => Err(CallsError::Order { order }),
        }
    }

    /// The calls of a state.
    pub const fn calls(self) -> usize {
        self.0 as usize
    }

    /// The orders from 1 to this one, rising.
    pub fn up_to(self) -> impl Iterator<Item = Self> {
        (1..=self.0).map(Self)
    }

    const fn mask(self) -> u64 {
        u64::MAX >> (64 - CALL_BITS * self.calls())
    }
}

/// The last calls of a thread, the latest in the lowest 16 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(pub u64);

impl State {
    /// The state of these calls, the latest last; only the last four count.
    pub fn of(calls: &[u16]) -> Self {
        calls
            .iter()
            .fold(Self::default(), |state, call| Self(state.0 << CALL_BITS | u64::from(*call)))
    }

    /// The state of that order after one more call.
    #[inline]
    #[must_use]
    pub const fn then(self, call: u16, order: Order) -> Self {
        Self((self.0 << CALL_BITS | call as u64) & order.mask())
    }

    /// The latest calls alone: the state of a lower order at the same moment.
    #[inline]
    #[must_use]
    pub const fn suffix(self, order: Order) -> Self {
        Self(self.0 & order.mask())
    }

    /// Its calls, the earliest first.
    pub fn calls(self, order: Order) -> impl Iterator<Item = u16> {
        (0..order.calls()).rev().map(move |index| {
            let shifted = self.0 >> (CALL_BITS * index);
            #[expect(clippy::cast_possible_truncation, reason = "one call is 16 bits")]
            let call = shifted as u16;
            call
        })
    }
}
