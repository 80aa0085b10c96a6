"""Whose a transfer is: a scenario knows addresses, hosts and ports of its workloads."""

from __future__ import annotations

from trustbed.scenario.description import BACKGROUND_PORT
from trustbed.scenario.model import Scenario


def owner(
    scenario: Scenario, source: str, source_port: int, target: str, target_port: int
) -> str | None:
    """The workload that a transfer belongs to, by its ends.

    None for background and whatever else passes.
    """
    hosts = {address: host.name for host in scenario.hosts for address in host.addresses}
    ends = {hosts.get(source), hosts.get(target)}
    ports = {source_port, target_port}
    if _is_background(scenario, ports, ends):
        return None
    for workload in scenario.workloads:
        if workload.estimator is not None:
            continue  # its only transfer is that of its control connection
        if workload.to is None:
            if workload.host in ends:
                return workload.name
        elif ends == {workload.host, workload.to} and (
            workload.kind == "command" or workload.port in ports
        ):
            return workload.name
    return None


def _is_background(scenario: Scenario, ports: set[int], ends: set[str | None]) -> bool:
    last = BACKGROUND_PORT + 2 * len(scenario.backgrounds)
    users = {
        name
        for one in scenario.backgrounds
        if one.model == "users"
        for name in (one.source, one.to)
    }
    if users & ends:
        return True
    known = any({one.source, one.to} == ends for one in scenario.backgrounds)
    return known and any(BACKGROUND_PORT <= port < last for port in ports)
