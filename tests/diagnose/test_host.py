"""Evidence of samples of a host about its processor.

Missed time counts, not the ratio of two small numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import Evidence, diagnose
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of, with_host

SECOND = 1_000_000_000


def process(ran: float, waited: float, state: str = "S", number: int = 1) -> dict[str, Any]:
    return {
        "process": number,
        "interval_ns": SECOND,
        "ran_ns": int(ran * SECOND),
        "waited_ns": int(waited * SECOND),
        "state": state,
    }


def test_a_process_that_waits_for_most_of_the_time_is_starved() -> None:
    host = processor_of([process(0.3, 0.6), process(0.3, 0.6)])
    assert host.processor_missed == pytest.approx(0.6)
    assert host.processor_share == pytest.approx(1 / 3)


def test_a_process_that_sleeps_and_now_and_then_waits_is_not() -> None:
    host = processor_of([process(0.01, 0.02)])
    assert host.processor_missed == pytest.approx(0.02)
    assert host.processor_share == pytest.approx(0.98)


def test_a_stopped_process_misses_the_time_in_which_it_is_found_stopped() -> None:
    host = processor_of([process(0.2, 0.0, "T"), process(0.2, 0.0)])
    assert host.processor_missed == pytest.approx(0.5)
    assert host.processor_share == pytest.approx(0.5)


def test_the_process_that_missed_most_counts() -> None:
    assert processor_of(
        [process(0.1, 0.0), process(0.1, 0.7, number=2)]
    ).processor_missed == pytest.approx(0.7)


def test_a_quota_counts_where_it_acts_and_clears_no_host_where_it_does_not() -> None:
    group = {"cgroup": "sender", "interval_ns": SECOND, "throttled_ns": SECOND // 2}
    assert processor_of([], [group]).processor_missed == pytest.approx(0.5)
    assert processor_of([], [{**group, "throttled_ns": 0}]) == HostEvidence()
    assert processor_of([process(0.4, 0.1)], [group]).processor_missed == pytest.approx(0.5)


def test_nothing_sampled_is_nothing_known() -> None:
    assert processor_of([]) == HostEvidence()
    assert processor_of([{"process": 1, "interval_ns": None, "ran_ns": 3}]) == HostEvidence()


def test_pauses_of_a_program_that_never_missed_the_processor_are_its_own(healthy: Evidence) -> None:
    pausing = replace(healthy, path=0.0, window=0.5, idle_sender=0.5)
    slept, _ = with_host(pausing, processor_of([process(0.01, 0.02)]))
    starved, _ = with_host(pausing, processor_of([process(0.3, 0.6)]))
    assert diagnose(slept).cause == "sender_application_limited"
    assert (diagnose(starved).cause, diagnose(starved).verdict) == ("host_scheduling", "discard")


def test_the_kernels_account() -> None:
    assert kernel_times({}) is None
    times = kernel_times(
        {"busy_ns": SECOND, "receive_window_limited_ns": SECOND // 4}, send_buffer_bytes=9000
    )
    assert times is not None
    assert (
        times.busy_seconds,
        times.rwnd_limited_seconds,
        times.sndbuf_limited_seconds,
        times.send_buffer_bytes,
    ) == (
        1.0,
        0.25,
        None,
        9000,
    )
