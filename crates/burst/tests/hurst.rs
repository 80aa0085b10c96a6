//! The line through a diagram: golden values, the choice of octaves, and independent, long-range
//! dependent and nonstationary series.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::Random;
use serde_json::Value;
use trustbed_burst::{Fit, FitRange, Octave, Pyramid, Wavelet};

fn golden() -> (Value, Vec<Octave>) {
    let golden: Value =
        serde_json::from_str(include_str!("../../../tests/golden/wavelet.json")).unwrap();
    let diagram = golden["computed"]["logscale_diagram"].clone();
    let given = diagram["n_mu"].as_array().unwrap();
    let octave = |(number, pair): (u32, &Value)| Octave {
        octave: number,
        count: pair[0].as_u64().unwrap(),
        mean_square: pair[1].as_f64().unwrap(),
    };
    let octaves = (1..).zip(given).map(octave).collect();
    (diagram, octaves)
}

const fn range(first: u32, last: u32) -> FitRange {
    FitRange { first: Some(first), last: Some(last) }
}

#[test]
fn golden_diagram() {
    let (golden, octaves) = golden();
    for (octave, expected) in octaves.iter().zip(golden["octaves"].as_array().unwrap()) {
        let (low, high) = octave.interval().unwrap();
        let found = [
            octave.energy().unwrap(),
            octave.bias(),
            octave.corrected().unwrap(),
            octave.variance(),
            low,
            high,
        ];
        let interval = &expected["ci95"];
        let expected = [
            &expected["energy_log2"],
            &expected["bias_g"],
            &expected["y"],
            &expected["var"],
            &interval[0],
            &interval[1],
        ];
        for (found, expected) in found.iter().zip(expected) {
            let expected = expected.as_f64().unwrap();
            assert!(
                (found - expected).abs() < 1e-9 * expected.abs(),
                "octave {}: {found} {expected}",
                octave.octave
            );
        }
    }
}

#[test]
fn golden_fits() {
    let (golden, octaves) = golden();
    for (name, first, last) in [("fit_4_9", 4, 9), ("fit_1_9", 1, 9)] {
        let fit = Fit::of(&octaves, range(first, last)).unwrap();
        let expected = &golden[name];
        assert_eq!((fit.first, fit.last, fit.used), (first, last, last - first + 1));
        let near = |found: f64, name: &str, relative: f64| {
            let expected = expected[name].as_f64().unwrap();
            assert!((found / expected - 1.0).abs() < relative, "{name}: {found} {expected}");
        };
        near(fit.alpha, "alpha", 1e-9);
        near(fit.intercept, "intercept", 1e-9);
        near(fit.alpha_variance, "var_alpha", 1e-9);
        near(fit.hurst().unwrap(), "H", 1e-9);
        near(fit.chi_square, "chi2", 1e-8);
        near(fit.quality.unwrap(), "Q", 1e-6);
        let (low, high) = fit.hurst_interval().unwrap();
        let interval = &expected["H_ci95"];
        assert!(
            (low - interval[0].as_f64().unwrap()).abs() < 1e-9
                && (high - interval[1].as_f64().unwrap()).abs() < 1e-9
        );
        assert_eq!(fit.is_rejected(), first == 1);
        assert!(!fit.is_nonstationary());
    }
}

/// Octaves 1 to 14 of a series of 2¹⁶ values whose energy is `of(j)`, bias included.
fn diagram(of: impl Fn(f64) -> f64) -> Vec<Octave> {
    let octave = |number: u32| {
        let empty = Octave { octave: number, count: 1 << (16 - number), mean_square: 0.0 };
        Octave { mean_square: (of(f64::from(number)) + empty.bias()).exp2(), ..empty }
    };
    (1..=14).map(octave).collect()
}

#[test]
fn the_onset_of_scaling_is_found() {
    let (_, octaves) = golden();
    let chosen = |octaves: &[Octave], first, last| {
        Fit::of(octaves, FitRange { first, last }).map(|fit| (fit.first, fit.last))
    };
    // Q over 1–9, 2–9, … is 10⁻¹⁷, 0.0034, 0.9962, 0.9998, 0.9982: the last leap is to 3.
    assert_eq!(chosen(&octaves, None, None), Some((3, 9)));
    assert_eq!(chosen(&octaves, Some(5), None), Some((5, 9)));
    // Flat up to octave 6, then a line; octave 14 has too few coefficients.
    assert_eq!(chosen(&diagram(|j| 10.0 + 0.8 * (j - 6.0).max(0.0)), None, None), Some((6, 13)));
    // A line from the beginning: octaves 1 and 2 are left out all the same.
    let straight = Fit::of(&diagram(|j| 10.0 + 0.8 * j), FitRange::default()).unwrap();
    assert_eq!((straight.first, straight.last), (3, 13));
    assert!((straight.alpha - 0.8).abs() < 1e-9 && (straight.intercept - 10.0).abs() < 1e-9);
    assert!(straight.quality.is_some_and(|quality| quality > 0.999_999));
    // With fewer octaves the three coarsest are left.
    assert_eq!(chosen(&octaves, None, Some(4)), Some((2, 4)));
}

