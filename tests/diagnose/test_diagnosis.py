"""A diagnosis in words: headlines, reasons, next steps, shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from trustbed.diagnose import (
    CAUSES,
    FLAGS,
    TOO_SHORT,
    VERDICTS,
    Cause,
    Diagnosis,
    Evidence,
    Shares,
    Verdict,
    diagnose,
)
from trustbed.diagnose.confidence import CONFIDENCE
from trustbed.diagnose.rules import RULES
from trustbed.diagnose.shape_words import SHAPES
from trustbed.diagnose.verdicts import IMPOSSIBLE_RATE, VERDICT_OF, WHAT, headline
from trustbed.diagnose.wording import BEFORE_USE, NEXT_STEP, next_step_of


def test_the_lists_are_complete() -> None:
    assert (
        set(get_args(Cause))
        == set(CAUSES)
        == set(CONFIDENCE)
        == set(VERDICT_OF)
        == set(WHAT)
        == set(NEXT_STEP)
    )
    assert set(get_args(Verdict)) == set(VERDICTS)
    assert {rule.flag for rule in RULES if rule.flag} <= set(FLAGS)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_headlines_are_short(cause: Cause, verdict: Verdict) -> None:
    assert 10 < len(headline(cause, verdict)) <= 60
    assert len(IMPOSSIBLE_RATE) <= 60


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_nobody_is_told_to_use_a_number_that_is_not_trusted(cause: Cause, verdict: Verdict) -> None:
    step = next_step_of(cause, verdict)
    assert step in (NEXT_STEP[cause], BEFORE_USE)
    assert step.startswith("use the number") == (
        verdict == "trust" and NEXT_STEP[cause].startswith("use the number")
    )


def reasons(evidence: Evidence, **changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - any field of the evidence
    return diagnose(replace(evidence, **changes)).reasons


def test_reasons_carry_the_deciding_numbers(healthy: Evidence) -> None:
    assert reasons(healthy) == (
        "24.8 Mbit/s where window and delay allow 25.2 Mbit/s (98 %)",
        "RTT 20.1 ms is the path's own (base 20.0 ms), no packet lost",
        "no pauses of its own: it withheld data for 3 % of the time",
    )
    pausing = {
        "throughput_bytes_per_second": 1.0e6,
        "oversize_fraction": 0.4,
        "withheld_fraction": 0.5,
    }
    assert reasons(healthy, **pausing, cpu_share=0.5) == (
        "8.00 Mbit/s where window and delay allow 25.2 Mbit/s (32 %)",
        "for 50 % of the time it was allowed to send and did not, 40 % in pauses longer than a round trip",
        "RTT 20.1 ms is the path's own (base 20.0 ms), no packet lost",
        "an always-ready thread obtained 50 % of a core",
        "it did not run out of data: hardly a pause began after a short packet with everything acknowledged",
    )
    assert reasons(healthy, **{**pausing, "withheld_fraction": 0.1, "app_limited_fraction": None})[
        1:
    ] == (
        "40 % of the time went into pauses longer than a round trip",
        "RTT 20.1 ms is the path's own (base 20.0 ms), no packet lost",
    )
    assert reasons(healthy, **{**pausing, "app_limited_fraction": 0.6})[-1] == (
        "for 60 % of the time it was idle after a short packet with everything acknowledged"
    )


def test_reasons_name_the_bound(healthy: Evidence) -> None:
    assert reasons(healthy, capacity_bytes_per_second=2.5e6, throughput_bytes_per_second=2.4e6)[
        0
    ] == ("19.2 Mbit/s where the link carries 19.3 Mbit/s (99 %)")
    assert reasons(healthy, loss=0.02, loss_events=99, throughput_bytes_per_second=0.6e6)[0] == (
        "4.80 Mbit/s where a loss of 2 % allows 4.99 Mbit/s (96 %)"
    )


def test_reasons_say_what_could_not_be_seen(healthy: Evidence) -> None:
    blind = replace(healthy, rtt_seconds=None, rtt_base_seconds=None, window_bytes=None, loss=None)
    blind = replace(blind, oversize_fraction=None, withheld_fraction=None)
    assert diagnose(blind).reasons == (
        "24.8 Mbit/s; what the path allows is unknown, because window and RTT cannot be seen in this capture",
        "RTT unknown, loss unknown",
        "whether the sender paused cannot be seen in this capture",
    )
    with_capacity = replace(blind, window_bytes=65535, capacity_bytes_per_second=9e6)
    assert diagnose(with_capacity).reasons[0] == (
        "24.8 Mbit/s where the link carries 69.5 Mbit/s; the window bound is unknown, because RTT cannot be seen in this capture"
    )
    assert reasons(healthy, throughput_bytes_per_second=None)[0] == "throughput unknown"
    assert reasons(healthy, rtt_base_seconds=None)[1] == "RTT 20.1 ms, no packet lost"


def test_reasons_of_other_causes(healthy: Evidence) -> None:
    assert reasons(healthy, stall_gaps_seconds=(13.0, 26.0), kernel_reset=True)[0] == (
        "the whole host stopped 2 times, for 39.0 s in total, each near a multiple of 13 s, and the kernel log shows a reset"
    )
    slow = {"throughput_bytes_per_second": 1.0e6}
    assert (
        reasons(healthy, **slow, window_closed=0.6)[1]
        == "for 60 % of the time the receiver's window was closed"
    )
    assert reasons(healthy, **slow, slow_start=True)[1].startswith(
        "no packet was lost, and it ended before"
    )
    assert reasons(healthy, **slow, rtt_seconds=0.04)[1] == (
        "RTT 40.0 ms is 2.00 times its base of 20.0 ms, no packet lost"
    )
    reported = {
        **slow,
        "oversize_fraction": None,
        "withheld_fraction": None,
        "spacing_mean_seconds": None,
        "oversize_reported": True,
    }
    assert reasons(healthy, **reported)[1] == "long pauses were reported"
    assert reasons(healthy, failed=True) == ("the transfer did not complete",)


SLOW: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
FLIGHT: dict[str, Any] = {"outstanding_mean_bytes": 19_000.0, "outstanding_max_bytes": 20_000.0}
BENT: dict[str, Any] = {
    "burst_rate_bytes_per_second": 3.9e6,
    "burst_left_rate_bytes_per_second": 3.0e6,
    "rate_low_bytes_per_second": 3.0e6,
    "rate_middle_bytes_per_second": 3.0e6,
    "burst_left_floor_seconds": 0.025,
}

# cause: (changes to a healthy transfer that show it, the reason that gives its number)
SHOWN: dict[Cause, tuple[dict[str, Any], str]] = {
    "policed": (
        {
            **SLOW,
            "loss": 0.02,
            "loss_events": 99,
            "loss_level_rank": 0.1,
            "rtt_before_loss_seconds": 0.021,
        },
        "losses came whenever it had sent more than a steady rate allows (rank 10 %), not when the queue was full: "
        "RTT just before them 21.0 ms",
    ),
    "shaped": (
        BENT,
        "31.2 Mbit/s at first, 24.0 Mbit/s afterwards with a queue before the bottleneck",
    ),
    "reordering": (
        {**SLOW, "late_segments": 30, "data_segments": 1000},
        "3 % of the segments came late without loss or were repeated in vain",
    ),
    "route_change": (
        {
            "floor_before_seconds": 0.02,
            "floor_after_seconds": 0.03,
            "floor_left": 0.01,
            "floor_flight_ratio": 0.9,
        },
        "the smallest RTT was 20.0 ms at first and 30.0 ms afterwards, and hardly anything in between",
    ),
    "outage": (
        {"outage_seconds": 2.0},
        "nothing came back for 2.00 s of 10.0 s while data were outstanding",
    ),
    "send_buffer_limited": (
        {**SLOW, **FLIGHT},
        "no more than 20.0 kB were ever outstanding, though the window allowed 65.5 kB",
    ),
    "acknowledgements_delayed": (
        {"delayed_answers": 0.6},
        "60 % of the acknowledgements waited for a timer",
    ),
    "receiver_limited": (
        {**SLOW, "window_closed": 0.0, "window_shrunk": 0.9, "rwnd_limited": 0.8},
        "for 90 % of the time the window was smaller than it had been, and full for 80 %",
    ),
}


@pytest.mark.parametrize("cause", SHOWN)
def test_a_cause_that_shows_in_the_shape_gives_its_number(cause: Cause, healthy: Evidence) -> None:
    changes, words = SHOWN[cause]
    diagnosis = diagnose(replace(healthy, **changes))
    assert diagnosis.cause == cause
    assert diagnosis.reasons[1] == words


def test_a_mean_above_the_steady_rate_and_a_kernel_that_says_so(healthy: Evidence) -> None:
    steady = {
        "capacity_bytes_per_second": 2.5e6,
        "capacity_source": "delivery_rate",
        "rate_high_bytes_per_second": 2.4e6,
    }
    assert (
        reasons(healthy, **steady)[1]
        == "its mean exceeds the steady 19.2 Mbit/s that it ended with: it began with a burst"
    )
    kernel = reasons(healthy, **SLOW, send_buffer_limited=0.8)
    assert kernel[1] == "its kernel says that the send buffer limited it for 80 % of its busy time"


def test_every_cause_that_shows_in_the_shape_has_words() -> None:
    assert set(SHOWN) == {*SHAPES, "receiver_limited"}


def test_every_transfer_too_short_shares_one_diagnosis() -> None:
    assert (TOO_SHORT.cause, TOO_SHORT.verdict, TOO_SHORT.headline) == (
        "insufficient",
        "not_judged",
        "too short to judge",
    )
    assert diagnose(Evidence(too_short=True)) == TOO_SHORT


def test_shares(row: dict[str, Any]) -> None:
    shares = Shares.from_transfer(row)
    assert shares == Shares(
        application=0.0, receiver_window=0.9, loss_recovery=0.0, host=0.03, path=0.07
    )
    assert Shares.from_transfer({**row, "share_path": None}) is None
    assert diagnose(Evidence(), shares=shares).shares is shares


def test_flags_of_the_evidence_come_first(healthy: Evidence) -> None:
    diagnosis = diagnose(replace(healthy, spacing_max_seconds=1.0), flags=("sndbuf_limited",))
    assert diagnosis.flags == ("sndbuf_limited", "isolated_oversize_spacing")


def test_a_diagnosis_can_be_compared_and_not_changed(healthy: Evidence) -> None:
    diagnosis: Diagnosis = diagnose(healthy)
    assert diagnosis == diagnose(healthy)
    with pytest.raises(AttributeError):
        diagnosis.cause = "unexplained"  # type: ignore[misc]
