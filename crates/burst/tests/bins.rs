//! Binning against a division per packet; parts against one pass; clocks that jump.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use std::collections::BTreeMap;

use random::{Random, pieces};
use trustbed_burst::{
    Bin, BinGrid, BinSink, Binned, Binning, BurstError, Counted, HaarEnergy, MergeableSink,
    Packets, Pyramid, RateSeries, Silence, Wavelet,
};
use trustbed_units::{Ns, Span};

const MICROSECOND: Span = Span::from_micros(1);

/// Everything a sink receives, and that it has no hole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Received {
    bins: Vec<Bin>,
    next: Option<i64>,
}

impl BinSink for Received {
    fn bin(&mut self, bin: Bin) {
        assert!(self.next.is_none_or(|next| next == bin.index), "bins come without a hole");
        self.next = Some(bin.index + 1);
        self.bins.push(bin);
    }

    fn silence(&mut self, from: i64, count: u64) {
        assert!(
            count > 0 && self.next.is_none_or(|next| next == from),
            "silence comes where it belongs"
        );
        self.next = Some(from.wrapping_add_unsigned(count));
    }
}

impl MergeableSink for Received {
    fn append(&mut self, later: Self) {
        self.next = later.next.or(self.next);
        self.bins.extend(later.bins);
    }
}

fn grid() -> BinGrid {
    BinGrid::new(MICROSECOND).unwrap()
}

fn binned<S: BinSink>(times: &[i64], lengths: &[u32], counted: Counted, sink: S) -> Binned<S> {
    let mut binning = Binning::new(grid(), counted, sink);
    binning.add(Packets::new(times, lengths).unwrap()).unwrap();
    binning.finish()
}

/// The obvious method.
fn plainly(times: &[i64], lengths: &[u32], counted: Counted) -> Vec<Bin> {
    let mut bins = BTreeMap::new();
    for (time, length) in times.iter().zip(lengths) {
        *bins.entry(time.div_euclid(1000)).or_insert(0) +=
            if counted == Counted::Bytes { u64::from(*length) } else { 1 };
    }
    bins.into_iter().map(|(index, amount)| Bin { index, amount }).collect()
}

#[test]
fn equals_a_division_per_packet() {
    let mut random = Random(1);
    for _ in 0..500 {
        let packets = random.index(300);
        let (times, lengths) = random.columns(packets);
        for counted in [Counted::Bytes, Counted::Packets] {
            let found = binned(&times, &lengths, counted, Received::default());
            let all: Vec<Bin> =
                found.first.into_iter().chain(found.sink.bins).chain(found.last).collect();
            assert_eq!(all, plainly(&times, &lengths, counted));
            let longest = all
                .windows(2)
                .map(|pair| pair[1].index - pair[0].index - 1)
                .max()
                .filter(|count| *count > 0);
            let at = all
                .windows(2)
                .find(|pair| Some(pair[1].index - pair[0].index - 1) == longest)
                .map(|pair| pair[0].index + 1);
            let expected =
                at.zip(longest).map(|(from, count)| Silence { from, count: count.unsigned_abs() });
            assert_eq!(found.longest_silence, expected);
            assert_eq!(
                found.sink.next.is_some(),
                all.len() > 2 || all.len() == 2 && all[1].index > all[0].index + 1
            );
        }
    }
}

#[test]
fn any_cuts_give_the_very_same_bins_and_energy() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let packets = 1 + random.index(60);
        let (times, lengths) = random.columns(packets);
        let whole =
            binned(&times, &lengths, Counted::Bytes, (Received::default(), HaarEnergy::new()));
        let cuts = random.cuts(times.len(), 5);
        let mut parts: Vec<_> = pieces(&times, &cuts)
            .into_iter()
            .zip(pieces(&lengths, &cuts))
            .map(|(times, lengths)| {
                let mut part =
                    Binning::new(grid(), Counted::Bytes, (Received::default(), HaarEnergy::new()));
                part.add(Packets::new(times, lengths).unwrap()).unwrap();
                part
            })
            .collect();
        parts.insert(
            random.index(parts.len() + 1),
            Binning::new(grid(), Counted::Bytes, (Received::default(), HaarEnergy::new())),
        );
        while parts.len() > 1 {
            let seam = random.index(parts.len() - 1);
            let later = parts.remove(seam + 1);
            let earlier = parts.remove(seam);
            parts.insert(seam, earlier.merge(later).unwrap());
        }
        assert_eq!(parts.remove(0).finish(), whole, "{times:?} cut at {cuts:?}");
    }
}

