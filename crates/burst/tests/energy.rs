//! Haar energies: the golden series, merging at random cuts, silence, and the plain definition in
//! floating point.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use serde_json::Value;
use trustbed_burst::{Bin, BinSink, HaarEnergy, MergeableSink, Wavelet};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/wavelet.json")).unwrap()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
}

fn energy_of(start: i64, bins: &[u64]) -> HaarEnergy {
    let mut energy = HaarEnergy::starting_at(start);
    for &bin in bins {
        energy.push(bin);
    }
    energy
}

fn bins_of(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|bin| bin.as_u64().unwrap()).collect()
}

#[test]
fn golden_series() {
    let golden = &golden()["computed"]["haar_16"];
    let octaves = energy_of(0, &bins_of(&golden["bins"])).octaves();
    let expected = golden["octaves"].as_array().unwrap();
    assert_eq!(octaves.len(), expected.len());
    for (octave, expected) in octaves.iter().zip(expected) {
        assert_eq!(Some(octave.count), expected["n"].as_u64());
        let number = |name: &str| expected[name].as_f64().unwrap();
        assert!(near(octave.mean_square, number("mu")));
        assert!((octave.energy().unwrap() - number("energy_log2")).abs() < 1e-9);
        assert!(near(octave.bias(), number("bias_g")));
        assert!(near(octave.corrected().unwrap(), number("y")));
        assert!(near(octave.variance(), number("var")));
        let (low, high) = octave.interval().unwrap();
        let interval = &expected["ci95"];
        assert!(
            near(low, interval[0].as_f64().unwrap()) && near(high, interval[1].as_f64().unwrap())
        );
        assert_eq!(octave.is_shown(), octave.count >= 3);
    }
}

fn agrees(found: &HaarEnergy, expected: &Value) {
    let expected = expected.as_array().unwrap();
    assert_eq!(found.levels().len(), expected.len());
    let mut scale = 1.0_f64;
    for (level, expected) in found.levels().iter().zip(expected) {
        assert_eq!(Some(level.pairs), expected["n"].as_u64());
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let sum = level.squares as f64 / scale / 2.0;
        assert!(near(sum, expected["e"].as_f64().unwrap()));
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let same = |block: Option<u64>, name: &str| match (block, expected[name].as_f64()) {
            (None, None) => true,
            (Some(sum), Some(expected)) => near(sum as f64 / scale.sqrt(), expected),
            _ => false,
        };
        assert!(same(level.left, "L") && same(level.right, "R"), "{level:?} {expected}");
        if expected["lo"].is_number() {
            assert_eq!(
                (Some(level.low), Some(level.high)),
                (expected["lo"].as_i64(), expected["hi"].as_i64())
            );
        }
        scale *= 2.0;
    }
}

#[test]
fn golden_split_with_blocks_that_wait_at_three_octaves() {
    let golden = golden();
    let computed = &golden["computed"];
    let bins = bins_of(&computed["haar_16"]["bins"]);
    let (mut left, right) = (energy_of(0, &bins[..5]), energy_of(5, &bins[5..]));
    agrees(&left, &computed["haar_split_5_of_16"]["left"]);
    agrees(&right, &computed["haar_split_5_of_16"]["right"]);
    left.append(right);
    agrees(&left, &computed["haar_split_5_of_16"]["merged"]);
    assert_eq!(left, energy_of(0, &bins));
}

#[test]
fn time_scales_in_seconds() {
    let golden = golden();
    let mut energy = HaarEnergy::new();
    energy.push(1);
    energy.push_silence((1 << 15) - 1);
    let octaves = energy.octaves();
    let expected = golden["computed"]["octave_to_timescale_for_1ms_bins"].as_array().unwrap();
    assert_eq!((octaves.len(), expected.len()), (15, 15));
    for (octave, expected) in octaves.iter().zip(expected) {
        assert_eq!(u64::from(octave.octave), expected["octave"].as_u64().unwrap());
        let scale = octave.scale(trustbed_units::Span::from_millis(1));
        assert_eq!(scale, trustbed_units::Span::from_millis(expected["tau_ms"].as_i64().unwrap()));
    }
}

#[test]
fn any_cuts_give_the_very_same_state() {
    let mut random = Random(7);
    let mut waiting = [0, 0];
    for _ in 0..2000 {
        let length = 1 + random.index(70);
        let start = i64::try_from(random.below(40)).unwrap() - 20;
        let bins: Vec<u64> = (0..length)
            .map(|_| if random.below(3) == 0 { 0 } else { random.magnitude(50) })
            .collect();
        let cuts = random.cuts(length, 5);
        let mut at = start;
        let mut parts: Vec<HaarEnergy> = Vec::new();
        for piece in pieces(&bins, &cuts) {
            parts.push(energy_of(at, piece));
            at += i64::try_from(piece.len()).unwrap();
        }
        for level in parts.iter().flat_map(HaarEnergy::levels) {
            waiting[0] += u32::from(level.left.is_some());
            waiting[1] += u32::from(level.right.is_some());
        }
        // In any order of joining: it is associative.
        while parts.len() > 1 {
            let seam = random.index(parts.len() - 1);
            let later = parts.remove(seam + 1);
            parts[seam].append(later);
        }
        assert_eq!(
            parts[0].levels(),
            energy_of(start, &bins).levels(),
            "start {start} bins {bins:?} cuts {cuts:?}"
        );
    }
    assert!(
        waiting.iter().all(|count| *count > 1000),
        "the cuts left blocks waiting on both sides: {waiting:?}"
    );
}

