"""What holds for any evidence, however incomplete or absurd."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from trustbed.diagnose import (
    CAUSES,
    FLAGS,
    VERDICTS,
    CaptureFacts,
    CaptureQuality,
    Evidence,
    Quality,
    diagnose,
    explain,
    judge,
)
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.evidence import SOURCES
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.rules import STAGES, first_match
from trustbed.diagnose.thresholds import THRESHOLDS

ANY = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.integers(-2, 10**12)
SHARE = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.2, 0.35, 0.5, 0.9, 1.0])
TRUTH = st.none() | st.booleans()
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "capacity_source": st.sampled_from([None, "given", "delivery_rate"]),
    "workload": st.sampled_from(["bulk", "interactive", "unknown"]),
    "stall_gaps_seconds": st.lists(
        st.floats(0, 100) | st.sampled_from([13.0, math.inf]), max_size=3
    ).map(tuple),
    **dict.fromkeys(
        ("long_pauses_reported", "kernel_reset", "slow_start", "failed", "too_short"), TRUTH
    ),
}
ABSURD = st.builds(
    Evidence, **{field.name: SPECIAL.get(field.name, ANY) for field in fields(Evidence)}
)

SECONDS = st.none() | st.floats(1e-5, 1.0)
RATE = st.none() | st.floats(1.0, 1e9)
COUNT = st.none() | st.integers(0, 10_000)
BYTES = st.none() | st.floats(1000, 1e8)
OF_UNIT: dict[str, st.SearchStrategy[Any]] = {
    "bytes/second": RATE,
    "bytes": BYTES,
    "seconds": SECONDS,
    "count": COUNT,
    "segments": COUNT,
    "packets": st.none() | st.floats(0, 30),
    "ratio": SHARE,
    "": TRUTH,
}
SENSIBLE = st.builds(
    Evidence,
    **{
        **{source.field: OF_UNIT[source.unit] for source in SOURCES},
        **SPECIAL,
        "payload_bytes": st.just(1448),
        "packet_bytes": st.just(1500),
        "loss": st.none() | st.floats(0, 0.2),
        "loss_events": st.none() | st.integers(0, 100),
        "capacity_bytes_per_second": st.none() | st.floats(1e3, 1e9),
        "data_segments": st.none() | st.integers(1, 1_000_000),
        "floor_flight_ratio": st.none() | st.floats(0.1, 10),
        "duration_seconds": st.none() | st.floats(0.1, 1000),
        **dict.fromkeys(
            (
                "unanswered_seconds",
                "interrupted_seconds",
                "ack_silences_seconds",
                "acks_held_seconds",
            ),
            st.none() | st.floats(0, 1000),
        ),
        **dict.fromkeys(
            (
                "path_rate_change_seconds",
                "path_rate_change_spread",
                "queue_seconds",
                "departure_lag_seconds",
            ),
            st.none() | st.floats(0, 10),
        ),
        "failed": st.just(None),
        "too_short": st.just(None),
    },
)
QUALITIES = st.builds(
    Quality,
    capture=st.builds(
        CaptureQuality,
        kernel_drop_share=st.floats(0, 1),
        granularity_seconds=st.floats(0, 0.01),
        clock_step_seconds=st.floats(0, 100),
        equal_timestamp_share=st.floats(0, 1),
        timestamps_missing=st.booleans(),
    ),
    spacing_estimated=st.booleans(),
    one_sided=st.booleans(),
    multipath=st.booleans(),
    window_estimated=st.booleans(),
    unseen_share=st.floats(0, 1),
    duplicate_share=st.floats(0, 1),
)

few = settings(max_examples=40)
"""Evidence has more than a hundred fields: to draw it takes longer than to judge it."""


@few
@given(ABSURD | SENSIBLE, QUALITIES)
def test_any_evidence_gets_a_diagnosis_within_its_bounds_that_can_be_explained(
    evidence: Evidence, quality: Quality
) -> None:
    diagnosis = diagnose(evidence, quality=quality)
    assert diagnosis.cause in CAUSES
    assert diagnosis.verdict in VERDICTS
    assert 0.05 <= diagnosis.confidence <= 0.99
    assert round(diagnosis.confidence * 100) / 100 == diagnosis.confidence
    assert set(diagnosis.flags) <= set(FLAGS) | {limit.code for limit in LIMITS}
    assert len(diagnosis.headline) <= 60
    assert len(diagnosis.reasons) >= 1
    assert all(diagnosis.reasons)
    lines = explain(evidence, quality=quality)
    assert lines[0] == diagnosis.headline
    assert any(line.lstrip().startswith("→ ") for line in lines)


@few
@given(ABSURD | SENSIBLE)
def test_one_of_the_last_three_stages_is_entered_and_the_first_that_is_decides(
    evidence: Evidence,
) -> None:
    case = Case.of(evidence, THRESHOLDS)
    assert sum(stage.entered(case) for stage in STAGES[-3:]) == 1
    sorting, *deciding = STAGES
    first = next(stage for stage in deciding if stage.entered(case))
    assert first_match(case) in (*sorting.rules, *first.rules)


@few
@given(SENSIBLE, QUALITIES)
def test_a_worse_capture_never_makes_a_verdict_surer(evidence: Evidence, quality: Quality) -> None:
    clean, limited = diagnose(evidence), diagnose(evidence, quality=quality)
    assert limited.cause == clean.cause
    assert limited.confidence <= clean.confidence
    assert limited.verdict in (clean.verdict, "review")


# So slow that no bound explains it, with pauses and nothing before them in the order of the rules:
# no stall, no policer, a window that did not close; where its time went is unknown.
PAUSING = SENSIBLE.map(
    lambda evidence: replace(
        evidence,
        throughput_bytes_per_second=1.0,
        window_bytes=65535,
        rtt_base_seconds=0.02,
        stall_gaps_seconds=(),
        window_closed=None,
        queued_before_loss=None,
        path=None,
        long_pause_fraction=0.4,
        workload="bulk",
    )
)

# The same where its time was cut into states: its silences cost most, for no queue was seen to
# deliver all along, and the path stayed one.
SILENT = SENSIBLE.map(
    lambda evidence: replace(
        evidence,
        stall_gaps_seconds=(),
        queued_before_loss=None,
        floor_left=None,
        path=0.1,
        path_rate_samples=None,
        pipe_full=None,
        recovery=0.0,
        timeout=0.0,
        below_path=0.0,
        idle_sender=1.0,
        peer=0.0,
        no_answer=0.0,
        interrupted_seconds=None,
        zero_window=0.0,
        receiver_window=0.0,
        send_buffer_limited=None,
        send_buffer_declared=None,
        ack_silences_seconds=None,
        acks_held_seconds=None,
        departure_lag_seconds=None,
        workload="bulk",
    )
)

BEFORE_SILENCES: dict[str, dict[str, Any]] = {
    "host_stall": {"stall_gaps_seconds": (7.0,), "kernel_reset": None},
    "policed": {
        "loss": 0.01,
        "queued_before_loss": 0.0,
        "loss_burst_rank": None,
        "exchanges_lossy": 1.0,
        "exchanges_bucket_empty": 1.0,
    },
}
"""Stages that come before a sender's silences, by their cause."""


