"""An explanation names the rule that fired, those before it, and what would change the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

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


@pytest.fixture
def starved(healthy: Evidence) -> Evidence:
    """A sender that pauses below the RTT."""
    return replace(healthy, throughput_bytes_per_second=1.3e6, idle_open_window_fraction=0.8)


def part(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return [line.strip() for line in lines[start:end]]


def test_the_rules_up_to_the_one_that_fired(starved: Evidence) -> None:
    told = part(explain(starved), "Rules, in order")
    names = [rule.name for rule in STAGES[0].rules]
    deficit = [stage.name for stage in STAGES].index("throughput_gap")
    before = [rule.name for rule in STAGES[deficit].rules]
    before = before[: before.index("sender_held_back") + 1]
    assert [line.split()[1].strip(":") for line in told if line[0] in "–→"] == names + before
    titles = [line for line in told if line[0] not in "–→"]
    assert len(titles) == deficit + 1
    assert all(line.startswith(stage.title) for line, stage in zip(titles, STAGES, strict=False))
    assert [" Not entered: " in line for line in titles] == [False] + [True] * (deficit - 1) + [
        False
    ]


def test_what_the_network_would_have_given_is_told_or_why_it_is_not(starved: Evidence) -> None:
    beside = replace(starved, outstanding_max_bytes=65535)
    (told,) = part(explain(beside, quality=Quality(at="sender")), "Without the stalls")
    assert told.startswith("measured 10.4 Mbit/s; without the stalls about 25.1 Mbit/s (")
    (told,) = part(explain(beside), "Without the stalls")
    assert told == (
        "no estimate of what the network would have given: the capture was not taken beside the "
        "sender"
    )
    assert "Without the stalls" not in explain(
        replace(beside, throughput_bytes_per_second=3.1e6, idle_open_window_fraction=0.0)
    )


def test_conditions_are_told_with_their_thresholds_and_numbers(starved: Evidence) -> None:
    told = part(explain(starved), "Rules, in order")
    for line in (
        "– too_short (insufficient): needs shorter than 10 round trips, or less than 64 kB "
        "delivered [too_short = false]",
        "Did the whole host stop? Not entered: the host's stalls last 5 s or 10 % of the "
        "transfer in total [stalled 0 s of 10.0 s]",
        "There is a throughput gap: what took the rest? Entered: r known and < 0.8 [r = 0.41]",
        "– receiver_closed_its_window (receiver_limited): needs window_closed ≥ 20 % "
        "[window_closed = 0 %]",
        "– application_paused (sender_application_limited): needs (app_limited ≥ 50 % or "
        "workload = interactive) and cpu_share ≥ 0.9 or unknown [app_limited = 0 %, workload = "
        "unknown, cpu_share = unknown]",
    ):
        assert line in told
    assert told[-1].startswith(
        "→ sender_held_back: host_scheduling, because long pauses: f ≥ 20 %, h ≥ 30 % or empty ≥ "
        "20 % (else mean pause > T_pkt, else as reported) [f = 0 %, h = 80 %] and measured "
        "at the sender"
    )


def test_the_confidence_adds_up(starved: Evidence) -> None:
    base, *additions, total = part(explain(starved), "Confidence")
    assert (base, total) == ("0.60 for host_scheduling", "= 0.90")
    assert len(additions) == len(CONFIDENCE["host_scheduling"].additions)
    counted = {line for line in additions if not line.startswith("–  ")}
    assert counted == {
        "+0.10 window_saturated ≥ 90 % [window_saturated = 100 %]",
        "+0.10 h ≥ 45 % [f = 0 %, h = 80 %]",
        "+0.10 loss < 0.1 % and i < 1.2, or unknown [loss = 0 %, i = 1.00]",
    }
    assert "–     cpu_share < 0.9 [cpu_share = unknown]" in additions


def test_all_that_counts_as_a_pause_is_shown(starved: Evidence) -> None:
    def pauses(**known: float) -> str:
        (line,) = [
            line
            for line in part(explain(replace(starved, **known)), "Evidence")
            if line.startswith("pauses")
        ]  # type: ignore[arg-type]
        return line

    assert pauses() == "pauses longer than the RTT f = 0 %, idle with open window h = 80 %: long"
    assert pauses(idle_open_window_fraction=0.1, empty_fraction=0.3).endswith(
        "idle with open window h = 10 %, nothing outstanding 30 %: long"
    )
    assert pauses(idle_open_window_fraction=0.1, idle_open_window_at_rate_fraction=0.4).endswith(
        "idle with open window h = 10 % (h′ = 40 %): long"
    )


def test_without_pauses_is_without_any_of_them(starved: Evidence) -> None:
    without = "without pauses: unexplained, confidence 0.30, review"
    assert without in part(
        explain(replace(starved, idle_open_window_at_rate_fraction=0.9, empty_fraction=0.5)),
        "What would change it",
    )


def test_without_loss_nothing_of_the_losses_is_left(healthy: Evidence) -> None:
    lossy = {
        "throughput_bytes_per_second": 1e6,
        "loss": 0.02,
        "loss_events": 400,
        "loss_level_rank": 0.1,
        "rtt_before_loss_seconds": 0.02,
    }
    policed = replace(healthy, **lossy)  # type: ignore[arg-type]
    assert diagnose(policed).cause == "policed"
    assert "without loss: unexplained, confidence 0.30, review" in part(
        explain(policed), "What would change it"
    )


def test_what_would_change_it_is_tried(starved: Evidence) -> None:
    changes = part(explain(starved), "What would change it")
    assert (
        "with --workload interactive: sender_application_limited, confidence 0.60, review"
        in changes
    )
    assert (
        "with a CPU share of 1.0 measured on the sender: host_scheduling, confidence 0.70, review"
        in changes
    )
    assert "without pauses: unexplained, confidence 0.30, review" in changes
    assert not any(change.startswith("with --workload bulk") for change in changes)


def test_the_limits_of_the_capture_are_explained(starved: Evidence) -> None:
    lines = explain(starved, quality=Quality(unseen_share=0.1))
    assert part(lines, "What the capture limits")[0].startswith(
        "capture_loss: what may still be concluded is the throughput"
    )
    assert "a capture without these weaknesses: confidence 0.90, discard" in part(
        lines, "What would change it"
    )
    assert (
        "at most 0.70: 0.1 % or more of the transfer's bytes were acknowledged but never captured"
        in part(lines, "Confidence")
    )


def test_other_readings_and_flags(starved: Evidence) -> None:
    lines = explain(replace(starved, app_limited_fraction=0.3, loss=0.0001, loss_events=1))
    assert part(lines, "Other readings")[0].startswith(
        "sender_application_limited: window full 60 %"
    )
    assert part(lines, "Flags") == [
        (
            "loss_model_refuted: the loss model was left out: too few losses, or the transfer "
            "was faster than it allows"
        )
    ]
    assert "Flags" not in explain(starved)


def unknown(evidence: Evidence, quality: Quality = UNTOUCHED) -> list[str]:
    """The numbers that an explanation calls unknown."""
    told = [
        line.partition(": ")[2]
        for line in part(explain(evidence, quality=quality), "Evidence")
        if line.startswith("unknown, and")
    ]
    return [name for names in told for name in names.split(", ")]


def test_an_unknown_number_is_listed_where_it_could_change_the_answer_or_its_score(
    starved: Evidence,
) -> None:
    assert unknown(starved) == [
        "capacity_bytes_per_second",
        "cpu_share",
        "window_shrunk",
        "unanswered_seconds",
        "processor_missed",
    ]
    told = {
        "capacity_bytes_per_second": 1.3e6,
        "cpu_share": 0.5,
        "window_shrunk": 1.0,
        "unanswered_seconds": 5.0,
        "processor_missed": 0.0,
    }
    for name, value in told.items():
        found, before = diagnose(replace(starved, **{name: value})), diagnose(starved)
        assert (found.rule, found.score) != (before.rule, before.score)
        assert name not in unknown(replace(starved, **{name: value}))


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
    assert unknown(replace(starved, stall_gaps_seconds=(7.0,))) == ["cpu_share", "kernel_reset"]


def test_what_there_is_nothing_to_measure_of_is_not_unknown(healthy: Evidence) -> None:
    assert "loss_level_rank" not in unknown(healthy)
    assert "loss_level_rank" in unknown(replace(healthy, loss=0.001, loss_events=10))


def test_nothing_is_said_where_nothing_is_missing(healthy: Evidence) -> None:
    known = {
        "capacity_bytes_per_second": 9e9,
        "window_shrunk": 0.0,
        "idle_open_window_at_rate_fraction": 0.0,
        "empty_fraction": 0.0,
    }
    complete = replace(healthy, **known, unanswered_seconds=0.0, delayed_answers=0.0)
    assert part(explain(complete), "Evidence")[-1].startswith("pauses longer than the RTT")


def test_a_row_is_explained_like_its_evidence(row: dict[str, Any], healthy: Evidence) -> None:
    assert explain_row(row, {}) == explain(healthy, quality=Quality(at="sender"))
    bulk = explain_row({**row, "window_estimated": True}, {}, workload="bulk", capacity=20e6)
    capacity = replace(
        healthy, workload="bulk", capacity_bytes_per_second=2.5e6, capacity_source="given"
    )
    assert bulk == explain(capacity, quality=Quality(window_estimated=True, at="sender"))


def test_a_row_is_explained_with_what_is_known_of_its_host(row: dict[str, Any]) -> None:
    pausing = {**row, "throughput_bytes_per_second": 1e6, "idle_open_window_fraction": 0.8}
    kernel = KernelTimes(busy_seconds=9.0, rwnd_limited_seconds=9.0)
    host = HostEvidence(processor_missed=0.0, processor_share=1.0, kernel=kernel)
    judged, lines = (
        judge_row(pausing, CaptureQuality(), host=host),
        explain_row(pausing, {}, host=host),
    )
    assert judged.cause == "sender_application_limited"
    assert lines[0] == judged.headline
    assert any(line.startswith("→ application_slept") for line in part(lines, "Rules, in order"))
    assert part(lines, "Flags")[0].startswith("kernel_rwnd_limited: ")
    assert explain_row(pausing, {}, host=HostEvidence()) == explain_row(pausing, {})


def test_every_rule_can_be_explained(healthy: Evidence) -> None:
    slow: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
    told = set()
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
        told.add(diagnose(evidence).rule)
    assert told <= {rule.name for rule in RULES}
    assert len(told) == 7
