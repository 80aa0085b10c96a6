//! Driver counters of the namespace's interfaces (`ethtool -S`), with those by which a cloud
//! reports packets that it delayed or dropped.
//!
//! Some drivers query their card, which takes milliseconds: a card is read again after a hundred
//! times as long as its last answer took, so that reading costs at most 1 % of a processor. Its
//! intervals are its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::{Unavailable, grown, or_note};
use crate::sys::clock;
use crate::sys::ethtool::Card;

/// A card may take this part of the time.
const PART: i64 = 100;
/// Counters of a card in a line.
const MOST: usize = 200;
/// What the counters of a cloud's allowances have in their names; they are reported where they did
/// not grow, too.
const ALLOWANCE: &str = "allowance_exceeded";

/// A driver's counters in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Counted {
    name: String,
    interval_ns: i64,
    /// Those that grew.
    counters: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

type Counters = BTreeMap<String, u64>;

/// A card, its counters at the last reading, and how long that took.
#[derive(Debug)]
struct Watched {
    card: Card,
    requested: Ns,
    took: Span,
    counters: Counters,
}

/// The cards, by the names of their interfaces. Those without counters are among them, so that they
/// are asked once.
#[derive(Debug, Default)]
pub(super) struct Watch(BTreeMap<String, Watched>);

impl Watch {
    /// Differences from the last reading of a card; an interface that is new is reported from its
    /// next interval on.
    pub(super) fn look(&mut self, unavailable: &mut Vec<Unavailable>) -> Vec<Counted> {
        let names = or_note(names(), "drivers", unavailable).unwrap_or_default();
        self.0.retain(|name, _| names.contains(name));
        names
            .into_iter()
            .filter_map(|name| {
                or_note(self.one(&name), &format!("ethtool -S {name}"), unavailable).flatten()
            })
            .collect()
    }

    fn one(&mut self, name: &str) -> io::Result<Option<Counted>> {
        let began = clock::monotonic();
        let Some(watched) = self.0.get_mut(name) else {
            let card = Card::of(name)?;
            // One that fails now is not queried again.
            let (counters, failure) = match card.counters() {
                Ok(found) => (found.into_iter().collect(), None),
                Err(error) => (Counters::new(), Some(error)),
            };
            self.0.insert(
                name.to_owned(),
                Watched { card, requested: began, took: clock::monotonic() - began, counters },
            );
            return failure.map_or(Ok(None), Err);
        };
        let interval = began - watched.requested;
        if watched.counters.is_empty() || interval.0 < watched.took.0.saturating_mul(PART) {
            return Ok(None);
        }
        let now: Counters = watched.card.counters()?.into_iter().collect();
        let (counters, left_out) = since(&watched.counters, &now);
        (watched.requested, watched.took, watched.counters) =
            (began, clock::monotonic() - began, now);
        Ok(Some(Counted { name: name.to_owned(), interval_ns: interval.0, counters, left_out }))
    }
}

/// The interfaces of the namespace.
fn names() -> io::Result<Vec<String>> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim().to_owned())
        .collect())
}

/// Counters that grew, and how many of them do not fit into a line.
fn since(before: &Counters, now: &Counters) -> (Counters, usize) {
    let more = now.iter().filter_map(|(name, now)| Some((name, grown(*before.get(name)?, *now))));
    let mut all: Vec<(&String, u64)> =
        more.filter(|(name, more)| *more > 0 || name.contains(ALLOWANCE)).collect();
    // The cloud's counters are always included.
    all.sort_by_key(|(name, _)| !name.contains(ALLOWANCE));
    let left_out = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    (all.into_iter().map(|(name, more)| (name.clone(), more)).collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(of: &[(&str, u64)]) -> Counters {
        of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn changed_counters_are_reported_and_those_of_cloud_limits_always() {
        let before = counters(&[
            ("pps_allowance_exceeded", 4),
            ("rx_queue_0_packets", 10),
            ("peer_ifindex", 7),
            ("gone", 1),
        ]);
        let now = counters(&[
            ("pps_allowance_exceeded", 4),
            ("rx_queue_0_packets", 25),
            ("peer_ifindex", 7),
            ("new", 1),
        ]);
        assert_eq!(
            since(&before, &now),
            (counters(&[("pps_allowance_exceeded", 0), ("rx_queue_0_packets", 15)]), 0)
        );
    }

    #[test]
    fn the_rest_of_very_many_is_counted() {
        let many = |value| {
            (0..MOST + 5)
                .map(|number| (format!("q{number:04}"), value))
                .chain([("z_allowance_exceeded".to_owned(), 3)])
                .collect()
        };
        let (found, left_out) = since(&many(1), &many(2));
        assert_eq!((found.len(), left_out, found.get("z_allowance_exceeded")), (MOST, 6, Some(&0)));
    }

    #[test]
    fn loopback_has_no_driver_counters_and_no_note() {
        let (mut watch, mut unavailable) = (Watch::default(), Vec::new());
        watch.look(&mut unavailable);
        assert!(watch.0.contains_key("lo"));
        assert!(watch.look(&mut unavailable).iter().all(|one| one.name != "lo"));
    }
}
