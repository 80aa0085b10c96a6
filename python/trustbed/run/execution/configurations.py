"""The configurations of a repetition's agents, from the scenario. Pure.

The emulator's topology is not here (:mod:`trustbed.scenario.description`), only its options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from trustbed.agent.messages import Configuration
from trustbed.run.execution import players
from trustbed.run.execution.commands import address_of
from trustbed.run.matrix import Repetition
from trustbed.scenario import Background, Fault, Pace, Scenario, Workload
from trustbed.scenario.description import BACKGROUND_PORT, model, release
from trustbed.scenario.model import Probe
from trustbed.scenario.populations import offered
from trustbed.scenario.stalls import stalled
from trustbed.testbed.netns.cgroups import Group
from trustbed.testbed.netns.plan import INTERFACE, SWITCH, port_of

SECOND = 1_000_000_000
_PROBES_SETTLE_NS = 600 * SECOND
"""How much longer a reflector answers: starting every part of an experiment takes time."""
_LEAST_CONFIRM_NS = 10 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Background traffic in one direction: its sender, its receiver and the receiver's port."""

    background: Background
    heading: Literal["forward", "reverse"]
    source: str
    to: str
    port: int

    @property
    def name(self) -> str:
        """``noise`` for the forward, ``noise.reverse`` for the reverse direction."""
        return (
            self.background.name if self.heading == "forward" else f"{self.background.name}.reverse"
        )


def raw_samples(directory: Path, host: str, kind: str) -> Path:
    """The file to which an indicator of a host writes; ``kind`` is ``wakeups`` or ``spin``."""
    return directory / f"{host}.{kind}.jsonl"


def flows(scenario: Scenario) -> tuple[Flow, ...]:
    """All background traffic that sends packets, one flow per direction, each on its own port."""
    found: list[Flow] = []
    for background in scenario.backgrounds:
        if background.silent or background.model == "users":
            continue
        directions: list[tuple[Literal["forward", "reverse"], str, str]] = []
        if background.heading in ("forward", "both"):
            directions.append(("forward", background.source, background.to))
        if background.heading in ("reverse", "both"):
            directions.append(("reverse", background.to, background.source))
        for heading, source, to in directions:
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


def populations(scenario: Scenario) -> tuple[Background, ...]:
    """All background traffic of models."""
    return tuple(one for one in scenario.backgrounds if one.model == "users")


def generate(
    background: Background,
    scenario: Scenario,
    repetition: Repetition,
    *,
    directory: Path,
    server_namespace: Path,
) -> Configuration:
    """The generator of a background of users; its offer is written into ``directory``."""
    offer = directory / f"{background.name}.offer.json"
    users = offered(background)
    offer.write_bytes(msgspec.json.encode(users.document()))
    return {
        "offer": str(offer),
        "clients": list(scenario.host(background.source).addresses),
        "servers": list(scenario.host(background.to).addresses),
        "server_namespace": str(server_namespace),
        "seed": repetition.seed_of(f"background {background.name}"),
        "rows": str(directory / f"{background.name}.generated.rows"),
        "past_ns": 0 if background.draw == "replay" else users.past_ns,
        **_set(
            duration_ns=background.duration_ns,
            tcp=_set(congestion_control=background.congestion_control) or None,
        ),
    }


def sink(flow: Flow, scenario: Scenario) -> Configuration:
    """The receiver of a flow, which listens on all addresses of its host."""
    address = _listening(scenario, flow.to, flow.port)
    return {"listen": [{"transport": flow.background.transport, "address": address}]}


def _listening(scenario: Scenario, host: str, port: int) -> str:
    """All addresses of a host; of a machine the one that is measured: others are its owner's."""
    is_machine = scenario.host(host).machine is not None
    return f"{address_of(scenario, host) if is_machine else '0.0.0.0'}:{port}"


def send(flow: Flow, scenario: Scenario, repetition: Repetition) -> Configuration:
    """The sender of a flow: its sources share the rate and take the hosts' addresses in turn."""
    froms, tos = scenario.host(flow.source).addresses, scenario.host(flow.to).addresses
    sources = [
        {
            "name": f"{flow.name}.{number}",
            "transport": flow.background.transport,
            "from": froms[number % len(froms)],
            "to": f"{tos[number % len(tos)]}:{flow.port}",
            "model": model(one, reverse=flow.heading == "reverse", part=number),
            "release": release(one),
            "seed": repetition.seed_of(f"background {flow.name} {number}"),
            **_set(duration_ns=one.duration_ns),
        }
        for number, one in enumerate(_shared(flow.background))
    ]
    return {"sources": sources}