#[test]
fn packets_in_several_calls_are_one_series() {
    let mut random = Random(3);
    let (times, lengths) = random.columns(5000);
    let mut binning = Binning::new(grid(), Counted::Bytes, Received::default());
    for part in Packets::new(&times, &lengths).unwrap().chunks(7) {
        binning.add(part).unwrap();
    }
    assert_eq!(binning.finish(), binned(&times, &lengths, Counted::Bytes, Received::default()));
}

#[test]
fn the_incomplete_bins_at_both_ends_give_no_energy() {
    let times = [900, 1_100, 1_900, 4_500, 5_000, 5_100];
    let found = binned(&times, &[1, 2, 4, 8, 16, 32], Counted::Bytes, HaarEnergy::new());
    assert_eq!(
        (found.first, found.last),
        (Some(Bin { index: 0, amount: 1 }), Some(Bin { index: 5, amount: 48 }))
    );
    let mut expected = HaarEnergy::starting_at(1);
    for bin in [6, 0, 0, 8] {
        expected.push(bin);
    }
    assert_eq!(found.sink.levels(), expected.levels());
}

#[test]
fn nothing_one_packet_one_bin() {
    let none = binned(&[], &[], Counted::Bytes, HaarEnergy::new());
    assert_eq!((none.first, none.last, none.sink), (None, None, HaarEnergy::new()));
    let one = binned(&[-1], &[0], Counted::Bytes, HaarEnergy::new());
    assert_eq!((one.first, one.last), (Some(Bin { index: -1, amount: 0 }), None));
    let same = binned(&[5, 5, 6], &[1, 2, 3], Counted::Packets, HaarEnergy::new());
    assert_eq!((same.first, same.last), (Some(Bin { index: 0, amount: 3 }), None));
}

#[test]
fn a_clock_that_jumps_by_centuries_neither_hangs_nor_fills_memory() {
    let times =
        [i64::MIN, i64::MIN + 1, -5, 0, 1_700_000_000_000_000_000, i64::MAX - 5_000, i64::MAX];
    for width in [Span(1), Span(7), MICROSECOND, Span::from_secs(1), Span::MAX] {
        let grid = BinGrid::new(width).unwrap();
        let sinks =
            ((HaarEnergy::new(), Pyramid::new(Wavelet::Daubechies3)), RateSeries::default());
        let mut binning = Binning::new(grid, Counted::Packets, sinks);
        binning.add(Packets::new(&times, &[1; 7]).unwrap()).unwrap();
        let found = binning.finish();
        let ((haar, pyramid), rates) = &found.sink;
        assert!(haar.octaves().len() <= 64 && pyramid.octaves().len() <= 64);
        let inside: u64 = times.len() as u64
            - found.first.map_or(0, |bin| bin.amount)
            - found.last.map_or(0, |bin| bin.amount);
        assert!(*rates == RateSeries::default() || inside > 0);
    }
}

#[test]
fn what_lies_in_the_past_is_refused_and_leaves_no_trace() {
    let mut binning = Binning::new(grid(), Counted::Bytes, Received::default());
    binning.add(Packets::new(&[5_000], &[1]).unwrap()).unwrap();
    let before = binning.clone();
    let error = BurstError::Overlap { end: Ns(5_000), start: Ns(4_999) };
    assert_eq!(binning.add(Packets::new(&[4_999, 6_000], &[1, 1]).unwrap()), Err(error.clone()));
    assert_eq!(binning, before);
    let mut earlier = Binning::new(grid(), Counted::Bytes, Received::default());
    earlier.add(Packets::new(&[4_999], &[1]).unwrap()).unwrap();
    assert_eq!(binning.merge(earlier), Err(error));
}

#[test]
fn bins_have_a_width() {
    for width in [Span::ZERO, Span(-1)] {
        assert_eq!(BinGrid::new(width), Err(BurstError::NoWindow { length: width }));
    }
}
