//! `tests/golden/burstiness.json`: the worked example packet by packet, window by window, and the
//! published pacing experiment.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::float_cmp, reason = "the arithmetic is exact, and so is what is expected")]
#![allow(clippy::disallowed_methods, reason = "a test may read a golden file")]

use serde_json::Value;
use trustbed_burst::{
    Backlog, Chunk, Drain, Grid, Mode, Packets, Part, Plan, Row, Server, Sigma, Summary, Windows,
};
use trustbed_units::{Ns, Rate, Span};

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/burstiness.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["computed"].clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn packets(golden: &Value) -> (Vec<i64>, Vec<u32>) {
    let rows = list(&golden["packets_ns_bytes"]).iter();
    rows.map(|row| (row[0].as_i64().unwrap(), u32::try_from(row[1].as_u64().unwrap()).unwrap()))
        .unzip()
}

fn link(golden: &Value) -> Drain {
    Drain::at(Rate(golden["rate_bps"].as_u64().unwrap())).unwrap()
}

/// (wait, system) of every window; nothing where the rate is unknown.
fn peaks(rows: &[Row]) -> Vec<Option<(f64, f64)>> {
    let each = rows.iter().flat_map(|row| row.each());
    each.map(|row| row.peaks.map(|peaks| (peaks.wait.bytes(), peaks.system.bytes()))).collect()
}

fn expected(golden: &Value) -> Vec<Option<(f64, f64)>> {
    list(golden)
        .iter()
        .map(|pair| pair.as_array().map(|pair| (number(&pair[0]), number(&pair[1]))))
        .collect()
}

#[test]
fn every_packet_finds_its_backlog() {
    let golden = golden();
    let (times, lengths) = packets(&golden);
    let mut server = Server::new(link(&golden));
    let found: Vec<_> = times
        .iter()
        .zip(&lengths)
        .map(|(time, length)| server.on_packet(Ns(*time), *length))
        .collect();
    let column = |name: &str| list(&golden[name]).iter().map(number).collect::<Vec<f64>>();
    assert_eq!(
        found.iter().map(|peaks| peaks.wait.bytes()).collect::<Vec<_>>(),
        column("serial_wait_bytes")
    );
    assert_eq!(
        found.iter().map(|peaks| peaks.system.bytes()).collect::<Vec<_>>(),
        column("serial_sys_bytes")
    );
}

#[test]
fn chunks_have_their_constants_and_join() {
    let golden = golden();
    let (times, lengths) = packets(&golden);
    let all = Packets::new(&times, &lengths).unwrap();
    let chunk = |from, to| Chunk::of(link(&golden), all.slice(from..to)).unwrap();
    let constants = |chunk: &Chunk| {
        let effect = chunk.effect();
        // 200 units are a byte at 40 Mbit/s.
        [effect.shift, effect.floor, effect.wait_shift, effect.wait_floor]
            .map(|units| f64::from(i32::try_from(units).unwrap()) / 200.0)
    };
    let summaries = &golden["chunk_summaries_ABCD"];
    let pieces =
        [("packets 0-1", chunk(0, 2)), ("packets 2-4", chunk(2, 5)), ("packets 5-7", chunk(5, 8))];
    for (name, piece) in &pieces {
        assert_eq!(
            constants(piece).to_vec(),
            list(&summaries[name]).iter().map(number).collect::<Vec<_>>(),
            "{name}"
        );
    }
    let joined = pieces[0].1.merge(&pieces[1].1.merge(&pieces[2].1));
    assert_eq!(joined, pieces[0].1.merge(&pieces[1].1).merge(&pieces[2].1));
    assert_eq!(
        constants(&joined).to_vec(),
        list(&summaries["all"]).iter().map(number).collect::<Vec<_>>()
    );
    for (initial, peak_and_end) in golden["peak_and_end_for_initial_backlog"].as_object().unwrap() {
        let initial = Backlog::of_bytes(initial.parse().unwrap());
        let found = [joined.peaks_after(initial).wait.bytes(), joined.end_after(initial).bytes()];
        assert_eq!(found.to_vec(), list(peak_and_end).iter().map(number).collect::<Vec<_>>());
    }
    assert_eq!(
        joined.end_after(Backlog::of_bytes(0)).bytes(),
        number(&golden["end_backlog_bytes"])
    );
}

#[test]
fn windows_of_every_mode() {
    let golden = golden();
    let (times, lengths) = packets(&golden);
    let all = Packets::new(&times, &lengths).unwrap();
    let length = golden["T_ns"].as_i64().unwrap();
    let end = Ns(length * golden["windows"].as_i64().unwrap());
    let modes = [
        (Mode::Static(link(&golden)), "static_wait_sys_per_window"),
        (Mode::DynamicSame, "dynamic_same_reset"),
        (Mode::DynamicSameCarry, "dynamic_same_carry"),
        (Mode::DynamicPrevious, "dynamic_previous_reset"),
    ];
    for (mode, name) in modes {
        let plan = Plan { mode, grid: Grid::aligned_to_epoch(Span(length)).unwrap() };
        let mut windows = Windows::new(plan);
        windows.push(all);
        let rows = windows.finish(end);
        assert_eq!(peaks(&rows), expected(&golden[name]), "{name}");
        let rates: Vec<f64> =
            rows.iter().flat_map(|row| row.each()).map(|row| row.abw_bits_per_second()).collect();
        assert_eq!(
            rates,
            list(&golden["abw_bps_per_window"]).iter().map(number).collect::<Vec<_>>()
        );
        // The same from parts that are cut within windows.
        let parts = [0..1, 1..4, 4..7, 7..8].map(|range| {
            let mut part = Part::new(plan);
            part.push(all.slice(range));
            part
        });
        let joined =
            parts.into_iter().reduce(|earlier, later| earlier.merge(later).unwrap()).unwrap();
        assert_eq!(joined.finish(end), rows, "{name} in parts");
    }
}

