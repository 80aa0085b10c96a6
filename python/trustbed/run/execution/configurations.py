"""What the agents of a repetition are told, beside the emulator.

A scenario's traffic in their configurations. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from trustbed.run.execution.commands import address_of
from trustbed.run.matrix import Repetition
from trustbed.scenario import Background, Fault, Pace, Scenario, Workload
from trustbed.scenario.description import BACKGROUND_PORT, model, release
from trustbed.scenario.stalls import stalled
from trustbed.testbed.netns.cgroups import Group
from trustbed.testbed.netns.plan import port_of

MIDDLE = "net"
"""The place of what belongs to no host."""
INTERFACE = "eth0"
"""A host's end of its veth link."""

Configuration = dict[str, Any]
SECOND = 1_000_000_000
_LEAST_CONFIRM_NS = 10 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Background traffic in one direction: who sends it, who takes it, and on which port."""

    background: Background
    heading: Literal["forward", "reverse"]
    source: str
    to: str
    port: int

    @property
    def name(self) -> str:
        """``noise``, or ``noise.reverse`` for the way back."""
        return (
            self.background.name if self.heading == "forward" else f"{self.background.name}.reverse"
        )


def raw(directory: Path, host: str, kind: str) -> Path:
    """Where the agent that watches a host from within writes, by its kind."""
    return directory / f"{host}.{kind}.jsonl"


def flows(scenario: Scenario) -> tuple[Flow, ...]:
    """All background traffic that sends something, each direction on a port of its own."""
    found: list[Flow] = []
    for background in scenario.backgrounds:
        if background.silent:
            continue
        ways: list[tuple[Literal["forward", "reverse"], str, str]] = []
        if background.heading in ("forward", "both"):
            ways.append(("forward", background.source, background.to))
        if background.heading in ("reverse", "both"):
            ways.append(("reverse", background.to, background.source))
        for heading, source, to in ways:
            found.append(
                Flow(
                    background=background,
                    heading=heading,
                    source=source,
                    to=to,
                    port=BACKGROUND_PORT + len(found),
                )
            )
    return tuple(found)


def sink(flow: Flow) -> Configuration:
    """What takes a flow, at every address of its host."""
    return {"listen": [{"transport": flow.background.transport, "address": f"0.0.0.0:{flow.port}"}]}


def send(flow: Flow, scenario: Scenario, repetition: Repetition) -> Configuration:
    """What sends a flow: its sources share its rate, and the addresses of its hosts in turn."""
    froms, tos = scenario.host(flow.source).addresses, scenario.host(flow.to).addresses
    sources = [
        {
            "name": f"{flow.name}.{number}",
            "transport": flow.background.transport,
            "from": froms[number % len(froms)],
            "to": f"{tos[number % len(tos)]}:{flow.port}",
            "model": model(one, reverse=flow.heading == "reverse"),
            "release": release(one),
            "seed": repetition.seed_of(f"background {flow.name} {number}"),
        }
        for number, one in enumerate(_shared(flow.background))
    ]
    return {"sources": sources}


def _shared(background: Background) -> Iterator[Background]:
    """Sources whose rates add up to the rate, to the bit. A capture is played by each."""
    for number in range(background.sources):
        if background.rate is None:
            yield background
        else:
            each, more = divmod(background.rate, background.sources)
            yield replace(background, rate=each + (number < more))


def tcp(workload: Workload) -> Configuration:
    """The options of a workload's sending TCP sockets.

    What is not asked for is left to the kernel.
    """
    return _known(
        congestion_control=workload.congestion_control,
        send_buffer_bytes=workload.send_buffer_bytes,
        no_delay=False if workload.nagle else None,
    )


def _known(**keys: object) -> Configuration:
    return {key: value for key, value in keys.items() if value is not None}


def _pace(pace: Pace | None) -> Configuration | None:
    return (
        None
        if pace is None
        else _known(
            burst_bytes=pace.burst_bytes, pause_ns=pace.pause_ns, rate_bits_per_second=pace.rate
        )
    )


def _receive(workload: Workload, address: str) -> Configuration:
    """What takes a bulk transfer."""
    clamp, buffer = workload.window_clamp_bytes, workload.receive_buffer_bytes
    if clamp is not None and buffer is None:
        # Linux makes it twice as large, advertises part of that, and forgets the clamp when it
        # learns how large packets are: so it cannot advertise more in any case.
        buffer = clamp // 2
    tcp = _known(receive_buffer_bytes=buffer, window_clamp_bytes=clamp)
    return {
        "role": "receive",
        "listen": [address],
        **_known(tcp=tcp or None, read=_pace(workload.read), delayed_ack=workload.delayed_ack),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An agent of a workload: its verb, its host, its configuration."""

    verb: str
    where: str
    configuration: Mapping[str, Any]


