"""Results of test packets and estimators of a path, by round and together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trustbed.campaign import Paths, records
from trustbed.campaign import path_of as path_of_record
from trustbed.campaign.records import RoundPath, RoundRecord
from trustbed.campaign.statistics.path import PathSummary

MS = 1_000_000


def path_of(found: dict[str, Any], **known: bool) -> RoundPath:
    """The results of a round whose record has these keys."""
    record = records.read({"pair": "a-b", "number": 0, "index": "1", **found}, RoundRecord)
    return path_of_record(record, **known)


def delay(least: int, p50: int, p95: int) -> dict[str, int]:
    return {"probes": 9, "least_ns": least * MS, "p50_ns": p50 * MS, "p95_ns": p95 * MS}


def pathchirp(mean: float | None, *at_limit: bool, unusable: int = 0) -> dict[str, Any]:
    """Its results.

    A mean of the latest estimates, of which these are near the highest rate; one behind them
    had another range.
    """
    latest = at_limit or (False,)
    return {
        "mean_ip_bits_per_second": mean,
        "estimates_in_mean": 0 if mean is None else len(latest),
        "unusable_chirps": unusable,
        "estimates": [{"at_limit": True}, *({"at_limit": one} for one in latest)],
    }


def pathload(low: float | None, high: float | None, ending: str) -> RoundPath:
    """A round in which pathload ended so."""
    found = {"low_bits_per_second": low, "high_bits_per_second": high}
    return path_of(
        {
            "bandwidth": {
                "pathload": {
                    "pathload": found,
                    "streams": {"sent": 12, "used": 12},
                    "ending": ending,
                }
            }
        }
    )


def record(*, ahead: int = 0, lost: int | None = 1) -> dict[str, Any]:
    """Ten probes, of which one was lost on the forward path.

    The receiver's clock is so many milliseconds ahead.
    """
    return {
        "delay": {
            "sent_probes": 10,
            "answered_probes": 9,
            "directions": None
            if lost is None
            else {"lost_forward_probes": lost, "lost_backward_probes": 0},
            "delays": {
                "round_trip": delay(20, 23, 30),
                "forward": delay(10 + ahead, 11 + ahead, 15 + ahead),
                "backward": delay(10 - ahead, 12 - ahead, 14 - ahead),
            },
            "clocks": {"offset": {"ahead_ns": ahead * MS, "error_ns": 10 * MS}},
        },
        "bandwidth": {
            "pathload": {
                "pathload": {"low_bits_per_second": 4e6, "high_bits_per_second": 5e6},
                "streams": {"sent": 60, "used": 50},
                "ending": "resolution",
                "sent_ip_bytes": 1000,
                "duration_ns": 9_000_000_000,
            },
            "pathchirp": {
                "pathchirp": pathchirp(4.4e6),
                "chirps": {"sent": 20, "used": 20},
                "ending": "time_limit",
            },
        },
    }


def test_a_clock_offset_does_not_change_delays_above_the_minimum() -> None:
    level, ahead = path_of(record()).delay, path_of(record(ahead=7000)).delay
    assert (
        level.receiver_ahead_seconds,
        ahead.receiver_ahead_seconds,
        ahead.receiver_ahead_error_seconds,
    ) == (0, 7, 0.01)
    assert level.forward == ahead.forward
    assert level.forward.lost == 1
    assert level.forward.above_least_p50_seconds == pytest.approx(0.001)
    assert level.forward.jitter_seconds == pytest.approx(0.004)
    assert level.backward.jitter_seconds == pytest.approx(0.002)


def test_estimates_have_bounds_and_costs() -> None:
    pathload, pathchirp = path_of(record()).bandwidth
    assert (
        pathload.low_bits_per_second,
        pathload.high_bits_per_second,
        pathload.runs,
        pathload.runs_used,
    ) == (4e6, 5e6, 60, 50)
    assert (pathload.duration_seconds, pathload.sent_ip_bytes) == (9, 1000)
    assert pathchirp.low_bits_per_second == pathchirp.high_bits_per_second == 4.4e6


def test_rounds_are_summarised_as_means_and_shares() -> None:
    paths = Paths()
    for one in (record(), record(ahead=3)):
        paths.add(path_of(one))
    nothing = record()
    nothing["bandwidth"]["pathload"]["pathload"] = None
    paths.add(msgspec.structs.replace(path_of(nothing), delay=None))
    paths.add(None)  # a round of an older directory
    summary = paths.summary()
    assert (summary.delay.rounds, summary.delay.sent_probes, summary.delay.lost_share) == (
        2,
        20,
        pytest.approx(0.1),
    )
    assert summary.delay.round_trip_least_seconds == 0.02
    assert (summary.delay.forward.lost_share, summary.delay.backward.lost_share) == (0.1, 0)
    assert summary.delay.forward.jitter_max_seconds == pytest.approx(0.004)
    pathload, pathchirp = summary.bandwidth
    assert (pathload.runs, pathload.runs_used, pathchirp.runs) == (180, 150, 60)
    assert (pathload.rounds, pathload.estimates, pathload.low_mean_bits_per_second) == (3, 2, 4e6)
    assert (pathchirp.rounds, pathchirp.estimates, pathchirp.high_max_bits_per_second) == (
        3,
        3,
        4.4e6,
    )


def test_a_failed_measurement_has_a_row() -> None:
    paths = Paths()
    failed = path_of({"delay": None, "bandwidth": {"pathload": None, "pathchirp": None}})
    assert [failed.delay.answered, *(one.answered for one in failed.bandwidth)] == [False] * 3
    for one in (failed, path_of(record())):
        paths.add(one)
    summary = paths.summary()
    assert (summary.delay.rounds, summary.delay.failed_rounds, summary.delay.sent_probes) == (
        2,
        1,
        10,
    )
    for estimator in summary.bandwidth:
        assert (estimator.rounds, estimator.failed_rounds, estimator.estimates) == (2, 1, 1)


def test_one_sided_bounds_are_summarised_separately() -> None:
    paths = Paths()
    for one in (
        pathload(4e6, 5e6, "resolution"),
        pathload(1e6, 9e6, "time_limit"),
        pathload(1.2e9, None, "highest_rate"),
        pathload(None, 10e3, "lowest_rate"),
        pathload(None, None, "unusable"),
    ):
        paths.add(one)
    (summary,) = paths.summary().bandwidth
    assert (
        summary.rounds,
        summary.estimates,
        summary.low_mean_bits_per_second,
        summary.high_mean_bits_per_second,
    ) == (5, 2, 2.5e6, 7e6)
    assert (summary.at_least_rounds, summary.at_least_mean_bits_per_second) == (1, 1.2e9)
    assert (summary.at_most_rounds, summary.at_most_mean_bits_per_second) == (1, 10e3)
    early = {row.ending: row.early for row in summary.endings}
    assert early == {
        "resolution": False,
        "time_limit": True,
        "highest_rate": False,
        "lowest_rate": False,
        "unusable": True,
    }
    assert pathload(1e6, 9e6, "time_limit").bandwidth[0].ended_early


def test_chirps_near_their_highest_rate_give_a_lower_bound() -> None:
    def estimate(*at_limit: bool) -> RoundPath:
        report = {
            "pathchirp": pathchirp(9e8, *at_limit),
            "chirps": {"sent": 20, "used": 20},
            "ending": "time_limit",
        }
        return path_of({"bandwidth": {"pathchirp": report}})

    (reached,) = estimate(False, True).bandwidth
    assert (reached.low_bits_per_second, reached.high_bits_per_second, reached.at_limit) == (
        9e8,
        None,
        True,
    )
    (within,) = estimate(False, False).bandwidth
    assert (within.low_bits_per_second, within.high_bits_per_second, within.at_limit) == (
        9e8,
        9e8,
        False,
    )
    assert not within.ended_early, "its time is its end"


def test_unusable_chirps_were_not_used() -> None:
    report = {
        "pathchirp": pathchirp(None, unusable=15),
        "chirps": {"sent": 20, "used": 18},
        "ending": "time_limit",
    }
    (found,) = path_of({"bandwidth": {"pathchirp": report}}).bandwidth
    assert (found.runs, found.runs_used, found.low_bits_per_second) == (20, 3, None)


@pytest.mark.parametrize(
    ("clocks", "reflector", "noticed"),
    [
        ({"uneven": True}, {}, False),
        ({"uneven": False, "clock_steps": 1}, {"clock_steps": 0}, False),
        ({"uneven": False, "clock_steps": 0}, {"clock_steps": 1}, False),
        ({"uneven": False, "clock_steps": 0}, {"clock_steps": 0}, True),
    ],
)
def test_a_round_in_which_a_clock_was_stepped_has_no_delay(
    clocks: dict[str, Any], reflector: dict[str, Any], noticed: bool
) -> None:
    paths = Paths()
    one = record()
    one["delay"] |= {
        "clocks": {**one["delay"]["clocks"], **clocks},
        "reflector": {"too_fast_packets": 0, **reflector},
    }
    found = path_of(one, clock_stepped=noticed)
    assert (
        found.delay.clock_stepped,
        found.delay.receiver_ahead_seconds,
        found.delay.forward.lost,
    ) == (True, None, 1)
    for each in (found, path_of(record())):
        paths.add(each)
    summary = paths.summary().delay
    assert (summary.rounds, summary.clock_stepped_rounds, summary.forward.lost_share) == (2, 1, 0.1)
    assert (
        summary.forward.jitter_mean_seconds
        == summary.forward.jitter_max_seconds
        == pytest.approx(0.004)
    )


def test_without_a_counting_reflector_losses_have_no_direction() -> None:
    paths = Paths()
    paths.add(path_of(record(lost=None)))
    delay = paths.summary().delay
    assert (delay.lost_share, delay.forward.lost_share) == (pytest.approx(0.1), None)


def test_nothing_is_reported_without_a_measurement() -> None:
    assert path_of({}) == RoundPath()
    assert Paths().summary() == PathSummary(delay=None, bandwidth=())
    somewhere = record()["delay"] | {
        "directions": {
            "lost_forward_probes": 0,
            "lost_backward_probes": 0,
            "lost_somewhere_probes": 1,
        }
    }
    assert path_of({"delay": somewhere}).delay.forward.lost is None, "its direction is unknown"
    lost = record()["delay"] | {
        "answered_probes": 0,
        "delays": None,
        "directions": None,
        "clocks": {"offset": None},
    }
    paths = Paths()
    paths.add(path_of({"delay": lost}))
    summary = paths.summary().delay
    assert (
        summary.lost_share,
        summary.round_trip_least_seconds,
        summary.forward.jitter_mean_seconds,
    ) == (
        1,
        None,
        None,
    )
