//! The capture point that every endpoint is near: two captures do not say which of two endpoints
//! each was taken beside.
//!
//! Whatever the offset of the clocks, `second − first` is larger for a frame from the first capture
//! point to the second than for one in the other direction: by the round trip between the capture
//! points. Clocks drift apart meanwhile. So a frame and the last one of the other direction before
//! it count only if they are closer in time than it takes a clock to drift by their difference, and
//! of what several such pairs show, the most counts.
//!
//! Connections for which this decides nothing are placed by one of their endpoints, or by their
//! addresses, where others know these and do not contradict each other: both capture points may
//! have servers behind one address.

use std::collections::BTreeMap;

use trustbed_flow::FlowKey;
use trustbed_units::Span;

use crate::relation::MOST_SKEW;
use crate::{Capture, Match};

type Address = [u8; 16];

/// Address and port of an endpoint.
type Source = (Address, u16);

/// What is known of capture points.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CapturePoints {
    endpoints: BTreeMap<Source, Capture>,
    /// The capture point that the lower address is near, by pair of addresses; for endpoints of
    /// which no frame was compared.
    addresses: BTreeMap<[Address; 2], Capture>,
    /// The capture point that the lower endpoint is near, where the connection's own frames show
    /// it.
    connections: BTreeMap<[Source; 2], Capture>,
}

/// Of so many connections that show an endpoint or a pair of addresses, one may disagree.
const AGREEING: u32 = 10;

impl CapturePoints {
    /// From the frames that both captures hold, in the order of time.
    pub(crate) fn of(matches: &[Match]) -> Self {
        let steady = Self::drifting(matches, MOST_SKEW);
        // Only frames that are far apart: more than nothing is known of clocks that are taken to
        // run alike.
        if steady.connections.is_empty() { Self::drifting(matches, 0.0) } else { steady }
    }

    /// The same by clocks that do not drift faster than this, in seconds per second.
    fn drifting(matches: &[Match], rate: f64) -> Self {
        Self::by(
            votes(matches, rate)
                .into_iter()
                .filter_map(|(ends, votes)| Some((ends, elected(votes)?)))
                .collect(),
        )
    }

    /// The same where it is known by how much the second clock is ahead: then the frames of one
    /// direction show by themselves.
    pub(crate) fn stated(matches: &[Match], ahead: Span) -> Self {
        let (mut alone, paired) = (BTreeMap::<[Source; 2], i64>::new(), votes(matches, 0.0));
        for common in matches {
            let from_first = (across(common) - ahead).0.signum();
            *alone.entry(ends(&common.key)).or_default() +=
                if common.direction == 0 { from_first } else { -from_first };
        }
        let known = |ends: &[Source; 2], alone: i64| {
            paired.get(ends).copied().and_then(elected).or(elected(alone))
        };
        Self::by(
            alone
                .into_iter()
                .filter_map(|(ends, alone)| Some((ends, known(&ends, alone)?)))
                .collect(),
        )
    }

    fn by(connections: BTreeMap<[Source; 2], Capture>) -> Self {
        let (mut endpoints, mut addresses) =
            (BTreeMap::<Source, [u32; 2]>::new(), BTreeMap::<[Address; 2], [u32; 2]>::new());
        for ([low, high], of_low) in &connections {
            endpoints.entry(*low).or_default()[of_low.index()] += 1;
            endpoints.entry(*high).or_default()[of_low.other().index()] += 1;
            // Between two ports of one address the addresses show nothing.
            if low.0 != high.0 {
                addresses.entry([low.0, high.0]).or_default()[of_low.index()] += 1;
            }
        }
        Self { endpoints: agreed(endpoints), addresses: agreed(addresses), connections }
    }

    /// The capture point that an endpoint is near.
    pub(crate) fn near(&self, source: &Source) -> Option<Capture> {
        self.endpoints.get(source).copied()
    }

    /// The capture point that the sender of a connection's direction is near, if the connection's
    /// own frames show it.
    pub(crate) fn known(&self, key: &FlowKey, direction: usize) -> Option<Capture> {
        self.connections
            .get(&ends(key))
            .map(|of_low| if direction == 0 { *of_low } else { of_low.other() })
    }

    /// The same, or else what other connections of its endpoints or between its addresses show.
    pub(crate) fn origin(&self, key: &FlowKey, direction: usize) -> Option<Capture> {
        let by_endpoints = || {
            self.near(&key.source(direction))
                .or_else(|| self.near(&key.source(1 - direction)).map(Capture::other))
        };
        self.known(key, direction).or_else(by_endpoints).or_else(|| {
            let of_low = self.addresses.get(&[key.low, key.high]).copied()?;
            Some(if direction == 0 { of_low } else { of_low.other() })
        })
    }

    /// Whether connections between the same two addresses were compared, and agree about their
    /// capture points.
    pub(crate) fn is_between(&self, key: &FlowKey) -> bool {
        self.addresses.contains_key(&[key.low, key.high])
    }
}

/// For every connection of which both directions were compared: above zero where its lower endpoint
/// looks to be near the first capture point.
fn votes(matches: &[Match], rate: f64) -> BTreeMap<[Source; 2], i64> {
    let mut seen: BTreeMap<[Source; 2], ([Option<&Match>; 2], i64)> = BTreeMap::new();
    for common in matches {
        let (latest, votes) = seen.entry(ends(&common.key)).or_default();
        latest[common.direction] = Some(common);
        if let [Some(from_low), Some(from_high)] = *latest {
            let apart = across(from_low) - across(from_high);
            if apart.as_f64().abs() > rate * (from_low.first - from_high.first).as_f64().abs() {
                *votes += apart.0.signum();
            }
        }
    }
    seen.into_iter().map(|(ends, (_, votes))| (ends, votes)).collect()
}

fn elected(votes: i64) -> Option<Capture> {
    (votes != 0).then_some(if votes > 0 { Capture::First } else { Capture::Second })
}

fn ends(key: &FlowKey) -> [Source; 2] {
    [key.source(0), key.source(1)]
}

fn across(common: &Match) -> Span {
    common.second - common.first
}

/// The capture point on which nearly all votes agree.
fn agreed<T: Ord>(votes: BTreeMap<T, [u32; 2]>) -> BTreeMap<T, Capture> {
    let most = |[first, second]: [u32; 2]| {
        let (end, more, fewer) = if first >= second {
            (Capture::First, first, second)
        } else {
            (Capture::Second, second, first)
        };
        (AGREEING * fewer < more).then_some(end)
    };
    votes.into_iter().filter_map(|(what, votes)| Some((what, most(votes)?))).collect()
}
