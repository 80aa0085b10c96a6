//! Smoothed probabilities: no transition is impossible, and higher orders back off to lower ones.

use crate::sum::{Sum, float};
use crate::{CallsError, Chain, Chains, State};

/// How much probability goes to transitions that were not, or seldom, counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    additive: f64,
    backoff: f64,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self { additive: 0.01, backoff: 1.0 }
    }
}

impl Smoothing {
    /// `additive` is added to every count of order 1, `backoff` is the weight, in transitions, of
    /// the next lower order in every higher one.
    ///
    /// # Errors
    ///
    /// [`CallsError::Smoothing`] unless both are finite and above 0.
    pub fn new(additive: f64, backoff: f64) -> Result<Self, CallsError> {
        if [additive, backoff].iter().all(|one| one.is_finite() && *one > 0.0) {
            Ok(Self { additive, backoff })
        } else {
            Err(CallsError::Smoothing { additive, backoff })
        }
    }
}

/// Chains with smoothing over a vocabulary.
///
/// Order 1: p₁(y|x) = (c(x→y) + a) / (c(x) + a·|V|). Order n: pₙ = (c + b·pₙ₋₁) / (c(x) + b), where
/// pₙ₋₁ knows the last n − 1 calls of x. With |V| calls, the probabilities from a state sum to 1.
#[derive(Debug, Clone, Copy)]
pub struct Smoothed<'a> {
    chains: &'a Chains,
    smoothing: Smoothing,
    vocabulary: f64,
}

impl<'a> Smoothed<'a> {
    /// `vocabulary` is |V|, the number of different calls that can follow: those of both sides that
    /// are compared ([`Chains::vocabulary`]).
    pub const fn new(chains: &'a Chains, smoothing: Smoothing, vocabulary: usize) -> Self {
        Self { chains, smoothing, vocabulary: float(vocabulary as u64) }
    }

    /// The probability that `call` follows `state`, which is one of the highest order.
    pub fn probability(&self, state: State, call: u16) -> f64 {
        let Smoothing { additive, backoff } = self.smoothing;
        let counts = |chain: &Chain| {
            let state = state.suffix(chain.order());
            (float(chain.count(state, call)), float(chain.visits(state)))
        };
        let mut chains = self.chains.by_order().iter();
        let (count, visits) = chains.next().map_or((0.0, 0.0), counts);
        let first = (count + additive) / (visits + additive * self.vocabulary);
        chains
            .map(counts)
            .fold(first, |lower, (count, visits)| (count + backoff * lower) / (visits + backoff))
    }

    /// Cross entropy of what other chains counted, in bits per transition; `None` if they counted
    /// no transition.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`].
    pub fn bits(&self, of: &Chains) -> Result<Option<f64>, CallsError> {
        let counted = of.highest();
        self.chains.highest().same_order(counted)?;
        let bits: Sum = counted
            .transitions()
            .iter()
            .map(|one| -float(one.count) * self.probability(one.from, one.call).log2())
            .collect();
        Ok((!counted.is_empty()).then(|| bits.value() / float(counted.total())))
    }
}
