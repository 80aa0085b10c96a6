"""A model of background traffic as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trustbed.report import words
from trustbed.report.model import link
from trustbed.report.paint import Paint
from trustbed.report.text import PLAIN, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST
from trustbed.traffic.recipe import CHANGES
from trustbed.traffic.summary import QUANTILES, Distribution, Summary, summarise

if TYPE_CHECKING:
    from trustbed.traffic.model import Model
    from trustbed.traffic.profile import Profile
    from trustbed.traffic.suite import Member

_THIN = 6
"""Thin distributions that are named; of more, their number."""


def value(found: float | None, unit: str) -> str:
    """A value with its unit; a dash where there is none."""
    if found is None:
        return "–"
    if unit == "s":
        return words.duration(found)
    if unit == "B":
        return words.size(found)
    if unit == "bit/s":
        return words.bits(found)
    return f"{found:.3g}"


def short(model: Model, name: str, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """What was learned, in a few lines."""
    width, summary = fitted(columns), summarise(model)
    return joined(
        list(_head(model, summary, name, width, paint)),
        list(_classes(summary, width, paint)),
        list(_link(model, width, paint)),
        list(_assumed(model, width, paint)),
    )


def render(model: Model, name: str, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """Everything about a model."""
    width, summary = fitted(columns), summarise(model)
    blocks = [
        list(_head(model, summary, name, width, paint)),
        list(_recipe(model, width, paint)),
        list(_classes(summary, width, paint)),
        list(_link(model, width, paint)),
    ]
    for one in summary.classes:
        found = [paint("strong", one.name), *_distributions(one.distributions, width, paint)]
        blocks.append(found)
    blocks.append([paint("strong", "hosts"), *_distributions(summary.hosts, width, paint)])
    blocks += [list(_thin(summary, width, paint)), list(_assumed(model, width, paint))]
    return joined(*blocks)


def _head(model: Model, summary: Summary, name: str, width: int, paint: Paint) -> Iterator[str]:
    counts = sum(one.connections for one in summary.classes)
    parts = [
        name,
        words.duration(summary.seconds),
        words.counted(sum(one.sessions for one in summary.classes), "session"),
        words.counted(counts, "connection"),
        f"{summary.clients:,} clients, {summary.servers:,} servers",
    ]
    first, *rest = wrapped(" · ".join(parts), width)
    yield paint("strong", first)
    yield from rest
    load = summary.load
    yield from wrapped(
        f"mean load: {words.bits(load.server)} from servers, {words.bits(load.client)} from "
        "clients (IP packets)",
        width,
    )
    if summary.steps:
        yield from wrapped(learned(summary), width)
    for text in (model.header.about, _origin(model)):
        if text:
            yield from wrapped(text, width)


def learned(summary: Summary) -> str:
    """What of a variant is shown without its changes."""
    load = summary.learned
    return (
        f"as learned, before {words.counted(summary.steps, 'change')} of the recipe: "
        f"{words.bits(load.server)} from servers, {words.bits(load.client)} from clients; counts "
        "and distributions are as learned too"
    )


def _origin(model: Model) -> str:
    header = model.header
    said = [f"source: {header.source}"] if header.source else []
    return "; ".join([*said, *([f"licence: {header.licence}"] if header.licence else [])])


def _recipe(model: Model, width: int, paint: Paint) -> Iterator[str]:
    if model.header.recipe:
        yield paint("strong", "varied")
        for step in model.header.recipe:
            yield from wrapped(
                f"{CHANGES.get(step.change, step.change)}: {step.value:g}", width, "  ", "  "
            )


def _link(model: Model, width: int, paint: Paint) -> Iterator[str]:
    yield from link.lines(model.profiles, len(model.header.recipe), width, paint)


def _classes(summary: Summary, width: int, paint: Paint) -> Iterator[str]:
    whole = sum(one.client_bytes + one.server_bytes for one in summary.classes) or 1
    rows = [
        (
            one.name,
            f"{(one.client_bytes + one.server_bytes) / whole:.1%}",
            words.size(one.client_bytes),
            words.size(one.server_bytes),
            f"{one.sessions:,}",
            f"{one.connections:,}",
            f"{one.pairs:,}",
            f"{one.concurrent:,}",
        )
        for one in summary.classes
    ]
    head = (
        "class",
        "bytes",
        "clients'",
        "servers'",
        "sessions",
        "connections",
        "pairs",
        "both at once",
    )
    yield from table(head, rows, paint, width=width)


def _distributions(found: Sequence[Distribution], width: int, paint: Paint) -> Iterator[str]:
    rows = [
        (one.name, f"{one.count:,}", *(value(one.quantile(q), one.unit) for q in QUANTILES))
        for one in found
        if one.count
    ]
    head = ("", "n", *(f"{q * 100:g} %" for q in QUANTILES))
    yield from table(head, rows, paint, width=width, margin="  ")


def _thin(summary: Summary, width: int, paint: Paint) -> Iterator[str]:
    found = summary.thin()
    if not found:
        return
    named = ", ".join(f"{name} {one.name} ({one.count})" for name, one in found[:_THIN])
    more = f", and {len(found) - _THIN} more" if len(found) > _THIN else ""
    yield paint("strong", "thin")
    yield from wrapped(f"fewer than 30 values: {named}{more}", width, "  ", "  ")


def _assumed(model: Model, width: int, paint: Paint) -> Iterator[str]:
    if model.header.assumed:
        yield paint("strong", "assumed, or left out")
        for sentence in model.header.assumed:
            yield from wrapped(sentence, width, "  ", "    ")


def member(
    one: Member, profile: Profile | None, *, columns: int = WIDEST, paint: Paint = PLAIN
) -> str:
    """A background of the suite that is generated by rule."""
    width = fitted(columns)
    said = f"source: {one.source}; licence: {one.licence}"
    head = [paint("strong", one.name), *wrapped(one.about, width), *wrapped(said, width)]
    looks = [] if profile is None else [profile]
    return joined(head, [keys(one)], list(link.lines(looks, 0, width, paint)) if one.sends else [])


def keys(one: Member) -> str:
    """What to write into ``[background.NAME]``."""
    return ", ".join(f'{key} = "{word}"' for key, word in one.keys.items())


def suite(
    members: Sequence[Member],
    loads: Sequence[str],
    profiles: Sequence[Profile | None],
    *,
    paint: Paint,
) -> str:
    """The backgrounds that come with trustbed, with the Hurst parameter of their larger side."""
    rows = [
        (one.name, keys(one), load, *link.scaling(profile), one.about)
        for one, load, profile in zip(members, loads, profiles, strict=True)
    ]
    head = ("name", "keys", "load as it is", "Hurst parameter", "fit quality", "")
    return joined(list(table(head, rows, paint, width=None, left=6)))
