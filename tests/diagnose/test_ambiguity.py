"""Where two causes leave the same packets, the other is named, and what would settle it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import THRESHOLDS, Alternative, Evidence, diagnose


@pytest.fixture
def pausing(healthy: Evidence) -> Evidence:
    """A sender that pauses, with nothing known about its host."""
    return replace(
        healthy,
        throughput_bytes_per_second=1.0e6,
        idle_open_window_fraction=0.5,
        long_pause_fraction=0.5,
        app_limited_fraction=0.4,
    )


def others(evidence: Evidence, **changes: Any) -> tuple[Alternative, ...]:  # noqa: ANN401 - any field of the evidence
    return diagnose(replace(evidence, **changes)).alternatives


def test_a_stopped_machine_or_an_idle_application(pausing: Evidence) -> None:
    (other,) = others(pausing)
    assert other.cause == "sender_application_limited"
    assert other.hint.endswith("it had more data whenever it ran, which suggests the host")
    assert "CPU share" in other.settled_by
    assert "--workload bulk" in other.settled_by


def test_an_idle_application_or_a_stopped_machine(pausing: Evidence) -> None:
    (other,) = others(pausing, app_limited_fraction=0.8, rwnd_limited=0.0)
    assert other.cause == "host_scheduling"
    assert other.hint.endswith("it ran out of data, which suggests the application")


def test_no_doubt_about_an_application_that_never_idled(pausing: Evidence) -> None:
    assert others(pausing, app_limited_fraction=0.09) == ()
    assert len(others(pausing, app_limited_fraction=0.1)) == 1
    assert len(others(pausing, app_limited_fraction=None)) == 1


def test_no_doubt_once_the_cpu_is_known(pausing: Evidence) -> None:
    assert others(pausing, cpu_share=0.89) == ()
    assert len(others(pausing, cpu_share=0.9)) == 1
    assert len(others(pausing, cpu_share=0.95, app_limited_fraction=0.0)) == 1
    idle = replace(pausing, app_limited_fraction=0.8)
    assert len(others(idle, cpu_share=0.94)) == 1
    assert others(idle, cpu_share=0.95) == ()


def test_a_declared_bulk_sender_is_doubted_only_when_it_mostly_idled(pausing: Evidence) -> None:
    assert others(pausing, workload="bulk") == ()
    (other,) = others(pausing, workload="bulk", app_limited_fraction=0.8)
    assert other.cause == "sender_application_limited"
    assert "no bulk workload" in other.settled_by


def test_leans(pausing: Evidence) -> None:
    assert (
        others(pausing, rwnd_limited=None, app_limited_fraction=None)[0].hint
        == "nothing in the capture favours either"
    )
    assert others(pausing, rwnd_limited=0.1)[0].hint.endswith("no clear lean")


def test_a_full_link_and_its_own_queue(healthy: Evidence) -> None:
    full = {
        "capacity_bytes_per_second": 2.5e6,
        "capacity_source": "delivery_rate",
        "throughput_bytes_per_second": 2.4e6,
    }
    assert others(healthy, **full) == ()
    assert [other.cause for other in others(healthy, **full, rtt_seconds=0.06)] == [
        "network_congestion"
    ]


def test_a_thin_inflation_with_loss(healthy: Evidence) -> None:
    lossy = replace(healthy, throughput_bytes_per_second=0.6e6, loss=0.01, loss_events=100)
    assert [other.cause for other in others(lossy, rtt_seconds=0.025)] == ["network_loss"]
    assert others(lossy, rtt_seconds=0.027) == ()
    assert others(lossy, rtt_seconds=0.025, loss=0.004) == ()


FELL: dict[str, Any] = {
    "path": 0.5,
    "path_rate_samples": 100,
    "path_rate_changes": 1,
    "path_rate_before_bytes_per_second": 2e6,
    "path_rate_after_bytes_per_second": 1e6,
}

# cause: (changes to a healthy transfer that show it, what else would leave the same packets)
SHAPED: dict[str, tuple[dict[str, Any], str]] = {
    "policed": (
        {
            "loss": 0.02,
            "queued_before_loss": 0.0,
            "exchanges_lossy": 1,
            "exchanges_bucket_empty": 1,
        },
        "network_loss",
    ),
    "route_change": (
        {
            "path": 0.0,
            "window": 1.0,
            "floor_before_seconds": 0.02,
            "floor_after_seconds": 0.03,
            "floor_left": 0.01,
            "floor_flight_ratio": 0.9,
        },
        "network_congestion",
    ),
    "outage": ({"path": 0.0, "no_answer": 0.5}, "host_stall"),
    "send_buffer_limited": ({"path": 0.0, "sender_buffer": 1.0}, "sender_application_limited"),
}

# rule: (changes to a healthy transfer that make it fire, the cause of the other reading)
READ_TWICE: dict[str, tuple[dict[str, Any], str]] = {
    "sender_was_silent_with_data": (
        {"path": 0.0, "idle_sender": 0.5},
        "sender_application_limited",
    ),
    "sender_had_nothing_to_send": ({"path": 0.0, "idle_application": 0.5}, "host_scheduling"),
    "long_pauses_remain": (
        {"path": 0.0, "throughput_bytes_per_second": 1e6, "long_pause_fraction": 0.5},
        "sender_application_limited",
    ),
    "sender_half_was_late": (
        {
            "path": 0.0,
            "window": 1.0,
            "pauses_estimated": True,
            "answer_seconds": 0.01,
            "answer_least_seconds": 0.001,
            "departure_steadiness": 0.1,
        },
        "sender_application_limited",
    ),
    "sender_had_nothing_now_and_then": (
        {"path": 0.0, "idle_application": 0.1, "answer_least_seconds": 0.0001},
        "host_scheduling",
    ),
    "processor_was_taken_between_losses": (
        {
            "path": 0.0,
            "recovery": 0.5,
            "processor_missed": 0.6,
            "path_rate_bytes_per_second": 1e8,
        },
        "network_congestion",
    ),
    "sender_never_filled_it": ({"path": 0.0, "growing": 0.9}, "host_scheduling"),
    "machine_released_bursts": (
        {
            "path": 0.9,
            "answer_least_seconds": 0.0001,
            "queue_seconds": 0.4,
            "departure_lag_seconds": 0.3,
            "departure_steadiness": 0.04,
        },
        "sender_rate_limited",
    ),
    "acknowledgements_were_held": (
        {"path": 0.0, "ack_silences": 9, "ack_silences_seconds": 5.0, "acks_held": 9}
        | {"answer_least_seconds": 0.0009},
        "outage",
    ),
    "receiver_fell_silent": (
        {"path": 0.0, "ack_silences": 9, "ack_silences_seconds": 5.0},
        "host_scheduling",
    ),
    "rate_fell_once": ({**FELL, "path_rate_change_seconds": 1.0}, "rate_changed"),
    "rate_fell_late": ({**FELL, "path_rate_change_seconds": 5.0}, "shaped"),
    "path_was_full_of_it": ({"path": 1.0}, "network_congestion"),
    "path_was_shared": (
        {
            "path": 1.0,
            "sending_rate_bytes_per_second": 0.5e6,
            "path_rate_high_bytes_per_second": 1e6,
        },
        "bandwidth_limited",
    ),
    "losses_away_from_queue": (
        {"path": 0.0, "recovery": 0.5, "loss_delay_rank": 0.5, "loss": 0.001},
        "network_congestion",
    ),
}


@pytest.mark.parametrize("rule", READ_TWICE)
def test_a_rule_whose_packets_leave_two_readings_names_the_other(
    rule: str, healthy: Evidence
) -> None:
    changes, other = READ_TWICE[rule]
    assert diagnose(replace(healthy, **changes)).rule == rule
    alternative, *further = others(healthy, **changes)
    # A guest's virtual NIC may hold what its stack has sent, too.
    held = ["receiver_stalled"] if rule == "acknowledgements_were_held" else []
    assert [one.cause for one in further] == held
    assert alternative.cause == other
    assert alternative.hint
    assert alternative.settled_by


def test_a_silent_sender_whose_processor_was_sampled_has_one_reading(healthy: Evidence) -> None:
    silent = replace(healthy, path=0.0, idle_sender=0.5)
    assert len(others(silent)) == 1
    assert others(silent, processor_missed=0.0) == ()
    assert others(silent, processor_missed=0.5) == ()
    assert others(silent, workload="bulk") == ()


def test_advice_about_pauses_asks_only_for_what_is_unknown(healthy: Evidence) -> None:
    silent = replace(healthy, path=0.0, idle_application=0.5)
    (other,) = others(silent)
    assert "CPU share" in other.settled_by
    assert "--workload bulk" in other.settled_by
    (sampled,) = others(silent, processor_missed=0.1)
    assert sampled.settled_by == "--workload bulk if the sender had data waiting all the time"
    growing = replace(healthy, path=0.0, growing=0.9, duration_seconds=20.0, workload="bulk")
    (declared,) = others(growing)
    assert "CPU share" in declared.settled_by
    assert "--workload" not in declared.settled_by
    (both,) = others(growing, cpu_share=0.93)
    assert "no bulk workload" in both.settled_by


@pytest.mark.parametrize("cause", SHAPED)
def test_what_shows_in_the_shape_has_another_reading(cause: str, healthy: Evidence) -> None:
    changes, other = SHAPED[cause]
    assert diagnose(replace(healthy, **changes)).cause == cause
    (alternative,) = others(healthy, **changes)
    assert alternative.cause == other
    assert alternative.hint
    assert alternative.settled_by


def test_a_silence_among_losses_may_be_one_of_them(healthy: Evidence) -> None:
    silent = replace(healthy, path=0.0, no_answer=0.5, loss=0.02, loss_events=5)
    assert [other.cause for other in others(silent)] == ["network_loss"]
    assert [other.cause for other in others(silent, loss_events=4)] == ["host_stall"]
    assert [other.cause for other in others(silent, loss=0.001)] == ["host_stall"]


def test_the_kernels_send_buffer_counter_is_beyond_doubt(healthy: Evidence) -> None:
    assert others(healthy, throughput_bytes_per_second=1e6, send_buffer_limited=0.5) == ()


def test_the_rtt_before_losses_settles_a_thin_inflation(healthy: Evidence) -> None:
    lossy = replace(
        healthy, throughput_bytes_per_second=0.6e6, loss=0.01, loss_events=100, rtt_seconds=0.025
    )
    assert len(others(lossy)) == 1
    assert others(lossy, rtt_before_loss_seconds=0.04, rtt_high_seconds=0.04) == ()


def test_other_causes_have_one_reading(healthy: Evidence) -> None:
    assert others(healthy) == ()
    assert others(healthy, throughput_bytes_per_second=1.0e6) == ()


def test_an_outage_as_long_as_a_watchdog_may_be_a_hung_queue(timed: Evidence) -> None:
    silent = replace(timed, path=0.0, no_answer=0.5, pauses_estimated=False)
    long = THRESHOLDS.reset_period_seconds - THRESHOLDS.reset_tolerance_seconds
    (hung,) = others(silent, unanswered_seconds=long)
    assert hung.cause == "driver_stall"
    for changes in ({"unanswered_seconds": 0.99 * long}, {"pauses_estimated": True}):
        (other,) = others(replace(silent, unanswered_seconds=long), **changes)
        assert other.cause == "host_stall"


def test_packets_that_favour_neither_reading_leave_a_set(timed: Evidence) -> None:
    silent = replace(timed, throughput_bytes_per_second=1.0e6, window=0.13, idle_sender=0.8)
    found = diagnose(silent)
    assert found.rule == "sender_was_silent_with_data"
    assert found.causes == ("host_scheduling", "sender_application_limited")
    assert found.verdict == "review"
    known = diagnose(replace(silent, workload="bulk"))
    assert known.causes == ("host_scheduling",), "a declared workload excludes the application"


def test_another_reading_that_is_less_likely_makes_no_set(healthy: Evidence) -> None:
    full = replace(
        healthy,
        capacity_bytes_per_second=2.5e6,
        capacity_source="delivery_rate",
        throughput_bytes_per_second=2.4e6,
        rtt_seconds=0.06,
    )
    found = diagnose(full)
    assert [other.cause for other in found.alternatives] == ["network_congestion"]
    assert found.causes == ("bandwidth_limited",)
