"""The command lines of workloads that external programs carry out (ab, wrk, iperf3 …). Pure.

The options in a scenario's ``arguments`` follow ours, before the address, so that they override
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trustbed.scenario import Scenario, Workload
from trustbed.scenario.model import BUILT_IN

SECOND = 1_000_000_000
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_-]*)\}")
_MANY = 1_000_000
"""The number of requests where the duration limits the run instead.

``ab`` allocates 32 bytes for each request that it may send.
"""


def address_of(scenario: Scenario, host: str) -> str:
    """The first address of a host."""
    return scenario.host(host).addresses[0]


def filled(word: str, scenario: Scenario) -> str:
    """Replaces ``{server}`` by the address of the host ``server``."""
    addresses: Mapping[str, str] = {host.name: host.addresses[0] for host in scenario.hosts}
    return _PLACEHOLDER.sub(lambda found: addresses.get(found.group(1), found.group()), word)


def path_of(workload: Workload) -> str:
    """The HTTP path to request.

    That of a service, or of an object of the built-in server, which has one of every size.
    """
    return workload.path or f"/bytes/{workload.object_bytes}"


def command_of(workload: Workload, scenario: Scenario) -> tuple[str, ...]:
    """The command that runs on the workload's host."""
    if workload.kind == "command":
        return tuple(filled(word, scenario) for word in workload.command)
    assert workload.to is not None, "reading saw to it"
    address = address_of(scenario, workload.to)
    url = f"http://{address}:{workload.port}{path_of(workload)}"
    more = tuple(filled(word, scenario) for word in workload.command)
    seconds = workload.duration_ns / SECOND
    whole = str(max(1, round(seconds)))
    connections = str(workload.connections)
    match workload.kind:
        case "ab":
            reuse = ("-k",) if workload.reuse else ()
            # -t first: it sets a number of requests of its own, which -n then overrules.
            amount = (
                ("-n", str(workload.requests))
                if workload.requests
                else ("-t", whole, "-n", str(_MANY))
            )
            return ("ab", "-q", *reuse, "-c", connections, *amount, *more, url)
        case "wrk":
            return ("wrk", "-t", "1", "-c", connections, "-d", f"{whole}s", *more, url)
        case "httperf":
            amount = ("--num-calls" if workload.reuse else "--num-conns", str(workload.requests))
            return (
                "httperf",
                "--hog",
                "--server",
                address,
                "--port",
                str(workload.port),
                "--uri",
                path_of(workload),
                *amount,
                *more,
            )
        case "curl":
            several = f"{url}?[1-{workload.requests}]" if (workload.requests or 1) > 1 else url
            return (
                "curl",
                "-o",
                "/dev/null",
                "--max-time",
                f"{workload.limit_ns / SECOND:g}",
                *more,
                several,
            )
        case "iperf3":
            heading = ("-R",) if workload.heading == "reverse" else ()
            control = (
                ("-C", workload.congestion_control)
                if workload.congestion_control and "-u" not in more
                else ()
            )
            return (
                "iperf3",
                "-c",
                address,
                "-p",
                str(workload.port),
                "-t",
                whole,
                "-P",
                connections,
                *control,
                *heading,
                *more,
            )
    raise AssertionError(f"{workload.kind} is no external program")


def iperf3_server(workload: Workload, scenario: Scenario) -> tuple[str, ...]:
    """The server of an iperf3 workload; on a machine it listens at the measured address only."""
    assert workload.to is not None, "reading saw to it"
    is_machine = scenario.host(workload.to).machine is not None
    only = ("-B", address_of(scenario, workload.to)) if is_machine else ()
    return ("iperf3", "-s", "-p", str(workload.port), *only)


def programs(scenario: Scenario) -> dict[str, str]:
    """The external programs that this machine must have, each with the key that needs it.

    Guests, containers and machines have their own programs.
    """
    needed: dict[str, str] = {}
    others = (*scenario.guests, *scenario.containers, *scenario.machines)
    elsewhere = {host.name for host in others}
    for service in scenario.services:
        if service.host in elsewhere:
            continue
        needed.setdefault(service.command[0], f"services.{service.name}")
    for workload in scenario.workloads:
        if workload.kind not in BUILT_IN and workload.host not in elsewhere:
            needed.setdefault(command_of(workload, scenario)[0], f"workload.{workload.name}")
    return needed
