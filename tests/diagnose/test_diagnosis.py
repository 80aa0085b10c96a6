"""A diagnosis in words: headlines, reasons, next steps, shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.diagnose import (
    CAUSES,
    FLAGS,
    THRESHOLDS,
    TOO_SHORT,
    VERDICTS,
    Cause,
    Diagnosis,
    Evidence,
    KernelTimes,
    Shares,
    Verdict,
    budget_words,
    diagnose,
    with_kernel_times,
)
from trustbed.diagnose.ambiguity import BY_RULE
from trustbed.diagnose.causes import BEFORE_USE, IMPOSSIBLE_RATE, SETS, headline, next_step_of
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.confidence import CONFIDENCE
from trustbed.diagnose.rules import RULES


def test_the_lists_are_complete() -> None:
    assert get_args(Cause) == tuple(CAUSES)
    assert set(CAUSES) == set(CONFIDENCE)
    assert set(get_args(Verdict)) == set(VERDICTS)
    assert {rule.flag for rule in RULES if rule.flag} <= set(FLAGS)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_headlines_are_short(cause: Cause, verdict: Verdict) -> None:
    assert 10 < len(headline((cause,), verdict)) <= 60
    assert len(IMPOSSIBLE_RATE) <= 60


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_no_hint_recommends_a_number_that_is_not_trusted(cause: Cause, verdict: Verdict) -> None:
    step = next_step_of((cause,), verdict)
    own = CAUSES[cause].next_step
    assert step in (own, BEFORE_USE)
    assert step.startswith("use the number") == (
        verdict == "trust" and own.startswith("use the number")
    )


@pytest.mark.parametrize("causes", SETS, ids=lambda causes: "+".join(sorted(causes)))
def test_a_set_of_causes_has_words_that_are_true_of_both(causes: frozenset[Cause]) -> None:
    of_both = headline(tuple(sorted(causes)), "review")
    assert len(of_both) <= 60
    assert of_both not in {headline((cause,), "review") for cause in causes}
    named = {
        frozenset({rule.cause, other.cause})
        for rule in RULES
        if (other := BY_RULE.get(rule.name)) is not None and other.indeterminate
    }
    assert causes in named


def reasons(evidence: Evidence, **changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - any field of the evidence
    return diagnose(replace(evidence, **changes)).reasons


PAUSING: dict[str, Any] = {
    "throughput_bytes_per_second": 1.0e6,
    "long_pause_fraction": 0.4,
    "idle_open_window_fraction": 0.5,
}
BLIND: dict[str, Any] = dict.fromkeys(
    (
        "rtt_seconds",
        "rtt_base_seconds",
        "window_bytes",
        "loss",
        "long_pause_fraction",
        "idle_open_window_fraction",
    )
)
REPORTED: dict[str, Any] = {
    "throughput_bytes_per_second": 1.0e6,
    "long_pause_fraction": None,
    "idle_open_window_fraction": None,
    "spacing_mean_seconds": None,
    "long_pauses_reported": True,
}
REASONS: dict[str, dict[str, Any]] = {
    "healthy": {},
    "starved": {**PAUSING, "cpu_share": 0.5},
    "long pauses": {**PAUSING, "idle_open_window_fraction": 0.1, "app_limited_fraction": None},
    "idle application": {**PAUSING, "app_limited_fraction": 0.6},
    "full link": {"capacity_bytes_per_second": 2.5e6, "throughput_bytes_per_second": 2.4e6},
    "loss": {"loss": 0.02, "loss_events": 99, "throughput_bytes_per_second": 0.6e6},
    "nothing seen": BLIND,
    "no RTT": {**BLIND, "window_bytes": 65535, "capacity_bytes_per_second": 9e6},
    "no throughput": {"throughput_bytes_per_second": None},
    "no base RTT": {"rtt_base_seconds": None},
    "driver reset": {"stall_gaps_seconds": (13.0, 26.0), "kernel_reset": True},
    "closed window": {"throughput_bytes_per_second": 1.0e6, "window_closed": 0.6},
    "slow start": {"throughput_bytes_per_second": 1.0e6, "slow_start": True},
    "queue": {"throughput_bytes_per_second": 1.0e6, "rtt_seconds": 0.04},
    "pauses reported": REPORTED,
    "failed": {"failed": True},
}


def test_reasons_carry_the_deciding_numbers(healthy: Evidence, snapshot: SnapshotAssertion) -> None:
    assert {name: reasons(healthy, **changes) for name, changes in REASONS.items()} == snapshot


FELL: dict[str, Any] = {
    "path": 0.9,
    "path_rate_samples": 100,
    "path_rate_changes": 1,
    "path_rate_before_bytes_per_second": 4e6,
    "path_rate_after_bytes_per_second": 2e6,
}
SHOWN: dict[Cause, dict[str, Any]] = {
    "network_loss": {
        "recovery": 0.9,
        "loss_delay_rank": 0.4,
        "loss": 0.001,
        "sending_rate_bytes_per_second": 1e6,
        "path_rate_bytes_per_second": 3e6,
    },
    "network_congestion": {
        "path": 0.9,
        "sending_rate_bytes_per_second": 2e6,
        "path_rate_bytes_per_second": 2.5e6,
        "path_rate_high_bytes_per_second": 4e6,
    },
    "bandwidth_limited": {
        "path": 0.9,
        "sending_rate_bytes_per_second": 3e6,
        "path_rate_bytes_per_second": 3.1e6,
        "path_rate_high_bytes_per_second": 3.2e6,
    },
    "policed": {
        "loss": 0.02,
        "queued_before_loss": 0.0,
        "exchanges_lossy": 1,
        "exchanges_bucket_empty": 1,
        "token_rate_bytes_per_second": 1.25e6,
        "token_burst_bytes": 20_000,
    },
    "shaped": {**FELL, "path_rate_change_seconds": 1.0},
    "rate_changed": {**FELL, "path_rate_change_seconds": 5.0, "path_rate_changes": 3},
    "reordering": {
        "recovery": 0.9,
        "late_segments": 30,
        "data_segments": 1000,
        "fast_recoveries": 20,
        "retransmitted_needlessly": 19,
    },
    "route_change": {
        "window": 0.9,
        "floor_before_seconds": 0.02,
        "floor_after_seconds": 0.03,
        "floor_left": 0.01,
        "floor_flight_ratio": 0.9,
    },
    "send_buffer_limited": {"sender_buffer": 0.9, "outstanding_max_bytes": 30_000},
    "receiver_stalled": {"ack_silences": 9, "ack_silences_seconds": 5.0},
    "acknowledgements_delayed": {
        "ack_silences": 400,
        "ack_silences_seconds": 9.6,
        "data_segments": 1600,
    },
    "sender_rate_limited": {
        "path": 0.9,
        "answer_least_seconds": 0.0001,
        "queue_seconds": 0.02,
        "departure_lag_seconds": 0.018,
        "departure_steadiness": 0.8,
    },
    "host_scheduling": {"idle_sender": 0.5, "processor_missed": 0.6},
    "sender_application_limited": {"idle_application": 0.5},
    "mark_limited": {"path": 0.4, "below_path": 0.5, "congestion_marks": 700},
}
"""Changes to a transfer whose time went nowhere yet that show a cause."""


@pytest.mark.parametrize("cause", SHOWN)
def test_a_cause_that_shows_in_the_time_budget_gives_its_number(
    cause: Cause, healthy: Evidence, snapshot: SnapshotAssertion
) -> None:
    diagnosis = diagnose(replace(healthy, **{"path": 0.0, **SHOWN[cause]}))
    assert diagnosis.cause == cause
    assert diagnosis.reasons[1] == snapshot


def test_every_cause_with_words_of_its_own_is_shown(timed: Evidence) -> None:
    case = Case.of(timed, THRESHOLDS)
    assert set(SHOWN) == {cause for cause in CAUSES if len(budget_words.reasons(cause, case)) == 3}


def test_what_is_unknown_is_called_so(healthy: Evidence, snapshot: SnapshotAssertion) -> None:
    unknown: dict[str, dict[str, Any]] = {
        "no throughput": {"window": 1.0, "throughput_bytes_per_second": None},
        "no rate of the path": {"path": 1.0},
        "losses of unknown number": {"recovery": 0.05, "loss_delay_rank": 0.1, "loss": None},
        "no sample of the host but a share": {"idle_sender": 0.5, "cpu_share": 0.95},
        "a queue": {"window": 1.0, "queue_seconds": 0.004, "loss": 0.001},
    }
    assert {
        name: reasons(healthy, **{"path": 0.0, **changes}) for name, changes in unknown.items()
    } == snapshot


def test_a_rate_while_sending_is_told_where_it_differs(healthy: Evidence) -> None:
    waiting = replace(healthy, path=0.0, peer=0.5, sending_rate_bytes_per_second=1.05 * 3.1e6 + 1)
    assert "while sending" in reasons(waiting)[0]
    assert "while sending" not in reasons(waiting, sending_rate_bytes_per_second=3.2e6)[0]
    bursts = reasons(waiting, path_rate_high_bytes_per_second=3.2e6)
    assert "while sending" not in bursts[0], "a queue passes bursts on at its own rate"
    burst = reasons(
        waiting, path_rate_high_bytes_per_second=None, sending_rate_bytes_per_second=1e9
    )
    assert "while sending" not in burst[0], "more than a window each round trip is no rate"


def test_a_receiver_that_answered_late_but_was_never_silent_is_told_so(healthy: Evidence) -> None:
    stalled = replace(healthy, window=0.5, path=0.0, loss=0.0, spurious_retransmissions=3)
    assert diagnose(stalled).cause == "receiver_stalled"
    assert reasons(stalled)[1] == (
        "nothing was lost, and 3 retransmissions repeated what was acknowledged late"
    )
    assert [
        budget_words.reasons("receiver_stalled", Case.of(replace(healthy, **late), THRESHOLDS))[1]
        for late in ({"acknowledged_late_seconds": 0.03}, {"rtt_high_seconds": 0.11})
    ] == [
        "one acknowledgement in ten took 30.0 ms longer than the median, or more",
        "one round trip in a hundred took 110 ms or more",
    ]


def test_delay_before_the_capture_is_told_apart(healthy: Evidence) -> None:
    late = replace(healthy, queue_seconds=0.004, loss=0.0, rtt_base_seconds=0.02)
    said = [
        budget_words.reasons(
            "window_limited", Case.of(replace(late, departure_lag_seconds=lag), THRESHOLDS)
        )[-1]
        for lag in (None, 0.001, 0.003, 0.005)
    ]
    delay = "no packet lost, delay 4.00 ms above its floor on average"
    parts = ("", "", ", 3.00 ms of it before the capture", ", all of it before the capture")
    assert said == [f"{delay}{more} (base RTT 20.0 ms)" for more in parts]
    # Away from the sender everything that queued is before the capture, and in its round trips.
    away = replace(late, departure_lag_seconds=0.003, pauses_estimated=True)
    assert budget_words.reasons("window_limited", Case.of(away, THRESHOLDS))[-1] == (
        f"{delay} (base RTT 20.0 ms)"
    )


def test_losses_at_a_short_queue_are_told_with_its_delay(healthy: Evidence) -> None:
    lossy = replace(
        healthy,
        path=0.1,
        below_path=0.9,
        rtt_base_seconds=0.08,
        rtt_before_loss_seconds=0.085,
        path_rate_bytes_per_second=2e6,
    )
    case = Case.of(lossy, THRESHOLDS)
    assert budget_words.reasons("network_congestion", case)[1].startswith(
        "losses fell at 5.00 ms of queueing delay and kept the sender below the path's rate"
    )
    full = Case.of(replace(lossy, path=0.9, below_path=0.1), THRESHOLDS)
    assert budget_words.reasons("network_congestion", full)[1].startswith("what had queued")


def test_acknowledgements_that_gathered_in_silences_are_told(healthy: Evidence) -> None:
    gathered = replace(
        healthy,
        path=0.0,
        ack_silences=9,
        ack_silences_seconds=5.0,
        acks_held=4,
        answer_least_seconds=0.0001,
        pauses_estimated=False,
    )
    assert diagnose(gathered).rule == "acknowledgements_were_held"
    assert reasons(gathered)[1] == (
        "no packet of the receiver arrived in 9 silences, 50 % of the time in all; 4 times "
        "acknowledgements came together that by its own clock it had sent apart: they were held "
        "after they had left its stack"
    )
    # Its own clock says whose silences they were.
    assert diagnose(replace(gathered, ack_silences_own=4)).rule == "acknowledgements_were_held"
    assert diagnose(replace(gathered, ack_silences_own=5)).rule == "receiver_fell_silent"


def test_a_window_that_overtaken_segments_filled_is_told_so(healthy: Evidence) -> None:
    filled = replace(
        healthy,
        window=0.5,
        path=0.0,
        loss=0.0,
        zero_window=0.1,
        receiver_window=0.1,
        late_segments=20,
        data_segments=1000,
    )
    assert diagnose(filled).cause == "reordering"
    assert reasons(filled)[1] == (
        "2 % of the segments came late or again in vain; while others waited for them in the "
        "receiver's buffer, its window was closed or smaller for 20 % of the time"
    )


def test_a_buffer_of_the_kernel_s_account_is_not_called_a_window(healthy: Evidence) -> None:
    times = KernelTimes(busy_seconds=10.0, sndbuf_limited_seconds=5.0, send_buffer_bytes=16_384)
    evidence, _ = with_kernel_times(
        replace(healthy, path=0.0, sender_buffer=0.9, outstanding_max_bytes=14_480), times
    )
    found = diagnose(evidence)
    assert found.cause == "send_buffer_limited"
    assert "at most 14.5 kB were outstanding, of a send buffer of 16.4 kB" in reasons(evidence)


def test_a_small_send_buffer_is_told_with_its_size(healthy: Evidence) -> None:
    small = replace(
        healthy,
        window=0.0,
        path=0.0,
        idle_sender=0.5,
        workload="bulk",
        processor_missed=0.0,
        send_buffer_declared=True,
        send_buffer_bytes=20_000.0,
        outstanding_max_bytes=30_000.0,
    )
    assert diagnose(small).cause == "send_buffer_limited"
    assert reasons(small)[1] == (
        "a send buffer of 20.0 kB was set, and up to 30.0 kB were outstanding"
    )


def test_every_transfer_too_short_shares_one_diagnosis() -> None:
    assert (TOO_SHORT.cause, TOO_SHORT.verdict, TOO_SHORT.headline) == (
        "insufficient",
        "not_judged",
        "too short to judge",
    )
    assert diagnose(Evidence(too_short=True)) == TOO_SHORT


def test_shares(row: dict[str, Any]) -> None:
    shares = Shares.from_transfer(row)
    assert shares is not None
    assert sum(shares.by_state.values()) == pytest.approx(1.0)
    assert shares.largest_first == [("window", 0.9), ("path", 0.07), ("idle_sender", 0.03)]
    assert Shares.from_transfer({**row, "share_path": None}) is None
    assert diagnose(Evidence(), shares=shares).shares is shares


def test_flags_of_the_evidence_come_first(healthy: Evidence) -> None:
    diagnosis = diagnose(replace(healthy, spacing_max_seconds=1.0), flags=("sndbuf_limited",))
    assert diagnosis.flags == ("sndbuf_limited", "isolated_long_pause")


def test_a_diagnosis_can_be_compared_and_not_changed(healthy: Evidence) -> None:
    diagnosis: Diagnosis = diagnose(healthy)
    assert diagnosis == diagnose(healthy)
    with pytest.raises(AttributeError):
        diagnosis.cause = "unexplained"  # type: ignore[misc]
