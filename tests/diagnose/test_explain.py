"""An explanation names the rule that fired, those before it that did not, and what would change the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import Evidence, Quality, diagnose, explain, explain_row
from trustbed.diagnose.rules import RULES


@pytest.fixture
def starved(healthy: Evidence) -> Evidence:
    """A sender that pauses below the RTT."""
    return replace(healthy, throughput_bytes_per_second=1.3e6, withheld_fraction=0.8)


def part(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return [line.strip() for line in lines[start:end]]


def test_the_rules_up_to_the_one_that_fired(starved: Evidence) -> None:
    assert part(explain(starved), "Rules, in the order asked") == [
        "Can the transfer be judged at all?",
        "– failed (insufficient): needs the transfer failed [failed = unknown]",
        "– too_short (insufficient): needs shorter than 10 round trips, or less than 64 kB delivered [too_short = false]",
        "Did the whole host stop? Not asked: the host's stalls last 5 s or 10 % of the transfer in total [stalled 0 s of 10.0 s]",
        "Window, delay, loss and capacity explain the throughput: which of them? Not asked: r known and ≥ 0.8 [r = 0.41]",
        "The throughput stays below what they allow: what took the rest? Asked: r known and < 0.8 [r = 0.41]",
        "– receiver_closed_its_window (receiver_limited): needs window_closed ≥ 20 % [window_closed = 0 %]",
        "– application_paused (sender_application_limited): needs (app_limited ≥ 50 % or workload = interactive) and cpu_share ≥ 0.9 or "
        "unknown [app_limited = 0 %, workload = unknown, cpu_share = unknown]",
        "→ sender_held_back: host_scheduling, because oversize pauses: f ≥ 20 % or h ≥ 35 % (else mean pause > T_pkt, else as reported) "
        "[f = 0 %, h = 80 %]",
    ]


def test_the_confidence_adds_up(starved: Evidence) -> None:
    assert part(explain(starved), "Confidence") == [
        "0.60 for host_scheduling",
        "–     cpu_share < 0.9 [cpu_share = unknown]",
        "–     cpu_share ≥ 0.95 [cpu_share = unknown]",
        "+0.10 window_saturated ≥ 90 % [window_saturated = 100 %]",
        "+0.10 h ≥ 45 % [f = 0 %, h = 80 %]",
        "+0.10 loss < 0.1 % and i < 1.2, or unknown [loss = 0 %, i = 1.00]",
        "= 0.90",
    ]


def test_what_would_change_it_is_tried(starved: Evidence) -> None:
    changes = part(explain(starved), "What would change it")
    assert "with --workload interactive: sender_application_limited, confidence 0.60, review" in changes
    assert "with a CPU share of 1.0 measured on the sender: host_scheduling, confidence 0.70, review" in changes
    assert "without pauses: unexplained, confidence 0.30, review" in changes
    assert not any(change.startswith("with --workload bulk") for change in changes)


def test_the_limits_of_the_capture_are_explained(starved: Evidence) -> None:
    lines = explain(starved, quality=Quality(unseen_share=0.1))
    assert part(lines, "What the capture leaves of it")[0].startswith("capture_loss: what may still be concluded is the throughput")
    assert "a capture without these weaknesses: confidence 0.90, discard" in part(lines, "What would change it")
    assert "at most 0.70: 0.1 % or more of the transfer's bytes were acknowledged but never captured" in part(lines, "Confidence")


def test_other_readings_and_flags(starved: Evidence) -> None:
    lines = explain(replace(starved, app_limited_fraction=0.3, loss=0.0001, loss_events=1))
    assert part(lines, "Other readings")[0].startswith("sender_application_limited: window full 90 %")
    assert part(lines, "Flags") == [
        "loss_model_refuted: the loss model was left out: too few losses, or the transfer was faster than it allows"
    ]
    assert "Flags" not in explain(starved)


def test_what_is_unknown_is_listed(healthy: Evidence) -> None:
    assert part(explain(healthy), "Evidence")[-1] == (
        "not known: capacity_bytes_per_second, capacity_source, oversize_reported, cpu_share, cpu_utilisation, steal, kernel_reset, failed"
    )


def test_a_row_is_explained_like_its_evidence(row: dict[str, Any], healthy: Evidence) -> None:
    assert explain_row(row, {}) == explain(healthy)
    bulk = explain_row({**row, "window_estimated": True}, {}, workload="bulk", capacity=20e6)
    capacity = replace(healthy, workload="bulk", capacity_bytes_per_second=2.5e6, capacity_source="given")
    assert bulk == explain(capacity, quality=Quality(window_estimated=True))


def test_every_rule_can_be_explained(healthy: Evidence) -> None:
    slow: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
    told = set()
    for changes in (
        {"failed": True},
        {"stall_gaps_seconds": (13.0, 13.0)},
        {"stall_gaps_seconds": (7.0,)},
        {"rtt_seconds": 0.03},
        slow,
        {**slow, "withheld_fraction": 0.5},
        {"throughput_bytes_per_second": None},
    ):
        evidence = replace(healthy, **changes)
        fired = [line for line in explain(evidence) if line.strip().startswith("→")]
        assert len(fired) == 1
        assert f"→ {diagnose(evidence).rule}: {diagnose(evidence).cause}" in fired[0]
        told.add(diagnose(evidence).rule)
    assert told <= {rule.name for rule in RULES}
    assert len(told) == 7
