"""Findings about a host, from the facts that its agent reports, and what they make of the host.

An unknown fact yields no finding: the report has the reason. The checks of interfaces are in
:mod:`trustbed.host_check.network`, those of live trials in :mod:`trustbed.host_check.live`,
thresholds and their reasons in :mod:`trustbed.host_check.thresholds`.

Bias: a report is one moment. Counters since boot describe the past; trials describe some seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from trustbed.findings import Finding
from trustbed.findings.words import (
    bytes_words,
    count_words,
    number_words,
    percent_words,
    seconds_words,
)
from trustbed.host_check import live, network
from trustbed.host_check.catalogue import finding
from trustbed.host_check.facts import HostFacts
from trustbed.host_check.thresholds import HOST_THRESHOLDS, HostThresholds

Fitness: TypeAlias = Literal["fit", "review", "unfit"]
Check: TypeAlias = Callable[[HostFacts, HostThresholds], Iterator[Finding]]

Facts: TypeAlias = Mapping[str, Any]
"""What an agent reports of its host, as JSON; :class:`HostFacts` reads it."""


class HostModel(TypedDict):
    """A checked host in JSON."""

    host: str
    fitness: str
    error: dict[str, str | None] | None
    findings: Sequence[Mapping[str, Any]]
    facts: Facts


class HostsModel(TypedDict):
    """The document of ``trustbed doctor --json``: ``summary`` counts hosts by fitness."""

    summary: dict[str, int]
    hosts: list[HostModel]


HOST = "host"
SLOW_SOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Sources that a program cannot read without the kernel, or that are read through a slow bus."""
LOW_CLASSES = frozenset({"batch", "idle"})
"""Classes of sched(7) with a lower priority than ordinary programs."""
STEADY_GOVERNORS = frozenset({"performance", "userspace"})
"""Governors that do not change the frequency by themselves."""


