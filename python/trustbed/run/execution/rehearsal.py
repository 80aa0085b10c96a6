"""A dry run: the order, traffic and networks of a run, without carrying it out."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict, replace

from trustbed.run import manifest
from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import order
from trustbed.scenario import Background, ScenarioFile
from trustbed.scenario.containers import Container
from trustbed.scenario.description import Description, topology
from trustbed.scenario.guests import Guest
from trustbed.scenario.populations import mean_load

SECOND = 1_000_000_000


class PlannedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of the first cell."""

    name: str
    kind: str
    host: str
    to: str | None
    start_ns: int
    duration_ns: int


class PlannedBackground(msgspec.Struct, frozen=True, kw_only=True):
    """A background source of any cell."""

    name: str
    model: str
    transport: str
    source: str = msgspec.field(name="from")
    to: str
    rate_bits_per_second: int | None
    packet_bytes: int | None
    start_ns: int | None
    duration_ns: int | None


class Rehearsal(manifest.Manifest, frozen=True, kw_only=True):
    """The manifest of the run, its expected time, traffic, and the network of every cell.

    Workloads are those of the first cell; background is that of all cells, each kind of it once.
    """

    expected_seconds: float
    guests: dict[str, Guest]
    containers: dict[str, Container]
    workloads: tuple[PlannedWorkload, ...]
    backgrounds: tuple[PlannedBackground, ...]
    topologies: tuple[Description, ...]


def _model(one: Background) -> str:
    return f"users of {one.file.stem}" if one.model == "users" and one.file else one.model


def _rate(one: Background) -> int | None:
    """Of users the mean, in the busier direction."""
    return round(mean_load(one).larger) if one.model == "users" else one.rate


def rehearse(study: ScenarioFile, repetitions: int | None) -> Rehearsal:
    """Describes the run that this scenario would be."""
    planned = order(
        study.cells, repetitions=repetitions or study.first.repetitions, seed=study.first.seed
    )
    forecast = Forecast([study.cells[one.cell].scenario.expected_ns / SECOND for one in planned])
    described = replace(manifest.describe(study, planned, session={}), sessions=())
    sources = dict.fromkeys(
        one for cell in study.cells for one in cell.scenario.backgrounds if not one.silent
    )
    return Rehearsal(
        **asdict(described),
        expected_seconds=forecast.left_seconds,
        guests={host.name: host.guest for host in study.first.guests if host.guest is not None},
        containers={
            host.name: host.container
            for host in study.first.containers
            if host.container is not None
        },
        workloads=tuple(
            msgspec.convert(one, PlannedWorkload, from_attributes=True)
            for one in study.first.workloads
        ),
        backgrounds=tuple(
            PlannedBackground(
                name=one.name,
                model=_model(one),
                transport=one.transport,
                source=one.source,
                to=one.to,
                rate_bits_per_second=_rate(one),
                packet_bytes=one.packet_bytes,
                start_ns=one.start_ns,
                duration_ns=one.duration_ns,
            )
            for one in sources
        ),
        topologies=tuple({"cell": cell.number, **topology(cell.scenario)} for cell in study.cells),
    )
