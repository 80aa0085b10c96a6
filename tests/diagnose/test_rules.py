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
SHRUNK: dict[str, Any] = {"window_shrunk": 0.15, "rwnd_limited": 0.5}
CAPPED: dict[str, Any] = {
    **SLOW,
    "outstanding_mean_bytes": 19_000.0,
    "outstanding_max_bytes": 20_000.0,
}
BENT: dict[str, Any] = {
    "burst_rate_bytes_per_second": 3.9e6,
    "sustained_rate_bytes_per_second": 3.0e6,
    "rate_low_bytes_per_second": 2.86e6,
    "rate_middle_bytes_per_second": 3.0e6,
    "sustained_rtt_min_seconds": 0.025,
}
LOSSY: dict[str, Any] = {"loss": 0.01, "loss_events": 100}
FULL_LINK: dict[str, Any] = {
    "capacity_bytes_per_second": 2.5e6,
    "capacity_source": "delivery_rate",
    "throughput_bytes_per_second": 2.4e6,
}
WRITES: dict[str, Any] = {"unfilled_per_train": 0.33, "rwnd_limited": 0.49}
# Far from the sender: the RTT is half as long again, and little of that is on the path from the
# sender.
LATE: dict[str, Any] = {
    "pauses_estimated": True,
    "rtt_seconds": 0.03,
    "rwnd_limited": 0.5,
    "answer_seconds": 0.012,
    "answer_least_seconds": 0.002,
    "owd_increase_seconds": 0.003,
}
FEW = {"loss": 0.001, "loss_events": 1}

