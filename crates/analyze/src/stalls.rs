//! What several transfers of one host show together: that the host stalled.
//!
//! A stall is a maximal interval of at least two seconds in which at least 80 % of the transfers
//! active at its beginning (at least two) send no new data although each had work. A transfer is
//! active when it sent new data in the second before. Whether a single transfer's silence is its
//! host's cannot be distinguished here: that is an outage of the transfer.

use trustbed_units::{Ns, Span};

use crate::transfer_row::Trail;
use crate::{Pause, TransferId};

/// A host stalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStall {
    /// The host.
    pub host: [u8; 16],
    /// When it began.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// The transfers that stalled.
    pub transfers: Vec<TransferId>,
    /// Transfers active when it began.
    pub active: usize,
}

const SHORTEST: Span = Span::from_secs(2);
const ACTIVE: Span = Span::from_secs(1);

/// Finds the stalls of every host. `trails` in any order; the result is ordered by host and time.
pub fn host_stalls(trails: &[Trail]) -> Vec<HostStall> {
    let mut by_host: Vec<&Trail> = trails.iter().collect();
    by_host.sort_by_key(|t| (t.host, t.transfer));
    by_host
        .chunk_by(|a, b| a.host == b.host)
        .filter(|trails| trails.len() >= 2)
        .flat_map(stalls_of)
        .collect()
}

fn stalls_of(trails: &[&Trail]) -> Vec<HostStall> {
    let mut starts: Vec<Ns> = trails
        .iter()
        .flat_map(|t| t.silences.iter().filter(|s| s.pending).map(|s| s.from))
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let mut stalls: Vec<HostStall> = Vec::new();
    for from in starts {
        if stalls.last().is_some_and(|s| from < s.to) {
            continue;
        }
        let active: Vec<&&Trail> = trails.iter().filter(|t| is_active(t, from)).collect();
        if active.len() < 2 {
            continue;
        }
        let mut ends: Vec<(Ns, TransferId)> = active
            .iter()
            .filter_map(|t| {
                t.silences
                    .iter()
                    .find(|s| s.pending && s.from <= from && from < s.to)
                    .map(|s| (s.to, t.transfer))
            })
            .collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        let needed = (active.len() * 4).div_ceil(5);
        if let Some(&(to, _)) = ends.get(needed - 1)
            && to - from >= SHORTEST
        {
            let covers = |t: &Trail| {
                t.silences.iter().any(|s| s.pending && s.to.min(to) - s.from.max(from) >= SHORTEST)
            };
            let transfers = active.iter().filter(|t| covers(t)).map(|t| t.transfer).collect();
            stalls.push(HostStall {
                host: trails[0].host,
                from,
                to,
                transfers,
                active: active.len(),
            });
        }
    }
    stalls
}

/// Whether the transfer sent new data in the second before `at` (inclusive) and was not over.
fn is_active(trail: &Trail, at: Ns) -> bool {
    let within = trail.first <= at && at <= trail.last + ACTIVE;
    within && !trail.silences.iter().any(|s| s.from + ACTIVE < at && at < s.to)
}

/// Share of a transfer's long pauses during which every other active transfer of its host was
/// silent too, per transfer that has both pauses and company. Ordered by transfer.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds as floats")]
pub fn host_overlap(trails: &[Trail]) -> Vec<(TransferId, f64)> {
    let mut by_host: Vec<&Trail> = trails.iter().collect();
    by_host.sort_by_key(|t| (t.host, t.transfer));
    let mut overlaps = Vec::new();
    for group in
        by_host.chunk_by(|a, b| a.host == b.host).filter(|g| (2..=MOST_TOGETHER).contains(&g.len()))
    {
        for trail in group {
            let Some(base) = trail.rtt_base else { continue };
            let long: Vec<&Pause> = trail.pauses.iter().filter(|p| p.to - p.from > base).collect();
            let others: Vec<&&Trail> = group
                .iter()
                .filter(|t| {
                    t.transfer != trail.transfer && t.first < trail.last && trail.first < t.last
                })
                .collect();
            let whole: i64 = long.iter().map(|p| (p.to - p.from).0).sum();
            if whole > 0 && !others.is_empty() {
                let shared: i64 = long.iter().map(|p| all_silent(p, &others).0).sum();
                overlaps.push((trail.transfer, shared as f64 / whole as f64));
            }
        }
    }
    overlaps.sort_by_key(|(id, _)| *id);
    overlaps
}

/// Hosts with more judged transfers than this are not compared pair by pair.
const MOST_TOGETHER: usize = 256;

/// How much of `pause` every other transfer spent silent, or was not active in.
fn all_silent(pause: &Pause, others: &[&&Trail]) -> Span {
    let mut pieces = vec![(pause.from, pause.to)];
    for other in others {
        let mut quiet = vec![(Ns::MIN, other.first)];
        quiet.extend(other.pauses.iter().map(|p| (p.from, p.to)));
        quiet.push((other.last, Ns::MAX));
        pieces = pieces
            .iter()
            .flat_map(|&(from, to)| {
                quiet.iter().map(move |&(a, b)| (from.max(a), to.min(b))).filter(|(a, b)| a < b)
            })
            .collect();
    }
    Span(pieces.iter().map(|(from, to)| (*to - *from).0).sum())
}
