//! The network on one host's side of the link, from all its connections.

use trustbed_units::Span;

use super::Link;

/// Fewer packet pairs say nothing of a host's link.
pub const LEAST_PAIRS: usize = 5;
/// Packet pairs that are kept of a host, and round trips.
const MOST: usize = 4096;

/// What is known of a host's own link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostLink {
    round_trips: Vec<f64>,
    toward: Vec<f64>,
    from: Vec<f64>,
    carried: Option<f64>,
    sent: [u64; 2],
    received: [u64; 2],
    /// Connections.
    pub connections: u64,
}

impl HostLink {
    /// One more connection of the host.
    pub fn add(&mut self, link: &Link) {
        self.connections += 1;
        if let Some(round_trip) = link.round_trip
            && self.round_trips.len() < MOST
        {
            self.round_trips.push(round_trip.as_f64());
        }
        for (pool, pairs) in [(&mut self.toward, &link.toward), (&mut self.from, &link.from)] {
            pool.extend(pairs.iter().take(MOST.saturating_sub(pool.len())));
        }
        if let Some(rate) = link.carried {
            self.carried = Some(self.carried.map_or(rate, |most| most.max(rate)));
        }
        for (sum, counts) in [(&mut self.sent, link.sent), (&mut self.received, link.received)] {
            sum[0] += counts[0];
            sum[1] += counts[1];
        }
    }

    /// One way between the host and the link: the median of half the round trips.
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a round trip")]
    pub fn latency(&self) -> Option<Span> {
        median(&self.round_trips).map(|round_trip| Span((round_trip / 2.0).round() as i64))
    }

    /// Bits per second from the host to the link; none below [`LEAST_PAIRS`] pairs.
    pub fn toward(&self) -> Option<f64> {
        (self.toward.len() >= LEAST_PAIRS).then(|| median(&self.toward)).flatten()
    }

    /// Bits per second from the link to the host; none below [`LEAST_PAIRS`] pairs.
    pub fn from(&self) -> Option<f64> {
        (self.from.len() >= LEAST_PAIRS).then(|| median(&self.from)).flatten()
    }

    /// The largest rate at which its data came for a while: its link carries no less.
    pub const fn carried(&self) -> Option<f64> {
        self.carried
    }

    /// Share of the host's data packets that were lost before the link; none without any.
    pub fn loss_toward(&self) -> Option<f64> {
        share(self.sent)
    }

    /// Share of the data packets for the host that were lost behind the link; none without any.
    pub fn loss_from(&self) -> Option<f64> {
        share(self.received)
    }

    /// Number of round trips, of pairs from the host, and of pairs of its acknowledgements.
    pub fn counts(&self) -> [usize; 3] {
        [self.round_trips.len(), self.toward.len(), self.from.len()]
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of packets")]
pub(super) fn share([all, lost]: [u64; 2]) -> Option<f64> {
    (all > 0).then(|| lost as f64 / all as f64)
}

/// The median; the mean of the middle two of an even number.
///
/// ```
/// use trustbed_traffic::structural::median;
/// assert_eq!(median(&[60.0, 12.0, 60.0, 57.0]), Some(58.5));
/// assert_eq!(median(&[]), None);
/// ```
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted.get(sorted.len() / 2 - 1).map(|lower| f64::midpoint(*lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pairs_say_nothing() {
        let mut host = HostLink::default();
        let link = Link {
            round_trip: Some(Span::from_millis(30)),
            toward: vec![60e6, 60e6, 12e6, 57e6],
            sent: [9, 1],
            ..Link::default()
        };
        host.add(&link);
        assert_eq!((host.toward(), host.latency()), (None, Some(Span::from_millis(15))));
        host.add(&link);
        assert_eq!(host.toward(), Some(58.5e6));
        assert_eq!((host.loss_toward(), host.loss_from()), (Some(1.0 / 9.0), None));
        assert_eq!((host.connections, host.counts()), (2, [2, 8, 0]));
    }
}
