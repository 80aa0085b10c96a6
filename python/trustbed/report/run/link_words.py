"""The configuration of a link, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trustbed.report import words
from trustbed.scenario import Direction
from trustbed.scenario.egress import Egress
from trustbed.scenario.model import Loss, Queue, RecordedDelay, trace_rate

_SECOND = 1e9


def direction(one: Direction) -> str:
    """One direction of a link: rate, delay, queue, and what loses, limits or interrupts it."""
    return ", ".join(_parts(one))


def egress(one: Egress) -> str:
    """What limits a host at its own interface."""
    return (
        f"tbf of {words.rate(one.rate / 8)}, burst {words.size(one.burst_bytes)}, "
        f"limit {words.size(one.limit_bytes)}"
    )


def _parts(one: Direction) -> Iterator[str]:
    yield _rate(one)
    yield _delay(one)
    if one.jitter is not None:
        within = "±" if one.jitter.distribution == "uniform" else "σ "
        order = "" if one.jitter.keep_order else ", overtaking"
        yield f"{one.jitter.distribution} jitter ({within}{_time(one.jitter.spread_ns)}{order})"
    if one.queue is not None or one.drain_rate is not None:
        yield _queue(one.queue or Queue(discipline="unlimited"))
    if one.loss is not None:
        yield _loss(one.loss)
    if one.reorder is not None:
        yield (
            f"{words.percent(one.reorder.probability)} of packets held back for "
            f"{_time(one.reorder.delay_ns)}"
        )
    if one.duplicate:
        yield f"{words.percent(one.duplicate)} duplicated"
    for name, bucket in (("policed", one.policer), ("shaped", one.shaper)):
        if bucket is not None:
            yield (
                f"{name} to {words.rate(bucket.rate / 8)} behind {words.size(bucket.burst_bytes)}"
            )
    for outage in one.outages:
        what = "packets held" if outage.keeps else "packets lost"
        yield f"out at {_time(outage.at_ns)} for {_time(outage.lasts_ns)} ({what})"


def _rate(one: Direction) -> str:
    if one.rate is not None:
        return words.rate(one.rate / 8)
    if one.rate_steps:
        first, *others = one.rate_steps
        return _in_steps(
            words.rate(first.rate / 8),
            ((words.rate(step.rate / 8), step.at_ns) for step in others),
        )
    trace = one.rate_trace
    if trace is None:
        return "unlimited rate"
    return (
        f"rate trace {trace.file.name} (mean {words.rate(trace_rate(trace) / 8)}, repeats every "
        f"{words.duration(trace.values[-1] / 1e3)})"
    )


def _delay(one: Direction) -> str:
    if one.delay_trace is not None:
        return _recorded_delay(one.delay_trace)
    if one.delay_steps is None:
        return _time(one.delay_ns)
    first, *others = one.delay_steps.steps
    return _in_steps(_time(first.delay_ns), ((_time(one.delay_ns), one.at_ns) for one in others))


def _recorded_delay(trace: RecordedDelay) -> str:
    number = len(trace.delays.values)
    again = (
        words.counted(number, "packet") if trace.step_ns is None else _time(number * trace.step_ns)
    )
    return f"delay trace {trace.delays.file.name} (repeats every {again})"


def _in_steps(first: str, others: Iterable[tuple[str, int]]) -> str:
    return " ".join([first, *(f"then {value} from {_time(at)}" for value, at in others)])


def _queue(queue: Queue) -> str:
    if queue.discipline == "unlimited":
        return "unlimited queue"
    if queue.duration_ns is not None:
        assert queue.bytes is not None, "computed when the scenario was read"
        limit = f"{_time(queue.duration_ns)} ({words.size(queue.bytes)})"
    elif queue.packets is not None:
        limit = words.counted(queue.packets, "packet")
    elif queue.bytes is not None:
        limit = words.size(queue.bytes)
    else:
        limit = "any length"
    return f"{_DISCIPLINES.get(queue.discipline, queue.discipline)} queue of {limit}"


_DISCIPLINES = {"codel": "CoDel", "red": "RED"}


def _loss(loss: Loss) -> str:
    if loss.model == "independent":
        return f"{words.percent(loss.probability)} random loss"
    if loss.model == "periodic":
        return f"one loss every {words.counted(loss.every or 1, 'packet')}"
    if loss.model == "recorded":
        assert loss.lost is not None, "a recorded loss has a file"
        again = (
            ""
            if loss.period_packets is None
            else f" (repeats every {words.counted(loss.period_packets, 'packet')})"
        )
        return f"loss trace {loss.lost.file.name}{again}"
    return (
        f"Gilbert-Elliott loss ({words.percent(loss.to_bad)} to bad, {words.percent(loss.to_good)} "
        f"to good; {words.percent(loss.in_good)} lost in good, {words.percent(loss.in_bad)} in bad)"
    )


def _time(nanoseconds: int) -> str:
    return words.duration(nanoseconds / _SECOND)
