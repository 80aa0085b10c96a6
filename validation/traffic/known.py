"""Known truth: a model that was written down is generated, captured and extracted again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import trustbed
from trustbed.scenario import load
from trustbed.traffic import extract, rows
from trustbed.traffic.model import Model
from trustbed.traffic.summary import Summary, summarise
from trustbed.traffic.synthetic import ClassPlan, HostPlan, build, constant, lognormal, uniform
from validation.traffic.compare import LEAST, Line, kolmogorov_smirnov
from validation.traffic.generated import Generated, generated

SECONDS = 120.0
_QUANTILES = (0.25, 0.5, 0.75)
_OF_HOSTS: tuple[tuple[rows.Side, str], ...] = (
    ("client", "latency_ns"),
    ("client", "from_bits_per_second"),
    ("client", "toward_bits_per_second"),
    ("server", "latency_ns"),
    ("server", "toward_bits_per_second"),
)


def model() -> Model:
    """Two classes whose distributions are far from each other, and hosts of all sorts."""
    return build(
        "known",
        [
            ClassPlan(
                name="HTTP",
                port=80,
                sessions_per_second=3.0,
                connections=uniform(1, 6),
                connection_gap=uniform(0.02, 0.4),
                pairs=uniform(1, 5),
                request=lognormal(400, 0.5),
                response=lognormal(8_000, 1.2),
                user_think=lognormal(0.3, 0.8),
                server_think=lognormal(0.012, 0.7),
            ),
            ClassPlan(
                name="SSH",
                port=22,
                sessions_per_second=0.6,
                pairs=uniform(3, 10),
                request=lognormal(60, 0.3),
                response=lognormal(200, 0.8),
                user_think=lognormal(0.5, 0.6),
                server_think=lognormal(0.006, 0.5),
            ),
        ],
        HostPlan(
            number=500,
            latency=uniform(0.001, 0.02),
            toward_rate=uniform(5e6, 50e6),
            from_rate=uniform(5e6, 50e6),
        ),
        # Faster than all clients, or their own links would not be the narrowest.
        HostPlan(number=40, latency=uniform(0.005, 0.06), toward_rate=constant(90e6)),
        seconds=SECONDS,
        seed=11,
        about="written down",
    )


def run(directory: Path) -> tuple[list[Line], Generated]:
    """Generates, extracts again, and compares."""
    offered = model()
    made = generated(offered, directory, seconds=SECONDS, draw="independent")
    again = extract(made.capture)
    lines = distributions(summarise(offered), summarise(again))
    return [*lines, *_hosts(offered, again, made)], made


def distributions(offered: Summary, found: Summary) -> list[Line]:
    """Every distribution of every class: its quartiles, and the distance of the whole."""
    lines = []
    classes = {one.name: one for one in found.classes}
    for one in offered.classes:
        other = classes.get(one.name)
        if other is None:
            continue
        for expected, got in zip(one.distributions, other.distributions, strict=True):
            if expected.name == "session gap":
                # Scaled to what came: a rate, not a shape, for the seeds differ.
                continue
            if min(expected.count, got.count) < LEAST:
                continue
            # A count of 1 to 6 has quartiles that jump; times below 1 ms are the kernel's.
            floor = 1.0 if not expected.unit else 1e-3 if expected.unit == "s" else 1.0
            lines += [
                Line(
                    group=one.name,
                    name=f"{expected.name}, {share:.0%}",
                    expected=expected.quantile(share),
                    found=got.quantile(share),
                    tolerance=0.05,
                    floor=floor,
                    count=got.count,
                )
                for share in _QUANTILES
            ]
            distance = kolmogorov_smirnov(expected.values, got.values)
            # The two-sample test at 1 % (Smirnov's limit).
            limit = 1.628 * ((expected.count + got.count) / (expected.count * got.count)) ** 0.5
            lines.append(
                Line(
                    group=one.name,
                    name=f"{expected.name}, distance (at most {limit:.3f})",
                    expected=0.0,
                    found=distance,
                    tolerance=0.0,
                    floor=limit,
                    count=got.count,
                )
            )
    return lines


def _hosts(offered: Model, again: Model, made: Generated) -> list[Line]:
    """Shares of hosts whose latency and capacity came back within a tenth."""
    addresses = _addresses(made)
    lines = []
    for side, key in _OF_HOSTS:
        wanted, got = (rows.hosts(model, side) for model in (offered, again))
        pairs = [
            (getattr(wanted[number], key), getattr(host, key))
            for number, host in zip(addresses[side], got, strict=True)
            if getattr(host, key) is not None
        ]
        near = sum(abs(found / expected - 1) <= 0.1 for expected, found in pairs)
        lines.append(
            Line(
                group=f"{side}s",
                name=f"{key.split('_')[0]} within 10 %",
                expected=1.0 if pairs else None,
                found=near / len(pairs) if pairs else None,
                tolerance=0.1,
                count=len(pairs),
            )
        )
    return lines


def _addresses(made: Generated) -> dict[str, list[int]]:
    """The number of each host in what was offered, in the order of the extracted model.

    A model has no addresses; its hosts are numbered as they are first seen, in connections with
    data. In the scenario they have their addresses by the numbers of the offer.
    """
    scenario = load(made.scenario).first
    (background,) = scenario.backgrounds
    table = pa.table(trustbed.analyze(made.capture).connections)
    payload = pc.add(table["payload_bytes_initiator"], table["payload_bytes_responder"])
    seen = table.filter(pc.greater(payload, 0)).sort_by("start_ns")
    found = {}
    for side, host, column in (
        ("client", background.source, "initiator"),
        ("server", background.to, "responder"),
    ):
        numbers = {address: at for at, address in enumerate(scenario.host(host).addresses)}
        found[side] = [numbers[address] for address in dict.fromkeys(seen[column].to_pylist())]
    return found
