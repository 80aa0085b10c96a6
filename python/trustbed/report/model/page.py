"""A model of background traffic on a page: its classes, every distribution, what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.report import definitions, words
from trustbed.report.html.elements import Cell, Figure, Line, Provenance, Table
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.model import charts
from trustbed.report.model.text import value
from trustbed.report.placing import whole_file
from trustbed.report.records import Row
from trustbed.traffic.recipe import CHANGES
from trustbed.traffic.summary import ClassSummary, Distribution, Summary, summarise

if TYPE_CHECKING:
    from trustbed.traffic.model import Model

_SHOWN = (0.25, 0.5, 0.75, 0.95)
FEW = 4
"""Fewer values are listed, not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A class, or the hosts: its table and its charts."""

    title: str
    facts: str
    table: Table
    figures: Sequence[Figure]


def write(model: Model, name: str, path: Path, about: Row) -> None:
    """The page as a file, complete or not at all."""
    text = render(model, name, about)
    with whole_file(path) as stream:
        stream.write(text)


def render(model: Model, name: str, about: Row) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` returns."""
    payload, summary = Payload(), summarise(model)
    sections = [
        Section(
            title=one.name,
            facts=_facts(one),
            table=_table(one.distributions),
            figures=_figures(one.distributions, payload, one.name),
        )
        for one in summary.classes
    ]
    sections.append(
        Section(
            title="Hosts",
            facts=f"{summary.clients:,} clients and {summary.servers:,} servers, each on its own "
            "side of the link.",
            table=_table(summary.hosts),
            figures=_figures(summary.hosts, payload, "hosts"),
        )
    )
    thin = [f"{group} {one.name} ({one.count})" for group, one in summary.thin()]
    return fill(
        "model_page.html.j2",
        payload,
        title=name,
        summary=_headline(summary),
        about=model.header.about,
        origin=[
            text
            for key, text in (("Source", model.header.source), ("Licence", model.header.licence))
            for text in ([f"{key}: {text}"] if text else [])
        ],
        recipe=[
            f"{CHANGES.get(step.change, step.change)}: {step.value:g}"
            for step in model.header.recipe
        ],
        classes=_classes(summary),
        sections=sections,
        thin=thin,
        assumed=model.header.assumed,
        definitions=definitions.of("model"),
        provenance=Provenance.of(about, ()),
    )


def _headline(summary: Summary) -> str:
    connections = sum(one.connections for one in summary.classes)
    return (
        f"{words.counted(connections, 'connection')} of {words.duration(summary.seconds)}: "
        f"{words.bits(summary.load.server)} from servers and {words.bits(summary.load.client)} "
        "from clients in the mean."
    )


def _facts(one: ClassSummary) -> str:
    said = [
        words.counted(one.sessions, "session"),
        words.counted(one.connections, "connection"),
        words.counted(one.pairs, "pair") + " of request and response",
    ]
    if one.concurrent:
        said.append(f"{one.concurrent:,} connections on which both sides send at once")
    if one.datagrams:
        said.append(f"{one.datagrams:,} flows of datagrams")
    sizes = (
        f"{words.size(one.server_bytes)} from servers, {words.size(one.client_bytes)} from clients"
    )
    return f"{', '.join(said)}; {sizes}."


def _classes(summary: Summary) -> Table:
    whole = sum(one.client_bytes + one.server_bytes for one in summary.classes) or 1
    lines = [
        Line(
            name=one.name,
            cells=[
                Cell.of(words.percent, (one.client_bytes + one.server_bytes) / whole),
                Cell.of(words.size, one.client_bytes),
                Cell.of(words.size, one.server_bytes),
                Cell(f"{one.sessions:,}", one.sessions),
                Cell(f"{one.connections:,}", one.connections),
                Cell(f"{one.pairs:,}", one.pairs),
            ],
        )
        for one in summary.classes
    ]
    titles = ("Share of bytes", "From clients", "From servers", "Sessions", "Connections", "Pairs")
    return Table(first="Class", columns=[(title, "") for title in titles], lines=lines)


def _table(found: Sequence[Distribution]) -> Table:
    lines = [
        Line(
            name=f"{one.name}{', thin' if one.is_thin else ''}",
            cells=[
                Cell(f"{one.count:,}", one.count),
                *(Cell(value(one.quantile(q), one.unit), one.quantile(q)) for q in _SHOWN),
                Cell(one.meaning, None),
            ],
        )
        for one in found
        if one.count
    ]
    titles = ("Values", *(f"{q:.0%}" for q in _SHOWN), "Meaning")
    return Table(first="Distribution", columns=[(title, "") for title in titles], lines=lines)


def _figures(found: Sequence[Distribution], payload: Payload, group: str) -> list[Figure]:
    figures = []
    for one in found:
        if one.count < FEW or one.values[0] == one.values[-1]:
            continue
        middle = value(one.quantile(0.5), one.unit)
        figures.append(
            Figure(
                chart=payload.add(charts.cumulative(one)),
                title=one.name.capitalize(),
                caption=f"{one.meaning.capitalize()} ({group}): {one.count:,} values, the median "
                f"{middle}.",
                definition="empirical-distribution",
            )
        )
    return figures
