"""The tracers of system calls of a repetition: whose calls each of them records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from trustbed.agent.messages import Configuration
from trustbed.scenario import Scenario, Trace

Places = Mapping[tuple[str, str], int]
"""Processes by the workload or service that they belong to, and their host."""
ROWS = ".calls.rows"


def configuration(
    trace: Trace,
    scenario: Scenario,
    directory: Path,
    *,
    running: Places,
    commands: Mapping[str, tuple[str, ...]],
    first: int,
) -> Configuration:
    """The configuration of a tracer.

    Args:
        trace: What is to be traced.
        scenario: The scenario that it belongs to.
        directory: For the rows, ``NAME.calls.rows``.
        running: Processes that exist already.
        commands: The command lines of workloads that are programs, which start later: those are
            recognised by the name of the program.
        first: The process below which the programs of the host start: the runner's, or the first of
            a container. Of a guest or machine it is not used.
    """
    select = _select(trace, scenario, running=running, commands=commands, first=first)
    path = {} if trace.mode == "count" else {"path": str(directory / f"{trace.name}{ROWS}")}
    more = {"descriptors": True} if trace.descriptors and trace.mode == "calls" else {}
    return {**({} if select is None else {"select": select}), **path, **more}


def _select(
    trace: Trace,
    scenario: Scenario,
    *,
    running: Places,
    commands: Mapping[str, tuple[str, ...]],
    first: int,
) -> Configuration | None:
    if trace.of is None:
        return None
    process = running.get((_answering(trace.of, trace.host, scenario), trace.host))
    if process is not None:
        return {"processes": [process]}
    command = commands[trace.of]
    host = scenario.host(trace.host)
    is_elsewhere = host.guest is not None or host.machine is not None
    return {
        "command": {
            "name": PurePath(command[0]).name,
            "below": None if is_elsewhere else first,
            "descendants": True,
        }
    }


def _answering(of: str, host: str, scenario: Scenario) -> str:
    """The service that answers a workload on a host, or the workload or service itself."""
    for workload in scenario.workloads:
        if workload.name == of and host == workload.to and workload.service is not None:
            return workload.service
    return of