#[test]
fn burstiness_against_rate() {
    let golden = golden();
    let (times, lengths) = packets(&golden);
    let points = list(&golden["sigma_of_rho_bytes"]);
    let rates: Vec<Rate> = points.iter().map(|point| Rate(point[0].as_u64().unwrap())).collect();
    let mut sigma = Sigma::new(&rates).unwrap();
    sigma.push(Packets::new(&times, &lengths).unwrap());
    let found: Vec<f64> = sigma.points().iter().map(|point| point.depth.bytes()).collect();
    assert_eq!(found, points.iter().map(|point| number(&point[1])).collect::<Vec<_>>());
}

const FRAME: u32 = 1514;
const RATE: u64 = 40_000_000;

/// A token bucket of 40 Mbit/s that a timer refills `hz` times a second; what it lets pass leaves
/// back to back at 1 Gbit/s, for a second.
fn timer_released(hz: u32, back_to_back: i64) -> (Vec<i64>, Vec<u32>) {
    let per_tick = u32::try_from(RATE / 8).unwrap() / hz;
    let mut tokens = 0;
    let mut times = vec![];
    for tick in 0..hz {
        tokens = per_tick.min(tokens + per_tick);
        let start = i64::from(tick) * (1_000_000_000 / i64::from(hz));
        let frames = tokens / FRAME;
        times.extend((0..i64::from(frames)).map(|frame| start + frame * back_to_back));
        tokens -= frames * FRAME;
    }
    let lengths = vec![FRAME; times.len()];
    (times, lengths)
}

/// One frame after the other at exactly 40 Mbit/s, for a second.
fn paced() -> (Vec<i64>, Vec<u32>) {
    let bits = i64::from(FRAME) * 8;
    let rate = i64::try_from(RATE).unwrap();
    let times: Vec<i64> =
        (0..rate / bits).map(|frame| bits * 1_000_000_000 * frame / rate).collect();
    let lengths = vec![FRAME; times.len()];
    (times, lengths)
}

fn summary((times, lengths): (Vec<i64>, Vec<u32>)) -> Summary {
    let plan = Plan {
        mode: Mode::Static(Drain::at(Rate(RATE)).unwrap()),
        grid: Grid::aligned_to_epoch(Span::from_millis(100)).unwrap(),
    };
    let mut windows = Windows::new(plan);
    windows.push(Packets::new(&times, &lengths).unwrap());
    Summary::of(&windows.finish(Ns(1_000_000_000)))
}

/// Kilobytes of 1024 bytes, as the paper prints them.
fn kilobytes(bytes: f64) -> f64 {
    bytes / 1024.0
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn the_pacing_experiment_gives_the_simulated_values() {
    let golden = golden();
    let experiment = &golden["pacing_experiment"];
    let back_to_back = experiment["back_to_back_ns"].as_i64().unwrap();
    let flows =
        [100, 250, 1000].map(|hz| (format!("TBF_HZ{hz}"), timer_released(hz, back_to_back)));
    for (name, flow) in flows.into_iter().chain([("paced".to_owned(), paced())]) {
        let expected = &experiment["simulated"][&name];
        let all = summary(flow).all;
        assert_eq!(all.windows(), 10, "{name}");
        let found = [
            ("ABW_Mbps_mean", all.abw_mean().unwrap() / 1e6),
            ("ABW_Mbps_max", all.abw_max().unwrap() / 1e6),
            ("maxQ_wait_KB_mean", kilobytes(all.wait_mean().unwrap())),
            ("maxQ_wait_KB_max", kilobytes(all.wait_max().unwrap().bytes())),
            ("maxQ_sys_KB_mean", kilobytes(all.system_mean().unwrap())),
            ("maxQ_sys_KB_max", kilobytes(all.system_max().unwrap().bytes())),
        ];
        for (key, value) in found {
            assert!(near(value, number(&expected[key])), "{name} {key}: {value}");
        }
    }
}

#[test]
fn the_pacing_experiment_agrees_with_the_paper() {
    let timer = summary(timer_released(100, 12_304)).all;
    assert!((kilobytes(timer.wait_mean().unwrap()) / 46.9 - 1.0).abs() < 0.05);
    assert!((kilobytes(timer.wait_max().unwrap().bytes()) / 46.9 - 1.0).abs() < 0.05);
    assert!(kilobytes(summary(paced()).all.wait_max().unwrap().bytes()) < 0.01);
}
