"""Every weakness of a capture limits a diagnosis as in the table, from its threshold on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import CATALOGUE, CaptureQuality, Diagnosis, Evidence, Quality, diagnose
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.quality import is_capture_point_contradicted

Weakness = tuple[dict[str, Any], dict[str, Any]]

# limit: (fields of the capture, fields of the transfer) that make it apply, and that just do not
CASES: dict[str, tuple[Weakness, Weakness]] = {
    "one_sided": (({}, {"one_sided": True}), ({}, {})),
    "timestamps_missing": (({"timestamps_missing": True}, {}), ({}, {})),
    "capture_loss": (({}, {"unseen_share": 0.001}), ({}, {"unseen_share": 0.0009})),
    "capture_kernel_drops": (({"kernel_drop_share": 0.01}, {}), ({"kernel_drop_share": 0.009}, {})),
    "skipped_records": (({"unmeasured_share": 0.01}, {}), ({"unmeasured_share": 0.009}, {})),
    "capture_duplicates": (
        ({}, {"duplicate_share": 0.001}),
        ({"deduplicated": True}, {"duplicate_share": 0.5}),
    ),
    "clock_step": (
        ({"clock_step_seconds": 0.1}, {"clock_stepped": True}),
        ({"clock_step_seconds": 0.09}, {"clock_stepped": True}),
    ),
    "coarse_timestamps": (
        ({"granularity_seconds": 0.002}, {}),
        ({"granularity_seconds": 0.0019}, {}),
    ),
    "records_out_of_order": (
        ({"reordered_share": 0.01, "reorder_seconds": 0.002}, {}),
        ({"reordered_share": 0.009, "reorder_seconds": 0.002}, {}),
    ),
    "bunched_timestamps": (
        ({"equal_timestamp_share": 0.5}, {}),
        ({"equal_timestamp_share": 0.49}, {}),
    ),
    "window_estimated": (({}, {"window_estimated": True}), ({}, {})),
    "echoed_rtt": (({}, {"rtt_echoed": True}), ({}, {})),
    "capture_point_unknown": (({}, {"capture_point_unknown": True}), ({}, {})),
    "capture_point_contradicted": (({}, {"capture_point_contradicted": True}), ({}, {})),
    "multipath": (({}, {"multipath": True}), ({}, {})),
    "estimated_spacing": (({}, {"spacing_estimated": True}), ({}, {})),
}


def quality(weakness: Weakness) -> Quality:
    capture, transfer = weakness
    return Quality(capture=CaptureQuality(**capture), **transfer)


@pytest.fixture
def starved(healthy: Evidence) -> Evidence:
    """A sender that pauses below the RTT, with confidence 0.9."""
    return replace(healthy, throughput_bytes_per_second=1.3e6, idle_open_window_fraction=0.8)


@pytest.fixture
def congested(healthy: Evidence) -> Evidence:
    """A transfer that waits in a queue."""
    return replace(
        healthy, rtt_seconds=0.03, throughput_bytes_per_second=2.0e6, loss=0.001, loss_events=20
    )


@pytest.mark.parametrize("code", CASES)
def test_limit_applies_and_does_not(
    code: str, healthy: Evidence, starved: Evidence, congested: Evidence
) -> None:
    (limit,) = [limit for limit in LIMITS if limit.code == code]
    applies, does_not = CASES[code]
    concerned = 0
    for evidence in (healthy, starved, congested):
        before = diagnose(evidence)
        after = diagnose(evidence, quality=quality(applies))
        assert before == diagnose(evidence, quality=quality(does_not))
        assert after.cause == before.cause
        if before.cause in limit.causes:
            concerned += 1
            assert code in after.flags
            assert after.confidence == min(before.confidence, limit.cap / 100)
            assert after.verdict == (
                "review" if limit.review or before.verdict == "discard" else before.verdict
            )
            assert any(reason.startswith("capture: ") for reason in after.reasons)
        else:
            assert after == before
    assert concerned > 0


def test_every_limit_is_tested_and_catalogued() -> None:
    of_evidence = {"time_unknown"}  # below
    assert list(CASES) == [limit.code for limit in LIMITS if limit.code not in of_evidence]
    assert all(limit.code in CATALOGUE for limit in LIMITS)


def test_estimated_pauses_cap_the_confidence_and_so_spare_the_host(
    starved: Evidence, healthy: Evidence
) -> None:
    estimated = Quality(spacing_estimated=True)
    host, window = diagnose(starved, quality=estimated), diagnose(healthy, quality=estimated)
    assert (host.confidence, host.verdict) == (0.7, "review")
    assert (window.confidence, window.verdict) == (0.99, "trust"), (
        "rate, window and RTT do not rest on pauses"
    )


def test_time_that_does_not_show_is_not_trusted_away(healthy: Evidence) -> None:
    for share, verdict in ((0.14, "trust"), (0.15, "review"), (0.83, "review")):
        judged = diagnose(replace(healthy, unattributed=share))
        assert (judged.cause, judged.verdict) == ("window_limited", verdict)


def test_a_clock_step_of_unknown_size_counts_for_the_transfer_it_met(healthy: Evidence) -> None:
    assert diagnose(healthy, quality=Quality(clock_stepped=True)).verdict == "review"
    unknown_duration = replace(healthy, duration_seconds=None)
    assert (
        diagnose(
            unknown_duration,
            quality=quality(({"clock_step_seconds": 0.02}, {"clock_stepped": True})),
        ).verdict
        == "review"
    )


def test_a_clock_step_elsewhere_in_the_capture_is_no_matter(healthy: Evidence) -> None:
    assert diagnose(healthy, quality=quality(({"clock_step_seconds": 9.0}, {}))).verdict == "trust"


def test_long_pauses_survive_bunched_timestamps(starved: Evidence) -> None:
    bunched = quality(({"equal_timestamp_share": 0.5}, {}))
    assert diagnose(starved, quality=bunched).verdict == "review"
    assert diagnose(replace(starved, long_pause_fraction=0.4), quality=bunched).verdict == "discard"


def test_losses_distinguish_a_queue_from_a_late_sender(congested: Evidence) -> None:
    echoed = Quality(rtt_echoed=True)
    late = diagnose(congested, quality=echoed)
    assert (late.cause, late.verdict) == ("network_congestion", "review")
    assert [other.cause for other in late.alternatives] == ["host_scheduling"]
    assert diagnose(replace(congested, loss=0.005), quality=echoed).verdict == "trust"
    full = replace(congested, rtt_before_loss_seconds=0.04, rtt_high_seconds=0.045)
    assert diagnose(full, quality=echoed).verdict == "trust", (
        "what was lost was lost while the RTT was high"
    )


def test_what_cannot_be_judged_is_left_alone() -> None:
    for evidence in (Evidence(too_short=True), Evidence(failed=True)):
        assert diagnose(evidence, quality=Quality(one_sided=True)) == diagnose(evidence)


def test_limits_add_up(starved: Evidence) -> None:
    both = diagnose(starved, quality=Quality(unseen_share=0.5, one_sided=True))
    assert both.confidence == 0.5
    assert both.flags[-2:] == ("one_sided", "capture_loss")


@pytest.mark.parametrize(
    ("changes", "is_contradicted"),
    [
        ({}, True),
        ({"capture_point": "responder"}, False),
        (
            {
                "capture_point": "responder",
                "response_min_initiator_ns": 1_400,
                "response_min_responder_ns": 20_000_000,
            },
            True,
        ),
        ({"capture_point": "middle"}, False),
        ({"capture_point_source": "answers"}, False),
        ({"response_min_responder_ns": 6_000_000}, False),
        ({"response_min_responder_ns": 5_000_000}, True),
        ({"response_min_initiator_ns": 900_000}, False),
        ({"response_min_responder_ns": None}, False),
    ],
)
def test_a_given_capture_point_is_checked_against_response_times(
    changes: dict[str, Any], is_contradicted: bool
) -> None:
    connection = {
        "capture_point": "initiator",
        "capture_point_source": "given",
        "response_min_initiator_ns": 20_000_000,
    }
    assert (
        is_capture_point_contradicted({**connection, "response_min_responder_ns": 1_400, **changes})
        is is_contradicted
    )


class TestFromARow:
    def test_a_clean_row(self, row: dict[str, Any]) -> None:
        assert Quality.of(row, CaptureQuality()) == Quality()
        assert Quality.of({}, CaptureQuality()) == Quality()

    def test_weaknesses_of_a_row(self, row: dict[str, Any]) -> None:
        def of(**changes: Any) -> Quality:  # noqa: ANN401 - any column
            return Quality.of({**row, **changes}, CaptureQuality())

        assert of(spacing_source="estimated").spacing_estimated
        assert of(window_max_bytes=None).one_sided
        assert of(flags=["one_sided"]).one_sided
        assert of(one_sided=True).one_sided
        assert of(at="unknown").capture_point_unknown
        assert of(capture_point_contradicted=True).capture_point_contradicted
        assert of(multipath=True).multipath
        assert of(rtt_source="timestamp_echo").rtt_echoed
        assert of(rtt_source="both_halves").rtt_echoed
        assert not of(rtt_source="acknowledgements").rtt_echoed
        assert of(window_estimated=True).window_estimated
        assert of(flags=["clock_step"]).clock_stepped
        assert of(acked_unseen_bytes=31_000_000).unseen_share == 0.5
        assert of(capture_duplicates=215).duplicate_share == 0.01
        assert of(acked_unseen_bytes=None, capture_duplicates=None, flags=None) == Quality()

    def test_weaknesses_of_a_capture(self) -> None:
        assert CaptureQuality.of({}) == CaptureQuality()
        found = CaptureQuality.of(
            {
                "records": 1000,
                "files": [
                    {
                        "interfaces": [
                            {"records": 990, "dropped": 10, "os_dropped": None},
                            {"records": 5, "dropped": None},
                        ]
                    }
                ],
                "skips": [
                    {"reason": "truncated", "records": 20},
                    {"reason": "not_ip", "records": 500},
                ],
                "clock_steps": 1,
                "clock_step_max_ns": 50_000_000,
                "timestamp_granularity_ns": 1000,
                "reordered_records": 100,
                "reorder_max_ns": 2_000_000,
                "equal_timestamp_share": 0.25,
                "problems": [{"code": "no_timestamp"}],
                "deduplicated": True,
            }
        )
        assert found == CaptureQuality(
            kernel_drop_share=0.01,
            unmeasured_share=0.02,
            clock_step_seconds=0.05,
            granularity_seconds=1e-6,
            reordered_share=0.1,
            reorder_seconds=0.002,
            equal_timestamp_share=0.25,
            timestamps_missing=True,
            deduplicated=True,
        )


def verdict(diagnosis: Diagnosis) -> tuple[str, float]:
    return diagnosis.verdict, diagnosis.confidence


def test_a_microsecond_clock_is_fine_for_a_millisecond_path(healthy: Evidence) -> None:
    fine = quality(({"granularity_seconds": 1e-6}, {}))
    assert verdict(diagnose(healthy, quality=fine)) == verdict(diagnose(healthy))
    local = replace(
        healthy, rtt_base_seconds=8e-6, rtt_seconds=8e-6, throughput_bytes_per_second=7.5e9
    )
    assert diagnose(local, quality=fine).verdict == "review"
