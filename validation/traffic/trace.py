"""Traffic of a model beside the trace from which it was learned (methods: traffic.md, section 4.5).

Both as captured at the link, of the same length, without the first minute.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import trustbed
from trustbed.traffic import CLASSES, Model, extract
from trustbed.traffic.summary import summarise
from trustbed.workload.distribution import quantile
from validation.traffic.compare import LEAST, Line
from validation.traffic.generated import WARM_UP_SECONDS, Generated, generated

LEFT_OUT_SECONDS = 60.0
_ORIGIN = 1 << 20
"""The model's time 0 in both captures, in seconds: there blocks of all octaves begin."""
_QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A capture of one side, cut to what is compared."""

    capture: Path
    seconds: float


def run(trace: Path, directory: Path, *, draw: str) -> tuple[list[Line], list[Line], Generated]:
    """Learns, generates for as long as the trace, and compares: quantities, and energies."""
    model = extract(trace)
    seconds = model.header.duration_ns / 1e9
    made = generated(model, directory, seconds=seconds, draw=draw)
    left_out = LEFT_OUT_SECONDS if seconds > 2 * LEFT_OUT_SECONDS else 0.0
    # In the order of the trace the model's time begins with the traffic; else with the measurement.
    later = 0.0 if draw == "replay" else WARM_UP_SECONDS
    before = _cut(trace, directory / "trace.pcapng", left_out, seconds)
    after = _cut(made.capture, directory / "generated.pcapng", left_out + later, seconds + later)
    page(before, after, directory / "page.html")
    return quantities(before, after), energies(before, after), made


def page(before: Side, after: Side, target: Path) -> None:
    """Both as one page: rate over time and energy by time scale, side by side."""
    trustbed_command = Path(sys.executable).with_name("trustbed")
    words = ["burst", "--each", str(before.capture), str(after.capture)]
    options = ["--only", "energy,rates", "--basis", "ip", "--report", str(target), "--quiet"]
    subprocess.run([trustbed_command, *words, *options], check=True)


def _cut(capture: Path, target: Path, begin: float, end: float) -> Side:
    """The packets from ``begin`` to ``end`` seconds after the first connection began.

    That moment is the same in both captures, and on the grid of all octaves: a burst that lies in
    one block of a trace is not compared with one that lies in two.
    """
    first = _first_connection(capture)
    when = [
        datetime.datetime.fromtimestamp(first + offset, datetime.UTC).strftime(
            "%Y-%m-%dT%H:%M:%S.%fZ"
        )
        for offset in (begin, end)
    ]
    editcap = shutil.which("editcap")
    assert editcap is not None, "make tools installs it"
    shift = f"{_ORIGIN - first:.6f}"
    words = [editcap, "-A", when[0], "-B", when[1], "-t", shift, str(capture), str(target)]
    subprocess.run(words, check=True)
    return Side(capture=target, seconds=end - begin)


def _first_connection(capture: Path) -> float:
    """When the first connection with data began, in seconds since the epoch."""
    table = pa.table(trustbed.analyze(capture).connections)
    payload = pc.add(table["payload_bytes_initiator"], table["payload_bytes_responder"])
    begins = table["start_ns"].filter(pc.greater(payload, 0)).cast("int64")
    return float(pc.min(begins).as_py() / 1e9)


def _totals(side: Side) -> dict[str, dict[str, float]]:
    """Packets and payload of both directions, by class; ``all`` has the rates."""
    ports = {(rule.protocol, port): rule.name for rule in CLASSES for port in rule.ports}
    other = {rule.protocol: rule.name for rule in CLASSES if not rule.ports}
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    rows: list[dict[str, Any]] = pa.table(trustbed.analyze(side.capture).connections).to_pylist()
    for row in rows:
        protocol = {"tcp": 6, "udp": 17}[row["protocol"]]
        # What generated servers of a class without ports listen on is no class of its own.
        name = ports.get((protocol, row["responder_port"]), other[protocol])
        for group in (name, "all"):
            found[group]["packets"] += row["packets"]
            for end in ("initiator", "responder"):
                found[group][end] += row[f"payload_bytes_{end}"]
            found[group]["bytes"] += row["payload_bytes_initiator"] + row["payload_bytes_responder"]
    return found


def quantities(before: Side, after: Side) -> list[Line]:
    """Rates, packets and bytes of classes, and quartiles."""
    expected, found = _totals(before), _totals(after)
    lines = [
        Line(
            group="all",
            name=f"payload from {end}s, Mbit/s",
            expected=expected["all"][end] * 8e-6 / before.seconds,
            found=found["all"][end] * 8e-6 / after.seconds,
            tolerance=0.1,
        )
        for end in ("initiator", "responder")
    ]
    whole = expected["all"]["bytes"]
    for name, sums in sorted(expected.items(), key=lambda item: -item[1]["bytes"]):
        if name != "all" and sums["bytes"] > 0.01 * whole:
            lines += [
                Line(
                    group=name, name=key, expected=sums[key], found=found[name][key], tolerance=0.1
                )
                for key in ("packets", "bytes")
            ]
    return [*lines, *_quartiles(before, after)]


def _quartiles(before: Side, after: Side) -> list[Line]:
    models = [extract(side.capture) for side in (before, after)]
    expected, found = ({one.name: one for one in summarise(model).classes} for model in models)
    lines = []
    for name, one in expected.items():
        other = found.get(name)
        if other is None:
            continue
        for want, got in zip(one.distributions, other.distributions, strict=True):
            if want.name in ("request", "response"):
                lines += _lines(name, want.name, want.values, got.values)
    return [*lines, *_lines("all", "round trip", *(_round_trips(model) for model in models))]


def _round_trips(model: Model) -> list[float]:
    """Of the handshakes of all connections, in seconds."""
    table = model.connections
    both = pc.add(table["client_round_trip_ns"], table["server_round_trip_ns"])
    return sorted(value / 1e9 for value in both.to_pylist() if value is not None)


def _lines(group: str, name: str, want: Sequence[float], got: Sequence[float]) -> list[Line]:
    """The quartiles of sorted values, where there are enough."""
    if min(len(want), len(got)) < LEAST:
        return []
    return [
        Line(
            group=group,
            name=f"{name}, {share:.0%}",
            expected=quantile(want, share),
            found=quantile(got, share),
            tolerance=0.15,
            count=len(got),
        )
        for share in _QUANTILES
    ]


def energies(before: Side, after: Side) -> list[Line]:
    """The energy of every octave with 16 coefficients or more, in steps of log2."""
    scales = [
        {
            one["octave"]: one
            for one in trustbed.burst(side.capture, only=("energy",), basis="ip", workers=1).model[
                "energy"
            ]["octaves"]
        }
        for side in (before, after)
    ]
    lines = []
    for octave, one in scales[0].items():
        other = scales[1].get(octave)
        if other is None or min(one["count"], other["count"]) < LEAST:
            continue
        wanted, got = one["energy"], other["energy"]
        lines.append(
            Line(
                group=f"octave {octave}",
                name=f"energy at {one['scale_seconds']:g} s",
                expected=wanted,
                found=got,
                # Half a step of log2, whatever the level.
                tolerance=0.0,
                floor=0.5,
                count=other["count"],
            )
        )
    return lines