def listener(workload: Workload) -> Part | None:
    """What answers a workload of ours, or a program that fetches from the built-in server."""
    assert workload.to is not None or workload.kind == "command", "reading saw to it"
    address = f"0.0.0.0:{workload.port}"
    if workload.kind == "bulk":
        return Part(verb="bulk", where=_other(workload), configuration=_receive(workload, address))
    if workload.object_bytes is not None and workload.service is None and workload.to is not None:
        return Part(verb="serve", where=workload.to, configuration={"listen": [address]})
    return None


def client(workload: Workload, scenario: Scenario, logs: Path) -> Part | None:
    """The agent that is a workload, where it is one of ours."""
    if workload.kind == "bulk":
        sender, receiver = workload.data_from or workload.host, _other(workload)
        asked: Configuration = {
            "role": "send",
            "to": f"{address_of(scenario, receiver)}:{workload.port}",
            "from": address_of(scenario, sender),
            "connections": workload.connections,
            "tcp": tcp(workload),
            # A receiver that reads slowly, or a link that is dead for a while, may take as long as
            # the workload is given.
            "confirm_timeout_ns": max(_LEAST_CONFIRM_NS, workload.limit_ns - workload.duration_ns),
            **_known(write=_pace(workload.write)),
        }
        asked |= (
            {"duration_ns": workload.duration_ns}
            if workload.bytes is None
            else {"bytes": workload.bytes}
        )
        return Part(verb="bulk", where=sender, configuration=asked)
    if workload.kind == "http":
        assert workload.to is not None, "reading saw to it"
        return Part(
            verb="fetch", where=workload.host, configuration=_fetch(workload, scenario, logs)
        )
    return None


def _fetch(workload: Workload, scenario: Scenario, logs: Path) -> Configuration:
    assert workload.to is not None, "reading saw to it"
    asked: Configuration = {
        "to": f"{address_of(scenario, workload.to)}:{workload.port}",
        "from": list(scenario.host(workload.host).addresses[: workload.connections]),
        "connections": workload.connections,
        "reuse": workload.reuse,
        "rows": str(logs / f"{workload.name}.requests.rows"),
    }
    asked |= (
        {"object_bytes": workload.object_bytes}
        if workload.path is None
        else {"path": workload.path}
    )
    return asked | (
        {"duration_ns": workload.duration_ns}
        if workload.requests is None
        else {"count": workload.requests}
    )


def _other(workload: Workload) -> str:
    """The host that takes the data of a bulk transfer."""
    assert workload.to is not None, "reading saw to it"
    return workload.to if workload.data_from == workload.host else workload.host


def disturb(
    fault: Fault, processes: Sequence[int], *, group: Group | None, processor: int | None
) -> Configuration:
    """What keeps processes from running, each with all that descends from it."""
    done: Configuration = {"kind": fault.kind}
    if fault.kind == "freeze":
        done |= {"stopped_ns": fault.stopped_ns, "every_ns": fault.every_ns}
    elif fault.kind == "spinner":
        done |= {
            "processor": processor,
            "busy_ns": fault.busy_ns,
            "every_ns": fault.every_ns,
            "policy": fault.policy,
        }
    else:
        assert group is not None, "a quota is a group's"
        assert fault.share is not None, "reading saw to it"
        assert fault.period_ns is not None, "reading saw to it"
        period_us = fault.period_ns // 1000
        granted_us = round(fault.share * period_us)
        done = {
            "kind": "quota",
            "group": str(group.path),
            "version": group.version,
            "granted_us": granted_us,
            "period_us": period_us,
        }
    return {"processes": list(processes), "fault": done, **_known(duration_ns=fault.duration_ns)}


