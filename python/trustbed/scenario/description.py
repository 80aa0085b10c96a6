"""What the emulator and the generators are told.

A scenario as the configurations that the agents take.

A pure translation, one line per key. Numbers are plain and carry their unit in their names;
defaults that the agents have are left to them.
"""

from __future__ import annotations

from typing import Any

from trustbed.scenario.model import Background, Bucket, Direction, Loss, Queue, Scenario
from trustbed.scenario.stalls import stalled

BACKGROUND_PORT = 9000
"""The first port of background traffic.

Whoever judges a capture knows by it which transfers are not the workload's.
"""

Description = dict[str, Any]


def topology(scenario: Scenario) -> Description:
    """The emulator's topology.

    Hosts with their access links, routers, and a pipe for each direction of each link.
    """
    scenario = stalled(scenario)
    hosts = []
    for host in scenario.hosts:
        one: Description = {"name": host.name, "addresses": list(host.addresses)}
        if host.router is not None:
            up, down = host.access_up or Direction(), host.access_down or Direction()
            one["access"] = {"router": host.router, "up": direction(up), "down": direction(down)}
        hosts.append(one)
    pipes = []
    for link in scenario.links:
        first, second = link.ends
        if link.backward is None:
            pipes.append(
                {"name": link.name, "from": first, "to": second, **direction(link.forward)}
            )
        else:
            pipes.append(
                {"name": f"{link.name}.up", "from": first, "to": second, **direction(link.forward)}
            )
            pipes.append(
                {
                    "name": f"{link.name}.down",
                    "from": second,
                    "to": first,
                    **direction(link.backward),
                }
            )
    return {"hosts": hosts, "routers": list(scenario.routers), "pipes": pipes}


def direction(way: Direction) -> Description:
    """The keys of a pipe; what is not asked for is left out."""
    found: Description = {}
    if way.rate is not None:
        found["rate_bits_per_second"] = way.rate
    if way.rate_trace is not None:
        found["rate_trace"] = {"opportunities_ms": list(way.rate_trace.values)}
    if way.delay_ns:
        found["delay_ns"] = way.delay_ns
    if way.delay_steps is not None:
        steps = [{"at_ns": step.at_ns, "delay_ns": step.delay_ns} for step in way.delay_steps.steps]
        found["delay_steps"] = {"steps": steps, "keep_order": way.delay_steps.keep_order}
    if way.jitter is not None:
        amount = "spread_ns" if way.jitter.distribution == "uniform" else "deviation_ns"
        found["jitter"] = {
            "kind": way.jitter.distribution,
            amount: way.jitter.spread_ns,
            "keep_order": way.jitter.keep_order,
        }
    if way.delay_trace is not None:
        recorded: Description = {
            "delays_ns": list(way.delay_trace.delays.values),
            "keep_order": way.delay_trace.keep_order,
        }
        found["delay_recorded"] = recorded | (
            {} if way.delay_trace.step_ns is None else {"step_ns": way.delay_trace.step_ns}
        )
    if way.queue is not None:
        found["queue"] = _queue(way.queue)
    if way.loss is not None:
        found["loss"] = _loss(way.loss)
    if way.reorder is not None:
        found["reorder"] = {"probability": way.reorder.probability, "held_ns": way.reorder.delay_ns}
    if way.duplicate:
        found["duplicate"] = {"probability": way.duplicate}
    if way.policer is not None:
        found["policer"] = _bucket(way.policer)
    if way.shaper is not None:
        found["shaper"] = _bucket(way.shaper)
    if way.outages:
        found["outages"] = [
            {"at_ns": one.at_ns, "lasts_ns": one.lasts_ns, "keeps": one.keeps}
            for one in way.outages
        ]
    return found


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


def model(background: Background, *, reverse: bool = False) -> Description:
    """What a source sends, as the generator takes it."""
    if background.model == "playback":
        chosen = background.reverse_filter if reverse else background.filter
        return _known(kind="playback", capture=str(background.file), filter=chosen)
    found = _known(
        kind=background.model,
        rate_bits_per_second=background.rate,
        packet_bytes=background.packet_bytes,
    )
    return found | ({"mode": background.mode} if background.model == "poisson" else {})


def release(background: Background) -> object:
    """How due packets are released."""
    if background.release in ("paced", "unpaced"):
        return background.release
    return {"timer_hz": int(background.release.removeprefix("timer-"))}
