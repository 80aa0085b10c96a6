//! The line under points, against one that tries every pair of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test may fail loudly, and its numbers are small"
)]

use proptest::prelude::*;
use trustbed_probe::{Envelope, SkewLine};
use trustbed_units::{Ns, Span};

fn envelope(points: &[(i64, i64)]) -> Envelope {
    let mut made = Envelope::default();
    for (at, height) in points {
        made.add(Ns(*at), Span(*height));
    }
    made
}

/// Of all lines through two points that have no point below them, the greatest height at the mean
/// moment: the distances to the points in sum are least there.
fn highest_at_mean(points: &[(i64, i64)]) -> Option<f64> {
    let mean = points.iter().map(|(at, _)| *at as f64).sum::<f64>() / points.len() as f64;
    let mut highest: Option<f64> = None;
    for (index, from) in points.iter().enumerate() {
        for to in points[index..].iter().filter(|to| to.0 > from.0) {
            let slope = (to.1 - from.1) as f64 / (to.0 - from.0) as f64;
            let under = |at: f64| from.1 as f64 + slope * (at - from.0 as f64);
            if points.iter().all(|(at, height)| *height as f64 >= under(*at as f64) - 1e-6) {
                highest = Some(highest.map_or(under(mean), |before| before.max(under(mean))));
            }
        }
    }
    highest
}

fn height(line: &SkewLine, at: f64) -> f64 {
    line.height.as_f64() + line.slope * (at - line.at.0 as f64)
}

fn points() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0..200_i64, -50..1000_i64), 1..40).prop_map(|steps| {
        let mut at = 0;
        steps
            .into_iter()
            .map(|(step, height)| {
                at += step;
                (at, height)
            })
            .collect()
    })
}

proptest! {

    #[test]
    fn no_line_under_the_points_is_nearer_to_them(points in points()) {
        let (found, slow) = (envelope(&points).line(), highest_at_mean(&points));
        prop_assert_eq!(found.is_some(), slow.is_some());
        let (Some(line), Some(slow)) = (found, slow) else { return Ok(()) };
        let mean = points.iter().map(|(at, _)| *at as f64).sum::<f64>() / points.len() as f64;
        // The mean moment is rounded to a nanosecond.
        let steepest =
            points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).max().unwrap_or(0) as f64;
        prop_assert!(
            (height(&line, mean) - slow).abs() <= 1e-6 + 2.0 * steepest,
            "{line:?} against {slow}"
        );
        for (at, under) in &points {
            prop_assert!(*under as f64 >= height(&line, *at as f64) - 1e-6);
        }
    }

    #[test]
    fn parts_make_the_whole(points in points(), cut in 0..40_usize) {
        let cut = cut.min(points.len());
        let (mut first, second) = (envelope(&points[..cut]), envelope(&points[cut..]));
        first.merge(&second);
        prop_assert_eq!(first, envelope(&points));
    }
}

#[test]
fn a_rise_with_noise_above_it_is_the_rise() {
    // 50 ppm over 100 s, ten points a second of which every seventh met no queue.
    let points: Vec<(i64, i64)> =
        (0..1000).map(|n| (n * 100_000_000, n * 5_000 + (n * n) % 7 * 300_000)).collect();
    let line = envelope(&points).line().unwrap();
    assert!((line.slope - 50e-6).abs() < 1e-12, "{line:?}");
    assert_eq!((line.at(Ns(0)), line.at(Ns(50_000_000_000))), (Span(0), Span(2_500_000)));
    assert_eq!(line.drift(Ns(0), Ns(-2_000_000_000)), Span(-100_000));
}

#[test]
fn points_of_no_time_have_no_line() {
    assert_eq!(Envelope::default().line(), None);
    assert_eq!(envelope(&[(5, 1), (5, 0), (5, 7)]).line(), None);
    assert_eq!(envelope(&[(5, 1), (4, 0)]).line(), None);
    let mut empty = Envelope::default();
    empty.merge(&Envelope::default());
    assert_eq!((empty.points(), empty.duration()), (0, Span::ZERO));
}

#[test]
fn corners_without_end_are_bounded_and_the_line_states_its_error() {
    // Every point of a parabola is a corner of its hull.
    let points: Vec<(i64, i64)> = (-3000..3000).map(|n| (n * 1_000_000_000, n * n)).collect();
    let made = envelope(&points);
    let line = made.line().unwrap();
    let above = points.iter().map(|(at, height)| line.at(Ns(*at)) - Span(*height)).max().unwrap();
    assert!(above <= made.forgotten(), "{above:?} above a point, {:?} forgotten", made.forgotten());
    assert!(
        made.forgotten() > Span::ZERO && made.forgotten() < Span(2_000),
        "{:?} of a height of 9 ms",
        made.forgotten()
    );
    assert!(line.slope.abs() < 3e-8, "{line:?}");
    let mut parts = envelope(&points[..5000]);
    parts.merge(&envelope(&points[5000..]));
    assert!(
        above <= parts.forgotten() && parts.forgotten() < Span(2_000),
        "{:?}",
        parts.forgotten()
    );
}
