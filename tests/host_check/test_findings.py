"""Findings about a host.

Each fires at its threshold and not before it, unknown is none, and nothing that an agent says
breaks them.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host_check.host_facts import GOOD, Facts, changed
from trustbed.findings import Finding
from trustbed.host_check.catalogue import HOST_CATALOGUE
from trustbed.host_check.findings import fitness, host_check_findings

FOUND = [
    (
        "machine_clock_source",
        "warning",
        {"clock__source": "hpet"},
        "host",
        "time is read from hpet, and reading it takes 199 ns",
    ),
    (
        "machine_clock_source",
        "warning",
        {"live__clock": {"read_p50_ns": 200, "steps": 0}},
        "host",
        "takes 200 ns",
    ),
    (
        "machine_clock_unsynchronised",
        "warning",
        {"synchronisation__synchronised": False},
        "host",
        "is not synchronised",
    ),
    (
        "machine_clock_error",
        "warning",
        {"synchronisation__estimated_error_ns": 1_000_000},
        "host",
        "off by 1.00 ms",
    ),
    (
        "machine_clock_set",
        "error",
        {"live__clock": {"read_p50_ns": 20, "steps": 1, "stepped_ns": -3_000_000}},
        "host",
        "by -3.00 ms",
    ),
    (
        "machine_timers_coarse",
        "error",
        {"clock__timer_resolution_ns": 1000},
        "host",
        "steps of 1.00 µs",
    ),
    (
        "machine_timer_slack",
        "warning",
        {"clock__timer_slack_ns": 50_001},
        "host",
        "up to 50.0 µs late",
    ),
    (
        "machine_tick_slow",
        "info",
        {"system__tick_hz": 249},
        "host",
        "249 times a second, every 4.02 ms",
    ),
    (
        "machine_few_processors",
        "warning",
        {"processors__allowed": [3]},
        "host",
        "1 processor of 4 may be used",
    ),
    (
        "machine_shared_cores",
        "info",
        {"processors__siblings": ["0-1"], "processors__smt_active": True},
        "host",
        "1 core",
    ),
    (
        "machine_shared_cores",
        "info",
        {"processors__siblings": ["0-1"], "processors__smt_active": None},
        "host",
        "1 core",
    ),
    (
        "machine_frequency_changes",
        "warning",
        {"processors__frequency__governors": ["powersave"]},
        "host",
        "is powersave",
    ),
    ("machine_boost", "info", {"processors__frequency__boost": True}, "host", "above the nominal"),
    (
        "machine_deep_sleep",
        "info",
        {"processors__idle__states": [{"name": "C6", "exit_latency_ns": 100_000}]},
        "host",
        "from C6",
    ),
    (
        "machine_virtual",
        "info",
        {"virtual__hypervisor_flag": True},
        "host",
        "a hypervisor runs this machine: Maker, Board",
    ),
    (
        "machine_virtual",
        "info",
        {"virtual__hypervisor": "KVMKVMKVM", "virtual__hypervisor_flag": None},
        "host",
        "machine: KVM, Maker",
    ),
    (
        "machine_virtual",
        "info",
        {"virtual__hypervisor": "ACRNACRNACRN"},
        "host",
        "machine: ACRNACRNACRN, Maker",
    ),
    (
        "machine_container",
        "info",
        {"virtual__container": "docker"},
        "host",
        "by signs of docker",
    ),
    (
        "machine_stolen_time",
        "warning",
        {"live__while_sleeping__steal_share": 0.01},
        "host",
        "took 1 % of the processors' time, during",
    ),
    (
        "machine_stolen_time",
        "warning",
        {"load__since_start__steal_share": 0.2},
        "host",
        "20 % of the processors' time, since its start",
    ),
    (
        "machine_low_priority",
        "warning",
        {"limits__scheduling_class": "idle"},
        "host",
        "in the class idle, without niceness",
    ),
    (
        "machine_low_priority",
        "warning",
        {"limits__niceness": 1},
        "host",
        "in the class other, with niceness 1",
    ),
    (
        "machine_busy",
        "warning",
        {"live__while_sleeping__idle_share": 0.875},
        "host",
        "others used 10 %",
    ),
    (
        "machine_load",
        "warning",
        {"live": None, "load__run_queue__load_1min": 2.0},
        "host",
        "0.50 threads competed for each",
    ),
    (
        "machine_pressure",
        "warning",
        {"load__pressure__processor_some_share": 0.05},
        "host",
        "waited for a processor for 5 %",
    ),
    (
        "machine_memory_pressure",
        "warning",
        {"load__pressure__memory_some_share": 0.01},
        "host",
        "waited for memory for 1 %",
    ),
    (
        "machine_little_memory",
        "warning",
        {"load__memory__available_bytes": 511_999_999},
        "host",
        "512 MB of memory are left",
    ),
    (
        "machine_little_memory",
        "warning",
        {"limits__memory_used_bytes": 512_000_001},
        "host",
        "left in the control group",
    ),
    (
        "machine_quota",
        "warning",
        {"limits__processor_quota": 1.99},
        "host",
        "the time of 1.99 processors",
    ),
    (
        "machine_throttled",
        "warning",
        {"limits__throttled_periods": 10},
        "host",
        "in 1 % of its periods",
    ),
    ("machine_gaps", "warning", {"live__spinning__share": 0.98}, "host", "lost 2 % of its time"),
    ("machine_gaps", "warning", {"live__spinning__share": 0.9}, "host", "lost 10 %"),
    ("machine_gaps", "error", {"live__spinning__share": 0.899}, "host", "lost 10 %"),
    (
        "machine_long_gap",
        "warning",
        {"live__spinning__longest_gap_ns": 5_000_000},
        "host",
        "for 5.00 ms at once",
    ),
    (
        "machine_hidden_steal",
        "warning",
        {"live__spinning__charged_excess_share": 0.051},
        "host",
        "5.1 % of a processor more",
    ),
    (
        "machine_wakes_late",
        "warning",
        {"live__sleeping_exactly__late_p99_ns": 250_000},
        "host",
        "250 µs (p99), 9.00 ms (most)",
    ),
    (
        "machine_halts",
        "warning",
        {"live__sleeping_polling__late_p99_ns": 124_000},
        "host",
        "late by 249 µs (p99), by 124 µs while",
    ),
    (
        "machine_wakes_late",
        "error",
        {"live__sleeping_exactly__late_p99_ns": 1_000_000, "live__sleeping_polling__idle": "halt"},
        "host",
        "1.00 ms (p99)",
    ),
    (
        "machine_segments_merged",
        "info",
        {"eth__offloads": {"generic_receive": True}},
        "eth0",
        "eth0: offloads are on: generic receive",
    ),
    (
        "machine_coalescing",
        "warning",
        {"eth__coalescing": {"receive_ns": 20_000}},
        "eth0",
        "waits up to 20.0 µs",
    ),
    (
        "machine_coalescing",
        "warning",
        {"eth__coalescing": {"receive_ns": 0, "adaptive_receive": True}},
        "eth0",
        "as suits the load",
    ),
    (
        "machine_pacing_ignored",
        "info",
        {"eth__qdiscs": [{"kind": "pfifo_fast", "root": True}]},
        "eth0",
        "but pfifo_fast",
    ),
    (
        "machine_shaped",
        "warning",
        {"eth__qdiscs": [{"kind": "tbf", "root": True}, {"kind": "fq"}]},
        "eth0",
        "traffic passes tbf",
    ),
    (
        "machine_interface_lost",
        "info",
        {"eth__traffic__received_drops": 1},
        "eth0",
        "1 packet (0.0001 %) lost",
    ),
    (
        "machine_interface_lost",
        "warning",
        {"eth__traffic__received_missed": 1002},
        "eth0",
        "1002 packets (0.1 %)",
    ),
    (
        "machine_interface_lost",
        "info",
        {"eth__qdiscs": [{"kind": "fq", "root": True, "drops": 1000}]},
        "eth0",
        "1000 packets",
    ),
    ("machine_interface_errors", "info", {"eth__traffic__sent_errors": 9}, "eth0", "9 packets"),
    (
        "machine_interface_errors",
        "warning",
        {"eth__traffic__received_errors": 11},
        "eth0",
        "11 packets (0.0011 %) damaged",
    ),
    (
        "machine_allowance_exceeded",
        "warning",
        {"eth__counters": {"pps_allowance_exceeded": 3}},
        "eth0",
        "3 packets held back",
    ),
    ("machine_backlog_dropped", "warning", {"load__backlog_drops": 1}, "host", "1 packet dropped"),
    ("machine_small_mtu", "info", {"eth__mtu_bytes": 1499}, "eth0", "at most 1499 bytes"),
    (
        "machine_tcp_memory",
        "warning",
        {"network__tcp_send_memory_bytes": [1, 2, 2_499_999]},
        "host",
        "send buffer grows to 2.50 MB",
    ),
    (
        "machine_socket_buffers",
        "info",
        {"network__receive_buffer_most_bytes": 212_992},
        "host",
        "receive buffers of 213 kB",
    ),
    (
        "machine_congestion_control",
        "info",
        {"network__congestion_control": "bbr"},
        "host",
        "TCP uses bbr",
    ),
    (
        "machine_tcp_crippled",
        "warning",
        {"network__tcp_window_scaling": 0, "network__tcp_timestamps": 0},
        "host",
        "scaling, timestamps",
    ),
    (
        "machine_tcp_remembers",
        "info",
        {"network__tcp_remembers_paths": True},
        "host",
        "the last one to the same host",
    ),
    (
        "machine_capture_refused",
        "warning",
        {"permissions__capture": False},
        "host",
        "no packet socket can be opened: no reason",
    ),
    (
        "machine_capture_lost",
        "error",
        {"live__loopback__captured": 998},
        "host",
        "2 packets of 1000 on loopback",
    ),
    (
        "machine_stamps_wrong",
        "warning",
        {"live__loopback__stamped_outside_most_ns": 20_000},
        "host",
        "up to 20.0 µs outside",
    ),
    (
        "machine_realtime_refused",
        "info",
        {"permissions__realtime": False, "permissions__realtime_refused": "no"},
        "host",
        "refused: no",
    ),
    (
        "machine_namespaces_refused",
        "warning",
        {"permissions__namespaces": False},
        "host",
        "network namespaces",
    ),
    (
        "machine_open_files",
        "warning",
        {"limits__open_files_most": 4095},
        "host",
        "may open 4095 files",
    ),
]


def test_a_good_host_has_no_findings() -> None:
    assert host_check_findings(GOOD) == []
    assert fitness([]) == "fit"


@pytest.mark.parametrize(("code", "severity", "changes", "scope", "words"), FOUND)
def test_each_finding_fires_at_its_threshold_and_alone(
    code: str, severity: str, changes: Facts, scope: str, words: str
) -> None:
    found = host_check_findings(changed(**changes))
    assert [(one.code, one.severity, one.scope) for one in found] == [(code, severity, scope)]
    assert words in found[0].message
    assert "INTERFACE" not in found[0].next_step or scope == "host"
    assert found[0].value is None or found[0].unit == HOST_CATALOGUE[code].unit


def test_every_finding_about_a_host_is_tried_here() -> None:
    assert {row[0] for row in FOUND} == set(HOST_CATALOGUE)


def test_a_command_names_the_interface_it_fixes() -> None:
    (found,) = host_check_findings(changed(eth__coalescing={"receive_ns": 50_000}))
    assert found.next_step.startswith("ethtool -C eth0 ")


def test_no_command_is_given_that_this_kernel_cannot_do() -> None:
    queue = [{"kind": "pfifo_fast", "root": True}]
    for built, tried in ((["fq"], True), (["tbf"], False), (None, True)):
        (found,) = host_check_findings(
            changed(eth__qdiscs=queue, system__queueing_disciplines=built)
        )
        assert ("tc qdisc replace dev eth0 root fq" in found.next_step) is tried


@pytest.mark.parametrize(
    "part", [key for key in GOOD if key not in ("facts_version", "unavailable")]
)
def test_what_is_unknown_is_no_finding(part: str) -> None:
    found = host_check_findings({key: value for key, value in GOOD.items() if key != part})
    # Without a trial the load represents what others use; it is below its threshold.
    assert found == []
    assert host_check_findings({}) == []


def test_a_check_that_was_stopped_early_misses_no_packets() -> None:
    facts = changed(ended_early=True, live__loopback__captured=3)
    assert host_check_findings(facts) == []


def test_an_error_makes_a_host_unfit_and_a_warning_wants_a_look() -> None:
    def of(**changes: object) -> str:
        found: list[Finding] = host_check_findings(changed(**changes))
        return fitness(found)

    assert of(virtual__container="docker") == "fit"
    assert of(virtual__container="docker", permissions__capture=False) == "review"
    assert of(permissions__capture=False, live__spinning__share=0.5) == "unfit"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def paths(facts: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every part and leaf of the facts."""
    children = (
        facts.items()
        if isinstance(facts, dict)
        else enumerate(facts)
        if isinstance(facts, list)
        else ()
    )
    return [path] * bool(path) + [
        inner for key, value in children for inner in paths(value, (*path, key))
    ]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(paths(GOOD)), ANYTHING), min_size=1, max_size=4))
def test_the_checks_accept_any_report_of_an_agent(
    changes: list[tuple[tuple[str | int, ...], object]],
) -> None:
    facts: Any = copy.deepcopy(GOOD)
    for path, value in changes:
        part = facts
        try:
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has removed this path
    for found in host_check_findings(facts):
        assert found.code in HOST_CATALOGUE
        assert found.message.isprintable(), found.message
