"""`trustbed-agent estimate` over an emulated link with cross traffic.

What is found against what is available.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from bench.estimators import (
    PATHLOAD,
    Path,
    Reading,
    Virtual,
    estimate,
    hosts,
    invalid,
    judge,
    line,
    pathchirp,
    paths,
    summary,
    targets,
    virtual_line,
)
from bench.namespaces import Host, NoNamespaces

PATH = Path(capacity=20_000_000, cross=8_000_000)
FACTOR = 1.5
"""pathChirp's mean may be off by it.

Between the rates of a chirp lie factors of 1.2, and cross traffic of 500 bytes is not a fluid.
"""


@pytest.fixture
def three() -> Iterator[tuple[Host, Host, Host]]:
    """The middle, the near and the far host."""
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(hosts())
        except NoNamespaces as error:
            pytest.skip(str(error))


@contextlib.contextmanager
def unless_it_was_busy(reading: Reading) -> Iterator[None]:
    """The block's claims must hold, unless the run itself reports a busy machine."""
    try:
        yield
    except AssertionError as error:
        if reading.invalid is not None:
            pytest.xfail(
                f"{reading.invalid}: {str(error).splitlines()[0] if str(error) else 'it failed'}"
            )
        raise


@pytest.mark.quiet
def test_both_find_what_the_cross_traffic_leaves(three: tuple[Host, Host, Host]) -> None:
    # As wide as what it may be off by, so that some fleets suffice.
    wide = {
        **PATHLOAD,
        "resolution_bits_per_second": PATH.capacity / 10,
        "time_limit_ns": 60_000_000_000,
    }
    searched, chirped = estimate(*three, PATH, [wide, pathchirp(PATH, 2.5)])
    for reading in (searched, chirped):
        assert reading.report["departure_error"]["early_packets"] == 0
        assert reading.report["sent_packets"] > 0
    with unless_it_was_busy(searched):
        assert searched.report["ending"] in ("resolution", "grey_region")
        assert searched.holds, f"{searched.low} to {searched.high} instead of {PATH.available}"
    with unless_it_was_busy(chirped):
        assert chirped.report["ending"] == "time_limit"
        assert chirped.low is not None
        assert PATH.available / FACTOR < chirped.low < PATH.available * FACTOR


def reading(low: float | None, high: float | None, *, why: str | None = None) -> Reading:
    report = {"sent_ip_bytes": 1_000_000, "duration_ns": 10**10, "ending": "resolution"}
    return Reading(path=PATH, estimator="pathload", low=low, high=high, report=report, invalid=why)


def test_an_interval_holds_what_it_misses_by_5_percent_of_the_capacity() -> None:
    assert reading(11e6, 13e6).holds
    assert reading(13e6, 14e6).holds
    assert not reading(13.01e6, 14e6).holds
    assert reading(9e6, 11e6).holds
    assert not reading(9e6, 10.99e6).holds
    assert not reading(None, 12e6).holds
    assert reading(11e6, None).error is None
    assert reading(11e6, 16e6).error == pytest.approx(0.125)


def test_readings_of_a_busy_machine_are_counted_and_not_judged() -> None:
    found = judge(
        [
            reading(11e6, 13e6),
            reading(14e6, 15e6),
            reading(1e6, 2e6, why="it stalled"),
            reading(None, None),
        ]
    )
    assert (found.runs, found.invalid, found.judged, found.held) == (4, 1, 3, 1)
    assert found.mean_error == pytest.approx((0.0 + 14.5 / 12 - 1) / 2)
    nothing = judge([])
    assert (nothing.runs, nothing.held_share, nothing.mean_error) == (0, None, None)


def test_what_was_found_is_printed_in_a_line() -> None:
    assert line(reading(11e6, 13e6)) == (
        " 20.0 Mbit/s,  12.0 available  pathload  11.0 … 13.0 Mbit/s (+0%), resolution, "
        "10 s, 1.0 MB: holds"
    )
    assert line(reading(None, 11e6)).endswith("? … 11.0 Mbit/s, resolution, 10 s, 1.0 MB: misses")
    assert line(reading(1e6, 2e6, why="it stalled")).endswith(": it stalled")
    found = judge([reading(11e6, 13e6), reading(14e6, 15e6), reading(1e6, 2e6, why="it stalled")])
    message = (
        "pathload: 1 of 2 hold what was available, mean error +10.4% (10.4% without signs), "
        "10 s and 1.0 MB each; 1 more on a busy machine"
    )
    assert summary("pathload", found) == message
    assert (
        summary("pathload", judge([reading(1e6, 2e6, why="it stalled")]))
        == "pathload: the machine was too busy in all of 1 runs"
    )
    virtuals = [
        Virtual(
            cross_bytes=size,
            long_packets=long,
            runs=100,
            held=held,
            mean_error=error,
            mean_absolute_error=error,
        )
        for size, long, held, error in (
            (1500, False, 58, 0.35),
            (100, False, 96, 0.07),
            (1500, True, 89, 0.05),
        )
    ]
    wanted = targets({"pathload": found, "pathchirp": judge([])}, virtuals)
    assert [(target.value, target.holds) for target in wanted] == [
        (0.96, True),
        (0.07, True),
        (0.89, False),
        (0.05, True),
        (0.5, False),
    ]
    assert virtual_line(virtuals[0]) == (
        "in virtual time, 1500 bytes of cross traffic a packet, settings of the tools: "
        "pathload holds 58 of 100, "
        "pathChirp off by +35.0% (35.0% without signs)"
    )


def departure_error(p99_ns: float, max_ns: int) -> dict[str, Any]:
    return {"p99_ns": p99_ns, "max_ns": max_ns, "generator_late": False}


@pytest.mark.parametrize(
    ("emulator", "cross", "late", "message"),
    [
        (departure_error(50_000, 900_000), departure_error(9_000, 50_000), 3, None),
        (
            departure_error(50_000, 30_000_000),
            departure_error(9_000, 50_000),
            0,
            "the emulator stalled for 30 ms",
        ),
        (
            departure_error(50_000, 900_000),
            departure_error(9_000, 30_000_000),
            0,
            "the cross traffic stalled",
        ),
        (departure_error(600_000, 900_000), departure_error(9_000, 50_000), 0, "600 µs late"),
        (
            departure_error(50_000, 900_000),
            departure_error(9_000, 50_000) | {"generator_late": True},
            0,
            "cross traffic was late",
        ),
        (departure_error(50_000, 900_000), None, 4, "late in 4 of 12 runs"),
    ],
)
def test_a_busy_machine_is_recognised_by_departure_errors(
    emulator: dict[str, Any], cross: dict[str, Any] | None, late: int, message: str | None
) -> None:
    discarded = {"sender_late": late, "no_room": 0}
    report = {
        "estimator": "pathload",
        "streams": {"sent": 12, "used": 12 - late, "discarded": discarded},
    }
    found = invalid(report, emulator, None if cross is None else {"departure_error": cross})
    assert (found is None) if message is None else (found is not None and message in found)


def test_paths_of_the_bench_fill_what_they_should() -> None:
    made = list(paths(50))
    assert all(
        5_000_000 <= path.capacity <= 100_000_000 and 0 <= path.cross <= 0.8 * path.capacity
        for path in made
    )
    assert min(path.capacity for path in made) < 8_000_000
    assert max(path.capacity for path in made) > 60_000_000
    assert made[:10] == list(paths(10))
