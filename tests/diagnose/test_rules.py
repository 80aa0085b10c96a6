"""Every rule fires where it should and, one condition changed, does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import CAUSES, THRESHOLDS, Evidence, diagnose
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.rules import RULES, STAGES, first_match

SLOW: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
PAUSING: dict[str, Any] = {**SLOW, "oversize_fraction": 0.4, "withheld_fraction": 0.5}
UNKNOWN_RATE: dict[str, Any] = {"throughput_bytes_per_second": None}
LOSSY: dict[str, Any] = {"loss": 0.01, "loss_events": 100}

# rule: (changes to a healthy transfer that make it fire, one more change, the rule that then fires)
BOTH_WAYS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "failed": ({"failed": True}, {"failed": False}, "window_explains"),
    "too_short": ({"too_short": True}, {"too_short": None}, "window_explains"),
    "driver_reset": ({"stall_gaps_seconds": (13.2, 26.0)}, {"stall_gaps_seconds": (13.2, 20.0)}, "host_stopped"),
    "host_stopped": ({"stall_gaps_seconds": (6.0,)}, {"kernel_reset": True}, "driver_reset"),
    "loss_explains": ({**LOSSY, "throughput_bytes_per_second": 0.8e6}, {"rtt_seconds": 0.025}, "queue_explains"),
    "link_was_full": (
        {"capacity_bytes_per_second": 2.5e6, "capacity_source": "delivery_rate", "throughput_bytes_per_second": 2.4e6},
        {"capacity_source": "given"},
        "capacity_explains",
    ),
    "queue_explains": ({"rtt_seconds": 0.0241, "throughput_bytes_per_second": 2.5e6}, {"rtt_seconds": 0.0239}, "window_explains"),
    "capacity_explains": (
        {"capacity_bytes_per_second": 2.5e6, "throughput_bytes_per_second": 2.4e6},
        {"capacity_bytes_per_second": 3.4e6, "throughput_bytes_per_second": 3.1e6},
        "window_explains",
    ),
    "window_explains": ({}, SLOW, "nothing_explains"),
    "receiver_closed_its_window": ({**PAUSING, "window_closed": 0.2}, {"window_closed": 0.19}, "sender_held_back"),
    "application_paused": ({**PAUSING, "app_limited_fraction": 0.5}, {"workload": "bulk"}, "sender_held_back"),
    "sender_held_back": ({**SLOW, "withheld_fraction": 0.35}, {"withheld_fraction": 0.34}, "nothing_explains"),
    "loss_slowed": ({**SLOW, "loss": 0.005, "loss_events": 4}, {"loss": 0.0049}, "nothing_explains"),
    "queue_slowed": ({**SLOW, **LOSSY, "rtt_seconds": 0.024, "throughput_bytes_per_second": 0.3e6}, {"rtt_seconds": 0.0239}, "loss_slowed"),
    "still_starting": ({**SLOW, "slow_start": True}, {"slow_start": False}, "nothing_explains"),
    "nothing_explains": (SLOW, {"throughput_bytes_per_second": 2.6e6}, "window_explains"),
    "pauses_alone": ({**UNKNOWN_RATE, "oversize_fraction": 0.2}, {"oversize_fraction": 0.19}, "nothing_unusual"),
    "loss_hint": ({**UNKNOWN_RATE, **LOSSY}, {"loss_events": 4}, "nothing_unusual"),
    "queue_hint": ({**UNKNOWN_RATE, "rtt_seconds": 0.025}, {"rtt_seconds": 0.0201}, "nothing_unusual"),
    "nothing_unusual": (UNKNOWN_RATE, {"throughput_bytes_per_second": 3.1e6}, "window_explains"),
}


def rule_of(evidence: Evidence) -> str:
    return first_match(Case.of(evidence, THRESHOLDS)).name


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_rule_both_ways(name: str, healthy: Evidence) -> None:
    fires, change, instead = BOTH_WAYS[name]
    evidence = replace(healthy, **fires)
    assert rule_of(evidence) == name
    assert rule_of(replace(evidence, **change)) == instead


def test_every_rule_is_tested_both_ways() -> None:
    assert list(BOTH_WAYS) == [rule.name for rule in RULES]


def test_every_cause_has_a_rule() -> None:
    assert {rule.cause for rule in RULES} == set(CAUSES)


def test_stages_end_with_a_rule_that_always_fires() -> None:
    assert [stage.rules[-1].conditions for stage in STAGES[1:]] == [(), (), (), ()]


def test_stalls_count_by_length_and_by_share(healthy: Evidence) -> None:
    assert rule_of(replace(healthy, stall_gaps_seconds=(2.0, 2.9), duration_seconds=60.0)) == "window_explains"
    assert rule_of(replace(healthy, stall_gaps_seconds=(2.0, 3.0), duration_seconds=60.0)) == "host_stopped"
    assert rule_of(replace(healthy, stall_gaps_seconds=(2.0,), duration_seconds=20.0)) == "host_stopped"
    assert rule_of(replace(healthy, stall_gaps_seconds=(2.0,), duration_seconds=None)) == "window_explains"


def test_a_free_cpu_and_an_idle_application_point_at_the_application(healthy: Evidence) -> None:
    pausing = replace(healthy, **PAUSING, workload="interactive")
    assert rule_of(replace(pausing, cpu_share=0.9)) == "application_paused"
    assert rule_of(replace(pausing, cpu_share=0.89)) == "sender_held_back"
    assert rule_of(pausing) == "application_paused"


def test_half_explained_by_loss(healthy: Evidence) -> None:
    # A loss of 0.3 % is not decisive by itself: 0.5 of what it allows is needed.
    lossy = replace(healthy, loss=0.003, loss_events=100)
    bound = 1448 / 0.0201 * (1.5 / 0.003) ** 0.5
    assert rule_of(replace(lossy, throughput_bytes_per_second=0.51 * bound)) == "loss_slowed"
    assert rule_of(replace(lossy, throughput_bytes_per_second=0.49 * bound)) == "nothing_explains"


def test_without_the_window_bound_only_an_explained_throughput_counts(healthy: Evidence) -> None:
    blind = replace(healthy, window_bytes=None, capacity_bytes_per_second=2.5e6, capacity_source="given")
    assert rule_of(replace(blind, throughput_bytes_per_second=2.4e6)) == "capacity_explains"
    assert rule_of(replace(blind, throughput_bytes_per_second=1.0e6)) == "nothing_unusual"


def test_flags(healthy: Evidence) -> None:
    def flags(**changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - any field of the evidence
        return diagnose(replace(healthy, **changes)).flags

    assert flags() == ()
    assert flags(spacing_max_seconds=0.021) == ("isolated_oversize_spacing",)
    assert flags(spacing_max_seconds=0.02) == ()
    assert flags(throughput_bytes_per_second=3.6e6) == ("exceeds_window_bound",)
    assert flags(throughput_bytes_per_second=3.4e6) == ()
    assert flags(capacity_bytes_per_second=2.8e6) == ("exceeds_capacity",)
    assert flags(loss=0.00001, loss_events=1) == ("loss_model_refuted",)
    assert flags(loss=0.00001, loss_events=5) == ()
    full = {"capacity_bytes_per_second": 2.5e6, "capacity_source": "delivery_rate", "throughput_bytes_per_second": 2.4e6}
    assert flags(**full, rtt_seconds=0.05) == ("exceeds_window_bound", "self_queueing")
    assert flags(**full) == ()


def test_a_queue_does_not_explain_an_idle_sender(healthy: Evidence) -> None:
    # A server that answers a request now and then: the RTT varies, and hardly anything is ever in flight.
    idle = replace(healthy, rtt_seconds=0.03, throughput_bytes_per_second=1448 / 0.03 * 0.99)
    diagnosis = diagnose(idle)
    assert (diagnosis.cause, diagnosis.verdict, diagnosis.flags) == ("network_congestion", "review", ("mostly_idle",))
    assert diagnosis.reasons[2] == "on average less than one packet was in flight: it was idle most of the time"
    assert diagnosis.headline == "delayed, perhaps by a queue — look before use"
    busy = diagnose(replace(idle, throughput_bytes_per_second=1448 / 0.03 * 1.01))
    assert (busy.cause, busy.verdict, busy.flags) == ("network_congestion", "trust", ())


def test_an_impossible_rate_takes_the_trust_away(healthy: Evidence) -> None:
    impossible: tuple[dict[str, Any], ...] = ({"throughput_bytes_per_second": 3.6e6}, {"capacity_bytes_per_second": 2.8e6})
    for changes in impossible:
        diagnosis = diagnose(replace(healthy, **changes))
        assert diagnosis.verdict == "review"
        assert diagnosis.headline == "faster than its window or link allows — look before use"


def test_nothing_unusual_is_trusted_only_when_everything_is_known(healthy: Evidence) -> None:
    unknown = replace(healthy, **UNKNOWN_RATE)
    assert diagnose(unknown).verdict == "trust"
    assert diagnose(replace(unknown, loss=None)).verdict == "review"
    assert diagnose(replace(unknown, rtt_seconds=None)).verdict == "review"
    blind = replace(unknown, oversize_fraction=None, withheld_fraction=None, spacing_mean_seconds=None)
    assert diagnose(blind).verdict == "review"
