"""Reads what is traced: ``[trace.NAME]``, system calls of a workload, a service or a whole host."""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.scenario.error import nearest
from trustbed.scenario.model import TRACE_MODES, Service, Trace, TraceMode, Workload
from trustbed.scenario.table import Table
from trustbed.scenario.topology import check_name
from trustbed.scenario.workloads import host_of

EVERY_PROCESS = "all"
"""The value of ``of`` for every process."""


def read_traces(
    root: Table, hosts: Sequence[str], workloads: Sequence[Workload], services: Sequence[Service]
) -> tuple[Trace, ...]:
    """Every ``[trace.NAME]`` that is not switched off.

    Without ``of``, what has its name is traced. Without ``host``, a service where it runs, and a
    workload where it is answered.
    """
    places = _places(workloads, services)
    found: list[Trace] = []
    for name, table in root.tables("trace").items():
        check_name(table, None, name)
        mode: TraceMode = table.choice("mode", TRACE_MODES, "calls")
        descriptors = table.flag("descriptors", False)
        of = table.text("of", name)
        is_all = of == EVERY_PROCESS
        if is_all:
            table.must("host", f'host = "{hosts[0]}"')
        trace = Trace(
            name=name,
            host=host_of(table, "host", hosts) if is_all else _host(table, of, places, hosts),
            of=None if is_all else of,
            mode=mode,
            descriptors=descriptors,
        )
        table.close()
        if mode != "off":
            found.append(trace)
    return tuple(found)


def _places(
    workloads: Sequence[Workload], services: Sequence[Service]
) -> dict[str, tuple[str, ...]]:
    """Where the processes of workloads and services run, where they are answered first."""
    places: dict[str, tuple[str, ...]] = {one.name: (one.host,) for one in services}
    for workload in workloads:
        ends = [workload.host]
        has_server = workload.kind != "command" or workload.service is not None
        if workload.to is not None and has_server:
            ends.insert(0, workload.to)
        places[workload.name] = tuple(dict.fromkeys(ends))
    return places


def _host(table: Table, of: str, places: dict[str, tuple[str, ...]], hosts: Sequence[str]) -> str:
    if of not in places:
        raise table.error(
            "of" if "of" in table else None,
            f"no workload or service named {of}",
            nearest(of, [*places, EVERY_PROCESS]),
        )
    if "host" not in table:
        return places[of][0]
    host = host_of(table, "host", hosts)
    if host not in places[of]:
        raise table.error(
            "host",
            f"no process of {of} runs on {host}",
            f'name {" or ".join(places[of])}, or trace every process there: of = "all"',
        )
    return host
