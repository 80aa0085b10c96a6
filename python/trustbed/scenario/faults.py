"""Reads faults injected into hosts: quotas, competitors, stops, stalled interfaces.

Faults that no machine can inject are refused here; whether this one can inject the others shows
when the run prepares them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from trustbed.scenario.model import FAULT_KINDS, POLICIES, SECOND, Fault, FaultKind, Policy
from trustbed.scenario.table import Table
from trustbed.scenario.topology import check_name
from trustbed.scenario.workloads import host_of

MILLISECOND = SECOND // 1000
LEAST_QUOTA_NS = MILLISECOND
"""The least CPU time per period that the kernel grants a control group."""
LEAST_PERIOD_NS, LONGEST_PERIOD_NS = MILLISECOND, SECOND
MOST_REALTIME_SHARE = 0.9
"""Largest share of CPU time for real-time competitors: the machine must stay responsive."""
LONGEST_REALTIME_NS = SECOND
HANG_NS = 13 * SECOND
"""Default duration of an interface stall.

As observed of hardware that hangs and is reset.
"""
_KEYS: Mapping[str, tuple[str, ...]] = {
    "cpu-quota": ("share", "period", "quota"),
    "spinner": ("busy", "every", "policy"),
    "freeze": ("stopped", "every"),
    "nic-stall": (),
}
_EXAMPLES = {
    "share": 'share = "30%", or quota = "15ms of 50ms"',
    "busy": 'busy = "7ms of 50ms"',
    "stopped": 'stopped = "35ms of 50ms"',
}


def read_faults(root: Table, hosts: Sequence[str], occupied: Collection[str]) -> tuple[Fault, ...]:
    """Every ``[faults.NAME]`` that is not switched off.

    ``occupied`` are the hosts on which something runs that can be disturbed.
    """
    found: list[Fault] = []
    for name, table in root.tables("faults").items():
        check_name(table, None, name)
        for key, example in (("kind", 'kind = "freeze"'), ("host", f'host = "{hosts[0]}"')):
            table.must(key, example)
        kind: FaultKind | None = table.choice("kind", FAULT_KINDS, None)
        host = host_of(table, "host", hosts)
        if kind is None or kind == "none":
            _accept_anything(table)
        else:
            fault = _fault(table, name, kind, host)
            _check_host(table, fault, occupied, found)
            found.append(fault)
        table.close()
    return tuple(found)


def _accept_anything(table: Table) -> None:
    """A fault that a factor switches off has the same keys as one that is on."""
    for key in ("start", "duration", *(key for keys in _KEYS.values() for key in keys)):
        table.raw(key)


def _fault(table: Table, name: str, kind: FaultKind, host: str) -> Fault:
    for other, keys in _KEYS.items():
        for key in keys:
            if key in table and key not in _KEYS[kind]:
                raise table.error(
                    key, f"has no effect on {kind}", f"it belongs to {other}: leave it out"
                )
    fault = Fault(
        name=name,
        kind=kind,
        host=host,
        start_ns=table.span("start", 0),
        duration_ns=table.span_above_zero("duration", HANG_NS if kind == "nic-stall" else None),
    )
    for key in _KEYS[kind]:
        if key in _EXAMPLES and not (key == "share" and "quota" in table):
            table.must(key, _EXAMPLES[key])
    readers: Mapping[str, Callable[[Table, Fault], Fault]] = {
        "cpu-quota": _quota,
        "spinner": _spinner,
        "freeze": _freeze,
    }
    return readers[kind](table, fault) if kind in readers else fault


def _quota(table: Table, fault: Fault) -> Fault:
    if "quota" in table:
        share, period = _granted(table)
        key = "quota"
    else:
        share, period = table.probability("share", 0.0), table.span("period", 10 * MILLISECOND)
        key = "period"
    if not LEAST_PERIOD_NS <= period <= LONGEST_PERIOD_NS:
        raise table.error(
            key,
            f"{table.raw(key)} is no period of a quota",
            "kernels take 1ms to 1s",
        )
    if share * period < LEAST_QUOTA_NS:
        message = (
            f"{share:.3g} of a period of {period / MILLISECOND:g} ms is less than the 1 ms "
            f"that kernels grant"
        )
        needed = (
            "a larger share"
            if share * LONGEST_PERIOD_NS < LEAST_QUOTA_NS
            else f"a period of at least {1 / share:.4g}ms"
        )
        raise table.error("quota" if key == "quota" else "share", message, f"give {needed}")
    return replace(fault, share=share, period_ns=period)


def _granted(table: Table) -> tuple[float, int]:
    """``quota = "5ms of 50ms"``: the share of a processor, and the period."""
    example = "5ms of 50ms"
    for other in ("share", "period"):
        if other in table:
            raise table.error(
                other, "has no effect beside quota, which states both", "leave one of the two out"
            )
    granted, period = table.part("quota", example)
    if period is None:
        raise table.error("quota", "lacks its period", f'for example "{example}"')
    if granted >= period:
        raise table.error("quota", "takes nothing away", f'for example "{example}"')
    return granted / period, period


def _turn(table: Table, key: str) -> tuple[int, int]:
    """``stopped = "35ms of 50ms"``, or ``stopped`` and ``every``."""
    part, whole = table.part(key, "35ms of 50ms")
    if whole is None:
        table.must("every", f'{key} = "35ms of 50ms", or every = "50ms"')
        return part, table.span_above_zero("every", 0)
    if "every" in table:
        raise table.error(
            "every", f"has no effect beside {key}, which states it too", "leave every out"
        )
    return part, whole


def _spinner(table: Table, fault: Fault) -> Fault:
    busy, every = _turn(table, "busy")
    policy: Policy = table.choice("policy", POLICIES, "normal")
    if busy > every:
        raise table.error("busy", "is more than every", "it is busy for a part of every turn")
    if policy == "realtime" and (busy > every * MOST_REALTIME_SHARE or busy > LONGEST_REALTIME_NS):
        message = (
            f"{busy / MILLISECOND:g} ms of every {every / MILLISECOND:g} ms with real-time "
            "priority would starve the whole machine"
        )
        raise table.error(
            "busy",
            message,
            f"give at most {MOST_REALTIME_SHARE:.0%} of the time, and at most 1s at once",
        )
    return replace(fault, busy_ns=busy, every_ns=every, policy=policy)


def _freeze(table: Table, fault: Fault) -> Fault:
    stopped, every = _turn(table, "stopped")
    if stopped >= every:
        raise table.error(
            "stopped",
            "leaves nothing of every",
            "what never runs never ends: stop it for a part of every turn",
        )
    return replace(fault, stopped_ns=stopped, every_ns=every)


def _check_host(
    table: Table, fault: Fault, occupied: Collection[str], others: Sequence[Fault]
) -> None:
    if fault.kind == "nic-stall":
        return
    if fault.host not in occupied:
        hint = (
            f"name a host of a workload: {', '.join(sorted(occupied))}"
            if occupied
            else "give a workload a host"
        )
        raise table.error("host", f"nothing runs on {fault.host} that could be disturbed", hint)
    other = next(
        (one.name for one in others if one.kind == fault.kind and one.host == fault.host), None
    )
    if other is not None:
        raise table.error(
            "kind",
            f"{other} is a {fault.kind} on {fault.host} too",
            "one of a kind on a host; put both into one",
        )
