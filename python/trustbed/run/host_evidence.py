"""Evidence about the hosts that sent the transfers of a repetition.

The evidence is the kernel's ``tcp_info`` of each socket, and the CPU time that the host's processes
waited for. It is read from the record and the samples of a complete repetition; nothing is judged.
A transfer is matched with a socket by source address and port, so background and foreign traffic
have no such evidence.

Bias: of several senders on one host, the one with the longest wait represents all, and the
throttling of a cgroup counts for every host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet

from trustbed.diagnose.evidence import Row
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of
from trustbed.diagnose.judge import HostOf
from trustbed.run import former
from trustbed.scenario import Scenario


def host_of(record: Mapping[str, Any], repetition: Path, scenario: Scenario) -> HostOf:
    """A function from a row of the transfers table to the evidence of its sending host."""
    names = {address: host.name for host in scenario.hosts for address in host.addresses}
    processors = _processors(record, repetition)
    fixed = {
        workload.name for workload in scenario.workloads if workload.send_buffer_bytes is not None
    }
    sockets = {
        end: (name, transfer)
        for name, transfer in _transfers(record)
        if (end := _end(transfer.get("local"))) is not None
    }

    def of(row: Row) -> HostEvidence | None:
        source = str(row.get("src"))
        found = sockets.get((source, int(row.get("src_port") or 0)))
        if found is None:
            return None
        name, transfer = found
        size = transfer.get("send_buffer_bytes")
        times = kernel_times(
            transfer.get("tcp") or {}, send_buffer_bytes=size, declared=name in fixed
        )
        return replace(processors(names.get(source)), kernel=times)

    return of


def process_owners(record: Mapping[str, Any]) -> dict[int, str]:
    """The host of every process that this machine sampled.

    Of a guest that is the process of its virtual machine; those within, and those of machines, have
    numbers of their own.
    """
    guests = record.get("guests") or {}
    elsewhere = guests.keys() | (record.get("machines") or {}).keys()
    owners = {
        one["process"]: one["host"]
        for one in record.get("processes") or ()
        if one["host"] not in elsewhere
    }
    return owners | {facts["pid"]: name for name, facts in guests.items() if facts.get("pid")}


def _processors(
    record: Mapping[str, Any], repetition: Path
) -> Callable[[str | None], HostEvidence]:
    """The CPU evidence of each host, computed once per host from samples that are read once."""
    machines = record.get("machines") or {}
    owners = process_owners(record)
    cgroups = _samples(repetition, "cgroups")
    by_host: dict[str | None, list[Row]] = {}
    for one in _samples(repetition, "processes"):
        by_host.setdefault(owners.get(one["process"]), []).append(one)

    @cache
    def of(host: str | None) -> HostEvidence:
        if host in machines:
            own = (_samples(repetition, f"{host}.{kind}") for kind in ("processes", "cgroups"))
            return processor_of(*own)
        return processor_of(by_host.get(host, ()), cgroups)

    return of


def _transfers(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for workload in record.get("workloads") or ():
        for transfer in (workload.get("report") or {}).get("transfers") or ():
            yield str(workload.get("name")), transfer


def _end(local: object) -> tuple[str, int] | None:
    """Address and port of ``192.0.2.1:5001`` or ``[2001:db8::1]:5001``."""
    address, colon, port = str(local or "").rpartition(":")
    return (address.strip("[]"), int(port)) if colon and port.isdigit() else None


def _samples(repetition: Path, kind: str) -> list[Mapping[str, Any]]:
    file = repetition / "samples" / f"{kind}.parquet"
    if not file.is_file():
        return []
    rows: list[Mapping[str, Any]] = former.columns(pyarrow.parquet.read_table(file)).to_pylist()
    return rows
