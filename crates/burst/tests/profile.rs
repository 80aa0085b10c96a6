//! A profile kept in bounded memory against the study that keeps every bin.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use trustbed_burst::{
    BinGrid, Counted, HaarEnergy, Octave, Packets, PeakRates, Profile, Profiled, Pyramid,
    RateOverTime, Study, StudyPlan,
};
use trustbed_units::Span;

/// Packets of some seconds, some of them back to back.
fn columns(random: &mut Random, packets: usize) -> (Vec<i64>, Vec<u32>) {
    let mut time = i64::try_from(random.below(1 << 50)).unwrap();
    (0..packets)
        .map(|_| {
            time += i64::try_from(random.magnitude(26)).unwrap();
            (time, u32::try_from(random.below(1500)).unwrap())
        })
        .unzip()
}

fn profiled(times: &[i64], lengths: &[u32], cuts: &[usize]) -> Profiled {
    let mut profile = Profile::new().unwrap();
    for (times, lengths) in pieces(times, cuts).into_iter().zip(pieces(lengths, cuts)) {
        profile.add(Packets::new(times, lengths).unwrap()).unwrap();
    }
    profile.finish()
}

#[test]
fn it_finds_what_a_study_of_all_bins_finds() {
    let mut random = Random(11);
    for _ in 0..60 {
        let packets = 1 + random.index(4000);
        let (times, lengths) = columns(&mut random, packets);
        let found = profiled(&times, &lengths, &random.cuts(packets, 4));

        let grid = BinGrid::new(Profile::WIDTH).unwrap();
        let plan = StudyPlan {
            energy: Some((grid, Counted::Bytes)),
            rates: Some(grid),
            ..StudyPlan::default()
        };
        let mut study = Study::new(&plan).unwrap();
        study.add(Packets::new(&times, &lengths).unwrap()).unwrap();
        let whole = RateOverTime::of(study.rates.unwrap().finish());
        let (mut haar, mut pyramid) = (HaarEnergy::new(), Pyramid::new(Profile::WAVELET));
        whole.pour(&mut haar);
        whole.pour(&mut pyramid);
        let shown = |octaves: Vec<Octave>| -> Vec<Octave> {
            octaves.into_iter().filter(Octave::is_shown).collect()
        };

        assert_eq!(
            (found.packets, found.bytes, found.ends),
            (study.packets, study.bytes, study.ends)
        );
        assert_eq!(found.energy, shown(haar.octaves()));
        assert_eq!(found.logscale, shown(pyramid.octaves()));
        assert_eq!(found.peaks, study.peaks.unwrap().rates());
        assert_eq!(found.rates.bins, whole.at_most(Profile::POINTS).bins);
    }
}

#[test]
fn memory_does_not_grow_with_the_capture() {
    // Half an hour with a packet in every millisecond.
    let mut profile = Profile::new().unwrap();
    let (mut times, lengths) = (vec![0; 1000], vec![1000; 1000]);
    for second in 0..2000_i64 {
        for (time, at) in times.iter_mut().zip(0_i64..) {
            *time = second * 1_000_000_000 + at * 1_000_000;
        }
        profile.add(Packets::new(&times, &lengths).unwrap()).unwrap();
    }
    let found = profile.finish();
    assert!(found.rates.bins.len() <= Profile::POINTS);
    assert_eq!(found.rates.bins.iter().map(|bin| bin.amount).sum::<u64>(), found.bytes);
    assert_eq!(found.width, Span::from_millis(1), "energies keep their bins");
    assert_eq!(found.peaks.len(), PeakRates::SCALES.len());
    // Every bin holds the same, so nothing differs from its neighbour at any scale.
    assert!(found.energy.iter().all(|octave| octave.mean_square == 0.0));
    // Without the bins at the ends, and without 1 and 1,999,998, whose neighbours those are.
    assert_eq!(found.energy[0].count, (2_000_000 - 4) / 2);
}

#[test]
fn nothing_is_nothing() {
    let found = Profile::new().unwrap().finish();
    assert_eq!((found.packets, found.ends), (0, None));
    assert!(found.energy.is_empty() && found.rates.bins.is_empty() && found.peaks.is_empty());
}
