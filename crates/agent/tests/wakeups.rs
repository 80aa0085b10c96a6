//! A session that waits does not wake up: the agent runs on hosts whose wake-ups are judged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::time::Duration;

use agent::Agent;
use serde_json::json;

/// How often the threads of a process have gone to sleep so far.
fn sleeps(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let statuses = tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok())
        .collect::<Vec<_>>();
    statuses
        .iter()
        .flat_map(|status| status.lines())
        .filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .map(|count| count.trim().parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_session_that_waits_wakes_up_for_its_progress_only() {
    let connections = json!([{"pair": 0, "role": "probe", "bytes": 1}]);
    let cases = [
        ("bulk", json!({"role": "receive", "listen": ["127.0.0.1:0"]})),
        ("serve", json!({"listen": ["127.0.0.1:0"]})),
        (
            "media",
            json!({"role": "send", "transport": "udp", "listen": "127.0.0.1:0",
                "media": {"rate_bits_per_second": 450_000, "frames_per_second": 30, "frames": 1}}),
        ),
        ("sink", json!({"listen": [{"transport": "udp", "address": "127.0.0.1:0"}]})),
        (
            "pairs",
            json!({"role": "receive", "listen": "127.0.0.1", "peer": "127.0.0.1", "round": 1,
                "nonce": "00112233445566778899aabbccddeeff", "connections": connections}),
        ),
    ];
    let mut agents: Vec<(&str, Agent)> = cases
        .iter()
        .map(|(verb, configuration)| (*verb, Agent::begin(verb, configuration)))
        .collect();
    for (_, agent) in &mut agents {
        agent.start();
    }
    std::thread::sleep(Duration::from_millis(300));
    let before: Vec<u64> = agents.iter().map(|(_, agent)| sleeps(agent.process())).collect();
    std::thread::sleep(Duration::from_secs(2));
    for ((verb, agent), before) in agents.into_iter().zip(before) {
        // Progress is due twice, and writing it may block; polling at 20 ms sleeps 100 times.
        let slept = sleeps(agent.process()) - before;
        assert!(slept <= 12, "{verb} woke up {slept} times in 2 s");
        agent.stop();
    }
}