#[test]
fn few_octaves() {
    let (_, octaves) = golden();
    assert_eq!(Fit::of(&[], FitRange::default()), None);
    assert_eq!(Fit::of(&octaves[..1], FitRange::default()), None);
    assert_eq!(Fit::of(&octaves, range(3, 3)), None);
    assert_eq!(Fit::of(&octaves, range(20, 30)), None);
    let two = Fit::of(&octaves, range(8, 9)).unwrap();
    assert_eq!((two.used, two.quality), (2, None));
    assert!(!two.is_rejected());
    let beyond = Fit::of(&octaves, range(7, 40)).unwrap();
    assert_eq!((beyond.first, beyond.last, beyond.used), (7, 9, 3));
}

#[test]
fn octaves_without_energy_are_left_out() {
    let (_, mut octaves) = golden();
    octaves[5].mean_square = 0.0;
    let fit = Fit::of(&octaves, range(4, 9)).unwrap();
    assert_eq!((fit.first, fit.last, fit.used), (4, 9, 5));
    assert!(fit.alpha.is_finite());
}

fn fit_of(series: impl Iterator<Item = f64>, range: FitRange) -> Fit {
    let mut pyramid = Pyramid::new(Wavelet::Daubechies3);
    series.for_each(|value| pyramid.push(value));
    Fit::of(&pyramid.octaves(), range).unwrap()
}

#[test]
fn independent_values_have_no_scaling() {
    let (mut within, seeds) = (0, 400);
    for seed in 0..seeds {
        let mut random = Random(seed);
        let fit =
            fit_of((0..4096).map(|_| random.normal()), FitRange { first: Some(1), last: None });
        within += u32::from(fit.alpha.abs() < 3.0 * fit.alpha_variance.sqrt());
        assert!(fit.alpha.abs() < 5.0 * fit.alpha_variance.sqrt(), "seed {seed}");
    }
    // 99.7 % of 400 are 398.8; fewer than 394 have a chance below a thousandth.
    assert!(within >= 394, "{within} of {seeds}");
}

#[test]
fn a_random_walk_is_nonstationary() {
    let mut random = Random(1);
    let mut position = 0.0;
    let walk = (0..1 << 14).map(|_| {
        position += random.normal();
        position
    });
    let fit = fit_of(walk, FitRange::default());
    assert!((fit.alpha - 2.0).abs() < 0.3, "{}", fit.alpha);
    assert!(fit.is_nonstationary());
    assert_eq!((fit.hurst(), fit.hurst_interval()), (None, None));
}

/// ARIMA(0, d, 0), exactly: each value from its prediction by all earlier ones (J. R. M. Hosking,
/// Biometrika 68(1), 1981).
fn fractional_noise(random: &mut Random, length: usize, d: f64) -> Vec<f64> {
    let (mut series, mut weights, mut variance) = (vec![random.normal()], Vec::new(), 1.0_f64);
    for k in (1..).take(length - 1) {
        let newest = d / (f64::from(k) - d);
        let mirrored: Vec<f64> = weights.iter().rev().copied().collect();
        weights
            .iter_mut()
            .zip(mirrored)
            .for_each(|(weight, mirror): (&mut f64, f64)| *weight -= newest * mirror);
        weights.push(newest);
        variance *= 1.0 - newest * newest;
        let prediction: f64 =
            weights.iter().zip(series.iter().rev()).map(|(weight, value)| weight * value).sum();
        series.push(prediction + variance.sqrt() * random.normal());
    }
    series
}

#[test]
fn fractional_noise_has_the_hurst_parameter_it_was_made_with() {
    let mut random = Random(2);
    let (d, seeds) = (0.3, 8);
    let mut distances = 0.0;
    for _ in 0..seeds {
        let fit =
            fit_of(fractional_noise(&mut random, 1 << 12, d).into_iter(), FitRange::default());
        assert!(!fit.is_nonstationary() && fit.quality.is_some_and(|quality| quality > 1e-4));
        // α = 2d, H = d + ½.
        let distance = (fit.alpha - 2.0 * d) / fit.alpha_variance.sqrt();
        assert!((fit.hurst().unwrap() - d - 0.5).abs() < 0.15 && distance.abs() < 4.0, "{fit:?}");
        distances += distance;
    }
    assert!(distances.abs() < 3.5 * f64::from(seeds).sqrt(), "{distances}");
}
