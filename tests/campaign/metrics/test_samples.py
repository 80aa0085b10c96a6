"""Observations from the agent's samples.

The lines are as the agent writes them; expected values are calculated by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trustbed.campaign.metrics.samples import Sampled, read_samples
from trustbed.campaign.metrics.table import METRICS, Observation

SECOND = 1_000_000_000
HEAD = {
    "trustbed": "0.1.0",
    "start_ns": 0,
    "interval_ns": SECOND,
    "unavailable": [{"what": "pressure", "why": "No such file or directory"}],
}
LINE: dict[str, Any] = {
    "at_ns": 12 * SECOND,
    "after_ns": 2 * SECOND,
    "late_ns": 0,
    "interval_ns": 2 * SECOND,
    "processors": {
        "user_share": 0.25,
        "nice_share": 0.0,
        "system_share": 0.125,
        "interrupt_share": 0.0,
        "steal_share": 0.0625,
        "idle_share": 0.5,
        "iowait_share": 0.0625,
        "busy_shares": [0.5, 0.5, 0.5, 0.25],
        "context_switches": 500,
        "interrupts": 90,
    },
    "run_queue": {"load_1min": 1.5, "running": 2, "tasks": 99},
    "pressure": {"processor_some_share": 0.1},
    "memory": {"total_bytes": 8_000_000, "free_bytes": 1_000_000, "available_bytes": None},
    "tcp": {
        "established": 4,
        "received_segments": 200,
        "retransmitted_segments": 3,
        "timeouts": None,
    },
    "drivers": [
        {
            "name": "eth0",
            "interval_ns": 8 * SECOND,
            "counters": {"bw_in_allowance_exceeded": 4, "rx_packets": 0},
        }
    ],
    "cgroups": [
        {
            "cgroup": "/sys/fs/cgroup/x",
            "periods": 20,
            "throttled_periods": 5,
            "throttled_ns": SECOND,
            "used_ns": 2 * SECOND,
        }
    ],
    "interfaces": [
        {"name": "eth0", "received_bytes": 4000, "received_drops": 1, "sent_packets": 8}
    ],
    "processes": [
        {
            "process": 77,
            "state": "R",
            "threads": 1,
            "ran_ns": SECOND,
            "waited_ns": SECOND // 2,
            "resident_bytes": 4096,
        }
    ],
}


def sampled(directory: Path, *lines: object) -> Sampled:
    file = directory / "sender.samples.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (HEAD, *lines)))
    return read_samples(file)


def value(observations: Any, metric: str, name: str | None = None) -> float | None:  # noqa: ANN401 - a sequence of them
    (found,) = (one.value for one in observations if one.metric == metric and one.name == name)
    return None if found is None else float(found)


def test_a_second_becomes_shares_and_rates_of_its_interval(tmp_path: Path) -> None:
    found = sampled(tmp_path, LINE)
    drivers = [one for one in found.proc if one.metric == "driver_counter_per_second"]
    others = [one for one in (*found.proc, *found.cgroup) if one not in drivers]
    assert {(one.time_ns, one.resolution_ns) for one in others} == {(10 * SECOND, 2 * SECOND)}
    counters = [
        (one.name, one.counter, one.time_ns // SECOND, one.resolution_ns // SECOND, one.value)
        for one in drivers
    ]
    assert counters == [
        ("eth0", "bw_in_allowance_exceeded", 4, 8, 0.5),
        ("eth0", "rx_packets", 4, 8, 0.0),
    ]
    assert {one.metric for one in (*found.proc, *found.cgroup)} <= set(METRICS)
    expected = {
        "cpu_utilisation_share": 0.5,
        "cpu_steal_share": 0.0625,
        "cpu_iowait_share": 0.0625,
        "context_switches_per_second": 250.0,
        "load_1min": 1.5,
        "tasks_running": 2.0,
        "pressure_processor_some_share": 0.1,
        "pressure_disk_full_share": None,
        "interrupts_per_second": 45.0,
        "memory_total_bytes": 8e6,
        "memory_available_bytes": None,
        "tcp_established": 4.0,
        "tcp_received_segments_per_second": 100.0,
        "tcp_retransmitted_segments_per_second": 1.5,
        "tcp_timeouts_per_second": None,
        "tcp_opened_per_second": None,
    }
    assert {metric: value(found.proc, metric) for metric in expected} == expected
    assert value(found.proc, "network_received_bytes_per_second", "eth0") == 2000
    assert value(found.proc, "network_received_drops_per_second", "eth0") == 0.5
    assert value(found.proc, "network_sent_bytes_per_second", "eth0") is None
    assert found.unavailable == ("pressure: No such file or directory",)


def test_processes_and_control_groups_are_shares_of_the_node(tmp_path: Path) -> None:
    found = sampled(tmp_path, LINE)
    assert value(found.proc, "cpu_utilisation_share", "77") == 0.125  # half a processor of four
    assert value(found.proc, "cpu_waited_seconds_per_second", "77") == 0.25
    assert value(found.proc, "memory_resident_bytes", "77") == 4096
    assert value(found.cgroup, "cpu_utilisation_share", "/sys/fs/cgroup/x") == 0.25
    assert value(found.cgroup, "cpu_throttled_periods_share", "/sys/fs/cgroup/x") == 0.25
    assert value(found.cgroup, "cpu_throttled_seconds_per_second", "/sys/fs/cgroup/x") == 0.5


@pytest.mark.parametrize("missing", ["steal_share", "idle_share"])
def test_shares_that_the_kernel_does_not_report_are_unknown(tmp_path: Path, missing: str) -> None:
    line = {
        **LINE,
        "processors": {key: share for key, share in LINE["processors"].items() if key != missing},
    }
    found = sampled(tmp_path, line).proc
    assert value(found, f"cpu_{missing}") is None
    assert (value(found, "cpu_utilisation_share") is None) == (missing == "idle_share")


def test_without_ticks_no_share_is_known(tmp_path: Path) -> None:
    """Some sandboxes have a /proc/stat of zeros; nothing was idle there, and nothing was used."""
    none = {name: 0 for name in LINE["processors"] if name.endswith("_share")}
    found = sampled(
        tmp_path, {**LINE, "processors": {**none, "busy_shares": [], "context_switches": 0}}
    )
    assert value(found.proc, "cpu_utilisation_share") is None
    assert value(found.proc, "cpu_utilisation_share", "77") is None, (
        "the number of processors is unknown"
    )


def test_lines_without_an_interval_or_cut_by_a_kill_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(
        f'not a head\n{{"at_ns": 5, "interval_ns": '
        f'0}}\n{json.dumps({"at_ns": SECOND, "interval_ns": SECOND})}\n{{"at_ns": 5, "inte'
    )
    assert read_samples(file) == Sampled([], [], ())
    assert isinstance(Observation("host", None, "load_1min", 0, 1, None), tuple)
