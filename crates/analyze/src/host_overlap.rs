//! How much of a transfer's silence the other transfers of its host shared.
//!
//! One sweep over the edges of all silences of a host finds when everything was silent; the pauses
//! of a transfer are looked up in that.

use trustbed_units::{Ns, Span};

use crate::TransferId;
use crate::transfer_row::Trail;

/// Hosts with more judged transfers than this are not compared: of so many, one always sends.
const MOST_TOGETHER: usize = 256;

/// Share of a transfer's long pauses during which every other active transfer of its host was
/// silent too, per transfer that has both pauses and company. Ordered by transfer.
pub fn host_overlap(trails: &[Trail]) -> Vec<(TransferId, f64)> {
    let mut by_host: Vec<&Trail> = trails.iter().collect();
    by_host.sort_by_key(|t| (t.host, t.transfer));
    let mut overlaps = Vec::new();
    for group in
        by_host.chunk_by(|a, b| a.host == b.host).filter(|g| (2..=MOST_TOGETHER).contains(&g.len()))
    {
        let silent = AllSilent::of(group);
        for trail in group {
            let Some(base) = trail.rtt_base else { continue };
            let long = || trail.pauses.iter().filter(|p| p.to - p.from > base);
            let whole = long().fold(Span::ZERO, |sum, p| sum + (p.to - p.from));
            let has_company = group.iter().any(|t| {
                t.transfer != trail.transfer && t.first < trail.last && trail.first < t.last
            });
            if whole > Span::ZERO && has_company {
                let shared = long().fold(Span::ZERO, |sum, p| sum + silent.within(p.from, p.to));
                overlaps.push((trail.transfer, shared.as_f64() / whole.as_f64()));
            }
        }
    }
    overlaps.sort_by_key(|(id, _)| *id);
    overlaps
}

/// When every transfer of a host was in a pause, had not begun or was over, from the beginning of
/// the first one on.
struct AllSilent {
    /// Disjoint and in order, each with the silent time of all before it.
    pieces: Vec<(Ns, Ns, Span)>,
}

impl AllSilent {
    fn of(group: &[&Trail]) -> Self {
        // A transfer sends between its silences: +1 where it begins to, −1 where it pauses.
        let mut edges: Vec<(Ns, i32)> = Vec::new();
        for trail in group {
            let mut silences: Vec<(Ns, Ns)> = trail.pauses.iter().map(|p| (p.from, p.to)).collect();
            silences.push((trail.last.max(trail.first), Ns::MAX));
            silences.sort_unstable();
            let mut sends_from = trail.first;
            for (from, to) in silences {
                if from > sends_from {
                    edges.extend([(sends_from, 1), (from, -1)]);
                }
                sends_from = sends_from.max(to);
            }
        }
        edges.sort_unstable();
        let mut pieces = Vec::new();
        let mut since = group.iter().map(|trail| trail.first).min().unwrap_or(Ns::MAX);
        let (mut sending, mut before) = (0, Span::ZERO);
        for (at, change) in edges {
            if sending == 0 && at > since {
                pieces.push((since, at, before));
                before += at - since;
            }
            sending += change;
            since = at;
        }
        pieces.push((since, Ns::MAX, before));
        Self { pieces }
    }

    /// The silent time from `from` to `to`.
    fn within(&self, from: Ns, to: Ns) -> Span {
        self.before(to) - self.before(from)
    }

    /// The silent time before `at`.
    fn before(&self, at: Ns) -> Span {
        let next = self.pieces.partition_point(|&(from, ..)| from < at);
        let last = next.checked_sub(1).and_then(|n| self.pieces.get(n));
        last.map_or(Span::ZERO, |&(from, to, before)| before + (at.min(to) - from))
    }
}