# What writes down.


def capture(scenario: Scenario, point: str, directory: Path) -> Part:
    """What records the packets beside a host.

    Of a guest, at the end of its veth link, unless inside is given.
    """
    host = scenario.beside(point)
    is_outside = point == host and scenario.host(host).guest is not None
    number = next(number for number, one in enumerate(scenario.hosts) if one.name == host)
    asked: Configuration = {
        "interface": port_of(number) if is_outside else INTERFACE,
        "path": str(directory / f"{point}.pcapng"),
        "snap_length": scenario.capture.snap_bytes,
    }
    return Part(verb="capture", where=MIDDLE if is_outside else host, configuration=asked)


def emulated(scenario: Scenario, directory: Path) -> Configuration:
    """The emulator's configuration beside the network.

    Captures at routers, and if links have times, that these begin when it is told.
    """
    taps = [
        {
            "router": point,
            "path": str(directory / f"{point}.pcapng"),
            "snap_length": scenario.capture.snap_bytes,
        }
        for point in scenario.capture.points
        if point in scenario.routers
    ]
    return ({"taps": taps} if taps else {}) | ({"times": "told"} if has_times(scenario) else {})


def has_times(scenario: Scenario) -> bool:
    """Whether a link has events at times relative to the start of the workloads."""
    known = stalled(scenario)
    ways = [way for link in known.links for way in (link.forward, link.backward)]
    ways += [way for host in known.hosts for way in (host.access_up, host.access_down)]
    return any(way is not None and (way.outages or way.delay_steps is not None) for way in ways)


def sampled(scenario: Scenario) -> tuple[str, ...]:
    """The hosts whose sockets and interfaces are sampled every second: the ends of workloads.

    The first one's rows tell of this machine, so guests come last, and where there is nothing else,
    the middle is looked at as well.
    """
    if not scenario.samples:
        return ()
    guests = {host.name for host in scenario.guests}
    names = dict.fromkeys(
        name
        for workload in scenario.workloads
        for name in (workload.host, workload.to)
        if name is not None
    )
    outside = [name for name in names if name not in guests]
    inside = [name for name in names if name in guests]
    return (*(outside or [MIDDLE]), *inside) if inside else tuple(outside)


def sample(host: str, directory: Path, processes: Sequence[int] = ()) -> Configuration:
    """The sampler of the machine, of a host, and of some of the machine's processes."""
    return {
        "path": str(directory / f"{host}.jsonl"),
        **({"processes": list(processes)} if processes else {}),
    }


def watchers(
    scenario: Scenario, host: str, directory: Path, *, quotas: Sequence[Path], seed: int
) -> Iterator[Part]:
    """What watches a host as one of its processes.

    ``quotas``: the control groups that will hold it; its own where none are named.
    """
    watch, guest = scenario.watch, scenario.host(host).guest is not None
    groups = {} if guest or not quotas else {"cgroups": [str(path) for path in quotas]}
    if watch.wakeups_ns is not None:
        asked = {
            "path": str(raw(directory, host, "wakeups")),
            "wakeup_interval_ns": watch.wakeups_ns,
            "sockets": False,
            **groups,
        }
        yield Part(verb="sample", where=host, configuration=asked)
    if watch.spin_ns is not None:
        window = watch.spin_ns if watch.spin_ns < SECOND else None
        asked = {
            "path": str(raw(directory, host, "spin")),
            "seed": seed,
            **_known(window_ns=window),
        }
        yield Part(verb="spin", where=host, configuration=asked)