# rule: (changes to a healthy transfer that make it fire, one more change, the rule that then fires)
POLICED: dict[str, Any] = {
    "loss": 0.02,
    "queued_before_loss": 3.3,
    "loss_burst_rank": 0.7,
    "loss_burst_samples": 20,
}
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
        {"queued_before_loss": 3.4},
        "window_explains",
    ),
    "nothing_came_back": (
        {"outage_seconds": 2.0, "duration_seconds": 10.0, "loss_events": 20},
        {"loss_events": 21},
        "window_explains",
    ),
    "delay_has_two_levels": (
        {
            "floor_before_seconds": 0.02,
            "floor_after_seconds": 0.03,
            "floor_left": 0.01,
            "floor_flight_ratio": 0.9,
        },
        {"floor_flight_ratio": 0.5},
        "window_explains",
    ),
    "burst_then_lower_rate": (BENT, {"sustained_rtt_min_seconds": 0.0201}, "window_explains"),
    "reader_set_the_pace": (SHRUNK, {"window_shrunk": 0.14}, "window_explains"),
    "writes_set_the_pace": (WRITES, {"rwnd_limited": 0.5}, "window_explains"),
    "window_full_and_yet_slow": (
        {**FULL_LINK, "capacity_source": "given", "rwnd_limited": 0.9},
        {"rwnd_limited": 0.89},
        "capacity_explains",
    ),
    "reordering_took_a_part": (
        {"late_segments": 10, "data_segments": 2000},
        {"late_segments": 9},
        "window_explains",
    ),
    "bucket_was_empty": (
        {"loss": 0.002, "loss_events": 40, "loss_level_rank": 0.21},
        {"loss_level_rank": 0.22},
        "window_explains",
    ),
    "link_stayed_full": (
        {
            **LOSSY,
            "throughput_bytes_per_second": 0.8e6,
            "rate_low_bytes_per_second": 0.96e6,
            "rate_high_bytes_per_second": 1.0e6,
        },
        {"rate_low_bytes_per_second": 0.95e6},
        "loss_explains",
    ),
    "loss_explains": (
        {**LOSSY, "throughput_bytes_per_second": 0.8e6},
        {"rtt_seconds": 0.025},
        "queue_explains",
    ),
    "answered_late_yet_explained": (
        {**LATE, "throughput_bytes_per_second": 2.0e6},
        {"owd_increase_seconds": 0.0041},
        "queue_explains",
    ),
    "link_was_full": (FULL_LINK, {"capacity_source": "given"}, "capacity_explains"),
    "answers_waited": ({"delayed_answers": 0.5}, {"delayed_answers": 0.49}, "window_explains"),
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
    "idle_open_window_yet_explained": (
        {"processor_missed": 0.5, "idle_open_window_fraction": 0.2},
        {"idle_open_window_fraction": 0.19},
        "window_explains",
    ),
    "window_explains": ({}, SLOW, "nothing_explains"),
    "receiver_closed_its_window": (
        {**PAUSING, "window_closed": 0.2},
        {"window_closed": 0.19},
        "sender_held_back",
    ),
    "receiver_shrank_its_window": ({**SLOW, **SHRUNK}, {"rwnd_limited": 0.49}, "nothing_explains"),
    "machine_was_missing": (
        {**PAUSING, "loss": 0.02, "processor_missed": 0.5},
        {"processor_missed": 0.49},
        "sender_held_back",
    ),
    "reordering_slowed": (
        {**SLOW, "spurious_retransmissions": 1, "late_segments": 1, "data_segments": 2000},
        {"late_segments": 0},
        "nothing_explains",
    ),
    "bucket_dropped": (
        {**SLOW, "loss": 0.001, "loss_events": 5, "loss_level_rank": 0.1},
        {"loss_level_rank": 0.5},
        "few_losses_slowed",
    ),
    "application_wrote_little": (
        {**SLOW, **WRITES},
        {"unfilled_per_train": 0.32},
        "nothing_explains",
    ),
    "application_slept": (
        {**PAUSING, "processor_missed": 0.04},
        {"processor_missed": 0.4},
        "sender_held_back",
    ),
    "application_paused": (
        {**PAUSING, "app_limited_fraction": 0.5},
        {"workload": "bulk"},
        "sender_held_back",
    ),
    "buffer_was_filled": (
        {**PAUSING, "send_buffer_bytes": 40_000, "send_buffer_declared": True},
        {"send_buffer_declared": None},
        "sender_held_back",
    ),
    "flight_was_held": (
        {
            **PAUSING,
            "outstanding_mean_bytes": 17_000.0,
            "outstanding_max_bytes": 20_000.0,
            "pauses_estimated": False,
        },
        {"outstanding_mean_bytes": 16_900.0},
        "sender_held_back",
    ),
    "path_was_full": (
        {
            **SLOW,
            "idle_open_window_fraction": 0.3,
            "rtt_seconds": 0.025,
            "throughput_bytes_per_second": 0.8e6,
            "pipe_full": 0.95,
        },
        {"long_pause_fraction": 0.2},
        "sender_held_back",
    ),
    "sender_held_back": (
        {**SLOW, "idle_open_window_fraction": 0.3},
        {"idle_open_window_fraction": 0.29},
        "nothing_explains",
    ),
    "machine_answered_late": (
        {**SLOW, "answer_seconds": 0.0021, "unfilled_per_train": 0.07},
        {"answer_seconds": 0.0019},
        "nothing_explains",
    ),
    "writes_came_late": (
        {**SLOW, "rwnd_limited": 0.4, "answer_seconds": 0.0021, "unfilled_per_train": 0.08},
        {"unfilled_per_train": 0.07},
        "machine_answered_late",
    ),
    "answered_late_from_afar": (
        {**LATE, "throughput_bytes_per_second": 0.3e6},
        {"rwnd_limited": 0.65},
        "queue_slowed",
    ),
    "even_though_lossy": (
        {
            **SLOW,
            "loss": 0.005,
            "loss_events": 4,
            "rate_low_bytes_per_second": 0.96e6,
            "rate_high_bytes_per_second": 1.0e6,
        },
        {"rate_low_bytes_per_second": 0.95e6},
        "loss_slowed",
    ),
    "loss_slowed": (
        {**SLOW, "loss": 0.005, "loss_events": 4},
        {"loss": 0.0049},
        "few_losses_slowed",
    ),
    "queue_slowed": (
        {**SLOW, **LOSSY, "rtt_seconds": 0.024, "throughput_bytes_per_second": 0.3e6},
        {"rtt_seconds": 0.0239},
        "loss_slowed",
    ),
    "window_was_full": ({**SLOW, "rwnd_limited": 0.9}, {"rwnd_limited": 0.89}, "nothing_explains"),
    "still_starting": ({**SLOW, "slow_start": True}, {"slow_start": False}, "nothing_explains"),
    "still_growing": (
        {**SLOW, "duration_seconds": 0.49, "rate_high_bytes_per_second": 1.51e6},
        {"burst_rate_bytes_per_second": 1.51e6},
        "ran_now_and_then",
    ),
    "queue_overflowed": (
        {
            **SLOW,
            **FEW,
            "rtt_before_loss_seconds": 0.033,
            "rtt_high_seconds": 0.0345,
            "rate_high_bytes_per_second": 1.0e6,
        },
        {"rtt_before_loss_seconds": 0.030},
        "few_losses_slowed",
    ),
    "few_losses_slowed": (
        {**SLOW, "loss": 0.001, "loss_events": 1},
        {"loss": 0.0001},
        "nothing_explains",
    ),
    "buffer_was_full": (
        {**SLOW, "send_buffer_limited": 0.5},
        {"send_buffer_limited": 0.49},
        "nothing_explains",
    ),
    "flight_had_a_ceiling": (CAPPED, {"outstanding_mean_bytes": 10_900.0}, "nothing_explains"),
    "ran_now_and_then": (
        {**SLOW, "rate_high_bytes_per_second": 1.15e6},
        {"rate_high_bytes_per_second": 1.14e6},
        "nothing_explains",
    ),
    "processor_was_missing": ({**SLOW, "cpu_share": 0.89}, {"cpu_share": 0.9}, "nothing_explains"),
    "link_was_steady": (
        {
            **SLOW,
            "rate_low_bytes_per_second": 0.96e6,
            "rate_high_bytes_per_second": 1.0e6,
            "rtt_high_seconds": 0.0345,
        },
        {"rtt_high_seconds": 0.0340},
        "nothing_explains",
    ),
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


