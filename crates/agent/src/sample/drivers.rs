//! What the drivers of the namespace's interfaces counted (`ethtool -S`), those counters among it by which a cloud says that it held packets back.
//!
//! Some drivers ask their card for it, which takes milliseconds: a card is asked again when a hundred times as long has passed as its
//! last answer took, so that asking costs a hundredth of a processor at most. Its intervals are its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::{NotTold, grown, told};
use crate::clock;
use crate::ethtool::Card;

/// A card may take this part of the time.
const PART: i64 = 100;
/// Counters of a card in a line.
const MOST: usize = 200;
/// What the counters of a cloud's allowances have in their names; they are told where they did not grow, too.
const ALLOWANCE: &str = "allowance_exceeded";

/// What a driver counted in an interval.
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

/// A card, what it had counted when it was asked last, and how long it took.
#[derive(Debug)]
struct Watched {
    card: Card,
    asked: Ns,
    took: Span,
    counters: Counters,
}

/// The cards, by the names of their interfaces. Those without counters are among them, so that they are asked once.
#[derive(Debug, Default)]
pub(super) struct Watch(BTreeMap<String, Watched>);

impl Watch {
    /// What has been counted since a card was asked last; an interface that is new is told of from its next interval on.
    pub(super) fn look(&mut self, not_told: &mut Vec<NotTold>) -> Vec<Counted> {
        let names = told(names(), "drivers", not_told).unwrap_or_default();
        self.0.retain(|name, _| names.contains(name));
        names
            .into_iter()
            .filter_map(|name| {
                told(self.one(&name), &format!("ethtool -S {name}"), not_told).flatten()
            })
            .collect()
    }

    fn one(&mut self, name: &str) -> io::Result<Option<Counted>> {
        let began = clock::monotonic();
        let Some(watched) = self.0.get_mut(name) else {
            let card = Card::of(name)?;
            // One that fails now is not asked again.
            let (counters, failure) = match card.counters() {
                Ok(found) => (found.into_iter().collect(), None),
                Err(error) => (Counters::new(), Some(error)),
            };
            self.0.insert(
                name.to_owned(),
                Watched { card, asked: began, took: clock::monotonic() - began, counters },
            );
            return failure.map_or(Ok(None), Err);
        };
        let interval = began - watched.asked;
        if watched.counters.is_empty() || interval.0 < watched.took.0.saturating_mul(PART) {
            return Ok(None);
        }
        let now: Counters = watched.card.counters()?.into_iter().collect();
        let (counters, left_out) = since(&watched.counters, &now);
        (watched.asked, watched.took, watched.counters) = (began, clock::monotonic() - began, now);
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

/// What grew, and how much of that is too much for a line.
fn since(before: &Counters, now: &Counters) -> (Counters, usize) {
    let more = now.iter().filter_map(|(name, now)| Some((name, grown(*before.get(name)?, *now))));
    let mut all: Vec<(&String, u64)> =
        more.filter(|(name, more)| *more > 0 || name.contains(ALLOWANCE)).collect();
    // The cloud's stay, whatever else there is.
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
    fn what_grew_is_told_and_what_a_cloud_held_back_always() {
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
    fn loopback_has_no_counters_and_says_nothing() {
        let (mut watch, mut not_told) = (Watch::default(), Vec::new());
        watch.look(&mut not_told);
        assert!(watch.0.contains_key("lo"));
        assert!(watch.look(&mut not_told).iter().all(|one| one.name != "lo"));
    }
}
