//! Where in a sequence chosen transitions are made: how often in its initialisation and how often
//! after it, and at which calls.

use hashbrown::HashTable;

use crate::chain::mixed;
use crate::{Order, State};

/// Bits of a call.
const CALL_BITS: u32 = 16;

/// How often, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseCount {
    /// How often the transition was made.
    pub count: u64,
    /// The first times: indexes of the call that the transition leads to, from 0.
    pub first: Vec<u64>,
}

/// One transition's occurrences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occurred {
    /// Among the first calls.
    pub initialisation: PhaseCount,
    /// Behind them.
    pub steady: PhaseCount,
}

/// Looks for transitions in one thread's calls.
#[derive(Debug, Clone)]
pub struct Occurrences {
    order: Order,
    /// State and call in one.
    wanted: Vec<u128>,
    by_transition: HashTable<usize>,
    /// Whether a call ends any of them, by its number.
    ends: Vec<bool>,
    found: Vec<Occurred>,
    initialisation: u64,
    examples: usize,
    window: u128,
    seen: u64,
}

const fn hash(transition: u128) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let (low, high) = (transition as u64, (transition >> 64) as u64);
    mixed(mixed(low) ^ high)
}

impl Occurrences {
    /// Looks for `transitions`; the initialisation is the first `initialisation` calls, and the
    /// first `examples` occurrences of each phase are remembered.
    pub fn new(
        order: Order,
        transitions: &[(State, u16)],
        initialisation: u64,
        examples: usize,
    ) -> Self {
        let wanted: Vec<u128> = transitions
            .iter()
            .map(|(state, call)| u128::from(state.0) << CALL_BITS | u128::from(*call))
            .collect();
        let mut by_transition = HashTable::new();
        let mut ends = vec![false; 1 << CALL_BITS];
        for (at, (_, call)) in transitions.iter().enumerate() {
            by_transition.insert_unique(hash(wanted[at]), at, |at: &usize| hash(wanted[*at]));
            ends[usize::from(*call)] = true;
        }
        Self {
            order,
            found: vec![Occurred::default(); wanted.len()],
            wanted,
            by_transition,
            ends,
            initialisation,
            examples,
            window: 0,
            seen: 0,
        }
    }

    /// Takes the next calls.
    pub fn push(&mut self, calls: &[u16]) {
        let needed = self.order.calls() as u64;
        let mask = u128::MAX >> (128 - CALL_BITS as usize * (self.order.calls() + 1));
        for call in calls {
            self.window = (self.window << CALL_BITS | u128::from(*call)) & mask;
            if self.ends[usize::from(*call)] && self.seen >= needed {
                self.look();
            }
            self.seen += 1;
        }
    }

    fn look(&mut self) {
        let same = |at: &usize| self.wanted[*at] == self.window;
        let Some(at) = self.by_transition.find(hash(self.window), same) else { return };
        let found = &mut self.found[*at];
        let phase = if self.seen < self.initialisation {
            &mut found.initialisation
        } else {
            &mut found.steady
        };
        phase.count += 1;
        if phase.first.len() < self.examples {
            phase.first.push(self.seen);
        }
    }

    /// What was found, in the order of the transitions.
    pub fn finish(self) -> Vec<Occurred> {
        self.found
    }
}
