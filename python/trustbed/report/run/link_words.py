"""What a link is asked to do, in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.report import words
from trustbed.scenario import Direction

_SECOND = 1e9


def direction(way: Direction) -> str:
    """One direction of a link: rate, delay, and what limits or interrupts it."""
    return ", ".join(_parts(way))


def _parts(way: Direction) -> Iterator[str]:
    if way.rate is not None:
        yield words.rate(way.rate / 8)
    else:
        yield "as fast as it comes" if way.rate_trace is None else "a recorded rate"
    yield _delay(way)
    for name, bucket in (("policed", way.policer), ("shaped", way.shaper)):
        if bucket is not None:
            yield (
                f"{name} to {words.rate(bucket.rate / 8)} behind {words.size(bucket.burst_bytes)}"
            )
    for outage in way.outages:
        what = "kept" if outage.keeps else "lost"
        yield f"out at {_time(outage.at_ns)} for {_time(outage.lasts_ns)} ({what})"


def _delay(way: Direction) -> str:
    if way.delay_trace is not None:
        return "recorded delays"
    if way.delay_steps is None:
        return _time(way.delay_ns)
    first, *others = way.delay_steps.steps
    return " ".join(
        [
            _time(first.delay_ns),
            *(f"then {_time(step.delay_ns)} from {_time(step.at_ns)}" for step in others),
        ]
    )


def _time(nanoseconds: int) -> str:
    return words.duration(nanoseconds / _SECOND)