@few
@given(PAUSING | SILENT, st.floats(0, 1), st.floats(0, 1))
def test_a_starved_cpu_never_lowers_the_confidence_in_a_host_cause(
    evidence: Evidence, one: float, other: float
) -> None:
    less, more = (diagnose(replace(evidence, cpu_share=share)) for share in sorted((one, other)))
    assert less.cause == more.cause == "host_scheduling"
    assert less.confidence >= more.confidence


@few
@given(PAUSING, st.floats(0, 1), st.floats(0, 1))
def test_more_pauses_never_turn_a_host_cause_into_another(
    evidence: Evidence, one: float, other: float
) -> None:
    fewer, more = (
        diagnose(replace(evidence, idle_open_window_fraction=share))
        for share in sorted((one, other))
    )
    assert fewer.cause == more.cause == "host_scheduling"
    assert fewer.confidence <= more.confidence


@few
@given(SILENT, st.floats(0.15, 1), st.floats(0.15, 1))
def test_longer_silences_never_turn_a_host_cause_into_another(
    evidence: Evidence, one: float, other: float
) -> None:
    fewer, more = (diagnose(replace(evidence, idle_sender=share)) for share in sorted((one, other)))
    assert fewer.cause == more.cause == "host_scheduling"
    # A processor that was missing for as long explains a smaller part of longer silences.
    assert fewer.rule != more.rule or fewer.confidence <= more.confidence


@few
@given(SENSIBLE, st.sampled_from(sorted(BEFORE_SILENCES)), SHARE, SHARE, SHARE)
def test_stages_before_silences_do_not_depend_on_them(
    evidence: Evidence,
    cause: str,
    application: float | None,
    sender: float | None,
    cpu_share: float | None,
) -> None:
    # Seen beside the sender: elsewhere a silence that a timeout ended counts as unanswered. Nor did
    # it wait for its peer, which is no stall.
    beside = replace(
        evidence,
        stall_gaps_seconds=(),
        no_answer=None,
        unanswered_seconds=None,
        peer=None,
        pauses_estimated=False,
    )
    shown = replace(beside, **BEFORE_SILENCES[cause])
    assert diagnose(shown).cause == cause
    silent = replace(
        shown, path=0.0, idle_application=application, idle_sender=sender, cpu_share=cpu_share
    )
    assert diagnose(silent).cause == cause


