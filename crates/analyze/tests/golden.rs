//! The golden connection of `tests/golden/flows.json` and the throughputs of
//! `tests/golden/throughput.json`, from packets to rows.

#[path = "../../flow/tests/flows/mod.rs"]
mod flows;
mod measured;
#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use flows::{golden, list, number, read};
use measured::{connection, measure, transfer};
use serde_json::Value;
use trustbed_analyze::{At, CapturePointSource, Category, Path, Rto, RttKind, window_bound};
use trustbed_units::Span;

const THROUGHPUT: &str = include_str!("../../../tests/golden/throughput.json");

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn near(measured: f64, expected: f64, relative: f64) -> bool {
    (measured - expected).abs() <= relative * expected.abs()
}

#[test]
fn the_capture_was_taken_beside_the_sender() {
    let rows = measure(&golden().1);
    let row = transfer(&rows);
    assert_eq!((row.at, row.at_source), (At::Sender, CapturePointSource::Handshake));
    assert_eq!(connection(&rows).handshake_rtt, Some(Span::from_micros(20_100)));
}

#[test]
fn round_trip_samples() {
    let (golden, packets) = golden();
    let rows = measure(&packets);
    let expected = list(&golden["computed"]["expect"]["rtt_samples"]);
    let samples = &rows.samples.rtt;
    assert_eq!(samples.len(), expected.len());
    for (sample, expected) in samples.iter().zip(expected) {
        assert_eq!(sample.ts.0, number(&expected["t_us"]) * 1_000);
        assert_eq!(sample.rtt.0, number(&expected["rtt_us"]) * 1_000);
        assert_eq!(
            sample.kind,
            if expected["from"] == "syn" { RttKind::Syn } else { RttKind::Ack }
        );
        assert!(!sample.delack_suspect);
    }
    let row = transfer(&rows);
    assert_eq!((row.rtt.count, row.rtt.min, row.rtt.max), (5, Some(20_000_000), Some(20_050_000)));
    assert_eq!(
        (row.refused.ambiguous, row.refused.unseen, row.refused.inside, row.refused.not_positive),
        (1, 0, 0, 0)
    );
    assert_eq!(row.rtt_base, Some(20_000_000.0), "R₀: the smallest sample");
    assert!(row.rtt_mean.is_some_and(|mean| near(mean, 20_028_200.0, 1e-12)));
}

#[test]
fn timers_after_each_sample() {
    let (golden, packets) = golden();
    let rows = measure(&packets);
    let series = list(&golden["computed"]["rto_raw_G1ms"]);
    let at_least_a_second = list(&golden["computed"]["rto_min_1s"]);
    assert_eq!((series.len(), at_least_a_second.len()), (5, 5));
    for ((sample, expected), rfc) in rows.samples.rtt.iter().zip(series).zip(at_least_a_second) {
        let rto =
            sample.rto.unwrap_or(trustbed_analyze::RtoValues { raw: 0.0, rfc: 0.0, linux: 0.0 });
        assert!(near(rto.raw, float(&expected["rto_us"]) * 1e3, 1e-9), "raw");
        assert!(near(rto.linux, float(&expected["rto_linux_us"]) * 1e3, 1e-9), "linux");
        assert!(near(rto.rfc, float(rfc) * 1e3, 1e-9), "rfc");
    }
}

#[test]
fn the_textbook_timer() {
    let (golden, _) = golden();
    let series = list(&golden["rto_textbook"]["series"]);
    assert_eq!(series.len(), 5);
    let mut rto = Rto::default();
    for step in series {
        rto.on_sample(Span::from_micros(number(&step["rtt_us"])));
        let (srtt, variation) = rto.smoothed().unwrap_or_default();
        assert!(near(srtt, float(&step["srtt_us"]) * 1e3, 1e-9));
        assert!(near(variation, float(&step["rttvar_us"]) * 1e3, 1e-9));
        assert!(near(rto.values().raw, float(&step["rto_us"]) * 1e3, 1e-9));
        assert!(near(rto.values().linux, float(&step["rto_linux_us"]) * 1e3, 1e-9));
    }
}

#[test]
fn spacing_samples() {
    let (golden, packets) = golden();
    let rows = measure(&packets);
    let expected = list(&golden["computed"]["expect"]["spacing_samples"]);
    let turns: Vec<_> = rows.samples.spacing.iter().filter(|row| row.category.is_some()).collect();
    assert_eq!((turns.len(), expected.len()), (5, 5));
    for (turn, expected) in turns.iter().zip(expected) {
        assert_eq!(turn.ts.0, number(&expected["t_us"]) * 1_000);
        assert_eq!(turn.spacing, Some(Span::from_micros(number(&expected["spacing_us"]))));
        assert_eq!(turn.category.map(Category::name), expected["category"].as_str());
        assert_eq!(Some(turn.empty), expected["pipe_empty"].as_bool());
    }
    let summary = &golden["computed"]["expect"]["spacing_us"];
    let spacing = transfer(&rows).spacing;
    assert_eq!(i64::try_from(spacing.count), Ok(number(&summary["n"])));
    assert_eq!(spacing.min, Some(number(&summary["min"]) * 1_000));
    assert_eq!(spacing.max, Some(number(&summary["max"]) * 1_000));
    assert!(spacing.mean.is_some_and(|mean| near(mean, float(&summary["mean"]) * 1e3, 1e-9)));
    assert_eq!(transfer(&rows).recovery_wait, Some((2, 200_118_000)));
}

