//! Which pipes a packet crosses from one end of the network to another: fewest pipes, then least
//! delay, then the pipe described first.
//!
//! An end is a host, or the router of hosts with access pipes. Routers pass packets on, hosts do
//! not. Paths never change while a network runs, and do not look at rates: a short path over a slow
//! pipe beats a long one over fast ones.

use std::sync::Arc;

use crate::{EmulateError, LinkDescription};

/// As many ends as paths are kept for: a million pairs.
pub(crate) const MOST_ENDS: usize = 1024;

/// One direction between two points of the graph.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) delay: u64,
}

/// A stretch of the list of all steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stretch {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The paths between all ends.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    ends: usize,
    /// From end to end, row by row.
    stretches: Vec<Stretch>,
    /// Numbers of pipes.
    steps: Vec<u32>,
}

/// How a point is reached best.
#[derive(Debug, Clone, Copy)]
struct Reached {
    pipes: u32,
    delay: u64,
    over: usize,
}

impl Paths {
    /// Paths between `ends`, which are points of the graph; points from `routers` on pass packets
    /// on. The error is a pair of ends without a path.
    pub(crate) fn new(
        points: usize,
        routers: usize,
        edges: &[Edge],
        ends: &[usize],
    ) -> Result<Self, (usize, usize)> {
        let mut paths = Self {
            ends: ends.len(),
            stretches: Vec::with_capacity(ends.len() * ends.len()),
            steps: Vec::new(),
        };
        for (row, &from) in ends.iter().enumerate() {
            let tree = tree(points, routers, edges, from);
            for (column, &to) in ends.iter().enumerate() {
                let mut steps = Vec::new();
                let mut point = to;
                while point != from {
                    let reached = tree[point].ok_or((row, column))?;
                    steps.push(reached.over);
                    point = edges[reached.over].from;
                }
                steps.reverse();
                let stretch = paths.keep(&steps);
                paths.stretches.push(stretch);
            }
        }
        Ok(paths)
    }

    /// Keeps one more path.
    pub(crate) fn keep(&mut self, pipes: &[usize]) -> Stretch {
        let first = number(self.steps.len());
        self.steps.extend(pipes.iter().map(|&pipe| number(pipe)));
        Stretch { first, count: number(pipes.len()) }
    }

    #[inline]
    pub(crate) fn between(&self, from: usize, to: usize) -> Stretch {
        self.stretches[from * self.ends + to]
    }

    #[inline]
    pub(crate) fn step(&self, at: u32) -> u32 {
        self.steps[at as usize]
    }

    pub(crate) fn steps(&self, stretch: Stretch) -> &[u32] {
        &self.steps[stretch.first as usize..][..stretch.count as usize]
    }
}

/// The best paths from a point to all others, layer by layer.
fn tree(points: usize, routers: usize, edges: &[Edge], from: usize) -> Vec<Option<Reached>> {
    let mut tree: Vec<Option<Reached>> = vec![None; points];
    tree[from] = Some(Reached { pipes: 0, delay: 0, over: usize::MAX });
    for layer in 0.. {
        let mut grown = false;
        for (over, edge) in edges.iter().enumerate() {
            let Some(near) = tree[edge.from].filter(|near| near.pipes == layer) else { continue };
            if edge.from != from && edge.from < routers {
                continue;
            }
            let reached =
                Reached { pipes: layer + 1, delay: near.delay.saturating_add(edge.delay), over };
            if tree[edge.to]
                .is_none_or(|known| (reached.pipes, reached.delay) < (known.pipes, known.delay))
            {
                tree[edge.to] = Some(reached);
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    tree
}

/// The points that can be reached from one.
pub(crate) fn reached(points: usize, routers: usize, edges: &[Edge], from: usize) -> Vec<usize> {
    let tree = tree(points, routers, edges, from);
    (0..points).filter(|&point| point != from && tree[point].is_some()).collect()
}

/// What a pipe's delay is worth when paths are compared: the described one, the first of one that
/// changes, or the mean of the recorded ones.
pub(crate) fn delay(link: &Arc<LinkDescription>) -> u64 {
    let mean = |delays: &[u64]| {
        let sum: u128 = delays.iter().map(|&delay| u128::from(delay)).sum();
        sum.checked_div(delays.len() as u128).and_then(|mean| u64::try_from(mean).ok())
    };
    let recorded = || link.delay_recorded.as_ref().and_then(|recorded| mean(&recorded.delays_ns));
    let first = || {
        link.delay_steps
            .as_ref()
            .and_then(|described| described.steps.first())
            .map(|step| step.delay_ns)
    };
    link.delay_ns.or_else(recorded).or_else(first).unwrap_or(0)
}

/// Numbers of pipes and steps stay far below 2³²: a million pairs of ends with a thousand pipes
/// each would.
#[expect(clippy::cast_possible_truncation, reason = "see above")]
pub(crate) const fn number(number: usize) -> u32 {
    number as u32
}

impl EmulateError {
    /// Why there is no path between two hosts.
    pub(crate) fn no_path(from: &str, to: &str, reached: &[&str]) -> Self {
        let missing = if reached.is_empty() {
            format!("no pipe leaves {from:?}")
        } else if reached.len() > 8 {
            format!(
                "none of the {} points that are reached from {from:?} has a pipe to it",
                reached.len()
            )
        } else {
            format!(
                "from {from:?} only {} can be reached (hosts do not pass packets on)",
                reached.join(", ")
            )
        };
        Self::NoPath { from: from.to_owned(), to: to.to_owned(), missing }
    }
}