#[test]
fn silence_is_skipped_as_if_it_were_pushed() {
    let mut random = Random(11);
    for _ in 0..500 {
        let start = i64::try_from(random.below(64)).unwrap() - 32;
        let (mut skipped, mut pushed) =
            (HaarEnergy::starting_at(start), HaarEnergy::starting_at(start));
        for _ in 0..8 {
            let (amount, silence) = (random.below(1000), random.magnitude(9));
            skipped.push(amount);
            skipped.push_silence(silence);
            pushed.push(amount);
            (0..silence).for_each(|_| pushed.push(0));
        }
        assert_eq!(skipped, pushed);
    }
}

#[test]
fn centuries_of_silence_cost_nothing() {
    let mut energy = HaarEnergy::starting_at(3);
    energy.push(1000);
    energy.push_silence(1 << 60);
    energy.push(2000);
    assert!(energy.levels().len() <= 64);
    let octaves = energy.octaves();
    assert!(octaves.iter().all(|octave| octave.mean_square.is_finite()));
    assert!(octaves[0].count > 1 << 58);
}

#[test]
fn the_largest_amounts_do_not_overflow() {
    let mut energy = HaarEnergy::new();
    energy.push(u64::MAX);
    energy.push_silence(1023);
    assert_eq!(energy.levels()[9].squares, u128::from(u64::MAX) * u128::from(u64::MAX));
}

#[test]
fn equals_the_transform_in_floating_point() {
    let mut random = Random(3);
    let bins: Vec<u64> = (0..1000).map(|_| random.below(150_000)).collect();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let series: Vec<f64> = bins.iter().map(|&bin| bin as f64).collect();
    let octaves = energy_of(0, &bins).octaves();
    let details = Wavelet::Haar.details(&series);
    assert_eq!(octaves.len(), details.len());
    for (octave, details) in octaves.iter().zip(&details) {
        assert_eq!(octave.count, details.len() as u64);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let mean = details.iter().map(|d| d * d).sum::<f64>() / details.len() as f64;
        assert!(near(octave.mean_square, mean));
    }
}

#[test]
fn a_constant_has_no_energy_and_adding_one_changes_nothing() {
    assert!(
        energy_of(0, &[7; 64])
            .octaves()
            .iter()
            .all(|octave| octave.energy().is_none() && octave.interval().is_none())
    );
    let mut random = Random(5);
    let bins: Vec<u64> = (0..300).map(|_| random.below(1000)).collect();
    let raised: Vec<u64> = bins.iter().map(|bin| bin + 123_456_789).collect();
    assert_eq!(energy_of(9, &bins).octaves(), energy_of(9, &raised).octaves());
}

#[test]
fn scaling_adds_twice_the_logarithm() {
    let mut random = Random(6);
    let bins: Vec<u64> = (0..256).map(|_| random.below(1000)).collect();
    let scaled: Vec<u64> = bins.iter().map(|bin| bin * 8).collect();
    for (plain, scaled) in energy_of(0, &bins).octaves().iter().zip(energy_of(0, &scaled).octaves())
    {
        assert!((scaled.energy().unwrap() - plain.energy().unwrap() - 6.0).abs() < 1e-12);
    }
}

#[test]
fn independent_bins_have_their_variance_at_every_octave() {
    let mut random = Random(8);
    let bins: Vec<u64> = (0..1 << 16).map(|_| random.below(1000)).collect();
    let variance: f64 = (1e6 - 1.0) / 12.0;
    let mut shown = 0;
    for octave in energy_of(0, &bins).octaves().iter().filter(|octave| octave.count >= 64) {
        let distance = octave.corrected().unwrap() - variance.log2();
        assert!(
            distance.abs() < 4.0 * octave.variance().sqrt(),
            "octave {}: {distance}",
            octave.octave
        );
        shown += 1;
    }
    assert_eq!(shown, 10);
}

#[test]
fn as_a_sink_it_begins_where_the_bins_begin() {
    let mut energy = HaarEnergy::new();
    energy.silence(-3, 2);
    energy.bin(Bin { index: -1, amount: 5 });
    assert_eq!(energy.levels(), energy_of(-3, &[0, 0, 5]).levels());
}

#[test]
#[should_panic(expected = "without a hole")]
fn a_hole_between_parts_is_a_mistake() {
    energy_of(0, &[1, 2]).append(energy_of(3, &[1]));
}
