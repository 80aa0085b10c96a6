"""What a capture at the other end changes of the evidence."""

from __future__ import annotations

from dataclasses import replace

from trustbed.diagnose.diagnosis import diagnose
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.host import HostEvidence, with_host
from trustbed.diagnose.two_point import SENT_AT_OTHER_END, TwoPointEvidence, with_two_point

CROSSING = {
    "data_frames_sent": 1000,
    "data_frames_delivered": 996,
    "data_frames_lost": 4,
    "data_frames_missed": 0,
    "turnaround_p50_ns": 8_000_000,
}
SLOW = Evidence(
    throughput_bytes_per_second=1_000_000.0,
    window_bytes=65_535.0,
    payload_bytes=1448.0,
    packet_bytes=1500.0,
    rtt_base_seconds=0.020,
    rtt_seconds=0.029,
    loss=0.002,
    long_pause_fraction=0.0,
    idle_open_window_fraction=0.0,
)


def test_a_row_of_crossings_is_read() -> None:
    assert TwoPointEvidence.of(CROSSING) == TwoPointEvidence(lost=0.004, turnaround_seconds=0.008)
    assert TwoPointEvidence.of({**CROSSING, "data_frames_missed": 1}).lost is None, (
        "the capture beside the sender missed some"
    )
    assert TwoPointEvidence.of(CROSSING, dropped=1) == TwoPointEvidence(turnaround_seconds=0.008), (
        "what looks lost may have been dropped here"
    )
    assert (
        TwoPointEvidence.of(
            {
                **CROSSING,
                "data_frames_sent": 0,
                "data_frames_delivered": 0,
                "data_frames_lost": 0,
                "turnaround_p50_ns": None,
            }
        )
        == TwoPointEvidence()
    )
    assert TwoPointEvidence.of({**CROSSING, "turnaround_p50_ns": -5}).turnaround_seconds == 0.0, (
        "stamped late"
    )


def test_losses_are_a_share_of_the_frames_whose_fate_is_known() -> None:
    assert TwoPointEvidence.of({**CROSSING, "data_frames_delivered": 796}).lost == 0.005
    assert TwoPointEvidence.of({**CROSSING, "data_frames_delivered": 400}).lost is None, (
        "the other capture holds a part of the transfer"
    )
    assert (
        TwoPointEvidence.of({**CROSSING, "data_frames_sent": 12, "data_frames_delivered": 5}).lost
        is None
    ), "too few show nothing"
    assert (
        TwoPointEvidence.of({**CROSSING, "data_frames_delivered": 0, "data_frames_lost": 0}).lost
        is None
    )


def test_losses_are_those_that_were_seen() -> None:
    assert with_two_point(SLOW, TwoPointEvidence(lost=0.0)).loss == 0.0
    assert with_two_point(SLOW, TwoPointEvidence()).loss == 0.002


def test_the_receivers_time_is_no_queue() -> None:
    corrected = with_two_point(SLOW, TwoPointEvidence(turnaround_seconds=0.008))
    assert corrected.rtt_base_seconds == 0.028
    assert (
        with_two_point(SLOW, TwoPointEvidence(turnaround_seconds=0.05)).rtt_base_seconds == 0.029
    ), "a path takes no less than nothing"
    assert with_two_point(Evidence(), TwoPointEvidence(turnaround_seconds=0.05)) == Evidence()
    assert diagnose(SLOW).cause == "network_congestion"
    assert diagnose(corrected).cause != "network_congestion"


def test_it_comes_with_what_is_known_of_the_host() -> None:
    evidence, flags = with_host(SLOW, HostEvidence(ends=TwoPointEvidence(lost=0.0)))
    assert (evidence.loss, flags) == (0.0, ())


def test_what_was_judged_at_the_wrong_end_is_held_at_review() -> None:
    evidence, flags = with_host(SLOW, HostEvidence(ends=TwoPointEvidence(sent_here=False)))
    assert (evidence, flags) == (SLOW, (SENT_AT_OTHER_END,))
    assert (diagnose(SLOW).verdict, diagnose(SLOW, flags=flags).verdict) == ("trust", "review")
    stalled = replace(SLOW, stall_gaps_seconds=(4.0,), duration_seconds=10.0, kernel_reset=True)
    assert (diagnose(stalled).verdict, diagnose(stalled, flags=flags).verdict) == (
        "discard",
        "review",
    )
