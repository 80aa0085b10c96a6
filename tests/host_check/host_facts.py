"""Facts of a host from which tests of its judgement start."""

from __future__ import annotations

import copy
from typing import Any

Facts = dict[str, Any]
GOOD: Facts = {
    "facts_version": 1,
    "ended_early": False,
    "system": {"host": "bench", "kernel": "6.12.0", "machine": "x86_64", "tick_hz": 250},
    "virtual": {
        "hypervisor_flag": False,
        "hypervisor": None,
        "vendor": "Maker",
        "product": "Board",
        "container": None,
    },
    "clock": {
        "source": "tsc",
        "available": ["tsc", "hpet"],
        "timer_resolution_ns": 1,
        "timer_slack_ns": 50_000,
    },
    "synchronisation": {
        "synchronised": True,
        "estimated_error_ns": 999_000,
        "maximum_error_ns": 9_000_000,
        "programs": ["chronyd"],
    },
    "processors": {
        "online": [0, 1, 2, 3],
        "allowed": [0, 1],
        "smt_active": False,
        "siblings": [],
        "frequency": {"drivers": ["intel_pstate"], "governors": ["performance"], "boost": False},
        "idle": {
            "states": [
                {"name": "C1", "exit_latency_ns": 99_000},
                {"name": "C9", "exit_latency_ns": 900_000, "disabled": True},
            ]
        },
    },
    "load": {
        "run_queue": {"load_1min": 1.99},
        "since_start": {"steal_share": 0.0099},
        "pressure": {"processor_some_share": 0.0499, "memory_some_share": 0.0099},
        "memory": {"available_bytes": 512_000_000},
        "backlog_drops": 0,
    },
    "limits": {
        "processor_quota": 2.0,
        "processor_groups": ["/sys/fs/cgroup/a"],
        "quota_periods": 1000,
        "throttled_periods": 9,
        "throttled_ns": 5,
        "memory_limit_bytes": 1_024_000_000,
        "memory_used_bytes": 512_000_000,
        "open_files_most": 4096,
        "scheduling_class": "other",
        "niceness": 0,
    },
    "permissions": {
        "capture": True,
        "realtime": True,
        "namespaces": True,
        "capabilities": ["CAP_NET_RAW"],
    },
    "network": {
        "congestion_control": "cubic",
        "congestion_controls": ["reno", "cubic"],
        "tcp_receive_memory_bytes": [4096, 131_072, 2_500_000],
        "tcp_send_memory_bytes": [4096, 16_384, 2_500_000],
        "receive_buffer_most_bytes": 1_000_000,
        "send_buffer_most_bytes": 1_000_000,
        "tcp_window_scaling": 1,
        "tcp_timestamps": 1,
        "tcp_selective_acknowledgements": 1,
        "tcp_remembers_paths": False,
    },
    "interfaces": [
        {
            "name": "eth0",
            "up": True,
            "loopback": False,
            "driver": "virtio_net",
            "mtu_bytes": 1500,
            "offloads": {
                "tcp_segmentation": False,
                "generic_segmentation": False,
                "generic_receive": False,
                "large_receive": None,
            },
            "coalescing": {"receive_ns": 19_000, "adaptive_receive": False},
            "qdiscs": [
                {"kind": "mq", "root": True, "drops": 0},
                {"kind": "fq", "root": False, "drops": 7},
            ],
            "traffic": {
                "received_packets": 900_000,
                "sent_packets": 100_000,
                "received_errors": 0,
                "sent_errors": 0,
                "received_drops": 0,
                "sent_drops": 0,
                "received_missed": 0,
            },
            "counters": {"bw_in_allowance_exceeded": 0, "rx_bytes": 17},
        },
        {
            "name": "lo",
            "up": True,
            "loopback": True,
            "mtu_bytes": 100,
            "qdiscs": [{"kind": "netem", "root": True}],
        },
        {"name": "eth1", "up": False, "loopback": False, "mtu_bytes": 100},
    ],
    "live": {
        "sleeping": {"late_p99_ns": 900_000},
        "sleeping_exactly": {
            "sleeps": 500,
            "late_p50_ns": 40_000,
            "late_p99_ns": 249_000,
            "late_most_ns": 9_000_000,
            "priority": "fifo",
        },
        "sleeping_polling": {"sleeps": 500, "late_p99_ns": 150_000, "idle": "poll"},
        "while_sleeping": {
            "idle_share": 0.89,
            "iowait_share": 0.02,
            "steal_share": 0.0099,
        },
        "spinning": {
            "lasted_ns": 1_000_000_000,
            "threshold_ns": 50_000,
            "gaps": 9,
            "longest_gap_ns": 4_999_000,
            "share": 0.981,
            "charged_excess_share": 0.05,
        },
        "loopback": {
            "sent": 1000,
            "captured": 1000,
            "dropped": 0,
            "stamped_outside": 1,
            "stamped_outside_most_ns": 19_000,
        },
        "clock": {"read_p50_ns": 199, "steps": 0, "stepped_ns": 0},
    },
    "unavailable": [],
}
"""A host that passes every check, most of them narrowly.

Values are just below their thresholds, or at those that only count beyond.
"""


def changed(**changes: object) -> Facts:
    """The good host with other values: `load__backlog_drops=1`; the first interface is `eth`."""
    facts = copy.deepcopy(GOOD)
    for key_path, value in changes.items():
        *path, last = key_path.split("__")
        part = facts
        for key in path:
            part = facts["interfaces"][0] if key == "eth" else part[key]
        part[last] = value
    return facts
