"""Every rule fires where it should and, one condition changed, does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import CAUSES, THRESHOLDS, Evidence, diagnose
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.numbers import Numbers
from trustbed.diagnose.rules import RULES, STAGES, first_match

SLOW: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
PAUSING: dict[str, Any] = {**SLOW, "long_pause_fraction": 0.4, "idle_open_window_fraction": 0.5}
UNKNOWN_RATE: dict[str, Any] = {"throughput_bytes_per_second": None}
LOSSY: dict[str, Any] = {"loss": 0.01, "loss_events": 100}
FULL_LINK: dict[str, Any] = {
    "capacity_bytes_per_second": 2.5e6,
    "capacity_source": "delivery_rate",
    "throughput_bytes_per_second": 2.4e6,
}
POLICED: dict[str, Any] = {
    "loss": 0.02,
    "queued_before_loss": 2.8,
    "loss_burst_rank": 0.7,
    "loss_burst_samples": 20,
}
TIME: dict[str, Any] = {
    **dict.fromkeys(
        (
            "handshake",
            "peer",
            "think",
            "no_answer",
            "timeout",
            "recovery",
            "zero_window",
            "receiver_window",
            "idle_application",
            "idle_sender",
            "growing",
            "path",
            "below_path",
            "sender_buffer",
        ),
        0.0,
    ),
    "window": 0.08,
}
"""A transfer whose time was cut into states; its window bound what else there is to bind."""
REPAIRING: dict[str, Any] = {**TIME, "recovery": 0.5, "loss": 0.001, "loss_events": 4}
FULL_PATH: dict[str, Any] = {**TIME, "path": 0.6}
TIMED_OUT: dict[str, Any] = {**TIME, "timeout": 0.15, "loss": 0.0, "spurious_retransmissions": 3}
RATE_FELL: dict[str, Any] = {
    **TIME,
    "path": 0.4,
    "path_rate_samples": 50,
    "path_rate_changes": 1,
    "path_rate_before_bytes_per_second": 2e6,
    "path_rate_after_bytes_per_second": 1e6,
    "path_rate_change_seconds": 3.0,
    "path_rate_change_residual": 0.25,
    "path_rate_change_spread": 0.17,
}

HELD: dict[str, Any] = {"acks_held": 3, "acks_held_seconds": 0.3, "data_held": 3}
"""Packets of both directions that waited in the machine that captured them."""
FILLED: dict[str, Any] = {
    "answer_least_seconds": 0.0009,
    "idle_periods": 100,
    "departure_steadiness": 0.19,
    "outstanding_max_bytes": 59_000,
}
"""Many silences of a sender that fills its window in between, seen on its host."""

# rule: (changes to a healthy transfer that make it fire, one more change, the rule that then fires)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "failed": ({"failed": True}, {"failed": False}, "window_explains"),
    "too_short": ({"too_short": True}, {"too_short": None}, "window_explains"),
    "driver_reset": (
        {"stall_gaps_seconds": (13.2, 26.0)},
        {"stall_gaps_seconds": (13.2, 20.0)},
        "host_stopped",
    ),
    "host_stopped": ({"stall_gaps_seconds": (6.0,)}, {"kernel_reset": True}, "driver_reset"),
    "bursts_were_dropped": (
        {**POLICED, "exchanges_lossy": 5, "exchanges_bucket_empty": 1},
        {"queued_before_loss": 2.9},
        "window_explains",
    ),
    "nobody_answered": ({**TIME, "no_answer": 0.15}, {"no_answer": 0.14}, "window_bound"),
    "processor_was_taken": (
        {**TIME, "idle_sender": 0.1, "processor_missed": 0.5},
        {"idle_sender": 0.09},
        "window_bound",
    ),
    "machine_held_packets": (
        {**TIME, **HELD, "answer_least_seconds": 0.0009},
        {"acks_held_seconds": 0.29},
        "window_bound",
    ),
    "kernel_buffer_was_full": (
        {**TIME, "send_buffer_limited": 0.5},
        {"send_buffer_limited": 0.49},
        "window_bound",
    ),
    "peer_was_waited_for": ({**TIME, "peer": 0.15}, {"peer": 0.14}, "window_bound"),
    "overtaken_segments_filled_the_window": (
        {
            **TIME,
            "zero_window": 0.1,
            "receiver_window": 0.05,
            "late_segments": 3,
            "spurious_retransmissions": 2,
            "fast_retransmissions": 2,
            "data_segments": 1000,
            "loss": 0.004,
        },
        {"late_segments": 2},
        "reader_was_waited_for",
    ),
    "reader_was_waited_for": (
        {**TIME, "zero_window": 0.1, "receiver_window": 0.05},
        {"receiver_window": 0.04},
        "window_bound",
    ),
    "floor_has_two_levels": (
        {
            **TIME,
            "window": 0.6,
            "floor_before_seconds": 0.02,
            "floor_after_seconds": 0.03,
            "floor_left": 0.01,
            "floor_flight_ratio": 0.9,
        },
        {"window": 0.5},
        "window_bound",
    ),
    "receiver_waited_for_a_timer": (
        {**TIME, "ack_silences": 3, "ack_silences_seconds": 1.5, "data_segments": 29},
        {"data_segments": 30},
        "receiver_fell_silent",
    ),
    "acknowledgements_were_held": (
        {
            **TIME,
            "ack_silences": 3,
            "ack_silences_seconds": 1.5,
            "acks_held": 3,
            "pauses_estimated": False,
            "answer_least_seconds": 0.0009,
        },
        {"acks_held": 2},
        "receiver_fell_silent",
    ),
    "receiver_fell_silent": (
        {**TIME, "ack_silences": 3, "ack_silences_seconds": 1.5},
        {"ack_silences": 2},
        "window_bound",
    ),
    "timers_expired_and_acknowledgements_were_held": (
        {**TIMED_OUT, "acks_held": 3},
        {"acks_held": 2},
        "timers_expired_in_vain",
    ),
    "timers_expired_in_vain": (
        {**TIMED_OUT, "window": 0.5},
        {"loss": 0.001},
        "window_bound",
    ),
    "repeated_in_vain": (
        {**TIMED_OUT, "timeout": 0.0, "window": 0.5},
        {"spurious_retransmissions": 2},
        "window_bound",
    ),
    "queue_stood_at_home": (
        {
            **FULL_PATH,
            "answer_least_seconds": 0.0009,
            "queue_seconds": 0.01,
            "departure_lag_seconds": 0.005,
            "departure_steadiness": 0.2,
        },
        {"departure_lag_seconds": 0.0049},
        "path_was_full_of_it",
    ),
    "machine_released_bursts": (
        {
            **FULL_PATH,
            "answer_least_seconds": 0.0009,
            "queue_seconds": 0.04,
            "departure_lag_seconds": 0.02,
            "departure_steadiness": 0.19,
        },
        {"departure_lag_seconds": 0.019},
        "path_was_full_of_it",
    ),
    "bulk_sender_was_silent": (
        {**TIME, "idle_sender": 0.15, "workload": "bulk"},
        {"workload": "unknown"},
        "sender_was_silent_with_data",
    ),
    "bulk_sender_filled_its_buffer": (
        {
            **TIME,
            "idle_sender": 0.15,
            "workload": "bulk",
            "processor_missed": 0.049,
            "send_buffer_declared": True,
            "send_buffer_bytes": 20_000,
            "outstanding_max_bytes": 18_000,
        },
        {"outstanding_max_bytes": 17_999},
        "bulk_sender_was_silent_though_free",
    ),
    "bulk_sender_was_silent_though_free": (
        {**TIME, "idle_sender": 0.15, "workload": "bulk", "processor_missed": 0.049},
        {"workload": "unknown"},
        "free_sender_was_silent",
    ),
    "window_was_filled_in_between": (
        {**TIME, "idle_sender": 0.5, **FILLED},
        {"idle_periods": 99},
        "sender_was_silent_with_data",
    ),
    "free_sender_was_silent": (
        {**TIME, "idle_sender": 0.15, "processor_missed": 0.049},
        {"processor_missed": 0.05},
        "sender_was_silent_with_data",
    ),
    "sender_was_silent_with_data": (
        {**TIME, "idle_sender": 0.2, "idle_application": 0.19},
        {"idle_application": 0.2},
        "sender_had_nothing_to_send",
    ),
    "sender_had_nothing_to_send": ({**TIME, "think": 0.15}, {"think": 0.14}, "window_bound"),
    "sender_had_nothing_now_and_then": (
        {
            **TIME,
            "answer_least_seconds": 0.0009,
            "idle_application": 0.08,
            "idle_sender": 0.039,
        },
        {"idle_sender": 0.04},
        "window_bound",
    ),
    "packets_overtook": (
        {**REPAIRING, "late_segments": 3, "data_segments": 1000, "loss": 0.002},
        {"late_segments": 2},
        "losses_away_from_queue",
    ),
    "recoveries_were_needless": (
        {
            **REPAIRING,
            "loss_events": 10,
            "fast_recoveries": 5,
            "retransmitted_needlessly": 4,
        },
        {"loss_events": 11},
        "losses_away_from_queue",
    ),
    "rate_fell_once": (RATE_FELL, {"path_rate_change_seconds": 3.1}, "rate_fell_late"),
    "rate_fell_late": (
        {**RATE_FELL, "path_rate_change_seconds": 3.1},
        {"path_rate_changes": 2},
        "rate_has_two_levels",
    ),
    "rate_has_two_levels": (
        {**RATE_FELL, "path_rate_after_bytes_per_second": 4e6},
        {"path_rate_change_spread": 0.18},
        "path_was_full_of_it",
    ),
    "marks_slowed": (
        {**TIME, "path": 0.4, "below_path": 0.41, "congestion_marks": 1},
        {"below_path": 0.4},
        "path_was_full_of_it",
    ),
    "processor_was_taken_between_losses": (
        {
            **REPAIRING,
            "path": 0.14,
            "processor_missed": 0.5,
            "throughput_bytes_per_second": 0.59e6,
            "path_rate_bytes_per_second": 1e6,
            "loss_delay_rank": 0.1,
        },
        {"throughput_bytes_per_second": 0.6e6},
        "losses_away_from_queue",
    ),
    "losses_away_from_queue": (
        {**REPAIRING, "loss_delay_rank": 0.89},
        {"loss_delay_rank": 0.9},
        "path_was_shared",
    ),
    "others_filled_a_queue": (
        {
            **FULL_PATH,
            "window": 0.1,
            "window_bytes": 5792,
            "pauses_estimated": False,
            "rtt_seconds": 0.032,
        },
        {"rtt_seconds": 0.0309},
        "path_was_full_of_it",
    ),
    "path_was_shared": (
        {
            **FULL_PATH,
            "sending_rate_bytes_per_second": 0.69e6,
            "path_rate_high_bytes_per_second": 1e6,
        },
        {"sending_rate_bytes_per_second": 0.7e6},
        "path_was_full_of_it",
    ),
    "path_was_full_of_it": (FULL_PATH, {"window": 0.6}, "window_bound"),
    "sender_half_was_late": (
        {
            **TIME,
            "pauses_estimated": True,
            "rtt_seconds": 0.02,
            "answer_seconds": 0.0045,
            "answer_least_seconds": 0.002,
            "departure_steadiness": 0.19,
        },
        {"answer_seconds": 0.0043},
        "window_bound",
    ),
    "buffer_bound": ({**TIME, "sender_buffer": 0.6}, {"window": 0.6}, "window_bound"),
    "window_was_met_after_all": (
        {**TIME, "growing": 0.6, "duration_seconds": 2.0, "outstanding_max_bytes": 58_982},
        {"outstanding_max_bytes": 58_981},
        "sender_never_filled_it",
    ),
    "sender_never_filled_it": (
        {**TIME, "growing": 0.6, "duration_seconds": 1.34},
        {"duration_seconds": 1.33},
        "start_bound",
    ),
    "start_bound": (
        {**TIME, "growing": 0.6, "duration_seconds": 1.0},
        {"window": 0.6},
        "window_bound",
    ),
    "losses_bound": (
        {**TIME, "timeout": 0.09, "loss_delay_rank": 0.5, "loss": 0.001},
        {"timeout": 0.1},
        "losses_away_from_queue",
    ),
    "acknowledgements_came_late": (
        {
            **TIME,
            "window": 0.6,
            "window_bytes": 5792,
            "pauses_estimated": False,
            "rtt_high_seconds": 0.0371,
        },
        {"rtt_high_seconds": 0.0369},
        "window_bound",
    ),
    "window_bound": (TIME, {"path": None}, "window_explains"),
    "long_pauses_remain": (
        {**TIME, **SLOW, "long_pause_fraction": 0.2},
        {"long_pause_fraction": 0.19},
        "time_unexplained",
    ),
    "time_unexplained": ({**TIME, **SLOW}, {"window": 0.5}, "window_bound"),
    "loss_explains": (
        {**LOSSY, "throughput_bytes_per_second": 0.8e6},
        {"rtt_seconds": 0.025},
        "queue_explains",
    ),
    "link_was_full": (FULL_LINK, {"capacity_source": "given"}, "capacity_explains"),
    "queue_explains": (
        {"rtt_seconds": 0.0241, "throughput_bytes_per_second": 2.5e6},
        {"rtt_seconds": 0.0239},
        "window_explains",
    ),
    "capacity_explains": (
        {"capacity_bytes_per_second": 2.5e6, "throughput_bytes_per_second": 2.4e6},
        {"capacity_bytes_per_second": 3.4e6, "throughput_bytes_per_second": 3.1e6},
        "window_explains",
    ),
    "window_explains": ({}, SLOW, "nothing_explains"),
    "receiver_closed_its_window": (
        {**PAUSING, "window_closed": 0.2},
        {"window_closed": 0.19},
        "sender_held_back",
    ),
    "application_paused": (
        {**PAUSING, "app_limited_fraction": 0.5},
        {"workload": "bulk"},
        "sender_held_back",
    ),
    "sender_held_back": (
        {**SLOW, "idle_open_window_fraction": 0.3},
        {"idle_open_window_fraction": 0.29},
        "nothing_explains",
    ),
    "loss_slowed": (
        {**SLOW, "loss": 0.005, "loss_events": 4},
        {"loss": 0.0049},
        "nothing_explains",
    ),
    "queue_slowed": (
        {**SLOW, **LOSSY, "rtt_seconds": 0.024, "throughput_bytes_per_second": 0.3e6},
        {"rtt_seconds": 0.0239},
        "loss_slowed",
    ),
    "still_starting": ({**SLOW, "slow_start": True}, {"slow_start": False}, "nothing_explains"),
    "nothing_explains": (SLOW, {"throughput_bytes_per_second": 2.6e6}, "window_explains"),
    "pauses_alone": (
        {**UNKNOWN_RATE, "long_pause_fraction": 0.2},
        {"long_pause_fraction": 0.19},
        "nothing_unusual",
    ),
    "loss_hint": ({**UNKNOWN_RATE, **LOSSY}, {"loss_events": 4}, "nothing_unusual"),
    "queue_hint": (
        {**UNKNOWN_RATE, "rtt_seconds": 0.025},
        {"rtt_seconds": 0.0201},
        "nothing_unusual",
    ),
    "nothing_unusual": (UNKNOWN_RATE, {"throughput_bytes_per_second": 3.1e6}, "window_explains"),
}


def derived(evidence: Evidence) -> Numbers:
    return Case.of(evidence, THRESHOLDS).numbers


def rule_of(evidence: Evidence) -> str:
    return first_match(Case.of(evidence, THRESHOLDS)).name


@pytest.mark.parametrize("name", CASES)
def test_rule_holds_and_does_not(name: str, healthy: Evidence) -> None:
    fires, change, instead = CASES[name]
    evidence = replace(healthy, **fires)
    assert rule_of(evidence) == name
    assert rule_of(replace(evidence, **change)) == instead


def test_every_rule_has_both_tests() -> None:
    assert list(CASES) == [rule.name for rule in RULES]


def test_a_shared_bucket_shows_by_losses_after_bursts(healthy: Evidence) -> None:
    shared = replace(healthy, **POLICED, exchanges_lossy=5, exchanges_bucket_empty=0)
    assert rule_of(shared) == "bursts_were_dropped"
    for doubt in ({"loss_burst_rank": 0.64}, {"loss_burst_samples": 19}, {"loss": 0.009}):
        assert rule_of(replace(shared, **doubt)) != "bursts_were_dropped"


def test_a_full_buffer_is_weighed_by_the_time_in_which_the_host_was_busy(
    healthy: Evidence,
) -> None:
    # Of a fifth of the time three fifths: the peer thought for longer.
    limited = replace(healthy, **TIME, send_buffer_limited=0.6)
    assert rule_of(replace(limited, peer=0.8)) == "peer_was_waited_for"
    assert rule_of(replace(limited, peer=0.3)) == "kernel_buffer_was_full"


def test_every_cause_has_a_rule() -> None:
    assert {rule.cause for rule in RULES} == set(CAUSES)


def test_a_steady_rate_without_a_queue_is_no_full_link(healthy: Evidence) -> None:
    full = replace(healthy, **FULL_LINK, rate_high_bytes_per_second=2.4e6, rtt_seconds=0.026)
    assert rule_of(full) == "link_was_full"
    evenly_stopped = replace(
        full, **SLOW, rate_high_bytes_per_second=1.0e6, capacity_bytes_per_second=1.04e6
    )
    assert rule_of(evenly_stopped) == "link_was_full"
    assert rule_of(replace(evenly_stopped, rtt_seconds=0.0205)) == "nothing_explains"
    assert (
        rule_of(replace(evenly_stopped, rtt_seconds=0.0205, idle_open_window_fraction=0.4))
        == "sender_held_back"
    )
    assert "capacity_refuted" in diagnose(replace(evenly_stopped, rtt_seconds=0.0205)).flags


def test_a_queue_is_measured_by_the_path_and_by_packets(healthy: Evidence) -> None:
    """On a long path three packets are little, on a fast and short one a tenth of the RTT is."""
    long = replace(
        healthy,
        **FULL_LINK,
        rate_high_bytes_per_second=2.4e6,
        rtt_base_seconds=0.1,
        rtt_seconds=0.105,
        window_bytes=10e6,
    )
    assert derived(long).capacity_refuted
    assert not derived(replace(long, rtt_seconds=0.112)).capacity_refuted
    short = replace(long, rtt_base_seconds=0.001, rtt_seconds=0.0027)
    assert derived(short).capacity_refuted
    assert not derived(replace(short, rtt_seconds=0.0029)).capacity_refuted


def test_a_capacity_that_was_given_needs_no_queue(healthy: Evidence) -> None:
    given = replace(
        healthy, **FULL_LINK | {"capacity_source": "given"}, rate_high_bytes_per_second=2.4e6
    )
    assert not derived(given).capacity_refuted


def test_stages_end_with_a_rule_that_always_fires() -> None:
    sorting, stalled, policed, *others = STAGES
    assert sorting.rules[-1].conditions != ()
    assert [stage.rules[-1].conditions for stage in (stalled, policed, *others)] == [()] * 6


def test_a_silent_sender_is_not_discarded_while_its_application_is_possible(
    healthy: Evidence,
) -> None:
    for silence in ({"idle_sender": 0.9}, {"idle_application": 0.9}, {"think": 0.9}):
        diagnosis = diagnose(replace(healthy, **{**TIME, **silence}))
        assert diagnosis.score <= 0.75
        assert diagnosis.verdict == "review"
        assert len(diagnosis.alternatives) == 1


def test_a_silent_sender_is_discarded_when_it_is_known_to_have_had_to_send(
    healthy: Evidence,
) -> None:
    silent = replace(healthy, **TIME | {"idle_sender": 0.9})
    for changes in ({"workload": "bulk"}, {"processor_missed": 0.5}, {"cpu_share": 0.89}):
        diagnosis = diagnose(replace(silent, **changes))
        assert (diagnosis.cause, diagnosis.verdict) == ("host_scheduling", "discard")


def test_a_sender_that_fills_its_window_whenever_it_runs_has_more_to_send(
    healthy: Evidence,
) -> None:
    filled = replace(healthy, **TIME | FILLED | {"idle_sender": 0.5, "idle_application": 0.24})
    assert (diagnose(filled).cause, diagnose(filled).verdict) == ("host_scheduling", "discard")
    for doubt in (
        {"pauses_estimated": True},
        {"answer_least_seconds": 0.001},
        {"departure_steadiness": 0.2},
        {"idle_application": 0.25},
        {"duration_seconds": 10.1},
        {"duration_seconds": 1.0, "idle_periods": 19},
        {"outstanding_max_bytes": 58_000},
        {"window_bytes": None},
    ):
        other: dict[str, Any] = doubt
        assert diagnose(replace(filled, **other)).verdict == "review", doubt


def test_a_window_that_was_not_met_bound_nothing(healthy: Evidence) -> None:
    slow = replace(healthy, **TIME, **SLOW)
    assert diagnose(slow).cause == "unexplained"
    assert rule_of(replace(slow, sending_rate_bytes_per_second=2.6e6)) == "window_bound"
    assert rule_of(replace(slow, window_bytes=None)) == "window_bound"


def test_few_rates_of_a_path_show_no_levels(healthy: Evidence) -> None:
    few = replace(healthy, **RATE_FELL | {"path_rate_samples": 49})
    assert rule_of(few) == "path_was_full_of_it"


def test_a_peer_that_was_waited_for_is_trusted(healthy: Evidence) -> None:
    diagnosis = diagnose(replace(healthy, **TIME | {"peer": 0.9}))
    assert (diagnosis.cause, diagnosis.verdict) == ("peer_limited", "trust")


def test_the_longest_wait_names_the_cause(healthy: Evidence) -> None:
    waiting = replace(healthy, **TIME | {"peer": 0.3, "idle_sender": 0.29})
    assert rule_of(waiting) == "peer_was_waited_for"
    assert rule_of(replace(waiting, idle_sender=0.31)) == "sender_was_silent_with_data"


def test_a_host_whose_retransmissions_nobody_answered_did_not_stop(healthy: Evidence) -> None:
    silent = replace(healthy, **TIME | {"no_answer": 0.3, "stall_gaps_seconds": (6.0,)})
    assert rule_of(silent) == "nobody_answered"
    assert rule_of(replace(silent, no_answer=0.29)) == "host_stopped"
    assert rule_of(replace(silent, kernel_reset=True)) == "driver_reset"


def test_a_silence_that_a_timeout_ended_is_no_senders_seen_from_elsewhere(
    healthy: Evidence,
) -> None:
    silent = replace(
        healthy, **TIME | {"idle_sender": 0.3, "interrupted_seconds": 3.0, "pauses_estimated": True}
    )
    assert rule_of(silent) == "nobody_answered"
    assert rule_of(replace(silent, pauses_estimated=False)) == "sender_was_silent_with_data"


def test_a_path_that_changed_once_may_be_shaped_or_have_slowed(healthy: Evidence) -> None:
    for at, cause, other in ((3.0, "shaped", "rate_changed"), (3.1, "rate_changed", "shaped")):
        diagnosis = diagnose(replace(healthy, **RATE_FELL | {"path_rate_change_seconds": at}))
        assert (diagnosis.cause, diagnosis.verdict) == (cause, "review")
        assert [alternative.cause for alternative in diagnosis.alternatives] == [other]


def test_a_bucket_holds_few_seconds_of_its_rate(healthy: Evidence) -> None:
    slow = RATE_FELL | {
        "path_rate_before_bytes_per_second": 6e5,
        "path_rate_after_bytes_per_second": 2e5,
    }
    for at, rule in ((1.5, "rate_fell_once"), (1.51, "rate_fell_late")):
        assert rule_of(replace(healthy, **slow | {"path_rate_change_seconds": at})) == rule


def test_a_path_that_rose_is_no_bucket(healthy: Evidence) -> None:
    rose = replace(healthy, **RATE_FELL | {"path_rate_after_bytes_per_second": 4e6})
    assert rule_of(rose) == "rate_has_two_levels"
    assert diagnose(rose).alternatives == ()


def test_losses_with_a_well_used_path_are_the_queues_at_any_delay(healthy: Evidence) -> None:
    used = replace(
        healthy,
        **REPAIRING | {"loss_delay_rank": 0.3},
        rtt_seconds=0.024,
        sending_rate_bytes_per_second=0.6e6,
        path_rate_bytes_per_second=1e6,
    )
    assert rule_of(used) == "path_was_full_of_it"
    for changes in (
        {"sending_rate_bytes_per_second": 0.59e6},
        {"path_rate_bytes_per_second": None},
    ):
        assert rule_of(replace(used, **changes)) == "losses_away_from_queue"


def test_seen_from_elsewhere_a_full_path_stands_for_the_delay_of_losses(
    healthy: Evidence,
) -> None:
    afar = replace(
        healthy,
        **REPAIRING | {"path": 0.4, "loss_delay_rank": 0.1},
        rtt_seconds=0.0221,
        pauses_estimated=True,
        throughput_bytes_per_second=0.6e6,
        sending_rate_bytes_per_second=0.6e6,
        path_rate_bytes_per_second=1e6,
    )
    assert rule_of(afar) == "path_was_full_of_it"
    little = replace(afar, path=0.39)
    assert rule_of(little) == "losses_away_from_queue"
    assert rule_of(replace(little, path=0.15, loss_queue_packets=1.5)) == "path_was_full_of_it"
    assert rule_of(replace(little, path=0.14, loss_queue_packets=9)) == "losses_away_from_queue"
    assert rule_of(replace(little, loss_queue_packets=1.4)) == "losses_away_from_queue"
    hardly = replace(little, path=0.15, loss_queue_packets=9, sending_rate_bytes_per_second=0.24e6)
    assert rule_of(hardly) == "losses_away_from_queue"


def test_a_clear_change_of_rate_shows_beside_losses(healthy: Evidence) -> None:
    clear = {"path": 0.15, "below_path": 0.5, "path_rate_change_residual": 0.03}
    changed = replace(healthy, **RATE_FELL | clear)
    assert rule_of(changed) == "rate_fell_once"
    for changes in ({"path": 0.14}, {"path_rate_change_residual": 0.031}):
        assert rule_of(replace(changed, **changes)) != "rate_fell_once"
    assert rule_of(replace(changed, path=0.4, path_rate_change_residual=0.25)) == "rate_fell_once"


def test_a_start_that_takes_more_of_a_queue_is_no_change_of_rate(healthy: Evidence) -> None:
    levels = {"path_rate_change_residual": 0.031, "path_rate_change_seconds": 1.49}
    early = replace(healthy, **RATE_FELL | levels | {"duration_seconds": 10.0})
    assert rule_of(early) == "path_was_full_of_it"
    assert rule_of(replace(early, path_rate_change_residual=0.03)) == "rate_fell_once"
    late = replace(early, path_rate_change_seconds=1.5)
    assert rule_of(late) == "rate_fell_once"
    assert rule_of(replace(late, rtt_seconds=0.15)) == "rate_fell_once"
    assert rule_of(replace(late, rtt_seconds=0.151)) == "path_was_full_of_it"


def test_a_free_bulk_sender_that_kept_the_path_full_was_late_for_nothing(
    healthy: Evidence,
) -> None:
    late = {"idle_sender": 0.5, "path": 0.4, "workload": "bulk", "processor_missed": 0.01}
    full = replace(healthy, **TIME | late, pipe_full=0.9)
    assert rule_of(full) == "path_was_full_of_it"
    changed: dict[str, Any]
    for changed in ({"pipe_full": 0.89}, {"processor_missed": 0.06}, {"processor_missed": None}):
        assert diagnose(replace(full, **changed)).cause == "host_scheduling", changed
    assert diagnose(replace(full, workload=None)).cause == "sender_application_limited"


def test_where_the_path_s_whole_rate_passed_losses_cost_nothing(healthy: Evidence) -> None:
    paid = replace(
        healthy,
        **REPAIRING | {"path": 0.15, "loss_delay_rank": 0.1},
        rtt_seconds=0.0221,
        throughput_bytes_per_second=0.93e6,
        path_rate_bytes_per_second=1e6,
    )
    assert rule_of(paid) == "path_was_full_of_it"
    for changes in ({"path": 0.14}, {"throughput_bytes_per_second": 0.92e6}):
        assert rule_of(replace(paid, **changes)) == "losses_away_from_queue"
    assert rule_of(replace(paid, path=0.02, path_rate_samples=50)) == "path_was_full_of_it"


def test_from_afar_an_inflated_round_trip_is_a_queue_s(healthy: Evidence) -> None:
    afar = replace(
        healthy,
        **REPAIRING | {"loss_delay_rank": 0.1},
        pauses_estimated=True,
        rtt_seconds=0.025,
    )
    assert rule_of(afar) == "path_was_shared"
    for changes in ({"rtt_seconds": 0.0235}, {"pauses_estimated": False}):
        assert rule_of(replace(afar, **changes)) == "losses_away_from_queue"


def test_beside_a_queue_losses_at_higher_delays_are_its_own(healthy: Evidence) -> None:
    queued = replace(healthy, **REPAIRING | {"loss_delay_rank": 0.7}, rtt_seconds=0.0221)
    assert rule_of(queued) == "path_was_shared"
    for changes in ({"loss_delay_rank": 0.69}, {"rtt_seconds": 0.0219}):
        assert rule_of(replace(queued, **changes)) == "losses_away_from_queue"


def test_a_queue_whose_rate_never_shows_is_not_the_transfer_s_own(healthy: Evidence) -> None:
    others = replace(healthy, **REPAIRING | {"loss_delay_rank": 0.9, "path": 0.14})
    assert rule_of(others) == "path_was_shared"
    for changes in ({"path": 0.15}, {"path_rate_bytes_per_second": 1e6}):
        assert rule_of(replace(others, **changes)) == "path_was_full_of_it"


def test_without_a_loss_nothing_is_called_slowed_by_losses(healthy: Evidence) -> None:
    repairing = replace(healthy, **REPAIRING | {"loss_delay_rank": 0.1, "recovery": 0.09})
    assert diagnose(replace(repairing, recovery=0.5)).cause == "network_loss"
    assert diagnose(repairing).cause == "network_loss"
    for recovery in (0.09, 0.5):
        vain = replace(repairing, recovery=recovery, loss=0.0)
        assert diagnose(vain).cause != "network_loss"


def test_a_queue_at_home_is_claimed_beside_the_sender_only(healthy: Evidence) -> None:
    changes, _, _ = CASES["queue_stood_at_home"]
    at_home = replace(healthy, **changes)
    for doubt in (
        {"pauses_estimated": True},
        {"pauses_estimated": None},
        {"answer_least_seconds": 0.001},
        {"queue_seconds": 0.0},
        {"departure_steadiness": 0.19},
    ):
        assert rule_of(replace(at_home, **doubt)) == "path_was_full_of_it"


def test_a_machine_that_held_packets_is_reviewed_and_has_one_reading(healthy: Evidence) -> None:
    held = replace(healthy, **TIME, **HELD)
    diagnosis = diagnose(held)
    assert (diagnosis.cause, diagnosis.verdict) == ("host_scheduling", "review")
    assert diagnosis.alternatives == ()
    for doubt in (
        {"pauses_estimated": True},
        {"acks_held": 2},
        {"data_held": 2},
        {"data_held": None},
        {"duration_seconds": None},
    ):
        other: dict[str, Any] = doubt
        assert rule_of(replace(held, **other)) == "window_bound", doubt


def test_a_silence_costs_nothing_while_a_queue_keeps_the_path_full(healthy: Evidence) -> None:
    full = replace(
        healthy,
        **FULL_PATH | {"idle_sender": 0.3},
        throughput_bytes_per_second=0.9e6,
        path_rate_bytes_per_second=1e6,
        answer_least_seconds=0.0009,
    )
    assert rule_of(full) == "path_was_full_of_it"
    for doubt in (
        {"throughput_bytes_per_second": 0.89e6},
        {"path_rate_bytes_per_second": None},
        {"path": 0.29},
    ):
        other: dict[str, Any] = doubt
        assert rule_of(replace(full, **other)) == "sender_was_silent_with_data"
    inside = replace(full, **HELD)
    assert rule_of(inside) == "machine_held_packets"
    assert rule_of(replace(inside, processor_missed=0.9)) == "processor_was_taken"
    missing = replace(full, processor_missed=0.9)
    assert rule_of(missing) == "path_was_full_of_it"
    assert rule_of(replace(missing, path=0.29)) == "processor_was_taken"


def test_a_queue_that_delivered_all_along_makes_any_silence_free(healthy: Evidence) -> None:
    """A sender of bursts on a short path: silent for half of its time, and the path never empty."""
    bursty = replace(
        healthy,
        **TIME
        | {
            "idle_sender": 0.53,
            "path": 0.38,
            "path_rate_samples": 3000,
            "path_rate_bytes_per_second": 3.1e6,
        },
    )
    assert first_match(Case.of(bursty, THRESHOLDS)).name == "path_was_full_of_it"
    for changes in (
        {"path_rate_samples": THRESHOLDS.rate_change_samples - 1},
        {"path_rate_bytes_per_second": 3.1e6 / 0.89},
        {"idle_sender": 0.2, "idle_application": 0.33, "path": 0.3},
        {"pauses_estimated": True, "answer_least_seconds": 0.001},
    ):
        found = first_match(Case.of(replace(bursty, **changes), THRESHOLDS))
        assert found.cause in ("host_scheduling", "sender_application_limited"), changes


def test_an_application_that_pauses_now_and_then_is_told_beside_it(healthy: Evidence) -> None:
    changes, _, _ = CASES["sender_had_nothing_now_and_then"]
    pausing = replace(healthy, **changes)
    assert diagnose(pausing).verdict == "review"
    for doubt in (
        {"idle_application": 0.079},
        {"answer_least_seconds": 0.001},
        {"pauses_estimated": True},
        {"path_rate_bytes_per_second": 3.1e6 / 0.9},
        {"workload": "bulk"},
    ):
        other: dict[str, Any] = doubt
        assert rule_of(replace(pausing, **other)) == "window_bound"


def test_a_short_queue_at_home_is_no_limit(healthy: Evidence) -> None:
    changes, _, _ = CASES["queue_stood_at_home"]
    short = replace(healthy, **changes | {"path": 0.14, "window": 0.5})
    assert rule_of(short) == "window_bound"
    assert rule_of(replace(short, path=0.15)) == "queue_stood_at_home"
    long = replace(short, queue_seconds=0.03, departure_lag_seconds=0.02)
    assert rule_of(long) == "queue_stood_at_home"


def test_from_afar_a_silence_costs_nothing_while_the_path_is_full(healthy: Evidence) -> None:
    full = replace(healthy, **TIME | {"path": 0.4, "recovery": 0.06, "idle_sender": 0.3})
    afar = replace(full, pauses_estimated=True)
    assert rule_of(afar) == "sender_was_silent_with_data"
    assert rule_of(replace(afar, path=0.41)) == "path_was_full_of_it"
    assert rule_of(replace(afar, path=0.41, idle_application=0.31)) == "sender_had_nothing_to_send"
    at_home = replace(full, path=0.41, answer_least_seconds=0.0009)
    assert rule_of(at_home) == "sender_was_silent_with_data"


def test_a_late_half_is_the_senders_where_neither_path_nor_losses_bound(
    healthy: Evidence,
) -> None:
    changes, _, _ = CASES["sender_half_was_late"]
    late = replace(healthy, **changes)
    assert diagnose(late).verdict == "review"
    for doubt, instead in (
        ({"path": 0.6}, "path_was_full_of_it"),
        ({"departure_lag_seconds": 0.0002}, "window_bound"),
        ({"departure_steadiness": 0.2}, "window_bound"),
        ({"pauses_estimated": False}, "window_bound"),
    ):
        other: dict[str, Any] = doubt
        assert rule_of(replace(late, **other)) == instead


def test_stalls_count_by_length_and_by_share(healthy: Evidence) -> None:
    assert (
        rule_of(replace(healthy, stall_gaps_seconds=(2.0, 2.9), duration_seconds=60.0))
        == "window_explains"
    )
    assert (
        rule_of(replace(healthy, stall_gaps_seconds=(2.0, 3.0), duration_seconds=60.0))
        == "host_stopped"
    )
    assert (
        rule_of(replace(healthy, stall_gaps_seconds=(2.0,), duration_seconds=20.0))
        == "host_stopped"
    )
    assert (
        rule_of(replace(healthy, stall_gaps_seconds=(2.0,), duration_seconds=None))
        == "window_explains"
    )


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
    blind = replace(
        healthy, window_bytes=None, capacity_bytes_per_second=2.5e6, capacity_source="given"
    )
    assert rule_of(replace(blind, throughput_bytes_per_second=2.4e6)) == "capacity_explains"
    assert rule_of(replace(blind, throughput_bytes_per_second=1.0e6)) == "nothing_unusual"


def test_flags(healthy: Evidence) -> None:
    def flags(**changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - any field of the evidence
        return diagnose(replace(healthy, **changes)).flags

    assert flags() == ()
    assert flags(spacing_max_seconds=0.021) == ("isolated_long_pause",)
    assert flags(spacing_max_seconds=0.02) == ()
    assert flags(throughput_bytes_per_second=3.6e6) == ("exceeds_window_bound",)
    assert flags(throughput_bytes_per_second=3.4e6) == ()
    assert flags(capacity_bytes_per_second=2.8e6) == ("exceeds_capacity",)
    assert flags(loss=0.00001, loss_events=1) == ("loss_model_refuted",)
    assert flags(loss=0.00001, loss_events=5) == ()
    full = {
        "capacity_bytes_per_second": 2.5e6,
        "capacity_source": "delivery_rate",
        "throughput_bytes_per_second": 2.4e6,
    }
    assert flags(**full, rtt_seconds=0.05) == ("exceeds_window_bound", "self_queueing")
    assert flags(**full) == ()


def test_a_queue_does_not_explain_an_idle_sender(healthy: Evidence) -> None:
    # A server that answers a request now and then: the RTT varies, and hardly anything is ever in
    # flight.
    idle = replace(healthy, rtt_seconds=0.03, throughput_bytes_per_second=1448 / 0.03 * 0.99)
    diagnosis = diagnose(idle)
    assert (diagnosis.cause, diagnosis.verdict, diagnosis.flags) == (
        "network_congestion",
        "review",
        ("mostly_idle",),
    )
    assert (
        diagnosis.reasons[2] == "less than one packet in flight on average: idle most of the time"
    )
    assert diagnosis.headline == "delayed, perhaps by a queue — check before use"
    busy = diagnose(replace(idle, throughput_bytes_per_second=1448 / 0.03 * 1.01))
    assert (busy.cause, busy.verdict, busy.flags) == ("network_congestion", "trust", ())


def test_an_impossible_rate_takes_the_trust_away(healthy: Evidence) -> None:
    impossible: tuple[dict[str, Any], ...] = (
        {"throughput_bytes_per_second": 3.6e6},
        {"capacity_bytes_per_second": 2.8e6},
    )
    for changes in impossible:
        diagnosis = diagnose(replace(healthy, **changes))
        assert diagnosis.verdict == "review"
        assert diagnosis.headline == "faster than its window or link allows — check before use"


def test_nothing_unusual_is_trusted_only_when_everything_is_known(healthy: Evidence) -> None:
    unknown = replace(healthy, **UNKNOWN_RATE)
    assert diagnose(unknown).verdict == "trust"
    assert diagnose(replace(unknown, loss=None)).verdict == "review"
    assert diagnose(replace(unknown, rtt_seconds=None)).verdict == "review"
    blind = replace(
        unknown, long_pause_fraction=None, idle_open_window_fraction=None, spacing_mean_seconds=None
    )
    assert diagnose(blind).verdict == "review"


def test_a_processor_missing_for_a_part_of_the_silences_does_not_explain_them(
    healthy: Evidence,
) -> None:
    silent = replace(healthy, **{**TIME, "idle_application": 0.6}, cpu_share=0.1)
    assert rule_of(replace(silent, processor_missed=0.3)) == "processor_was_taken"
    assert rule_of(replace(silent, processor_missed=0.29)) == "sender_had_nothing_to_send"
    assert rule_of(silent) == "processor_was_taken"


def test_a_bulk_sender_with_a_free_processor_is_not_discarded(healthy: Evidence) -> None:
    silent = replace(healthy, **{**TIME, "idle_sender": 0.5}, workload="bulk")
    assert diagnose(silent).verdict == "discard"
    free = diagnose(replace(silent, processor_missed=0.0))
    assert (free.cause, free.verdict) == ("host_scheduling", "review")


def test_losses_without_a_queue_are_not_the_queues(healthy: Evidence) -> None:
    empty = replace(
        healthy,
        **REPAIRING | {"loss_delay_rank": 0.89},
        rtt_seconds=0.0219,
        sending_rate_bytes_per_second=0.9e6,
        path_rate_bytes_per_second=1e6,
    )
    assert rule_of(empty) == "losses_away_from_queue"
    for changes in (
        {"loss_delay_rank": 0.9},
        {"rtt_seconds": 0.0221},
        {"path_rate_bytes_per_second": 2.3e6, "sending_rate_bytes_per_second": 2.2e6},
        {"loss_queue_packets": 1.5},
    ):
        assert rule_of(replace(empty, **changes)) in ("path_was_full_of_it", "path_was_shared")


def test_a_window_that_leaves_the_path_unused_is_the_limit(healthy: Evidence) -> None:
    beside = {
        **TIME,
        "window": 0.4,
        "path": 0.5,
        "throughput_bytes_per_second": 0.8e6,
        "sending_rate_bytes_per_second": 2.8e6,
        "path_rate_bytes_per_second": 1.0e6,
        "loss_events": 0.0,
    }
    found = replace(healthy, **beside)
    assert rule_of(found) == "window_bound"
    for other in (
        {"throughput_bytes_per_second": 0.85e6},
        {"window": 0.24, "sending_rate_bytes_per_second": 1.9e6},
        {"loss_events": 1.0},
        {"path_rate_bytes_per_second": None},
    ):
        assert rule_of(replace(found, **other)) in ("path_was_full_of_it", "path_was_shared")


def test_a_receiver_is_late_by_its_own_answers(healthy: Evidence) -> None:
    late = replace(
        healthy,
        **TIME | {"window": 0.6, "window_bytes": 5792},
        pauses_estimated=True,
        acknowledged_late_seconds=0.005,
    )
    assert rule_of(late) == "acknowledgements_came_late"
    for changes in (
        {"acknowledged_late_seconds": 0.0049},
        {"rtt_base_seconds": 0.034},
        {"window_bytes": 5791},
        {"acknowledged_late_seconds": None, "rtt_high_seconds": 1.0},
    ):
        assert rule_of(replace(late, **changes)) == "window_bound"


def test_losses_after_any_bursts_are_no_policers(healthy: Evidence) -> None:
    emptied = replace(
        healthy,
        **POLICED
        | {
            "exchanges_lossy": 9,
            "exchanges_bucket_empty": 6,
            "loss_burst_rank": 0.53,
            "loss_burst_samples": 100,
        },
    )
    assert rule_of(emptied) == "bursts_were_dropped"
    assert rule_of(replace(emptied, loss_burst_rank=0.529)) != "bursts_were_dropped"


def test_a_full_queue_in_a_single_exchange_is_no_policer(healthy: Evidence) -> None:
    emptied = replace(
        healthy,
        loss=0.02,
        queued_before_loss=1.0,
        exchanges_lossy=1.0,
        exchanges_bucket_empty=1.0,
        loss_burst_rank=0.6,
        loss_burst_samples=20,
    )
    assert rule_of(emptied) != "bursts_were_dropped"
    for other in (
        {"loss_burst_rank": None},
        {"loss_burst_rank": 0.62},
        {"exchanges_lossy": 2.0, "exchanges_bucket_empty": 2.0},
    ):
        assert rule_of(replace(emptied, **other)) == "bursts_were_dropped"


def test_reasons_name_what_decided(healthy: Evidence) -> None:
    overtaken = replace(
        healthy, **REPAIRING, late_segments=3, data_segments=1000, fast_recoveries=0
    )
    assert any("came late" in reason for reason in diagnose(overtaken).reasons)
    assert not any("recoveries" in reason for reason in diagnose(overtaken).reasons)
    # Bursts were dropped in exchanges whose bucket was not empty.
    burst = {"loss_burst_rank": 0.75, "loss_burst_samples": 60, "queued_before_loss": 2.0}
    bucket = {"exchanges_lossy": 3, "exchanges_bucket_empty": 0}
    bursts = replace(healthy, **{**TIME, "recovery": 0.5, "loss": 0.02, **burst, **bucket})
    found = diagnose(bursts)
    assert found.cause == "policed"
    assert any("followed more data than 75 %" in reason for reason in found.reasons)
    assert not any("token bucket" in reason or "no queue" in reason for reason in found.reasons)


def test_silences_in_which_acknowledgements_gathered_are_not_the_receiver_s(
    healthy: Evidence,
) -> None:
    """A queue of the reverse direction gathers them, too, and without silences."""
    gathered = replace(
        healthy,
        **TIME,
        acks_held=50,
        acks_held_seconds=1.3,
        pauses_estimated=False,
        answer_least_seconds=0.0009,
    )
    assert rule_of(gathered) == "window_bound"
    silent = replace(gathered, ack_silences=3, ack_silences_seconds=1.5)
    assert rule_of(silent) == "acknowledgements_were_held"
    assert rule_of(replace(silent, acks_held=2)) == "receiver_fell_silent"
    assert rule_of(replace(silent, pauses_estimated=True)) == "receiver_fell_silent"