def _shared(background: Background) -> Iterator[Background]:
    """The sources of a background: rates add up exactly, and each plays its part of a recording."""
    for number in range(background.sources):
        if background.rate is None:
            yield background
        else:
            each, more = divmod(background.rate, background.sources)
            yield replace(background, rate=each + (number < more))


def tcp(workload: Workload) -> Configuration:
    """The options of a workload's sending TCP sockets; without one the kernel's default applies."""
    return _set(
        congestion_control=workload.congestion_control,
        send_buffer_bytes=workload.send_buffer_bytes,
        no_delay=False if workload.nagle else None,
    )


def _set(**keys: object) -> dict[str, object]:
    """The keys that have a value."""
    return {key: value for key, value in keys.items() if value is not None}


def _pace(pace: Pace | None) -> Configuration | None:
    return (
        None
        if pace is None
        else _set(
            burst_bytes=pace.burst_bytes, pause_ns=pace.pause_ns, rate_bits_per_second=pace.rate
        )
    )


def _receiver_configuration(workload: Workload, address: str) -> Configuration:
    """The receiver of a bulk transfer."""
    clamp, buffer = workload.window_clamp_bytes, workload.receive_buffer_bytes
    if clamp is not None and buffer is None:
        # Linux doubles the buffer, advertises part of it, and drops the clamp when it learns the
        # segment size: with half the clamp as buffer it can never advertise more than the clamp.
        buffer = clamp // 2
    tcp = _set(
        receive_buffer_bytes=buffer, window_clamp_bytes=clamp, window_bytes=workload.window_bytes
    )
    return {
        "role": "receive",
        "listen": [address],
        **_set(tcp=tcp or None, read=_pace(workload.read), delayed_ack=workload.delayed_ack),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """An agent to start: its verb, its host and its configuration."""

    verb: str
    where: str
    configuration: Configuration


def listener(workload: Workload, scenario: Scenario) -> AgentSpec | None:
    """The agent that serves a workload: a receiver, or the server of a stream or of objects."""
    assert workload.to is not None or workload.kind == "command", (
        "validated when the scenario was read"
    )
    if workload.kind == "bulk":
        receiver = _receiver(workload)
        address = _listening(scenario, receiver, workload.port)
        return AgentSpec(
            verb="bulk",
            where=receiver,
            configuration=_receiver_configuration(workload, address),
        )
    if workload.estimator is not None and workload.to is not None:
        configuration = {
            "role": "receive",
            "listen": f"{address_of(scenario, workload.to)}:{workload.port}",
            "peer": address_of(scenario, workload.host),
            "nonce": workload.port,
        }
        return AgentSpec(verb="estimate", where=workload.to, configuration=configuration)
    if workload.media is not None and workload.to is not None:
        address = _listening(scenario, workload.to, workload.port)
        return AgentSpec(
            verb="media", where=workload.to, configuration=players.server(workload, address)
        )
    serves = workload.object_bytes is not None or workload.video is not None
    if serves and workload.service is None and workload.to is not None:
        address = _listening(scenario, workload.to, workload.port)
        return AgentSpec(verb="serve", where=workload.to, configuration={"listen": [address]})
    return None


def client(workload: Workload, scenario: Scenario, logs: Path) -> AgentSpec | None:
    """The agent that carries out a workload; None where an external program does."""
    if workload.kind == "bulk":
        sender, receiver = workload.data_from or workload.host, _receiver(workload)
        configuration: Configuration = {
            "role": "send",
            "to": f"{address_of(scenario, receiver)}:{workload.port}",
            "from": address_of(scenario, sender),
            "connections": workload.connections,
            "tcp": tcp(workload),
            # With a slow reader or an outage, the confirmation may take up to the time limit.
            "confirm_timeout_ns": max(_LEAST_CONFIRM_NS, workload.limit_ns - workload.duration_ns),
            **_set(write=_pace(workload.write)),
            **(
                {"duration_ns": workload.duration_ns}
                if workload.bytes is None
                else {"bytes": workload.bytes}
            ),
        }
        return AgentSpec(verb="bulk", where=sender, configuration=configuration)
    if workload.kind == "http":
        assert workload.to is not None, "validated when the scenario was read"
        return AgentSpec(
            verb="fetch", where=workload.host, configuration=_fetch(workload, scenario, logs)
        )
    if workload.estimator is not None:
        return AgentSpec(
            verb="estimate", where=workload.host, configuration=_estimate(workload, scenario)
        )
    if workload.media is not None or workload.video is not None:
        return AgentSpec(
            verb=workload.kind,
            where=workload.host,
            configuration=players.client(workload, scenario, logs),
        )
    return None


def _estimate(workload: Workload, scenario: Scenario) -> Configuration:
    """The sending side of an estimator; what is not set is as its authors have it."""
    assert workload.to is not None, "validated when the scenario was read"
    options = workload.estimator
    assert options is not None, "an estimator has options"
    limit = "time_limit_ns" if workload.kind == "pathload" else "duration_ns"
    return {
        "role": "send",
        "to": f"{address_of(scenario, workload.to)}:{workload.port}",
        "from": address_of(scenario, workload.host),
        "nonce": workload.port,
        "estimator": {
            "kind": workload.kind,
            "long_packets": options.long_packets,
            limit: workload.duration_ns,
            **_set(
                resolution_bits_per_second=options.resolution,
                majority=options.majority,
                lowest_bits_per_second=options.lowest,
                highest_bits_per_second=options.highest,
                mean_bits_per_second=options.mean_rate,
                averaged=options.averaged,
            ),
        },
    }


def _fetch(workload: Workload, scenario: Scenario, logs: Path) -> Configuration:
    assert workload.to is not None, "validated when the scenario was read"
    return {
        "to": f"{address_of(scenario, workload.to)}:{workload.port}",
        "from": list(scenario.host(workload.host).addresses[: workload.connections]),
        "connections": workload.connections,
        "reuse": workload.reuse,
        **({"pause_ns": workload.think_ns} if workload.think_ns else {}),
        "rows": str(logs / f"{workload.name}.requests.rows"),
        **(
            {"object_bytes": workload.object_bytes}
            if workload.path is None
            else {"path": workload.path}
        ),
        **(
            {"duration_ns": workload.duration_ns}
            if workload.requests is None
            else {"count": workload.requests}
        ),
    }


def _receiver(workload: Workload) -> str:
    """The host that receives the data of a bulk transfer."""
    assert workload.to is not None, "validated when the scenario was read"
    return workload.to if workload.data_from == workload.host else workload.host


def injection(
    fault: Fault, processes: Sequence[int], *, group: Group | None, processor: int | None
) -> Configuration:
    """A fault that is injected into processes and all their descendants."""
    parameters: Configuration
    if fault.kind == "freeze":
        parameters = {
            "kind": fault.kind,
            "stopped_ns": fault.stopped_ns,
            "every_ns": fault.every_ns,
        }
    elif fault.kind == "spinner":
        parameters = {
            "kind": fault.kind,
            "processor": processor,
            "busy_ns": fault.busy_ns,
            "every_ns": fault.every_ns,
            "policy": fault.policy,
        }
    else:
        assert group is not None, "a quota belongs to a control group"
        assert fault.share is not None, "validated when the scenario was read"
        assert fault.period_ns is not None, "validated when the scenario was read"
        period_us = fault.period_ns // 1000
        granted_us = round(fault.share * period_us)
        parameters = {
            "kind": "quota",
            "group": str(group.path),
            "version": group.version,
            "granted_us": granted_us,
            "period_us": period_us,
        }
    return {
        "processes": list(processes),
        "fault": parameters,
        **_set(duration_ns=fault.duration_ns),
    }


# Captures and samples.


def capture(scenario: Scenario, point: str, directory: Path) -> AgentSpec:
    """The capture at a host.

    At a guest, the switch's end of its veth link is captured, unless the point is inside the guest.
    At a machine, what it exchanges with the others is captured, at the interface of its address.
    """
    host = scenario.beside(point)
    path = str(directory / f"{point}.pcapng")
    if scenario.host(host).machine is not None:
        others = [address_of(scenario, one.name) for one in scenario.machines if one.name != host]
        configuration: Configuration = {
            "path": path,
            "snap_length": scenario.capture.snap_bytes,
            **_set(filter=" or ".join(f"host {address}" for address in others) or None),
        }
        return AgentSpec(verb="capture", where=host, configuration=configuration)
    is_outside = point == host and scenario.host(host).guest is not None
    number = next(number for number, one in enumerate(scenario.hosts) if one.name == host)
    configuration = {
        "interface": port_of(number) if is_outside else INTERFACE,
        "path": path,
        "snap_length": scenario.capture.snap_bytes,
    }
    return AgentSpec(
        verb="capture", where=SWITCH if is_outside else host, configuration=configuration
    )


def emulator_options(scenario: Scenario, directory: Path) -> Configuration:
    """The emulator's options: captures at routers, and when the events of links begin.

    Where links have scheduled events, the controller sends the moment from which their times count.
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
    return ({"taps": taps} if taps else {}) | (
        {"times": "on_command"} if has_events(scenario) else {}
    )


def has_events(scenario: Scenario) -> bool:
    """Whether a link has outages or steps, which begin with the workloads."""
    complete = stalled(scenario)
    directions = [one for link in complete.links for one in (link.forward, link.backward)]
    directions += [one for host in complete.hosts for one in (host.access_up, host.access_down)]
    return any(
        one is not None and (one.outages or one.rate_steps or one.delay_steps is not None)
        for one in directions
    )


def sampled(scenario: Scenario) -> tuple[str, ...]:
    """The hosts whose sockets and interfaces are sampled every second: the ends of workloads.

    The first host's sampler samples this machine as well, which a guest's cannot: guests come last,
    and where all hosts are guests the switch namespace is sampled first.
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
    on_machine = [name for name in names if name not in guests]
    in_guests = [name for name in names if name in guests]
    return (*(on_machine or [SWITCH]), *in_guests) if in_guests else tuple(on_machine)


def sample(
    scenario: Scenario, host: str, directory: Path, processes: Sequence[int] = ()
) -> Configuration:
    """The sampler of a host, of this machine, and of ``processes`` of this machine.

    A guest would spend its own processor on frequent samples of sockets.
    """
    is_guest = any(guest.name == host for guest in scenario.guests)
    return {
        "path": str(directory / f"{host}.jsonl"),
        **({"processes": list(processes)} if processes else {}),
        **_set(sockets_interval_ns=None if is_guest else scenario.watch.sockets_ns),
    }


def indicators(
    scenario: Scenario, host: str, directory: Path, *, quotas: Sequence[Path], seed: int
) -> Iterator[AgentSpec]:
    """The indicators of CPU availability that run as processes of a host.

    ``quotas``: the control groups that will hold them; without any, their own are sampled.
    """
    watch, guest = scenario.watch, scenario.host(host).guest is not None
    groups = {} if guest or not quotas else {"cgroups": [str(path) for path in quotas]}
    if watch.wakeups_ns is not None:
        configuration = {
            "path": str(raw_samples(directory, host, "wakeups")),
            "wakeup_interval_ns": watch.wakeups_ns,
            "sockets": False,
            **groups,
        }
        yield AgentSpec(verb="sample", where=host, configuration=configuration)
    if watch.spin_ns is not None:
        window = watch.spin_ns if watch.spin_ns < SECOND else None
        configuration = {
            "path": str(raw_samples(directory, host, "spin")),
            "seed": seed,
            **_set(window_ns=window),
        }
        yield AgentSpec(verb="spin", where=host, configuration=configuration)


# Probes.


@dataclass(frozen=True, slots=True)
class ProbeEnds:
    """The two ends of a session of probes; the prober's lacks the reflector's port."""

    reflector: Configuration
    prober: Configuration


def probe_ends(probe: Probe, scenario: Scenario, *, session: int, seed: int) -> ProbeEnds:
    """The ends of a session: it lasts as long as the workloads may, unless it is stopped before."""
    here, there = address_of(scenario, probe.source), address_of(scenario, probe.to)
    return ProbeEnds(
        reflector={
            "listen": f"{there}:0",
            "peer": here,
            "session": session,
            # Four times their mean rate: packets that it leaves unanswered would look lost.
            "packets_per_second": max(1000, 4 * SECOND // probe.mean_gap_ns),
            "duration_ns": scenario.longest_ns + _PROBES_SETTLE_NS,
        },
        prober={
            "from": here,
            "session": session,
            "mean_gap_ns": probe.mean_gap_ns,
            "payload_bytes": probe.payload_bytes,
            "reflector_is_stateful": True,
            "seed": seed,
        },
    )
