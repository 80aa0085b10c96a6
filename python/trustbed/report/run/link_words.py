"""The configuration of a link, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trustbed.report import words
from trustbed.scenario import Direction

_SECOND = 1e9


def direction(one: Direction) -> str:
    """One direction of a link: rate, delay, and what limits or interrupts it."""
    return ", ".join(_parts(one))


def _parts(one: Direction) -> Iterator[str]:
    if one.rate is not None:
        yield words.rate(one.rate / 8)
    elif one.rate_steps:
        first, *others = one.rate_steps
        yield _in_steps(
            words.rate(first.rate / 8),
            ((words.rate(step.rate / 8), step.at_ns) for step in others),
        )
    else:
        yield "unlimited rate" if one.rate_trace is None else "rate trace"
    yield _delay(one)
    for name, bucket in (("policed", one.policer), ("shaped", one.shaper)):
        if bucket is not None:
            yield (
                f"{name} to {words.rate(bucket.rate / 8)} behind {words.size(bucket.burst_bytes)}"
            )
    for outage in one.outages:
        what = "packets held" if outage.keeps else "packets lost"
        yield f"out at {_time(outage.at_ns)} for {_time(outage.lasts_ns)} ({what})"


def _delay(one: Direction) -> str:
    if one.delay_trace is not None:
        return "delay trace"
    if one.delay_steps is None:
        return _time(one.delay_ns)
    first, *others = one.delay_steps.steps
    return _in_steps(_time(first.delay_ns), ((_time(one.delay_ns), one.at_ns) for one in others))


def _in_steps(first: str, others: Iterable[tuple[str, int]]) -> str:
    return " ".join([first, *(f"then {value} from {_time(at)}" for value, at in others)])


def _time(nanoseconds: int) -> str:
    return words.duration(nanoseconds / _SECOND)
