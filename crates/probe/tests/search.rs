//! The search where streams are not sent at quite the rate that was requested.
#![allow(clippy::panic, reason = "a test may fail loudly")]

use trustbed_probe::{FleetTrend, Search};

/// Fleets until the search ends; none if it takes more than fifty.
fn fleets(available: f64, sent: f64) -> Option<(usize, Search)> {
    let mut search = Search::new(30e6, None, 20e6, 100e6);
    let trend =
        |rate: f64| if rate > available { FleetTrend::Increasing } else { FleetTrend::NoTrend };
    let count =
        (1..50).find(|_| search.on_fleet(search.rate() * sent, trend(search.rate() * sent)))?;
    Some((count, search))
}

#[test]
fn it_ends_at_the_last_rate_that_can_be_requested() {
    for sent in [0.98, 0.999_999, 1.0, 1.015] {
        let (count, search) =
            fleets(1e6, sent).unwrap_or_else(|| panic!("no end at {sent} of the lowest rate"));
        assert!(
            count < 10 && search.rate() <= 20e6 && search.bracket().low <= 0.0,
            "{sent}: {search:?}"
        );
        let (count, search) =
            fleets(1e9, sent).unwrap_or_else(|| panic!("no end at {sent} of the highest rate"));
        assert!(
            count < 10 && search.rate() >= 100e6 && search.is_open_above(),
            "{sent}: {search:?}"
        );
    }
}
