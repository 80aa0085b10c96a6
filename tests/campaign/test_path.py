"""What test packets and estimators said of a path, round by round and together."""

from __future__ import annotations

from typing import Any

import pytest

from trustbed.campaign import Paths, path_of

MS = 1_000_000


def delay(least: int, p50: int, p95: int) -> dict[str, int]:
    return {"probes": 9, "least_ns": least * MS, "p50_ns": p50 * MS, "p95_ns": p95 * MS}


def record(*, ahead: int = 0, lost: int | None = 1) -> dict[str, Any]:
    """Ten probes, of which one was lost on its way; the receiver's clock is so many milliseconds ahead."""
    return {
        "delay": {
            "sent_probes": 10,
            "answered_probes": 9,
            "directions": None if lost is None else {"lost_forward_probes": lost, "lost_backward_probes": 0},
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
            "pathchirp": {"pathchirp": {"mean_ip_bits_per_second": 4.4e6}, "chirps": {"sent": 20, "used": 20}, "ending": "time_limit"},
        },
    }


def test_a_clock_that_is_ahead_changes_nothing_above_the_least() -> None:
    level, ahead = path_of(record())["delay"], path_of(record(ahead=7000))["delay"]
    assert (level["receiver_ahead_seconds"], ahead["receiver_ahead_seconds"], ahead["receiver_ahead_error_seconds"]) == (0, 7, 0.01)
    assert level["forward"] == ahead["forward"]
    assert level["forward"]["lost"] == 1
    assert level["forward"]["above_least_p50_seconds"] == pytest.approx(0.001)
    assert level["forward"]["jitter_seconds"] == pytest.approx(0.004)
    assert level["backward"]["jitter_seconds"] == pytest.approx(0.002)


def test_estimates_have_bounds_and_what_they_cost() -> None:
    pathload, pathchirp = path_of(record())["bandwidth"]
    assert (pathload["low_bits_per_second"], pathload["high_bits_per_second"], pathload["runs"], pathload["runs_used"]) == (
        4e6,
        5e6,
        60,
        50,
    )
    assert (pathload["duration_seconds"], pathload["sent_ip_bytes"]) == (9, 1000)
    assert pathchirp["low_bits_per_second"] == pathchirp["high_bits_per_second"] == 4.4e6


def test_rounds_come_to_means_and_shares() -> None:
    paths = Paths()
    for one in (record(), record(ahead=3)):
        paths.add(path_of(one))
    nothing = record()
    nothing["bandwidth"]["pathload"]["pathload"] = None
    paths.add({**path_of(nothing), "delay": None})
    paths.add(None)  # a round of an older folder
    told = paths.told()
    assert (told["delay"]["rounds"], told["delay"]["sent"], told["delay"]["lost_share"]) == (2, 20, pytest.approx(0.1))
    assert told["delay"]["round_trip_least_seconds"] == 0.02
    assert (told["delay"]["forward"]["lost_share"], told["delay"]["backward"]["lost_share"]) == (0.1, 0)
    assert told["delay"]["forward"]["jitter_max_seconds"] == pytest.approx(0.004)
    pathload, pathchirp = told["bandwidth"]
    assert (pathload["runs"], pathload["runs_used"], pathchirp["runs"]) == (180, 150, 60)
    assert (pathload["rounds"], pathload["estimates"], pathload["low_mean_bits_per_second"]) == (3, 2, 4e6)
    assert (pathchirp["rounds"], pathchirp["estimates"], pathchirp["high_max_bits_per_second"]) == (3, 3, 4.4e6)


def test_a_reflector_that_does_not_count_tells_no_directions() -> None:
    paths = Paths()
    paths.add(path_of(record(lost=None)))
    delay = paths.told()["delay"]
    assert (delay["lost_share"], delay["forward"]["lost_share"]) == (pytest.approx(0.1), None)


def test_who_did_not_ask_is_told_nothing() -> None:
    assert path_of({}) == {"delay": None, "bandwidth": []}
    assert Paths().told() == {"delay": None, "bandwidth": []}
    somewhere = record()["delay"] | {"directions": {"lost_forward_probes": 0, "lost_backward_probes": 0, "lost_somewhere_probes": 1}}
    assert path_of({"delay": somewhere})["delay"]["forward"]["lost"] is None, "nobody knows where"
    lost = record()["delay"] | {"answered_probes": 0, "delays": None, "directions": None, "clocks": {"offset": None}}
    paths = Paths()
    paths.add(path_of({"delay": lost}))
    told = paths.told()["delay"]
    assert (told["lost_share"], told["round_trip_least_seconds"], told["forward"]["jitter_mean_seconds"]) == (1, None, None)
