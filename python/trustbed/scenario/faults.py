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
    "cpu-quota": ("share", "period"),
    "spinner": ("busy", "every", "policy"),
    "freeze": ("stopped", "every"),
    "nic-stall": (),
}
_EXAMPLES = {
    "share": 'share = "30%"',
    "busy": 'busy = "7ms"',
    "every": 'every = "50ms"',
    "stopped": 'stopped = "35ms"',
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
        if key in _EXAMPLES:
            table.must(key, _EXAMPLES[key])
    readers: Mapping[str, Callable[[Table, Fault], Fault]] = {
        "cpu-quota": _quota,
        "spinner": _spinner,
        "freeze": _freeze,
    }
    return readers[kind](table, fault) if kind in readers else fault


def _quota(table: Table, fault: Fault) -> Fault:
    share, period = table.probability("share", 0.0), table.span("period", 10 * MILLISECOND)
    if not LEAST_PERIOD_NS <= period <= LONGEST_PERIOD_NS:
        raise table.error(
            "period", f"{table.raw('period')} is no period of a quota", "kernels take 1ms to 1s"
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
        raise table.error("share", message, f"give {needed}")
    return replace(fault, share=share, period_ns=period)


def _spinner(table: Table, fault: Fault) -> Fault:
    busy, every = table.span_above_zero("busy", 0), table.span_above_zero("every", 0)
    policy: Policy = table.choice("policy", POLICIES, "normal")
    if busy > every:
        raise table.error("busy", "is more than every", "it is busy for a part of every turn")
    if policy == "realtime" and (busy > every * MOST_REALTIME_SHARE or busy > LONGEST_REALTIME_NS):
        message = (
            f"{table.raw('busy')} of every {table.raw('every')} with real-time priority would "
            f"starve the whole machine"
        )
        raise table.error(
            "busy",
            message,
            f"give at most {MOST_REALTIME_SHARE:.0%} of the time, and at most 1s at once",
        )
    return replace(fault, busy_ns=busy, every_ns=every, policy=policy)


def _freeze(table: Table, fault: Fault) -> Fault:
    stopped, every = table.span_above_zero("stopped", 0), table.span_above_zero("every", 0)
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
