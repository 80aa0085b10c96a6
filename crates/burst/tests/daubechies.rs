//! Filters, pyramid and their golden values; streaming against whole series; blindness to trends.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::Random;
use serde_json::Value;
use trustbed_burst::{Octave, Pyramid, Wavelet};

const ALL: [Wavelet; 3] = [Wavelet::Haar, Wavelet::Daubechies2, Wavelet::Daubechies3];

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/wavelet.json")).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn pyramid(wavelet: Wavelet, series: &[f64]) -> Vec<Octave> {
    let mut pyramid = Pyramid::new(wavelet);
    for &value in series {
        pyramid.push(value);
    }
    pyramid.octaves()
}

#[test]
fn golden_filters() {
    let golden = golden();
    for wavelet in ALL {
        let (low, high) = (wavelet.low_pass(), wavelet.high_pass());
        let expected =
            floats(&golden["computed"]["filters"][wavelet.vanishing_moments().to_string()]);
        assert_eq!(low.len(), expected.len());
        assert!(low.iter().zip(&expected).all(|(tap, expected)| (tap - expected).abs() < 1e-15));
        assert!((low.iter().sum::<f64>() - 2_f64.sqrt()).abs() < 1e-14);
        // Orthogonal, of length one, and without the first N moments.
        assert!((low.iter().map(|tap| tap * tap).sum::<f64>() - 1.0).abs() < 1e-14);
        assert!(low.iter().zip(&high).map(|(l, h)| l * h).sum::<f64>().abs() < 1e-14);
        for moment in 0..i32::try_from(wavelet.vanishing_moments()).unwrap() {
            let sum: f64 = (0..).zip(&high).map(|(i, tap)| tap * f64::from(i).powi(moment)).sum();
            assert!(sum.abs() < 1e-12, "{wavelet:?} moment {moment}");
        }
    }
}

#[test]
fn golden_series() {
    let golden = golden();
    let computed = &golden["computed"];
    let series = floats(&computed["bins_32"]);
    for (wavelet, name) in [(Wavelet::Daubechies2, "daub2_32"), (Wavelet::Daubechies3, "daub3_32")]
    {
        let (octaves, expected) = (pyramid(wavelet, &series), computed[name].as_array().unwrap());
        assert_eq!(octaves.len(), expected.len());
        for (octave, expected) in octaves.iter().zip(expected) {
            assert_eq!(Some(octave.count), expected["n"].as_u64());
            assert!((octave.mean_square / expected["mu"].as_f64().unwrap() - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn streaming_equals_the_whole_series() {
    let mut random = Random(1);
    for wavelet in ALL {
        for length in (0..40).chain([1000]) {
            let series: Vec<f64> = (0..length).map(|_| random.normal()).collect();
            let (octaves, details) = (pyramid(wavelet, &series), wavelet.details(&series));
            assert_eq!(octaves.len(), details.len(), "{wavelet:?} {length}");
            for (octave, details) in octaves.iter().zip(&details) {
                let squares: f64 = details.iter().map(|d| d * d).sum();
                assert_eq!(octave.count, details.len() as u64);
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let mean = squares / details.len() as f64;
                assert!((octave.mean_square - mean).abs() <= 1e-12 * mean);
            }
        }
    }
}

#[test]
fn silence_is_skipped_as_if_it_were_pushed() {
    let mut random = Random(2);
    for wavelet in ALL {
        for _ in 0..200 {
            let (mut skipped, mut pushed) = (Pyramid::new(wavelet), Pyramid::new(wavelet));
            for _ in 0..6 {
                let (value, silence) = (random.uniform(), random.magnitude(9));
                skipped.push(value);
                skipped.push_silence(silence);
                pushed.push(value);
                (0..silence).for_each(|_| pushed.push(0.0));
            }
            assert_eq!(skipped.octaves(), pushed.octaves());
            // And what comes afterwards is the same too.
            for _ in 0..40 {
                let value = random.normal();
                skipped.push(value);
                pushed.push(value);
            }
            assert_eq!(skipped.octaves(), pushed.octaves());
        }
    }
}

#[test]
fn centuries_of_silence_cost_nothing() {
    for wavelet in ALL {
        let mut pyramid = Pyramid::new(wavelet);
        pyramid.push(1.0);
        pyramid.push_silence(1 << 60);
        pyramid.push(1.0);
        let octaves = pyramid.octaves();
        assert!(octaves.len() <= 64 && octaves[0].count > 1 << 58);
    }
}

#[test]
fn trends_below_the_number_of_vanishing_moments_are_not_seen() {
    let mut random = Random(4);
    let series: Vec<f64> = (0..2048).map(|_| random.normal()).collect();
    for wavelet in ALL {
        for degree in 0..i32::try_from(wavelet.vanishing_moments()).unwrap() {
            let trend: Vec<f64> = (0..)
                .zip(&series)
                .map(|(k, value)| value + 40.0 * (f64::from(k) / 100.0).powi(degree))
                .collect();
            for (plain, with) in pyramid(wavelet, &series).iter().zip(pyramid(wavelet, &trend)) {
                assert!(
                    (with.mean_square / plain.mean_square - 1.0).abs() < 1e-6,
                    "{wavelet:?} degree {degree}"
                );
            }
        }
        // One degree more is seen.
        let degree = i32::try_from(wavelet.vanishing_moments()).unwrap();
        let trend: Vec<f64> = (0..)
            .zip(&series)
            .map(|(k, value)| value + 40.0 * (f64::from(k) / 100.0).powi(degree))
            .collect();
        let (plain, with) = (pyramid(wavelet, &series), pyramid(wavelet, &trend));
        assert!(with[5].mean_square > 2.0 * plain[5].mean_square, "{wavelet:?}");
    }
}

#[test]
fn scaling_adds_twice_the_logarithm() {
    let mut random = Random(9);
    let series: Vec<f64> = (0..512).map(|_| random.normal()).collect();
    let scaled: Vec<f64> = series.iter().map(|value| value * 10.0).collect();
    for (plain, scaled) in
        pyramid(Wavelet::Daubechies3, &series).iter().zip(pyramid(Wavelet::Daubechies3, &scaled))
    {
        assert!(
            (scaled.energy().unwrap() - plain.energy().unwrap() - 2.0 * 10_f64.log2()).abs() < 1e-9
        );
    }
}

#[test]
fn too_short_a_series_has_no_octave() {
    assert!(pyramid(Wavelet::Daubechies3, &[1.0; 5]).is_empty());
    assert_eq!(pyramid(Wavelet::Daubechies3, &[1.0; 6]).len(), 1);
}
