//! Which connections of a client belong together.
//!
//! A gap is the time from the latest end so far to the next start. A long one ends the session, a
//! shorter one the exchange (one page, say); connections without a gap between them belong to the
//! same exchange.

use trustbed_units::{Ns, Span};

/// Where a connection belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the session, from 0.
    pub session: usize,
    /// Number of the exchange within its session, from 0.
    pub exchange: usize,
    /// From the latest end so far to this start; none for the first connection of all. Negative
    /// where an earlier connection still runs.
    pub gap: Option<Span>,
}

/// Places of connections, given as (start, end) in the order of their starts.
///
/// ```
/// use trustbed_traffic::structural::group;
/// use trustbed_units::{Ns, Span};
/// let s = |s: i64| Ns(s * 1_000_000_000);
/// let connections = [(0, 2), (1, 4), (20, 25), (60, 61), (500, 502)].map(|(a, b)| (s(a), s(b)));
/// let places = group(&connections, Span::from_secs(300), Span::from_secs(30));
/// let found: Vec<_> = places.iter().map(|place| (place.session, place.exchange)).collect();
/// assert_eq!(found, [(0, 0), (0, 0), (0, 0), (0, 1), (1, 0)]);
/// ```
pub fn group(connections: &[(Ns, Ns)], session_gap: Span, exchange_gap: Span) -> Vec<Place> {
    let mut places = Vec::with_capacity(connections.len());
    let (mut session, mut exchange) = (0, 0);
    let mut latest: Option<Ns> = None;
    for &(start, end) in connections {
        let gap = latest.map(|latest| start - latest);
        match gap {
            Some(gap) if gap >= session_gap => (session, exchange) = (session + 1, 0),
            Some(gap) if gap >= exchange_gap => exchange += 1,
            _ => {}
        }
        places.push(Place { session, exchange, gap });
        latest = Some(latest.map_or(end, |latest| latest.max(end)));
    }
    places
}
