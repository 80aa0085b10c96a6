//! When which pipe has something to give, and when something can be due behind the last pipe.
//!
//! What comes out of a pipe in the middle cannot be due before it has crossed the pipes that
//! follow, so no wake-up is needed for it: that much later is early enough. Pipes that are followed
//! by the same least delay share a lane; so the next step and the next moment at which something
//! can be due are both found by looking at the heads of a few lanes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trustbed_units::{Ns, Span};

/// More different delays than this are rounded down to some of them.
const MOST_LANES: usize = 8;
/// Entries of a lane that may mean nothing, besides one for each of its pipes.
const MOST_VOID: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Agenda {
    lanes: Vec<Lane>,
    /// By pipe.
    lane_of: Vec<usize>,
    /// By pipe: the moment of its valid entry. An entry with another moment means nothing.
    scheduled: Vec<Option<Ns>>,
}

#[derive(Debug, Clone)]
struct Lane {
    ahead: Span,
    entries: BinaryHeap<Reverse<(Ns, u32)>>,
    /// With more entries than this, those that mean nothing are thrown away: twice as many as
    /// pipes, and a few.
    most: usize,
}

impl Agenda {
    /// For pipes that are followed by at least these delays.
    pub(crate) fn new(ahead: &[Span]) -> Self {
        let mut delays = ahead.to_vec();
        delays.sort_unstable();
        delays.dedup();
        let stride = delays.len().div_ceil(MOST_LANES).max(1);
        let lane = |&ahead| Lane { ahead, entries: BinaryHeap::new(), most: MOST_VOID };
        let mut lanes: Vec<Lane> = delays.iter().step_by(stride).map(lane).collect();
        let lane_of: Vec<usize> = ahead
            .iter()
            .map(|ahead| lanes.partition_point(|lane| lane.ahead <= *ahead) - 1)
            .collect();
        for &lane in &lane_of {
            lanes[lane].most += 2;
        }
        Self { lanes, lane_of, scheduled: vec![None; ahead.len()] }
    }

    /// A pipe has something to give at this moment; a later entry is withdrawn.
    #[inline]
    pub(crate) fn schedule(&mut self, pipe: u32, moment: Ns) {
        let scheduled = &mut self.scheduled[pipe as usize];
        if scheduled.is_none_or(|scheduled| moment < scheduled) {
            *scheduled = Some(moment);
            let lane = &mut self.lanes[self.lane_of[pipe as usize]];
            lane.entries.push(Reverse((moment, pipe)));
            if lane.entries.len() > lane.most {
                self.forget(pipe);
            }
        }
    }

    /// Throws away what means nothing, in the lane of a pipe. A pipe that holds something for long
    /// leaves an entry behind for everything that it lets through meanwhile.
    #[cold]
    fn forget(&mut self, pipe: u32) {
        let lane = &mut self.lanes[self.lane_of[pipe as usize]];
        let valid = |Reverse((moment, pipe)): &Reverse<(Ns, u32)>| {
            self.scheduled[*pipe as usize] == Some(*moment)
        };
        let mut entries: Vec<_> =
            std::mem::take(&mut lane.entries).into_iter().filter(valid).collect();
        // The same moment may be there several times.
        entries.sort_unstable();
        entries.dedup();
        lane.entries = entries.into();
    }

    /// Up to when this pipe, whose turn it is, may give before it is another one's turn; can be too
    /// early, never too late. At the same moment pipes take turns in the order of their numbers, so
    /// that it does not matter how far they advance at once.
    #[inline]
    pub(crate) fn turn_ends(&self, pipe: u32) -> Option<Ns> {
        let next = self
            .lanes
            .iter()
            .filter_map(|lane| lane.entries.peek())
            .map(|Reverse(entry)| *entry)
            .min();
        next.map(|(moment, other)| if other < pipe { moment - Span(1) } else { moment })
    }

    /// The pipe that has something to give next, up to `now`; it must be scheduled again.
    #[inline]
    pub(crate) fn take(&mut self, now: Ns) -> Option<u32> {
        loop {
            let lane = self
                .lanes
                .iter_mut()
                .filter(|lane| !lane.entries.is_empty())
                .max_by(|one, other| one.entries.peek().cmp(&other.entries.peek()))?;
            let &Reverse((moment, pipe)) = lane.entries.peek()?;
            if moment > now {
                return None;
            }
            lane.entries.pop();
            let scheduled = &mut self.scheduled[pipe as usize];
            if *scheduled == Some(moment) {
                *scheduled = None;
                return Some(pipe);
            }
        }
    }

    /// The next moment at which something can be due behind its last pipe; can be too early, never
    /// too late.
    pub(crate) fn next_due(&self) -> Option<Ns> {
        self.lanes
            .iter()
            .filter_map(|lane| lane.entries.peek().map(|Reverse((moment, _))| *moment + lane.ahead))
            .min()
    }

    pub(crate) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.entries.clear());
        self.scheduled.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::Agenda;
    use proptest::prelude::*;
    use trustbed_units::{Ns, Span};

    #[test]
    fn what_means_nothing_any_more_is_forgotten() {
        // A pipe that holds something for long, and lets others through meanwhile.
        let mut agenda = Agenda::new(&[Span(0), Span(7)]);
        for moment in 0..100_000 {
            agenda.schedule(1, Ns(1_000_000));
            agenda.schedule(1, Ns(moment));
            assert_eq!(agenda.take(Ns(moment)), Some(1));
        }
        let kept: usize = agenda.lanes.iter().map(|lane| lane.entries.len()).sum();
        assert!(kept < 200, "{kept} entries");
        agenda.schedule(1, Ns(1_000_000));
        assert_eq!(agenda.take(Ns(1_000_000)), Some(1));
        assert_eq!(agenda.take(Ns(2_000_000)), None);
    }

    proptest! {

        #[test]
        fn pipes_come_in_order_of_their_moments(
            ahead in prop::collection::vec(0..30_i64, 1..40),
            steps in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..100_i64, any::<bool>()),
                1..100,
            ),
        ) {
            let spans: Vec<_> = ahead.iter().map(|ahead| Span(*ahead)).collect();
            let mut agenda = Agenda::new(&spans);
            let mut plain: Vec<Option<i64>> = vec![None; ahead.len()];
            for (pipe, moment, take) in steps {
                if take {
                    let waiting = plain
                        .iter()
                        .enumerate()
                        .filter_map(|(pipe, moment)| moment.map(|moment| (moment, pipe)));
                    let expected = waiting.min().filter(|(first, _)| *first <= moment);
                    let due = plain
                        .iter()
                        .zip(&ahead)
                        .filter_map(|(moment, ahead)| moment.map(|moment| moment + ahead))
                        .min();
                    prop_assert!(
                        agenda.next_due().zip(due).is_none_or(|(found, due)| found.0 <= due)
                    );
                    let last = u32::try_from(ahead.len()).unwrap();
                    prop_assert!(
                        agenda
                            .next_due()
                            .is_none_or(|found| found > agenda.turn_ends(last).unwrap())
                    );
                    prop_assert_eq!(
                        agenda.take(Ns(moment)).map(|pipe| pipe as usize),
                        expected.map(|(_, pipe)| pipe)
                    );
                    if let Some((_, pipe)) = expected {
                        plain[pipe] = None;
                    }
                } else {
                    let pipe = pipe.index(ahead.len());
                    agenda.schedule(u32::try_from(pipe).unwrap(), Ns(moment));
                    plain[pipe] = Some(plain[pipe].map_or(moment, |known| known.min(moment)));
                }
            }
        }
    }
}
