//! Which transitions make two chains differ, in bits.
//!
//! With q(e) the share of a side's transitions that are e = x→y, and p(e) its smoothed probability
//! of y after x ([`Smoothed`]), transition e contributes
//!
//! - `bits = (q_c − q_r) · log₂(p_c / p_r)`, symmetrical: summed over all transitions, it is the
//!   divergence between candidate and reference per call, KL(c‖r) + KL(r‖c) (H. Jeffreys, 1946).
//!   It is negative where a transition became more probable after its state, but is made less
//!   often since the state is, or the other way round;
//! - `excess = (q_c − q_r) · −log₂ p_r`, signed: summed, it is by how many bits per call the
//!   candidate's cross entropy on the reference's chain exceeds the reference's own.
//!
//! The second can be 0 for programs that differ (more of one improbable call, less of another), so
//! the order is that of the first.

use crate::sum::float;
use crate::{CallsError, Chains, Smoothed, Smoothing, State};

/// One transition on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The state it leaves.
    pub from: State,
    /// The call that leads out of it.
    pub call: u16,
    /// How often the reference made it.
    pub reference: u64,
    /// How often the candidate made it.
    pub candidate: u64,
    /// `p_r`, the smoothed probability on the reference's chain.
    pub reference_probability: f64,
    /// `p_c`, the smoothed probability on the candidate's.
    pub candidate_probability: f64,
    /// Its part of the symmetrical divergence, in bits per call.
    pub bits: f64,
    /// Its part of the excess of the candidate's cross entropy, in bits per call.
    pub excess: f64,
}

/// Every transition that either side made, those that contribute most first (by `bits`, whatever
/// the sign; of equal ones, in ascending order). Nothing if a side made no transition.
///
/// # Errors
///
/// [`CallsError::OrdersDiffer`].
pub fn changes(
    reference: &Chains,
    candidate: &Chains,
    smoothing: Smoothing,
) -> Result<Vec<Change>, CallsError> {
    let (first, second) = (reference.highest(), candidate.highest());
    first.same_order(second)?;
    if first.is_empty() || second.is_empty() {
        return Ok(Vec::new());
    }
    let vocabulary = reference.vocabulary(candidate);
    let on_reference = Smoothed::new(reference, smoothing, vocabulary);
    let on_candidate = Smoothed::new(candidate, smoothing, vocabulary);
    let totals = (float(first.total()), float(second.total()));
    let mut made: Vec<(State, u16)> = [first, second]
        .into_iter()
        .flat_map(|chain| chain.transitions().into_iter().map(|one| (one.from, one.call)))
        .collect();
    made.sort_unstable();
    made.dedup();
    let mut found: Vec<Change> = made
        .into_iter()
        .map(|(from, call)| {
            let (own, other) = (first.count(from, call), second.count(from, call));
            let shift = float(other) / totals.1 - float(own) / totals.0;
            let probability = on_reference.probability(from, call);
            let probability_there = on_candidate.probability(from, call);
            Change {
                from,
                call,
                reference: own,
                candidate: other,
                reference_probability: probability,
                candidate_probability: probability_there,
                bits: shift * (probability_there / probability).log2(),
                excess: -shift * probability.log2(),
            }
        })
        .collect();
    found.sort_by(|one, other| other.bits.abs().total_cmp(&one.bits.abs()));
    Ok(found)
}