def test_every_cause_has_a_rule() -> None:
    assert {rule.cause for rule in RULES} == set(CAUSES)


def test_few_losses_may_lie_at_an_empty_bucket_by_chance(healthy: Evidence) -> None:
    policed = replace(healthy, **SLOW, loss=0.002, loss_level_rank=0.2)
    assert [rule_of(replace(policed, loss_events=events)) for events in (5, 6)] == [
        "loss_slowed",
        "bucket_dropped",
    ]


def test_pauses_from_afar_are_not_believed_behind_losses(healthy: Evidence) -> None:
    afar = replace(
        healthy,
        **{**PAUSING, "throughput_bytes_per_second": 0.9e6},
        pauses_estimated=True,
        loss=0.005,
        loss_events=40,
    )
    assert rule_of(afar) == "loss_slowed"
    assert rule_of(replace(afar, loss=0.0049)) == "sender_held_back"
    assert rule_of(replace(afar, pauses_estimated=False)) == "sender_held_back"


def test_many_losses_at_a_steady_rate_are_a_policers_whatever_their_rank(healthy: Evidence) -> None:
    heavy = {
        "loss": 0.1,
        "loss_events": 500,
        "rate_low_bytes_per_second": 0.7e6,
        "rate_high_bytes_per_second": 1.0e6,
    }
    assert rule_of(replace(healthy, **SLOW, **heavy)) == "bucket_dropped"
    assert rule_of(replace(healthy, **SLOW, **{**heavy, "loss": 0.099})) == "loss_slowed"
    assert (
        rule_of(replace(healthy, **SLOW, **{**heavy, "rate_low_bytes_per_second": 0.64e6}))
        == "loss_slowed"
    )


def test_many_losses_that_are_no_chance_at_a_steady_rate_are_a_policers(healthy: Evidence) -> None:
    lossy = replace(healthy, **SLOW, loss=0.07, loss_events=400, loss_level_rank=0.43)
    steady = replace(lossy, rate_low_bytes_per_second=0.65e6, rate_high_bytes_per_second=1e6)
    assert rule_of(steady) == "bucket_dropped"
    for change in (
        {"loss": 0.069},
        {"loss_level_rank": 0.48},
        {"loss_events": 50},
        {"rate_low_bytes_per_second": 0.64e6},
    ):
        assert rule_of(replace(steady, **change)) == "loss_slowed"


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


def test_losses_at_a_queue_of_two_packets_are_no_overflow(healthy: Evidence) -> None:
    """1 % of the packets is lost while the RTT is highest, barely above an empty path's."""
    own = 2 * 1448 / 1.0e6
    lossy = replace(
        healthy,
        **LOSSY,
        throughput_bytes_per_second=0.3e6,
        rate_high_bytes_per_second=1.0e6,
        rtt_seconds=0.025,
    )
    before = 0.02 + own + 2.1 * 1448 / 1.0e6
    assert (
        rule_of(replace(lossy, rtt_before_loss_seconds=before, rtt_high_seconds=before))
        == "queue_slowed"
    )
    before = 0.02 + own + 1.9 * 1448 / 1.0e6
    assert (
        rule_of(replace(lossy, rtt_before_loss_seconds=before, rtt_high_seconds=before))
        == "loss_slowed"
    )


def test_segments_that_wait_for_others_fill_a_receive_buffer_as_well(healthy: Evidence) -> None:
    shrunk = replace(healthy, **SLOW, **SHRUNK, data_segments=2000)
    assert rule_of(shrunk) == "receiver_shrank_its_window"
    assert rule_of(replace(shrunk, late_segments=2)) == "reordering_slowed"


def test_a_full_window_shows_a_ready_sender_unless_it_runs_now_and_then(healthy: Evidence) -> None:
    full = replace(healthy, **LATE | {"rwnd_limited": 0.8}, throughput_bytes_per_second=2.0e6)
    assert rule_of(full) == "queue_explains"
    assert rule_of(replace(full, rate_low_bytes_per_second=2.2e6)) == "queue_explains"
    assert rule_of(replace(full, rate_low_bytes_per_second=2.4e6)) == "answered_late_yet_explained"


def test_stages_end_with_a_rule_that_always_fires() -> None:
    assert [stage.rules[-1].conditions for stage in STAGES[1:]] == [()] * 8


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
    assert rule_of(replace(lossy, throughput_bytes_per_second=0.49 * bound)) == "few_losses_slowed"


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
