"""The configurations of the emulator and the generators, made from a scenario.

A pure translation, one line per key. Numbers are plain and carry their unit in their names;
the agents' own defaults are not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict

from trustbed.scenario.model import Background, Bucket, Direction, Host, Loss, Queue, Scenario
from trustbed.scenario.stalls import stalled

BACKGROUND_PORT = 9000
"""The first port of background traffic.

By it, the judgement recognises transfers that are not the workload's.
"""

Description: TypeAlias = Mapping[str, object]
"""A configuration, or a part of one, as JSON."""


class Topology(TypedDict):
    """The hosts, routers and pipes of the emulator."""

    hosts: list[Description]
    routers: list[str]
    pipes: list[Description]


def topology(scenario: Scenario) -> Topology:
    """The emulator's topology.

    Hosts with their access links, routers, and a pipe for each direction of each link.
    """
    scenario = stalled(scenario)
    pipes: list[Description] = []
    for link in scenario.links:
        (first, second), forward = link.ends, direction(link.forward)
        if link.backward is None:
            pipes.append({"name": link.name, "from": first, "to": second, **forward})
        else:
            backward = direction(link.backward)
            pipes.append({"name": f"{link.name}.up", "from": first, "to": second, **forward})
            pipes.append({"name": f"{link.name}.down", "from": second, "to": first, **backward})
    return {
        "hosts": [_host(host) for host in scenario.hosts],
        "routers": list(scenario.routers),
        "pipes": pipes,
    }


def _host(host: Host) -> Description:
    access = host.router and {
        "router": host.router,
        "up": direction(host.access_up or Direction()),
        "down": direction(host.access_down or Direction()),
        **(
            {"each": [{"up": direction(up), "down": direction(down)} for up, down in host.paths]}
            if host.paths
            else {}
        ),
    }
    return _known(name=host.name, addresses=list(host.addresses), access=access)


def direction(one: Direction) -> Description:
    """The keys of a pipe; settings that the scenario leaves out are omitted."""
    steps, jitter, trace = one.delay_steps, one.jitter, one.delay_trace
    return _known(
        rate_bits_per_second=one.rate,
        rate_steps=[
            {"at_ns": step.at_ns, "rate_bits_per_second": step.rate} for step in one.rate_steps
        ]
        or None,
        rate_trace=one.rate_trace and {"opportunities_ms": list(one.rate_trace.values)},
        delay_ns=one.delay_ns or None,
        delay_steps=steps
        and {
            "steps": [{"at_ns": step.at_ns, "delay_ns": step.delay_ns} for step in steps.steps],
            "keep_order": steps.keep_order,
        },
        jitter=jitter
        and {
            "kind": jitter.distribution,
            "spread_ns" if jitter.distribution == "uniform" else "deviation_ns": jitter.spread_ns,
            "keep_order": jitter.keep_order,
        },
        delay_recorded=trace
        and _known(
            delays_ns=list(trace.delays.values), keep_order=trace.keep_order, step_ns=trace.step_ns
        ),
        queue=one.queue and _queue(one.queue),
        loss=one.loss and _loss(one.loss),
        reorder=one.reorder
        and {"probability": one.reorder.probability, "held_ns": one.reorder.delay_ns},
        duplicate={"probability": one.duplicate} if one.duplicate else None,
        policer=one.policer and _bucket(one.policer),
        shaper=one.shaper and _bucket(one.shaper),
        outages=[
            {"at_ns": outage.at_ns, "lasts_ns": outage.lasts_ns, "keeps": outage.keeps}
            for outage in one.outages
        ]
        or None,
    )


def _bucket(bucket: Bucket) -> Description:
    return {"rate_bits_per_second": bucket.rate, "burst_bytes": bucket.burst_bytes}


def _queue(queue: Queue) -> Description:
    return _known(
        kind=queue.discipline.replace("-", "_"),
        limit_packets=queue.packets,
        limit_bytes=queue.bytes,
        target_ns=queue.target_ns,
        interval_ns=queue.interval_ns,
        minimum_packets=queue.low_packets,
        maximum_packets=queue.high_packets,
        maximum_probability=queue.probability,
        weight=queue.weight,
    )


def _loss(loss: Loss) -> Description:
    return _known(
        kind=loss.model.replace("-", "_"),
        probability=loss.probability,
        good_to_bad=loss.to_bad,
        bad_to_good=loss.to_good,
        loss_in_good=loss.in_good,
        loss_in_bad=loss.in_bad,
        every=loss.every,
        first=loss.first,
        lost=None if loss.lost is None else list(loss.lost.values),
        period_packets=loss.period_packets,
    )


def _known(**keys: object) -> Description:
    return {key: value for key, value in keys.items() if value is not None}


# Background traffic.


def model(background: Background, *, reverse: bool = False, part: int = 0) -> Description:
    """What a source sends, as the generator takes it; of a recording the flows of one part."""
    if background.model == "playback":
        chosen = background.reverse_filter if reverse else background.filter
        parts = {"part": part, "parts": background.sources} if background.sources > 1 else {}
        return _known(kind="playback", capture=str(background.file), filter=chosen, **parts)
    return _known(
        kind=background.model,
        rate_bits_per_second=background.rate,
        packet_bytes=background.packet_bytes,
        mode=background.mode if background.model == "poisson" else None,
    )


def release(background: Background) -> object:
    """How due packets are released."""
    if background.release in ("paced", "unpaced"):
        return background.release
    return {"timer_hz": int(background.release.removeprefix("timer-"))}
