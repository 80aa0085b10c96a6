//! How alike two chains are as graphs: edges that only one has, and weights that differ.

use std::collections::BTreeMap;

use crate::sum::{Sum, float};
use crate::{CallsError, Chain, State};

/// A chain without its rare transitions, for drawing and topology. Walks never use it: a rare
/// transition is still one that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    nodes: BTreeMap<State, BTreeMap<u16, f64>>,
}

impl Pruned {
    /// Drops transitions whose weight is below `least` and scales what each state keeps to 1.
    /// A state that would lose all keeps its heaviest (of equal ones, that of the highest number).
    pub fn of(chain: &Chain, least: f64) -> Self {
        let mut nodes: BTreeMap<State, BTreeMap<u16, f64>> = BTreeMap::new();
        for one in chain.transitions() {
            nodes.entry(one.from).or_default().insert(one.call, one.weight);
        }
        for weights in nodes.values_mut() {
            let heaviest =
                weights.iter().max_by(|one, other| one.1.total_cmp(other.1)).map(|(call, _)| *call);
            if weights.values().any(|weight| *weight >= least) {
                weights.retain(|_, weight| *weight >= least);
            } else {
                weights.retain(|call, _| Some(*call) == heaviest);
            }
            let kept = weights.values().copied().collect::<Sum>().value();
            for weight in weights.values_mut() {
                *weight /= kept;
            }
        }
        Self { nodes }
    }

    /// The weight of a transition that was kept.
    pub fn weight(&self, state: State, call: u16) -> Option<f64> {
        self.nodes.get(&state)?.get(&call).copied()
    }

    /// State, call and weight of every transition, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (State, u16, f64)> {
        self.nodes.iter().flat_map(|(state, weights)| {
            weights.iter().map(|(call, weight)| (*state, *call, *weight))
        })
    }
}

/// Distances between a reference and a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Topology {
    /// |E₁ △ E₂| / |E₁ ∪ E₂| of the sets of edges; `None` if neither has one.
    pub jaccard_distance: Option<f64>,
    /// Mean of |w₁ − w₂| over the edges that both have; `None` if there is none.
    pub weight_gap: Option<f64>,
    /// `Σₓ π(x)·½·Σ_y |w₁ − w₂|`, with π the share of the reference's transitions that leave x.
    /// A state that the candidate lacks counts with w₂ = 0, hence with half of its π. `None` if
    /// the reference has no transition.
    pub total_variation: Option<f64>,
}

impl Topology {
    /// Compares two chains, both without the transitions whose weight is below `least`.
    ///
    /// # Errors
    ///
    /// [`CallsError::OrdersDiffer`].
    pub fn between(reference: &Chain, candidate: &Chain, least: f64) -> Result<Self, CallsError> {
        reference.same_order(candidate)?;
        let (first, second) = (Pruned::of(reference, least), Pruned::of(candidate, least));
        let gaps: Vec<f64> = first
            .edges()
            .filter_map(|(state, call, weight)| {
                second.weight(state, call).map(|other| (weight - other).abs())
            })
            .collect();
        let common = gaps.len() as u64;
        let all = first.edges().count() as u64 + second.edges().count() as u64 - common;
        let gap = gaps.into_iter().collect::<Sum>().value();
        Ok(Self {
            jaccard_distance: ratio(float(all - common), all),
            weight_gap: ratio(gap, common),
            total_variation: total_variation(reference, &first, &second),
        })
    }
}

fn ratio(value: f64, of: u64) -> Option<f64> {
    (of > 0).then(|| value / float(of))
}

fn total_variation(reference: &Chain, first: &Pruned, second: &Pruned) -> Option<f64> {
    let empty = BTreeMap::new();
    let varied: Sum = first
        .nodes
        .iter()
        .map(|(state, weights)| {
            let others = second.nodes.get(state).unwrap_or(&empty);
            let kept = weights
                .iter()
                .map(|(call, weight)| (weight - others.get(call).copied().unwrap_or(0.0)).abs());
            let new = others.iter().filter(|(call, _)| !weights.contains_key(*call));
            let distance: Sum = kept.chain(new.map(|(_, weight)| *weight)).collect();
            float(reference.visits(*state)) * 0.5 * distance.value()
        })
        .collect();
    ratio(varied.value(), reference.total())
}
