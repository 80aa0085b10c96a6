//! Rate over time and largest rates: parts against one pass, the limit on bins, silence, and where
//! the largest rate was.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use trustbed_burst::{
    Bin, BinGrid, BinSink, Binning, Counted, HaarEnergy, Packets, PeakRates, RateOverTime,
    RateSeries, Run,
};
use trustbed_units::{Ns, Span};

fn rates(times: &[i64], lengths: &[u32], limit: usize) -> Binning<RateSeries> {
    let grid = BinGrid::new(Span::from_micros(1)).unwrap();
    let mut binning = Binning::new(grid, Counted::Bytes, RateSeries::new(limit));
    binning.add(Packets::new(times, lengths).unwrap()).unwrap();
    binning
}

#[test]
fn runs_cover_all_of_time() {
    let over_time = RateOverTime::of(
        rates(&[900, 1_100, 1_900, 4_500, 5_000], &[1, 2, 4, 8, 16], 100).finish(),
    );
    assert_eq!((over_time.grid.width(), over_time.doublings), (Span::from_micros(1), 0));
    let run = |start, bins, amount| Run { start: Ns(start), bins, amount };
    let runs: Vec<Run> = over_time.runs().collect();
    assert_eq!(
        runs,
        [run(0, 1, 1), run(1000, 1, 6), run(2000, 2, 0), run(4000, 1, 8), run(5000, 1, 16)]
    );
    assert!((over_time.per_second(6) - 6e6).abs() < 1e-3);
    assert_eq!(RateOverTime::of(rates(&[], &[], 100).finish()).runs().count(), 0);
}

#[test]
fn any_cuts_give_the_very_same_bins_within_any_limit() {
    let mut random = Random(1);
    let mut doubled = 0;
    for _ in 0..1000 {
        let packets = 1 + random.index(200);
        let (times, lengths) = random.columns(packets);
        let limit = random.index(40);
        let whole = RateOverTime::of(rates(&times, &lengths, limit).finish());
        assert!(whole.bins.len() <= limit.max(2));
        assert!(whole.bins.windows(2).all(|pair| pair[0].index < pair[1].index));
        assert_eq!(
            whole.bins.iter().map(|bin| bin.amount).sum::<u64>(),
            lengths.iter().map(|&l| u64::from(l)).sum::<u64>()
        );
        assert_eq!(whole.grid.width(), Span(1000 << whole.doublings));
        for bin in &whole.bins {
            let inside = times
                .iter()
                .zip(&lengths)
                .filter(|(time, _)| whole.grid.index(Ns(**time)) == bin.index);
            assert_eq!(bin.amount, inside.map(|(_, &length)| u64::from(length)).sum::<u64>());
        }
        // No finer bins would have been few enough.
        if whole.doublings > 0 {
            let finer = BinGrid::new(Span(1000 << (whole.doublings - 1))).unwrap();
            let mut numbers: Vec<i64> = times.iter().map(|&time| finer.index(Ns(time))).collect();
            numbers.dedup();
            assert!(numbers.len() > limit.max(2));
        }
        let cuts = random.cuts(times.len(), 5);
        let parts = pieces(&times, &cuts).into_iter().zip(pieces(&lengths, &cuts));
        let joined =
            parts.map(|(t, l)| rates(t, l, limit)).reduce(|a, b| a.merge(b).unwrap()).unwrap();
        assert_eq!(RateOverTime::of(joined.finish()), whole);
        doubled += u32::from(whole.doublings > 0);
    }
    assert!(doubled > 300);
}

#[test]
fn pouring_gives_the_energy_of_one_pass() {
    let mut random = Random(2);
    for _ in 0..500 {
        let packets = random.index(100);
        let (times, lengths) = random.columns(packets);
        let grid = BinGrid::new(Span::from_micros(1)).unwrap();
        let mut binning = Binning::new(grid, Counted::Bytes, HaarEnergy::new());
        binning.add(Packets::new(&times, &lengths).unwrap()).unwrap();
        let mut poured = HaarEnergy::new();
        RateOverTime::of(rates(&times, &lengths, 1000).finish()).pour(&mut poured);
        assert_eq!(binning.finish().sink, poured);
    }
}

#[test]
fn centuries_between_packets() {
    let times = [i64::MIN, 0, i64::MAX];
    let over_time = RateOverTime::of(rates(&times, &[1, 2, 3], 2).finish());
    assert_eq!(over_time.bins, [Bin { index: -1, amount: 1 }, Bin { index: 0, amount: 5 }]);
    assert_eq!(over_time.runs().count(), 2);
    assert_eq!(RateOverTime::of(rates(&times, &[1, 2, 3], 9).finish()).runs().count(), 5);
}

#[test]
fn largest_rates_and_where_they_were() {
    let mut random = Random(3);
    for _ in 0..300 {
        let packets = 1 + random.index(200);
        let (times, lengths) = random.columns(packets);
        let scales = [Span(500), Span::from_micros(1), Span::from_micros(30)];
        let part = |times: &[i64], lengths: &[u32]| {
            let mut peaks = PeakRates::new(&scales, Counted::Bytes).unwrap();
            peaks.add(Packets::new(times, lengths).unwrap()).unwrap();
            peaks
        };
        let whole = part(&times, &lengths).rates();
        for (peak, scale) in whole.iter().zip(scales) {
            let amount = |start: i64| -> u64 {
                let inside = times
                    .iter()
                    .zip(&lengths)
                    .filter(|(time, _)| (start..start + scale.0).contains(time));
                inside.map(|(_, &length)| u64::from(length)).sum()
            };
            let starts = times.iter().map(|time| time.div_euclid(scale.0) * scale.0);
            let best = starts.rev().max_by_key(|start| (amount(*start), -start)).unwrap();
            assert_eq!((peak.width, peak.start, peak.amount), (scale, Ns(best), amount(best)));
        }
        let cuts = random.cuts(times.len(), 4);
        let parts = pieces(&times, &cuts).into_iter().zip(pieces(&lengths, &cuts));
        let joined = parts.map(|(t, l)| part(t, l)).reduce(|a, b| a.merge(b).unwrap()).unwrap();
        assert_eq!(joined.rates(), whole);
    }
    assert!(PeakRates::new(&PeakRates::SCALES, Counted::Packets).unwrap().rates().is_empty());
}

#[test]
fn the_largest_rate_ignores_silence() {
    let mut series = RateSeries::default();
    series.silence(0, 1 << 60);
    assert_eq!(series, RateSeries::default());
}
