"""Reads the keys of a scenario into the model: one cell, factors already applied.

Every error that shows in the file alone is found here: types, units, names that do not
exist, hosts that cannot reach each other. What depends on the machine (missing programs, missing
privileges, rates it cannot keep up with) is checked before the run, elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from trustbed.scenario.backgrounds import read_backgrounds
from trustbed.scenario.description import BACKGROUND_PORT
from trustbed.scenario.error import nearest
from trustbed.scenario.faults import read_faults
from trustbed.scenario.guests import INSIDE
from trustbed.scenario.machines import check_machines
from trustbed.scenario.model import (
    ESTIMATORS,
    SECOND,
    TOOLS,
    Background,
    CapturePlan,
    Emulator,
    Scenario,
    Service,
    Watch,
    Workload,
)
from trustbed.scenario.populations import check_loads, joined, with_users
from trustbed.scenario.positions import Keys, Path
from trustbed.scenario.probes import read_probes
from trustbed.scenario.table import Source, Table
from trustbed.scenario.topology import Network, reached
from trustbed.scenario.topology import read as read_network
from trustbed.scenario.traces import read_traces
from trustbed.scenario.workloads import Around, read_services, read_workloads

_MOST_REPETITIONS = 100_000
_SHORTEST_WAKEUP_INTERVAL, _SHORTEST_SOCKET_INTERVAL = 1_000_000, 10_000_000
"""More frequent wake-ups would use more CPU time than an indicator may."""


def read(values: Keys, source: Source) -> Scenario:
    """The scenario that these keys describe."""
    root = Table(source, (), values)
    duration = root.span_above_zero("duration", 10 * SECOND)
    network = read_network(root, joined(values))
    hosts = [host.name for host in network.hosts]
    services = read_services(root, hosts)
    around = Around(
        hosts=hosts, services={service.name: service for service in services}, duration_ns=duration
    )
    workloads = read_workloads(root, around)
    end = max(workload.start_ns + workload.duration_ns for workload in workloads)
    backgrounds = read_backgrounds(root, hosts, end)
    network = with_users(network, backgrounds)
    samples, watch = _samples(root, hosts, workloads)
    scenario = Scenario(
        name=root.text("name", source.file.stem),
        about=root.text("about", ""),
        seed=root.whole("seed", 1, most=2**63 - 1),
        repetitions=root.whole("repetitions", 1, least=1, most=_MOST_REPETITIONS),
        duration_ns=duration,
        warm_up_ns=root.span("warm_up", SECOND),
        hosts=network.hosts,
        routers=network.routers,
        links=network.links,
        services=services,
        workloads=workloads,
        backgrounds=backgrounds,
        faults=read_faults(root, hosts, _occupied(workloads, services)),
        capture=_capture(root, [*hosts, *_inside(network), *network.routers], workloads),
        samples=samples,
        watch=watch,
        traces=read_traces(root, hosts, workloads, services),
        probes=read_probes(root, hosts),
        emulator=_emulator(root),
        inventory=network.inventory,
    )
    root.raw("factors")  # the caller has read them: it made this cell
    root.close()
    _check_names(root, workloads, backgrounds, services)
    _check_ports(root, scenario)
    _check_faults(root, scenario)
    _check_guests(root, scenario)
    check_machines(root, scenario)
    _check_processors(root, scenario)
    if not scenario.machines:
        _check_paths(root, network, scenario)
        check_loads(root, scenario)
    return scenario


def _capture(root: Table, nodes: Sequence[str], workloads: Sequence[Workload]) -> CapturePlan:
    table = root.table("capture")
    default = _at_the_senders(workloads)
    if table is None:
        return CapturePlan(points=default)
    points = tuple(dict.fromkeys(table.texts("points"))) if "points" in table else default
    for point in points:
        if point not in nodes:
            raise table.error("points", f"no host or router named {point}", nearest(point, nodes))
    found = CapturePlan(points=points, snap_bytes=table.whole("snap", 128, least=64, most=262_144))
    table.close()
    return found


def _inside(network: Network) -> list[str]:
    """The capture points inside guests."""
    return [f"{host.name}{INSIDE}" for host in network.hosts if host.guest is not None]


def _at_the_senders(workloads: Sequence[Workload]) -> tuple[str, ...]:
    """The most informative capture points.

    At the senders, at both ends where they are unknown, and at the receivers of estimators.
    """
    points: list[str] = []
    for workload in workloads:
        if workload.kind in ESTIMATORS and workload.to is not None:
            # Beside the receiver are the probes that passed the bottleneck, and no others.
            points.append(workload.to)
            continue
        sender = workload.data_from
        points += (
            [sender]
            if sender is not None
            else [workload.host, *([workload.to] if workload.to else [])]
        )
    return tuple(dict.fromkeys(points))


def _occupied(workloads: Sequence[Workload], services: Sequence[Service]) -> set[str]:
    """The hosts on which a workload or its server runs as a process."""
    found = {workload.host for workload in workloads} | {service.host for service in services}
    return found | {
        workload.to
        for workload in workloads
        if workload.to is not None and workload.kind != "command"
    }


def _samples(
    root: Table, hosts: Sequence[str], workloads: Sequence[Workload]
) -> tuple[bool, Watch]:
    """Whether samples are taken, and which hosts have monitors of their own."""
    table = root.table("samples")
    if table is None:
        return True, Watch()
    enabled = table.flag("enabled", True)
    key = "naps" if "naps" in table else "wakeups"  # as earlier versions called it
    wakeups, spin = table.span_above_zero(key, None), table.span_above_zero("spin", None)
    if wakeups is not None and not _SHORTEST_WAKEUP_INTERVAL <= wakeups <= SECOND:
        raise table.error(key, "wake-ups are 1 ms to 1 s apart", 'give "5ms"')
    if spin is not None and spin > SECOND:
        raise table.error(
            "spin",
            "it is the time in every second, 1 s at most",
            'give "100ms", or "1s" to spin all the time',
        )
    named = table.texts("hosts") if "hosts" in table else ()
    for name in named:
        if name not in hosts:
            raise table.error("hosts", f"no host named {name}", nearest(name, hosts))
    sockets = table.span_above_zero("sockets", None)
    if sockets is not None and not _SHORTEST_SOCKET_INTERVAL <= sockets <= SECOND:
        raise table.error("sockets", "sockets are sampled every 10 ms to 1 s", 'give "10ms"')
    if sockets is not None and not enabled:
        raise table.error("enabled", "sockets are samples too", "leave out enabled, or sockets")
    if wakeups is None and spin is None:
        if named:
            raise table.error(
                "hosts",
                "no monitor is enabled for them",
                'give wakeups = "5ms", spin = "100ms", or both',
            )
        watch = Watch(sockets_ns=sockets)
    elif not enabled:
        raise table.error(
            "enabled", f"{key} and spin are samples too", "leave out enabled, or both of them"
        )
    else:
        watch = Watch(
            hosts=tuple(dict.fromkeys(named)) or _at_the_senders(workloads),
            wakeups_ns=wakeups,
            spin_ns=spin,
            sockets_ns=sockets,
        )
    table.close()
    return enabled, watch


def _emulator(root: Table) -> Emulator:
    table = root.table("emulator")
    if table is None:
        return Emulator()
    found = Emulator(
        ledger=table.choice("ledger", ("packets", "summary"), "packets"),
        priority=table.choice("priority", ("fifo", "normal"), "fifo"),
        idle=table.choice("idle", ("poll", "halt"), "poll"),
    )
    table.close()
    return found


def _check_names(
    root: Table,
    workloads: Sequence[Workload],
    backgrounds: Sequence[Background],
    services: Sequence[Service],
) -> None:
    """Results are filed under the names of their sources, so every name must be unique."""
    taken = {workload.name: "workload" for workload in workloads}
    for kind, names in (
        ("background", [one.name for one in backgrounds]),
        ("services", [one.name for one in services]),
    ):
        for name in names:
            other = taken.setdefault(name, kind)
            if other != kind:
                raise root.source.error(
                    (kind, name),
                    f"{name} is a name in [{other}] as well",
                    "give one of them another name",
                )


def _check_ports(root: Table, scenario: Scenario) -> None:
    ends = {
        name for background in scenario.backgrounds for name in (background.source, background.to)
    }
    last = BACKGROUND_PORT + 2 * len(scenario.backgrounds) - 1
    for service in scenario.services:
        if service.host in ends and BACKGROUND_PORT <= service.port <= last:
            message = f"ports {BACKGROUND_PORT} to {last} are reserved for background traffic"
            raise root.source.error(
                ("services", service.name, "port"), message, "give the service another port"
            )
    taken = {
        (service.host, service.port): f"the service {service.name}" for service in scenario.services
    }
    for workload in scenario.workloads:
        if workload.service is not None or workload.kind == "command" or workload.to is None:
            continue
        listener = (
            workload.host
            if workload.kind == "bulk" and workload.heading == "reverse"
            else workload.to
        )
        other = taken.get((listener, workload.port))
        if other is not None:
            message = f"needs port {workload.port} on {listener}, which {other} has"
            raise root.source.error(
                ("workload", workload.name), message, "give the service another port"
            )


def _check_faults(root: Table, scenario: Scenario) -> None:
    last = max(workload.start_ns + workload.limit_ns for workload in scenario.workloads)
    for fault in scenario.faults:
        if fault.start_ns >= last:
            message = "begins after every workload has ended"
            raise root.source.error(
                ("faults", fault.name, "start"),
                message,
                "start it earlier, or let the workloads last longer",
            )


def _check_paths(root: Table, network: Network, scenario: Scenario) -> None:
    pairs: list[tuple[Path, str, str]] = []
    for workload in scenario.workloads:
        if workload.to is not None:
            pairs.append((("workload", workload.name), workload.host, workload.to))
    for background in scenario.backgrounds:
        pairs.append((("background", background.name), background.source, background.to))
    reachable = {host.name: reached(network, host.name) for host in network.hosts}
    # The emulator needs a path between any two hosts.
    pairs += [
        (("hosts", there), here, there) for here, there in itertools.combinations(reachable, 2)
    ]
    for path, here, there in pairs:
        for source, target in ((here, there), (there, here)):
            if target not in reachable[source]:
                hint = (
                    "add a link that joins them; routers forward, hosts do not ([topology] routers)"
                )
                raise root.source.error(path, f"no path leads from {source} to {target}", hint)


def _check_processors(root: Table, scenario: Scenario) -> None:
    """Checks that one thing decides where processes run: a container's control group, or a pin."""
    containers = {host.name for host in scenario.containers}
    for fault in scenario.faults:
        if fault.kind == "cpu-quota" and fault.host in containers:
            raise root.source.error(
                ("faults", fault.name, "kind"),
                f"a quota takes processes out of the control group of {fault.host}, a container",
                "limit the container itself: container = { image = …, cpus = 0.5 }",
            )
    for fault in scenario.faults:
        if fault.kind == "spinner" and scenario.host(fault.host).pin:
            raise root.source.error(
                ("faults", fault.name, "kind"),
                f"a spinner chooses the processor of {fault.host}, which is pinned",
                "leave out pin, or the spinner",
            )
    watched = next((name for name in scenario.watch.hosts if name in containers), None)
    if watched is not None:
        raise root.source.error(
            ("samples", "hosts"),
            f"indicators run outside the control group of {watched}, a container",
            "watch hosts that are none, or leave wakeups and spin out",
        )


