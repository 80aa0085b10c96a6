"""The state of a watch as OpenMetrics text, version 1.0.

See https://prometheus.io/docs/specs/om/open_metrics_spec/.

Windows are shorter than the time between two scrapes, so that a gauge shows one of many: the
histogram of queues counts them all, and the counters give mean rates over any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from trustbed.report.printable import printable
from trustbed.watch.engine import Facts, Statistics, Window
from trustbed.watch.history import BOUNDS, Direction, History

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_PREFIX = "trustbed_watch_"
_ABOUT: tuple[Literal["interface", "mode", "basis", "timestamps", "offload"], ...] = (
    "interface",
    "mode",
    "basis",
    "timestamps",
    "offload",
)

Value = float | int | None


def render(history: History, facts: Facts, statistics: Statistics, started: float) -> str:
    """The whole text, with ``# EOF`` at its end. Unknown values are left out."""
    interface = {"interface": facts["interface"]}
    lines = [*_about(facts, started, interface), *_kernel(statistics, interface)]
    with history.lock:
        lines += _directions(list(history.directions.values()), interface)
    return "\n".join([*lines, "# EOF", ""])


def _about(facts: Facts, started: float, interface: Mapping[str, str]) -> Iterable[str]:
    yield from _family("interface", "info", "What is watched, and how.")
    yield _sample("interface_info", {name: str(facts[name]) for name in _ABOUT}, 1)
    yield from _gauge(
        "start_time_seconds",
        "seconds",
        "When the watch began, in seconds since 1970.",
        interface,
        started,
    )
    yield from _gauge(
        "window_seconds", "seconds", "Length of a window.", interface, facts["window_seconds"]
    )
    if facts["rate_bits_per_second"] is not None:
        text = "Rate of the virtual bottleneck."
        yield from _gauge(
            "bottleneck_bits_per_second",
            "bits_per_second",
            text,
            interface,
            facts["rate_bits_per_second"],
        )


def _kernel(statistics: Statistics, interface: Mapping[str, str]) -> Iterable[str]:
    counters = [
        (
            "kernel_received_frames",
            statistics["kernel_received"],
            "Frames that the kernel handed over.",
        ),
        (
            "kernel_dropped_frames",
            statistics["kernel_dropped"],
            "Frames that found no room in the ring: they are in no other number.",
        ),
        ("ring_full", statistics["ring_full"], "How often the ring was full."),
        ("filtered_frames", statistics["filtered"], "Frames that the filter does not mean."),
        (
            "frames_without_ip",
            statistics["without_ip"],
            "Frames left out because only IP lengths count and they have none.",
        ),
        (
            "expanded_super_packets",
            statistics["expanded_packets"],
            "Packets of offload that were cut into frames of the wire.",
        ),
        (
            "late_packets",
            statistics["steps_back"],
            "Packets moved forward because the clock had stepped back.",
        ),
        (
            "clock_steps",
            statistics["clock_steps"],
            "Steps back of the clock after which the windows began anew.",
        ),
    ]
    file = statistics["file"]
    if file is not None:
        counters.append(("written_frames", file["frames"], "Frames given to the file."))
    for name, value, text in counters:
        yield from _family(name, "counter", text)
        yield _sample(f"{name}_total", interface, value)
    if file is not None:
        yield from _gauge(
            "write_failed",
            "",
            "Whether the file could not be written any further.",
            interface,
            int(file["failed"]),
        )


def _directions(directions: list[Direction], interface: Mapping[str, str]) -> Iterable[str]:
    def each(
        name: str, kind: str, unit: str, text: str, value: Callable[[Direction], Value]
    ) -> Iterable[str]:
        yield from _family(name, kind, text, unit)
        for direction in directions:
            found = value(direction)
            if found is not None:
                yield _sample(
                    f"{name}_total" if kind == "counter" else name,
                    {**interface, "direction": direction.name},
                    found,
                )

    def last(value: Callable[[Window], Value]) -> Callable[[Direction], Value]:
        return lambda direction: None if direction.last is None else value(direction.last)

    yield from each(
        "packets",
        "counter",
        "",
        "Packets, those that super-packets were cut into among them.",
        lambda one: one.packets,
    )
    yield from each(
        "length_bytes",
        "counter",
        "bytes",
        "Their lengths on the chosen basis, summed up.",
        lambda one: one.bytes,
    )
    yield from each("windows", "counter", "", "Complete windows.", lambda one: one.windows)
    yield from each("trains", "counter", "", "Packet trains.", lambda one: one.trains.trains)
    rate = "Average rate of the last complete window."
    yield from each(
        "abw_bits_per_second",
        "gauge",
        "bits_per_second",
        rate,
        last(lambda window: window["abw_bits_per_second"]),
    )
    wait = (
        "Longest queue that a packet of the last complete window would have found in front of the "
        "virtual bottleneck."
    )
    yield from each(
        "max_q_bytes", "gauge", "bytes", wait, last(lambda window: window["max_q_bytes"])
    )
    yield from each(
        "max_q_sys_bytes",
        "gauge",
        "bytes",
        "The same with the packet itself.",
        last(lambda window: window["max_q_sys_bytes"]),
    )
    yield from each(
        "train_packets",
        "gauge",
        "",
        "Packets of the longest train in the last complete window.",
        last(lambda window: window["train_packets_max"]),
    )
    longest = "Longest queue of any window since the watch began."
    yield from each("highest_max_q_bytes", "gauge", "bytes", longest, lambda one: one.max_q_max)
    yield from _queues(directions, interface)


def _queues(directions: list[Direction], interface: Mapping[str, str]) -> Iterable[str]:
    name = "queue_bytes"
    yield from _family(name, "histogram", "Longest queue of every complete window.", "bytes")
    for direction in directions:
        labels = {**interface, "direction": direction.name}
        for bound, count in zip(BOUNDS, direction.buckets, strict=True):
            yield _sample(f"{name}_bucket", {**labels, "le": repr(bound)}, count)
        yield _sample(f"{name}_bucket", {**labels, "le": "+Inf"}, direction.measured)
        yield _sample(f"{name}_count", labels, direction.measured)
        yield _sample(f"{name}_sum", labels, direction.max_q_sum)


def _gauge(
    name: str, unit: str, text: str, labels: Mapping[str, str], value: float
) -> Iterable[str]:
    yield from _family(name, "gauge", text, unit)
    yield _sample(name, labels, value)


def _family(name: str, kind: str, text: str, unit: str = "") -> Iterable[str]:
    yield f"# TYPE {_PREFIX}{name} {kind}"
    if unit:
        yield f"# UNIT {_PREFIX}{name} {unit}"
    yield f"# HELP {_PREFIX}{name} {text}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{_PREFIX}{name}{{{inside}}} {value!r}"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