#[test]
fn long_pauses_are_longer_than_the_base_round_trip() {
    let (golden, packets) = golden();
    let rows = measure(&packets);
    let expected = &golden["computed"]["oversize"];
    let row = transfer(&rows);
    assert_eq!(row.rtt_base, Some(float(&expected["threshold_us"]) * 1e3));
    assert_eq!(
        row.long_pauses,
        Some((float(&expected["count"]), float(&expected["sum_us"]) * 1e3))
    );
    assert!(
        row.long_pause_fraction.is_some_and(|f| near(f, 33_000.0 / 333_300.0, 1e-12)),
        "of D from the first data to the last ACK"
    );
}

#[test]
fn loss_rates_and_throughput() {
    let (golden, packets) = golden();
    let rows = measure(&packets);
    let expected = &golden["computed"]["expect"];
    let row = transfer(&rows);
    assert!(row.loss_rate.is_some_and(|loss| near(
        loss * 100.0,
        float(&expected["loss_rate_percent"]),
        1e-12
    )));
    assert!(row.loss_rate_genuine.is_some_and(|loss| near(
        loss * 100.0,
        float(&expected["loss_rate_without_spurious_percent"]),
        1e-12
    )));
    assert_eq!(row.loss_bytes, Some(2000.0 / 9500.0));
    assert_eq!((row.loss_events, row.segments_wire), (1, 10));
    assert_eq!(row.duration, Some(Span::from_micros(333_300)));
    assert!(row.throughput.is_some_and(|x| near(x, 7500.0 / 0.3333, 1e-12)));
    assert_eq!((row.mss, row.packet_bytes, row.window_max), (1000, 1040, Some(4000)));
    assert!(row.bounds[0].is_some_and(|x0| near(x0, 4000.0 * 1000.0 / (1040.0 * 0.020), 1e-12)));
}

#[test]
fn what_the_window_allows() {
    let golden = read(THROUGHPUT);
    let cases = list(&golden["computed"]["cases"]);
    assert_eq!(cases.len(), 4);
    for case in cases {
        let [window, payload, packet, rtt] =
            ["W_bytes", "p_bytes", "P_bytes", "R_s"].map(|name| float(&case[name]));
        let bound = window_bound(window, payload, packet, rtt).unwrap_or(f64::NAN);
        assert!(near(bound, float(&case["expect_Bps"]), 1e-12), "{}", case["pair"]);
        assert!(near(bound / 1e3, float(&case["expect_KBps"]), 1e-12), "{}", case["pair"]);
        assert!(
            ((bound / 100.0).floor() / 10.0 - float(&case["paper_KBps"])).abs() < 1e-9,
            "truncated to one decimal it is the published number"
        );
        let path =
            Path { window: Some(window), payload, packet, rtt_base: Some(rtt), ..Path::default() };
        assert!(path.x0().is_some_and(|x0| near(x0, bound, 1e-15)));
        assert!(
            path.packet_period().is_some_and(|period| near(period, float(&case["T_pkt_s"]), 1e-12)),
            "{}",
            case["pair"]
        );
    }
}

#[test]
fn windows_that_were_not_meant() {
    let golden = read(THROUGHPUT);
    let extra = list(&golden["computed"]["extra"]);
    let with_bound: Vec<&Value> =
        extra.iter().filter(|case| case["expect_KBps"].is_number()).collect();
    assert_eq!(with_bound.len(), 3);
    for case in with_bound {
        let [window, payload, packet, rtt] =
            ["W_bytes", "p_bytes", "P_bytes", "R_s"].map(|name| float(&case[name]));
        let bound = window_bound(window, payload, packet, rtt).unwrap_or(f64::NAN);
        assert!(near(bound / 1e3, float(&case["expect_KBps"]), 1e-12), "{}", case["what"]);
    }
}

#[test]
fn the_conventions_that_were_tried() {
    let golden = read(THROUGHPUT);
    let paper = &golden["from_paper"];
    let trials = list(&golden["computed"]["all_trials"]);
    assert!(trials.len() >= 12);
    for trial in trials {
        for (pair, rtt) in paper["ping_rtt_s"].as_object().into_iter().flatten() {
            let bound = window_bound(
                float(&trial["W_bytes"]),
                float(&paper["p_bytes"]),
                float(&paper["P_bytes"]),
                float(rtt),
            )
            .unwrap_or(f64::NAN);
            let tenths = bound / float(&trial["bytes_per_KB"]) * 10.0;
            let printed =
                if trial["to_one_decimal"] == "round" { tenths.round() } else { tenths.floor() }
                    / 10.0;
            assert!((printed - float(&trial["KBps"][pair])).abs() < 1e-9, "{trial}: {pair}");
        }
    }
}
