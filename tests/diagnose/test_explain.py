"""An explanation names the rule that fired, those before it, and what would change the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.diagnose import (
    CaptureQuality,
    Evidence,
    KernelTimes,
    Quality,
    diagnose,
    explain,
    explain_row,
)
from trustbed.diagnose.confidence import CONFIDENCE
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.judge import judge_row
from trustbed.diagnose.quality import UNTOUCHED
from trustbed.diagnose.rules import RULES, STAGES
from trustbed.diagnose.time_budget import Shares


@pytest.fixture
def starved(healthy: Evidence) -> Evidence:
    """A sender that pauses below the RTT."""
    return replace(healthy, throughput_bytes_per_second=1.3e6, idle_open_window_fraction=0.8)


def part(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return [line.strip() for line in lines[start:end]]


def test_the_rules_up_to_the_one_that_fired(starved: Evidence) -> None:
    listed = part(explain(starved), "Rules, in order")
    names = [rule.name for rule in STAGES[0].rules]
    deficit = [stage.name for stage in STAGES].index("throughput_gap")
    before = [rule.name for rule in STAGES[deficit].rules]
    before = before[: before.index("sender_held_back") + 1]
    assert [line.split()[1].strip(":") for line in listed if line[0] in "–→"] == names + before
    titles = [line for line in listed if line[0] not in "–→"]
    assert len(titles) == deficit + 1
    assert all(line.startswith(stage.title) for line, stage in zip(titles, STAGES, strict=False))
    assert [" Not entered: " in line for line in titles] == [False] + [True] * (deficit - 1) + [
        False
    ]


CHANGED: dict[str, dict[str, Any]] = {
    "as it is": {},
    "with an idle application and a loss": {
        "app_limited_fraction": 0.3,
        "loss": 0.0001,
        "loss_events": 1,
    },
    "nothing outstanding": {"idle_open_window_fraction": 0.1, "empty_fraction": 0.3},
    "idle at the rate": {
        "idle_open_window_fraction": 0.1,
        "idle_open_window_at_rate_fraction": 0.4,
    },
    "without pauses nothing is left of any of them": {
        "idle_open_window_at_rate_fraction": 0.9,
        "empty_fraction": 0.5,
    },
    "not stalled, so that there is no estimate": {
        "outstanding_max_bytes": 65535,
        "throughput_bytes_per_second": 3.1e6,
        "idle_open_window_fraction": 0.0,
    },
}
TIMED: dict[str, dict[str, Any]] = {
    "bound by its window": {},
    "a silent sender": {"throughput_bytes_per_second": 1e6, "window": 0.13, "idle_sender": 0.8},
    "declared as bulk": {
        "throughput_bytes_per_second": 1e6,
        "window": 0.13,
        "idle_sender": 0.8,
        "workload": "bulk",
    },
    "filling its window whenever it runs": {
        "throughput_bytes_per_second": 1e6,
        "window": 0.13,
        "idle_sender": 0.8,
        "answer_least_seconds": 0.0001,
        "idle_periods": 300,
        "outstanding_max_bytes": 65_000,
    },
    "slow for no visible reason": {"throughput_bytes_per_second": 1e6, "window": 0.2},
    "waiting for its peer": {
        "throughput_bytes_per_second": 2e6,
        "window": 0.2,
        "peer": 0.7,
        "sending_rate_bytes_per_second": 6e6,
    },
    "a path that slowed": {
        "window": 0.2,
        "path": 0.8,
        "path_rate_samples": 100,
        "path_rate_changes": 1,
        "path_rate_before_bytes_per_second": 4e6,
        "path_rate_after_bytes_per_second": 2e6,
        "path_rate_change_seconds": 5.0,
        "path_rate_change_residual": 0.02,
        "path_rate_change_spread": 0.05,
    },
    "policed, and without loss nothing of the losses is left": {
        "throughput_bytes_per_second": 1e6,
        "window": 0.2,
        "recovery": 0.7,
        "loss": 0.02,
        "loss_events": 400,
        "queued_before_loss": 0.5,
        "exchanges_lossy": 4,
        "exchanges_bucket_empty": 4,
        "token_rate_bytes_per_second": 1e6,
        "token_burst_bytes": 30_000,
    },
}


@pytest.mark.parametrize("changes", CHANGED.values(), ids=list(CHANGED))
def test_a_starved_sender_is_explained(
    changes: dict[str, Any], starved: Evidence, snapshot: SnapshotAssertion
) -> None:
    assert explain(replace(starved, **changes)) == snapshot


@pytest.mark.parametrize("changes", TIMED.values(), ids=list(TIMED))
def test_a_time_budget_is_explained(
    changes: dict[str, Any], timed: Evidence, snapshot: SnapshotAssertion
) -> None:
    assert explain(replace(timed, **changes)) == snapshot


@pytest.mark.parametrize(
    ("changes", "quality"),
    [
        ({"outstanding_max_bytes": 65535}, Quality(at="sender")),
        ({"outstanding_max_bytes": 65535}, Quality()),
        ({}, Quality(unseen_share=0.1)),
    ],
    ids=["beside the sender", "elsewhere", "with losses of the capture"],
)
def test_a_capture_s_quality_is_explained(
    changes: dict[str, Any], quality: Quality, starved: Evidence, snapshot: SnapshotAssertion
) -> None:
    assert explain(replace(starved, **changes), quality=quality) == snapshot


def test_the_confidence_lists_every_addition(starved: Evidence) -> None:
    base, *additions, total = part(explain(starved), "Confidence")
    assert len(additions) == len(CONFIDENCE["host_scheduling"].additions)
    counted = [float(line.split()[0]) for line in additions if not line.startswith("–")]
    assert float(base.split()[0]) + sum(counted) == pytest.approx(float(total.split()[1]))


def test_the_rules_of_the_time_budget_up_to_the_one_that_fired(timed: Evidence) -> None:
    listed = part(explain(replace(timed, path=0.9, window=0.07)), "Rules, in order")
    names = [rule.name for rule in STAGES[0].rules]
    (of_time,) = [stage for stage in STAGES if stage.name == "time"]
    before = [rule.name for rule in of_time.rules]
    before = before[: before.index("path_was_full_of_it") + 1]
    assert [line.split()[1].strip(":") for line in listed if line[0] in "–→"] == names + before
    (entered,) = [line for line in listed if line.startswith(of_time.title)]
    assert " Entered: " in entered


def unknown(evidence: Evidence, quality: Quality = UNTOUCHED) -> list[str]:
    """The numbers that an explanation calls unknown."""
    names = [
        line.partition(": ")[2]
        for line in part(explain(evidence, quality=quality), "Evidence")
        if line.startswith("unknown, and")
    ]
    return [name for line in names for name in line.split(", ")]


def test_an_unknown_number_is_listed_where_it_could_change_the_answer_or_its_score(
    starved: Evidence,
) -> None:
    assert unknown(starved) == [
        "capacity_bytes_per_second",
        "cpu_share",
        "processor_missed",
        "path",
    ]
    measured: dict[str, Any] = {
        "capacity_bytes_per_second": 1.3e6,
        "cpu_share": 0.5,
        "processor_missed": 1.0,
        "path": 0.0,
    }
    for name, value in measured.items():
        found, before = diagnose(starved.with_value(name, value)), diagnose(starved)
        assert (found.rule, found.score) != (before.rule, before.score)
        assert name not in unknown(starved.with_value(name, value))


def test_what_would_change_nothing_is_not_listed(starved: Evidence, healthy: Evidence) -> None:
    # Five numbers of a step of the RTT: one of them alone shows none.
    for evidence in (starved, healthy):
        assert not {
            "floor_before_seconds",
            "floor_left",
            "steal",
            "cpu_utilisation",
            "failed",
            "kernel_reset",
        } & set(unknown(evidence))
    assert "cpu_share" not in unknown(healthy)
    assert "cpu_share" not in unknown(starved, Quality(spacing_estimated=True)), (
        "the capture leaves no more than a score of 0.70"
    )
    assert unknown(replace(healthy, failed=True)) == []
    assert unknown(replace(starved, stall_gaps_seconds=(7.0,))) == [
        "cpu_share",
        "kernel_reset",
        "unanswered_seconds",
        "peer",
        "no_answer",
    ]


def test_what_decides_about_losses_is_unknown_where_there_are_some(timed: Evidence) -> None:
    assert "loss_delay_rank" not in unknown(timed)
    lossy = replace(timed, window=0.4, recovery=0.53, loss=0.001, loss_events=10)
    assert "loss_delay_rank" in unknown(lossy)


def test_nothing_is_unknown_where_nothing_is_missing(timed: Evidence) -> None:
    known: dict[str, Any] = {
        "capacity_bytes_per_second": 9e9,
        "rtt_high_seconds": 0.0202,
        "acknowledged_late_seconds": 0.0,
        "idle_open_window_at_rate_fraction": 0.0,
        "empty_fraction": 0.0,
        "send_buffer_limited": 0.0,
        "spurious_retransmissions": 0.0,
    }
    complete = replace(timed, **known, ack_silences=0.0, ack_silences_seconds=0.0)
    assert part(explain(complete), "Evidence")[-1].startswith("pauses longer than the RTT")


def test_a_row_is_explained_like_its_evidence(row: dict[str, Any], timed: Evidence) -> None:
    assert explain_row(row, {}) == explain(
        timed, quality=Quality(at="sender"), shares=Shares.from_transfer(row)
    )
    bulk = explain_row({**row, "window_estimated": True}, {}, workload="bulk", capacity=20e6)
    capacity = replace(
        timed, workload="bulk", capacity_bytes_per_second=2.5e6, capacity_source="given"
    )
    assert bulk == explain(
        capacity,
        quality=Quality(window_estimated=True, at="sender"),
        shares=Shares.from_transfer(row),
    )


def test_a_row_is_explained_with_what_is_known_of_its_host(row: dict[str, Any]) -> None:
    pausing = {**row, "share_window": 0.13, "share_idle_sender": 0.8}
    kernel = KernelTimes(busy_seconds=9.0, rwnd_limited_seconds=9.0)
    host = HostEvidence(processor_missed=0.0, processor_share=1.0, kernel=kernel)
    judged, lines = (
        judge_row(pausing, CaptureQuality(), host=host),
        explain_row(pausing, {}, host=host),
    )
    assert judged.cause == "sender_application_limited"
    assert lines[0] == judged.headline
    assert any(
        line.startswith("→ free_sender_was_silent") for line in part(lines, "Rules, in order")
    )
    assert part(lines, "Flags")[0].startswith("kernel_rwnd_limited: ")
    assert explain_row(pausing, {}, host=HostEvidence()) == explain_row(pausing, {})


def test_every_rule_can_be_explained(healthy: Evidence) -> None:
    slow: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
    fired_rules = set()
    for changes in (
        {"failed": True},
        {"stall_gaps_seconds": (13.0, 13.0)},
        {"stall_gaps_seconds": (7.0,)},
        {"rtt_seconds": 0.03},
        slow,
        {**slow, "idle_open_window_fraction": 0.5},
        {"throughput_bytes_per_second": None},
    ):
        evidence = replace(healthy, **changes)
        fired = [line for line in explain(evidence) if line.strip().startswith("→")]
        assert len(fired) == 1
        assert f"→ {diagnose(evidence).rule}: {diagnose(evidence).cause}" in fired[0]
        fired_rules.add(diagnose(evidence).rule)
    assert fired_rules <= {rule.name for rule in RULES}
    assert len(fired_rules) == 7
