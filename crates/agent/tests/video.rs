//! A player against the built-in server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::cast_precision_loss, reason = "rates of a test are far below 2^53")]

mod agent;

use agent::{Agent, number, rows};
use serde_json::json;

#[test]
fn a_player_fetches_every_chunk_over_one_connection() {
    for rule in ["throughput", "buffer"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows");
        let mut server = Agent::begin("serve", &json!({"listen": ["127.0.0.1:0"]}));
        server.start();
        let mut client = Agent::begin(
            "video",
            &json!({
                "to": server.ready["listening"][0], "duration_ns": 1_000_000_000_u64,
                "segment_ns": 300_000_000_u64, "rates_bits_per_second": [100_000, 400_000],
                "rule": rule, "buffer_ns": 600_000_000_u64, "rows": path.to_str().unwrap(),
            }),
        );
        client.start();
        let report = client.report();
        assert!(report["error"].is_null(), "{report}");
        assert_eq!((number(&report["chunks"]), number(&report["video_chunks"])), (4, 4));
        assert_eq!((number(&report["connections"]), number(&report["failed_requests"])), (1, 0));
        let (columns, found) = rows(&path);
        assert!(columns.iter().any(|name| name == "buffer_before_ns") && found.len() == 4);
        let media: Vec<i64> = found.iter().map(|row| row[1]).collect();
        assert_eq!(media, [300_000_000, 300_000_000, 300_000_000, 100_000_000]);
        for row in &found {
            // Bytes are those of rate and duration, and the buffer holds its limit.
            assert_eq!(row[6], row[2] * (row[1] / 1_000_000) / 8000);
            assert!(row[7] + row[1] <= 600_000_000 && row[8] <= 600_000_000, "{row:?}");
            assert!(row[3] <= row[4] && row[4] <= row[5] && row[10] == 0, "{row:?}");
        }
        assert_eq!(found[0][2], 100_000);
        for (number, row) in found.iter().enumerate().skip(1) {
            // By what was seen before: on a busy machine even the loopback interface is slow.
            let slowness: f64 =
                found[..number].iter().map(|row| (row[5] - row[3]) as f64 / row[6] as f64).sum();
            let throughput = 8e9 * number as f64 / slowness;
            let is_high = if rule == "throughput" {
                0.85 * throughput >= 400_000.0
            } else {
                row[7] >= 270_000_000 // 300 ms are left of 600 ms, and the map ends at 9/10 of them
            };
            assert!(row[2] == 400_000 || !is_high, "{rule}: {row:?}");
            assert!(row[2] == 100_000 || is_high || rule == "buffer", "{rule}: {row:?}");
        }
        server.stop();
    }
}

#[test]
fn a_stop_ends_a_player_that_has_no_server() {
    let mut client = Agent::begin(
        "video",
        &json!({
            "to": "127.0.0.1:9", "duration_ns": 1_000_000_000_u64,
            "segment_ns": 300_000_000_u64, "rates_bits_per_second": [100_000],
            "rule": "buffer", "buffer_ns": 600_000_000_u64,
        }),
    );
    client.start();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let report = client.stop();
    assert_eq!(number(&report["chunks"]), 0);
    assert!(number(&report["failed_requests"]) >= 1, "{report}");
}