@few
@given(SENSIBLE)
def test_a_silent_sender_is_not_discarded_while_its_application_is_possible(
    evidence: Evidence,
) -> None:
    alone = replace(
        evidence,
        path=0.0,
        stall_gaps_seconds=(),
        workload="unknown",
        cpu_share=None,
        processor_missed=None,
        idle_periods=None,
    )
    assert diagnose(alone).verdict != "discard"


@few
@given(SENSIBLE)
def test_a_transfer_whose_time_is_known_is_judged_by_it(evidence: Evidence) -> None:
    timed = replace(evidence, path=0.0, stall_gaps_seconds=(), queued_before_loss=None)
    (of_time,) = [stage for stage in STAGES if stage.name == "time"]
    assert first_match(Case.of(timed, THRESHOLDS)) in of_time.rules


@few
@given(SENSIBLE)
def test_a_declared_bulk_sender_is_never_limited_by_its_application(evidence: Evidence) -> None:
    assert diagnose(replace(evidence, workload="bulk")).cause != "sender_application_limited"


@few
@given(SENSIBLE, st.floats(1.11, 100.0))
def test_what_exceeds_its_window_is_never_trusted(evidence: Evidence, factor: float) -> None:
    known = replace(evidence, window_bytes=65535, rtt_base_seconds=0.02, rtt_seconds=0.02)
    bound = 65535 * 1448 / (1500 * 0.02)
    diagnosis = diagnose(replace(known, throughput_bytes_per_second=factor * bound))
    assert "exceeds_window_bound" in diagnosis.flags
    assert diagnosis.verdict != "trust"


RATES_AND_FLIGHT = tuple(
    source.field
    for source in SOURCES
    if source.unit in ("bytes/second", "bytes")
    and source.field not in ("payload_bytes", "packet_bytes")
)


@few
@given(SENSIBLE, st.floats(0.01, 1.4), st.integers(0, 20).map(lambda power: 2.0**power))
def test_only_the_share_of_the_window_bound_counts_and_not_the_rate(
    evidence: Evidence, share: float, factor: float
) -> None:
    assume(
        share * 65535 > 2 * 1500
    )  # with less than a packet in flight it is idle, whatever the window
    lone = replace(
        evidence,
        loss=0.0,
        capacity_bytes_per_second=None,
        long_pause_fraction=evidence.long_pause_fraction or 0.0,
        rtt_base_seconds=0.02,
        # The time that packets take themselves does depend on the rate.
        rate_high_bytes_per_second=None,
        # Neither does what a token bucket may hold.
        path_rate_change_seconds=None,
    )

    def judged(times: float) -> tuple[str, str, float]:
        bound = times * 65535 * 1448 / (1500 * (lone.rtt_seconds or 0.02))
        scaled: dict[str, Any] = {
            name: None if getattr(lone, name) is None else times * getattr(lone, name)
            for name in RATES_AND_FLIGHT
        }
        scaled |= {"window_bytes": times * 65535, "throughput_bytes_per_second": share * bound}
        diagnosis = diagnose(replace(lone, **scaled))
        return diagnosis.cause, diagnosis.verdict, diagnosis.confidence

    assert judged(1.0) == judged(factor)


@pytest.mark.parametrize("count", [float("inf"), float("nan")])
def test_a_count_that_is_no_number_can_be_explained(timed: Evidence, count: float) -> None:
    counts = ("acks_held", "ack_silences", "data_held", "idle_periods", "congestion_marks")
    repairs = ("fast_recoveries", "retransmitted_needlessly")
    assert explain(replace(timed, **dict.fromkeys((*counts, *repairs), count)))


COLUMNS = st.sampled_from(
    [
        "throughput_bytes_per_second",
        "window_max_bytes",
        "rtt_base_ns",
        "rtt_path_ns",
        "loss_rate_genuine",
        "long_pause_fraction",
        "idle_open_window_fraction",
        "acked_unseen_bytes",
        "unique_bytes",
        "packets",
        "capture_duplicates",
        "outage_ns",
        "spacing_max_ns",
        "duration_ns",
        "app_limited_fraction",
        "too_short",
    ]
)
FACTS = st.dictionaries(
    st.sampled_from(sorted(CaptureFacts.__annotations__.keys() - {"files", "problems", "skips"})),
    st.none() | st.just(0),
)


@given(st.lists(st.dictionaries(COLUMNS, st.none() | st.integers(0, 10**10)), max_size=4), FACTS)
def test_any_rows_are_examined(rows: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    judgement = judge(rows, facts)  # type: ignore[arg-type]
    assert len(judgement.outcomes) == len(rows)
