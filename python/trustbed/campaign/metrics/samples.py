"""Samples of a host's agent during a round, from ``/proc`` and control groups, as observations.

Values are of the second before the sample, levels are those at its end, and times are the host's
own. Samples exist while the connections of a round do, not while it pings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.campaign.metrics.table import Observation, Scope
from trustbed.run.samples import read_lines

_SHARES = {
    "cpu_user_share": "user_share",
    "cpu_nice_share": "nice_share",
    "cpu_system_share": "system_share",
    "cpu_interrupt_share": "interrupt_share",
    "cpu_steal_share": "steal_share",
    "cpu_idle_share": "idle_share",
    "cpu_iowait_share": "iowait_share",
}
_PRESSURES = (
    "processor_some_share",
    "memory_some_share",
    "memory_full_share",
    "disk_some_share",
    "disk_full_share",
)
_TCP = (
    "received_segments",
    "sent_segments",
    "retransmitted_segments",
    "damaged_segments",
    "resets_sent",
    "opened",
    "accepted",
    "timeouts",
    "listen_drops",
)
_DIRECTIONS = ("received", "sent")
_COUNTS = ("bytes", "packets", "errors", "drops")


@dataclass(frozen=True, slots=True)
class Sampled:
    """The contents of a file of samples, and what the host did not report, with the reasons."""

    proc: Sequence[Observation] = ()
    cgroup: Sequence[Observation] = ()
    unavailable: Sequence[str] = field(default_factory=tuple)


def read_samples(file: Path) -> Sampled:
    """Reads a file of samples. Incomplete lines are left out.

    Raises:
        OSError: The file cannot be read.
    """
    proc: list[Observation] = []
    cgroup: list[Observation] = []
    for line in read_lines(file).rows:
        interval = line.get("interval_ns")
        if interval:
            moment = _Moment(
                line["at_ns"] - interval,
                interval,
                len((line.get("processors") or {}).get("busy_shares") or ()),
            )
            proc += _of_host(line, moment)
            proc += _of_interfaces(line, moment)
            proc += _of_drivers(line)
            proc += _of_processes(line, moment)
            cgroup += _of_cgroups(line, moment)
    return Sampled(proc, cgroup, _unavailable(file))


@dataclass(frozen=True, slots=True)
class _Moment:
    """The interval of a sample, and the number of processors; 0 where it is unknown."""

    time_ns: int
    interval_ns: int
    processors: int

    def level(
        self, metric: str, value: float | None, *, scope: Scope = "host", name: str | None = None
    ) -> Observation:
        return Observation(
            scope,
            name,
            metric,
            self.time_ns,
            self.interval_ns,
            None if value is None else float(value),
        )

    def rate(
        self, metric: str, grown: float | None, *, scope: Scope = "host", name: str | None = None
    ) -> Observation:
        """The rate of a counter that has grown by ``grown``."""
        return self.level(
            metric,
            None if grown is None else grown * 1e9 / self.interval_ns,
            scope=scope,
            name=name,
        )

    def used(self, used_ns: float | None, *, scope: Scope, name: str) -> Observation:
        """Processor time as a share of the node's."""
        share = (
            None
            if used_ns is None or not self.processors
            else used_ns / self.interval_ns / self.processors
        )
        return self.level("cpu_utilisation_share", share, scope=scope, name=name)


def _of_host(line: Mapping[str, Any], moment: _Moment) -> Iterator[Observation]:
    processors = line.get("processors")
    if processors is not None:
        # Where the kernel counts no ticks, all shares are 0: then none of them is known.
        known = any(processors.get(name) for name in _SHARES.values())
        idle = processors.get("idle_share") if known else None
        yield moment.level("cpu_utilisation_share", None if idle is None else 1 - idle)
        for metric, name in _SHARES.items():
            yield moment.level(metric, processors.get(name) if known else None)
        yield moment.rate("context_switches_per_second", processors.get("context_switches"))
        yield moment.rate("interrupts_per_second", processors.get("interrupts"))
    pressure = line.get("pressure")
    if pressure is not None:
        for name in _PRESSURES:
            yield moment.level(f"pressure_{name}", pressure.get(name))
    queue = line.get("run_queue")
    if queue is not None:
        yield moment.level("load_1min", queue.get("load_1min"))
        yield moment.level("tasks_running", queue.get("running"))
    memory = line.get("memory")
    if memory is not None:
        for name in ("total_bytes", "available_bytes", "free_bytes"):
            yield moment.level(f"memory_{name}", memory.get(name))
    tcp = line.get("tcp")
    if tcp is not None:
        yield moment.level("tcp_established", tcp.get("established"))
        for name in _TCP:
            yield moment.rate(f"tcp_{name}_per_second", tcp.get(name))


def _of_interfaces(line: Mapping[str, Any], moment: _Moment) -> Iterator[Observation]:
    for one in line.get("interfaces") or ():
        for direction in _DIRECTIONS:
            for what in _COUNTS:
                yield moment.rate(
                    f"network_{direction}_{what}_per_second",
                    one.get(f"{direction}_{what}"),
                    scope="interface",
                    name=one["name"],
                )


def _of_drivers(line: Mapping[str, Any]) -> Iterator[Observation]:
    """Cards have intervals of their own: some are too slow to be read every second."""
    for one in line.get("drivers") or ():
        interval = one["interval_ns"]
        for counter, grown in one["counters"].items():
            rate = grown * 1e9 / interval
            yield Observation(
                "interface",
                one["name"],
                "driver_counter_per_second",
                line["at_ns"] - interval,
                interval,
                rate,
                counter,
            )


def _of_processes(line: Mapping[str, Any], moment: _Moment) -> Iterator[Observation]:
    for one in line.get("processes") or ():
        name = str(one["process"])
        yield moment.used(one.get("ran_ns"), scope="process", name=name)
        waited = one.get("waited_ns")
        yield moment.rate(
            "cpu_waited_seconds_per_second",
            None if waited is None else waited / 1e9,
            scope="process",
            name=name,
        )
        yield moment.level(
            "memory_resident_bytes", one.get("resident_bytes"), scope="process", name=name
        )


def _of_cgroups(line: Mapping[str, Any], moment: _Moment) -> Iterator[Observation]:
    for one in line.get("cgroups") or ():
        name, periods = str(one["cgroup"]), one.get("periods")
        yield moment.used(one.get("used_ns"), scope="cgroup", name=name)
        share = one.get("throttled_periods", 0) / periods if periods else None
        yield moment.level("cpu_throttled_periods_share", share, scope="cgroup", name=name)
        throttled = one.get("throttled_ns")
        yield moment.rate(
            "cpu_throttled_seconds_per_second",
            None if throttled is None else throttled / 1e9,
            scope="cgroup",
            name=name,
        )


def _unavailable(file: Path) -> tuple[str, ...]:
    """What the host does not report, by the header of the file."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline()
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        return ()
    listed = head.get("unavailable") if isinstance(head, dict) else None
    return tuple(
        f"{one.get('what')}: {one.get('why')}" for one in listed or () if isinstance(one, dict)
    )