def _clock_source(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    source, cost = facts.text("clock.source"), facts.seconds("live.clock.read_p50_ns")
    slow = cost is not None and cost >= limits.clock_read_seconds
    if slow or source in SLOW_SOURCES:
        read = "" if cost is None else f", and reading it takes {seconds_words(cost)}"
        available = " ".join(facts.texts("clock.available") or ("unknown",))
        yield finding(
            "machine_clock_source",
            f"time is read from {source or 'an unknown source'}{read}",
            value=cost,
            threshold=limits.clock_read_seconds,
            scope=HOST,
            evidence=f"available: {available}",
        )


def _synchronisation(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    synchronised, error = (
        facts.flag("synchronisation.synchronised"),
        facts.seconds("synchronisation.estimated_error_ns"),
    )
    programs = (
        ", ".join(facts.texts("synchronisation.programs") or ())
        or "no program that disciplines clocks is visible"
    )
    if synchronised is False:
        most = facts.seconds("synchronisation.maximum_error_ns")
        message = "by the kernel, the clock is not synchronised"
        yield finding(
            "machine_clock_unsynchronised",
            message,
            value=most,
            scope=HOST,
            evidence=f"adjtimex(2); {programs}",
        )
    elif synchronised and error is not None and error >= limits.clock_error_seconds:
        yield finding(
            "machine_clock_error",
            f"the clock may be off by {seconds_words(error)}, by the kernel's estimate",
            value=error,
            threshold=limits.clock_error_seconds,
            scope=HOST,
            evidence=f"adjtimex(2); {programs}",
        )


def _timers(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    step, slack, tick = (
        facts.seconds("clock.timer_resolution_ns"),
        facts.seconds("clock.timer_slack_ns"),
        facts.number("system.tick_hz"),
    )
    if step is not None and step >= limits.timer_resolution_seconds:
        message = f"timers expire in steps of {seconds_words(step)}"
        yield finding(
            "machine_timers_coarse",
            message,
            value=step,
            threshold=limits.timer_resolution_seconds,
            scope=HOST,
        )
    if slack is not None and slack > limits.timer_slack_seconds:
        message = f"timers may expire up to {seconds_words(slack)} late"
        yield finding(
            "machine_timer_slack",
            message,
            value=slack,
            threshold=limits.timer_slack_seconds,
            scope=HOST,
        )
    if tick is not None and 0 < tick < limits.tick_hz:
        message = f"the tick comes {tick:.0f} times a second, every {seconds_words(1 / tick)}"
        yield finding(
            "machine_tick_slow", message, value=tick, threshold=limits.tick_hz, scope=HOST
        )


def _processors(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    allowed, online = facts.numbers("processors.allowed"), facts.numbers("processors.online")
    if allowed and len(allowed) < limits.processors:
        of = "" if online is None else f" of {len(online)}"
        yield finding(
            "machine_few_processors",
            f"{count_words(len(allowed), 'processor')}{of} may be used",
            value=float(len(allowed)),
            threshold=limits.processors,
            scope=HOST,
        )
    shared = facts.texts("processors.siblings")
    if shared and facts.flag("processors.smt_active") is not False:
        listed = "; ".join(shared[:8]) + (" …" if len(shared) > 8 else "")
        message = (
            f"{count_words(len(shared), 'core')} of those that may be used appear as several "
            f"processors"
        )
        yield finding(
            "machine_shared_cores",
            message,
            value=float(len(shared)),
            scope=HOST,
            evidence=f"processors {listed}",
        )


def _frequency(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    governors = facts.texts("processors.frequency.governors") or ()
    changing = [name for name in governors if name not in STEADY_GOVERNORS]
    if changing:
        drivers = ", ".join(facts.texts("processors.frequency.drivers") or ("unknown",))
        message = f"the governor of the processors' frequency is {', '.join(changing)}"
        yield finding(
            "machine_frequency_changes", message, scope=HOST, evidence=f"driver: {drivers}"
        )
    if facts.flag("processors.frequency.boost"):
        yield finding(
            "machine_boost",
            "frequencies above the nominal one are used while heat allows",
            scope=HOST,
        )
    states = [
        state
        for state in facts.parts("processors.idle.states")
        if state.flag("disabled") is not True
    ]
    exits = [
        (state.seconds("exit_latency_ns") or 0.0, state.text("name") or "a state")
        for state in states
    ]
    slowest, name = max(exits, default=(0.0, ""))
    if slowest >= limits.idle_exit_seconds:
        message = f"to wake up from {name} takes a processor up to {seconds_words(slowest)}"
        yield finding(
            "machine_deep_sleep",
            message,
            value=slowest,
            threshold=limits.idle_exit_seconds,
            scope=HOST,
        )


def _surroundings(facts: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    name, vendor = facts.hypervisor, facts.text("virtual.vendor")
    if facts.flag("virtual.hypervisor_flag") or name:
        described = ", ".join(one for one in (name, vendor, facts.text("virtual.product")) if one)
        yield finding(
            "machine_virtual",
            f"a hypervisor runs this machine{f': {described}' if described else ''}",
            scope=HOST,
            evidence=described,
        )
    container = facts.text("virtual.container")
    if container:
        marks = ", ".join(facts.texts("virtual.container_marks") or ())
        yield finding(
            "machine_container",
            f"a container, by signs of {container}",
            scope=HOST,
            evidence=marks,
        )


def _stolen(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    now, ever = (
        facts.number("live.while_sleeping.steal_share"),
        facts.number("load.since_start.steal_share"),
    )
    share = max((one for one in (now, ever) if one is not None), default=0.0)
    if share >= limits.steal_share:
        when = "during the check" if now is not None and now >= (ever or 0.0) else "since its start"
        yield finding(
            "machine_stolen_time",
            f"the hypervisor took {percent_words(share)} of the processors' time, {when}",
            value=share,
            threshold=limits.steal_share,
            scope=HOST,
            evidence=f"/proc/stat: now {percent_words(now)}, since the start {percent_words(ever)}",
        )


def _priority(facts: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    scheduled, nice = facts.text("limits.scheduling_class"), facts.number("limits.niceness")
    if scheduled in LOW_CLASSES or (nice is not None and nice > 0):
        niceness = f"with niceness {nice:.0f}" if nice else "without niceness"
        message = f"the check runs in the class {scheduled or 'unknown'}, {niceness}"
        yield finding("machine_low_priority", message, scope=HOST)


def _load(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    idle, waiting = (
        facts.number(f"live.while_sleeping.{name}_share") for name in ("idle", "iowait")
    )
    load, online = facts.number("load.run_queue.load_1min"), facts.numbers("processors.online")
    if idle is not None:
        busy = max(0.0, 1.0 - idle - (waiting or 0.0))
        if busy >= limits.busy_share:
            message = (
                f"others used {percent_words(busy)} of the processors while the check sleptof them"
            )
            yield finding(
                "machine_busy",
                message,
                value=busy,
                threshold=limits.busy_share,
                scope=HOST,
                evidence="/proc/stat",
            )
    elif load is not None and online and load / len(online) >= limits.load_per_processor:
        each = load / len(online)
        message = f"{number_words(each)} threads competed for each processor over the last minute"
        evidence = f"load {number_words(load)}, {count_words(len(online), 'processor')}"
        yield finding(
            "machine_load",
            message,
            value=each,
            threshold=limits.load_per_processor,
            scope=HOST,
            evidence=evidence,
        )
    for code, name, limit in (
        ("machine_pressure", "processor", limits.pressure_share),
        ("machine_memory_pressure", "memory", limits.memory_pressure_share),
    ):
        share = facts.number(f"load.pressure.{name}_some_share")
        if share is not None and share >= limit:
            message = (
                f"a thread waited for {'a ' if name == 'processor' else ''}{name} for "
                f"{percent_words(share)} of the last ten seconds"
            )
            yield finding(
                code, message, value=share, threshold=limit, scope=HOST, evidence="/proc/pressure"
            )


def _memory(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    free, limit = (
        facts.number("load.memory.available_bytes"),
        facts.number("limits.memory_limit_bytes"),
    )
    left = None if limit is None else limit - (facts.number("limits.memory_used_bytes") or 0.0)
    known = [one for one in (free, left) if one is not None]
    if known and min(known) < limits.memory_bytes:
        group = " in the control group" if left is not None and left == min(known) else ""
        message = f"{bytes_words(max(0.0, min(known)))} of memory are left{group}"
        yield finding(
            "machine_little_memory",
            message,
            value=min(known),
            threshold=limits.memory_bytes,
            scope=HOST,
        )


def _quota(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    quota, allowed = facts.number("limits.processor_quota"), facts.numbers("processors.allowed")
    groups = ", ".join(facts.texts("limits.processor_groups") or ())
    if quota is not None and allowed and quota < len(allowed):
        message = f"a quota allows the time of {number_words(quota)} processors"
        yield finding(
            "machine_quota",
            message,
            value=quota,
            threshold=float(len(allowed)),
            scope=HOST,
            evidence=groups,
        )
    periods, ended = facts.count("limits.quota_periods"), facts.count("limits.throttled_periods")
    if periods and ended is not None and ended / periods >= limits.throttled_share:
        stopped = seconds_words(facts.seconds("limits.throttled_ns"))
        message = (
            f"a quota throttled this group in {percent_words(ended / periods)} of its "
            f"periods, for {stopped} in all"
        )
        value, limit = ended / periods, limits.throttled_share
        yield finding(
            "machine_throttled", message, value=value, threshold=limit, scope=HOST, evidence=groups
        )


def _permissions(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    for code, name, what in (
        ("machine_capture_refused", "capture", "no packet socket can be opened"),
        ("machine_realtime_refused", "realtime", "real-time priority is refused"),
        ("machine_namespaces_refused", "namespaces", "network namespaces cannot be created"),
    ):
        if facts.flag(f"permissions.{name}") is False:
            reason = facts.text(f"permissions.{name}_refused") or "no reason was given"
            held = ", ".join(facts.texts("permissions.capabilities") or ()) or "none"
            yield finding(code, f"{what}: {reason}", scope=HOST, evidence=f"capabilities: {held}")
    files = facts.number("limits.open_files_most")
    if files is not None and files < limits.open_files:
        message = f"a process may open {files:.0f} files"
        yield finding(
            "machine_open_files", message, value=files, threshold=limits.open_files, scope=HOST
        )


CHECKS: tuple[Check, ...] = (
    _clock_source,
    _synchronisation,
    _timers,
    _surroundings,
    _processors,
    _frequency,
    _stolen,
    _priority,
    _load,
    _memory,
    _quota,
    *live.CHECKS,
    *network.CHECKS,
    _permissions,
)


def host_check_findings(
    report: Facts, *, thresholds: HostThresholds = HOST_THRESHOLDS
) -> list[Finding]:
    """Every finding about a host, in a fixed order."""
    facts = HostFacts(report)
    return [found for check in CHECKS for found in check(facts, thresholds)]


def fitness(findings: Sequence[Finding]) -> Fitness:
    """An error makes a host unfit, a warning asks for a review."""
    severities = {found.severity for found in findings}
    return "unfit" if "error" in severities else "review" if "warning" in severities else "fit"