def _check_guests(root: Table, scenario: Scenario) -> None:
    """Checks what a guest cannot do: of this machine's files it has only the agent."""
    guests = {host.name for host in scenario.guests}
    for name in (*(host.name for host in scenario.hosts), *scenario.routers):
        if name.removesuffix(INSIDE) in guests - {name}:
            message = f"is also the capture point inside the guest {name.removesuffix(INSIDE)}"
            raise root.source.error(("hosts", name), message, "give it another name")
    for workload in scenario.workloads:
        hosts = (workload.host, workload.to) if workload.kind == "iperf3" else (workload.host,)
        inside = next((name for name in hosts if name in guests), None)
        if workload.kind in ESTIMATORS and {workload.host, workload.to} & guests:
            message = (
                f"the emulated NIC of a guest releases the packets of {workload.kind} in bursts"
            )
            raise root.source.error(
                ("workload", workload.name, "kind"), message, "give it hosts that are namespaces"
            )
        if workload.kind in TOOLS and inside is not None:
            message = f"{workload.kind} is a program on this machine, and {inside} is a guest"
            raise root.source.error(
                ("workload", workload.name, "kind"),
                message,
                "bulk, http, media, video, and command (of busybox) run in guests",
            )
    for background in scenario.backgrounds:
        froms = (
            {background.source}
            if background.heading == "forward"
            else {background.source, background.to}
        )
        if background.model == "playback" and froms & guests:
            message = f"a capture is played by this machine, and {min(froms & guests)} is a guest"
            raise root.source.error(
                ("background", background.name, "model"),
                message,
                "let another host send it; cbr and poisson run in guests",
            )
