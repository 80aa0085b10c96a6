//! Classes, overlaps, causes and round-trip samples of generated traffic against a twin that keeps
//! every byte and follows the rules word by word: slow, obvious, and with nothing in common with
//! the table but the packets.

mod packets;
mod recorder;

use std::collections::{BTreeMap, BTreeSet};

use packets::{MS, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use recorder::record;
use trustbed_flow::{Cause, Class, RttOutcome};

const MSS: i64 = 1000;

/// What is known of the data of one direction.
#[derive(Debug, Default)]
struct Twin {
    seen: BTreeSet<i64>,
    sacked: BTreeSet<i64>,
    /// Bytes that a later segment jumped over, and when it did.
    jumped: BTreeMap<i64, i64>,
    sent: Vec<Sent>,
    snd_max: i64,
    una: i64,
    window: u16,
    duplicates: u32,
    shortest: Option<i64>,
}

/// A segment, or the part of one that was not sent again with the rest.
#[derive(Debug, Clone, Copy)]
struct Sent {
    start: i64,
    end: i64,
    first: i64,
    count: u32,
    /// Its original was lost before the capture.
    repaired: bool,
}

/// What the twin reports of a packet with payload; the cause is left open where the rules leave it
/// to the order of several retransmissions.
type Verdict = (Class, i64, Option<Cause>);

impl Twin {
    fn data(&mut self, now: i64, start: i64, length: i64) -> Option<Verdict> {
        let end = start + length;
        if length <= 1
            && (start == self.snd_max - 1
                || (self.window == 0 && (start == self.snd_max || start == self.una)))
        {
            return None;
        }
        let overlap = i64::try_from(self.seen.range(start..end).count()).unwrap_or(0);
        let verdict = if start >= self.snd_max {
            (Class::New, 0, Some(Cause::None))
        } else if overlap > 0 {
            (Class::Retransmission, overlap, self.retransmission(start, end))
        } else {
            (Class::Fill, 0, Some(self.fill(now, start, end.min(self.snd_max))))
        };
        self.enter(now, start, end, verdict.2 == Some(Cause::LostUpstream));
        Some(verdict)
    }

    fn retransmission(&self, start: i64, end: i64) -> Option<Cause> {
        let start = start.max(self.una);
        if (start..end).all(|byte| self.sacked.contains(&byte)) {
            return Some(Cause::Spurious);
        }
        // What fills a hole had been sent before, too.
        let first = self.sent.iter().find(|s| s.start <= start && start < s.end);
        let times = first.map_or(0, |s| s.count + u32::from(s.repaired));
        if times > 1 {
            return None;
        }
        let above = i64::try_from(self.sacked.range(end..).count()).unwrap_or(0);
        let fast = (start == self.una && self.duplicates >= 3) || above > 2 * MSS;
        Some(if fast { Cause::Fast } else { Cause::Timeout })
    }

    fn fill(&self, now: i64, start: i64, end: i64) -> Cause {
        let since = self.jumped.range(start..end).next().map_or(i64::MIN / 2, |(_, &since)| since);
        let limit = (3 * MS).max(self.shortest.unwrap_or(0) / 2);
        let above = i64::try_from(self.sacked.range(end..).count()).unwrap_or(0);
        let evidence = (start <= self.una && self.duplicates >= 3) || above > 2 * MSS;
        if now - since < limit && !evidence { Cause::Reordered } else { Cause::LostUpstream }
    }

    fn enter(&mut self, now: i64, start: i64, end: i64, repaired: bool) {
        let mut pieces = Vec::new();
        for old in std::mem::take(&mut self.sent) {
            let (low, high) = (start.max(self.una).max(old.start), end.min(old.end));
            if low >= high {
                pieces.push(old);
                continue;
            }
            pieces.extend((old.start < low).then_some(Sent { end: low, ..old }));
            pieces.push(Sent { start: low, end: high, count: old.count + 1, ..old });
            pieces.extend((high < old.end).then_some(Sent { start: high, ..old }));
        }
        let fresh: Vec<i64> = (start..end).filter(|byte| self.seen.insert(*byte)).collect();
        for run in fresh.chunk_by(|a, b| b - a == 1 && (a < &self.snd_max) == (b < &self.snd_max)) {
            let filled = run[0] < self.snd_max;
            // Bytes of a hole under a retransmission were lost before the capture as well.
            let repaired =
                filled && (repaired || fresh.len() < usize::try_from(end - start).unwrap_or(0));
            pieces.push(Sent {
                start: run[0],
                end: run[run.len() - 1] + 1,
                first: now,
                count: 1,
                repaired,
            });
        }
        self.sent = pieces;
        self.jumped.extend((self.snd_max..start).map(|byte| (byte, now)));
        self.jumped.retain(|byte, _| !(start..end).contains(byte));
        self.snd_max = self.snd_max.max(end);
    }

    /// Takes an acknowledgement; a round-trip sample if it allows one, and whether it is a
    /// duplicate.
    fn acknowledge(
        &mut self,
        now: i64,
        to: i64,
        window: u16,
        blocks: &[(i64, i64)],
    ) -> (Option<i64>, bool) {
        let fresh: Vec<i64> = blocks
            .iter()
            .flat_map(|&(l, r)| l.max(self.una.max(to))..r)
            .filter(|b| self.sacked.insert(*b))
            .collect();
        let changed = std::mem::replace(&mut self.window, window) != window;
        if to < self.una {
            return (None, false);
        }
        if to == self.una {
            let duplicate = self.snd_max > self.una && (!changed || !fresh.is_empty());
            self.duplicates += u32::from(duplicate);
            return (None, duplicate);
        }
        let whole = (self.una..to).all(|byte| self.seen.contains(&byte));
        let covered: Vec<&Sent> =
            self.sent.iter().filter(|s| s.start < to && self.una < s.end).collect();
        let clean = covered.iter().all(|s| s.count == 1 && !s.repaired);
        let last = self.sent.iter().find(|s| s.start < to && to <= s.end);
        let sample = last
            .filter(|s| whole && clean && (to == s.end || (to - s.start) % MSS == 0))
            .map(|s| now - s.first);
        (self.una, self.duplicates) = (to, 0);
        self.sacked.retain(|&byte| byte >= to);
        self.shortest = [self.shortest, sample].into_iter().flatten().min();
        (sample, false)
    }

    /// A byte at which something begins or ends.
    fn edge(&self, at: Index) -> i64 {
        let edges: Vec<i64> = self
            .sent
            .iter()
            .flat_map(|s| [s.start, s.end])
            .filter(|&edge| edge >= self.una)
            .collect();
        if edges.is_empty() { self.una } else { edges[at.index(edges.len())] }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Next { length: u32 },
    Jump { over: i64, length: u32 },
    Again { from: Index, shift: i64, length: u32 },
    Acknowledge { to: Index, inside: i64, window: u16, blocks: Vec<(Index, Index)> },
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![8 => Just(1000_u32), 2 => Just(3000), 2 => 1_u32..1200, 1 => Just(1)];
    let window = prop_oneof![8 => Just(60_000_u16), 1 => Just(0), 1 => Just(50_000)];
    let shift = prop_oneof![5 => Just(0_i64), 1 => -600_i64..600];
    let inside = prop_oneof![6 => Just(0_i64), 1 => -900_i64..900];
    prop_oneof![
        6 => length.clone().prop_map(|length| Step::Next { length }),
        1 => (1_i64..3000, length.clone()).prop_map(|(over, length)| Step::Jump { over, length }),
        4 => (any::<Index>(), shift, length)
            .prop_map(|(from, shift, length)| Step::Again { from, shift, length }),
        6 => (any::<Index>(), inside, window, vec((any::<Index>(), any::<Index>()), 0..3))
            .prop_map(|(to, inside, window, blocks)| {
                Step::Acknowledge { to, inside, window, blocks }
            }),
    ]
}

/// The SACK blocks above `to` between edges, without what would read as a DSACK.
fn blocks_of(twin: &Twin, to: i64, chosen: &[(Index, Index)]) -> Vec<(i64, i64)> {
    let mut blocks: Vec<(i64, i64)> = Vec::new();
    for (a, b) in chosen {
        let (a, b) = (twin.edge(*a), twin.edge(*b));
        let (low, high) = (a.min(b), a.max(b));
        if low > to.max(twin.una) && low < high && blocks.iter().all(|&(l, r)| high < l || r < low)
        {
            blocks.push((low, high));
        }
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_table_agrees_with_the_twin(
        steps in vec((step(), prop_oneof![3 => 1_i64..500, 1 => 500_i64..20_000]), 1..60),
    ) {
        let mut trace = Trace::open();
        let mut twin = Twin { window: 60_000, ..Twin::default() };
        let mut now = 20 * MS;
        let (mut verdicts, mut answers) = (Vec::new(), Vec::new());
        for (step, passed) in steps {
            now += passed;
            let (start, length) = match step {
                Step::Next { length } => (twin.snd_max, length),
                Step::Jump { over, length } => (twin.snd_max + over, length),
                Step::Again { from, shift, length } => ((twin.edge(from) + shift).max(0), length),
                Step::Acknowledge { to, inside, window, blocks } => {
                    let to = (twin.edge(to) + inside).clamp(0, twin.snd_max);
                    let blocks = blocks_of(&twin, to, &blocks);
                    let made = trace.ends.server(now).ack(to).window(window);
                    trace.push(if blocks.is_empty() { made } else { made.sack(&blocks) });
                    let answer = twin.acknowledge(now, to, window, &blocks);
                    // The observer hears of acknowledgements once there are data.
                    answers.extend((!verdicts.is_empty()).then_some(answer));
                    continue;
                }
            };
            trace.sends(now, start, length);
            verdicts.extend(twin.data(now, start, i64::from(length)));
        }
        let seen = record(&trace.batch());
        let data = seen.data(0);
        prop_assert_eq!(data.len(), verdicts.len());
        for (n, (segment, (class, overlap, cause))) in data.iter().zip(verdicts).enumerate() {
            prop_assert_eq!(
                (segment.class, i64::from(segment.overlap)),
                (class, overlap),
                "data packet {}",
                n
            );
            let found =
                if segment.cause == Cause::TailLossProbe { Cause::Timeout } else { segment.cause };
            prop_assert!(
                cause.is_none_or(|cause| cause == found),
                "data packet {}: {:?}, the twin says {:?}",
                n,
                found,
                cause
            );
        }
        let acks = seen.acks(0);
        prop_assert_eq!(acks.len(), answers.len());
        for (n, (ack, (sample, duplicate))) in acks.iter().zip(answers).enumerate() {
            let found = match ack.rtt {
                RttOutcome::Sample { rtt, .. } => Some(rtt.0 / 1_000),
                _ => None,
            };
            prop_assert_eq!(
                (found, ack.duplicate),
                (sample, duplicate),
                "acknowledgement {}: {:?}",
                n,
                ack
            );
        }
        let stream = seen.client();
        prop_assert_eq!((stream.snd_max, stream.una), (twin.snd_max, twin.una));
        prop_assert_eq!(stream.counters.unique, twin.seen.len() as u64);
        prop_assert_eq!(
            stream.counters.unique + stream.counters.retransmitted_bytes,
            stream.counters.payload
        );
    }
}
