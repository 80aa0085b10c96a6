"""Hosts that were examined, as text for a terminal: at most 100 columns, readable without colour.

Order, per host: what it is and whether it is fit; what is wrong with it, each with the reason and
how to fix it; notes; what was checked; what is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trustbed.host_check.facts import HostFacts, printable
from trustbed.host_check.findings import HostModel, HostsModel
from trustbed.report import words
from trustbed.report.host import words as doctor_words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import INDENT, PLAIN, finding_lines, fitted, joined, wrapped
from trustbed.report.text import WIDEST as WIDEST

_NAME = 14
_ROLES = {"fit": "trust", "review": "review", "unfit": "discard"}


def render(model: HostsModel, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """All hosts, with a newline at the end."""
    width = fitted(columns)
    blocks = [block for host in model["hosts"] for block in _host(host, width, paint)]
    return joined(*blocks)


def _host(host: HostModel, width: int, paint: Paint) -> Iterator[Sequence[str]]:
    if host["error"] is not None:
        yield list(_failed(host, host["error"], width, paint))
        return
    facts = HostFacts(host["facts"])
    yield list(_head(host, facts, width, paint))
    yield list(_grave(host, width, paint))
    yield list(_notes(host, width, paint))
    yield list(_lines("Checked", doctor_words.checked(facts), width, paint))
    yield list(_lines("Unknown", iter(doctor_words.unknown(facts)), width, paint))


def _failed(
    host: HostModel, error: Mapping[str, str | None], width: int, paint: Paint
) -> Iterator[str]:
    yield host["host"]
    for line in wrapped(f"Could not be checked: {printable(error['message'] or '')}", width):
        yield paint("discard", line)
    yield from wrapped(f"hint: {printable(error['hint'] or 'try again')}", width)


def _head(host: HostModel, facts: HostFacts, width: int, paint: Paint) -> Iterator[str]:
    yield from wrapped(f"{host['host']} · {doctor_words.machine(facts)}", width)
    count = {
        severity: sum(found["severity"] == severity for found in host["findings"])
        for severity in ("warning", "error")
    }
    for line in wrapped(
        doctor_words.headline(host["fitness"], count["warning"], count["error"]), width
    ):
        yield paint(_ROLES[host["fitness"]], line)
    if facts.flag("ended_early"):
        yield "Stopped before all checks were complete."


def _grave(host: HostModel, width: int, paint: Paint) -> Iterator[str]:
    margin = " " * INDENT
    order = [
        found
        for severity in ("error", "warning")
        for found in host["findings"]
        if found["severity"] == severity
    ]
    for number, found in enumerate(order):
        if number:
            yield ""
        yield from _finding(found, width, paint)
        yield from wrapped(found["meaning"], width, first=margin, rest=margin)
        yield from _how_to_fix(found, width)


def _how_to_fix(found: Row, width: int) -> Iterator[str]:
    margin = " " * INDENT
    yield from wrapped(found["next_step"], width, first=f"{margin}→ ", rest=f"{margin}  ")


def _notes(host: HostModel, width: int, paint: Paint) -> Iterator[str]:
    notes = [found for found in host["findings"] if found["severity"] == "info"]
    if notes:
        yield paint("strong", "Notes")
    for found in notes:
        yield from _finding(found, width, paint)
        yield from _how_to_fix(found, width)


def _finding(found: Row, width: int, paint: Paint) -> Iterator[str]:
    limit = found["threshold"]
    held = f" (threshold {words.quantity(limit, found['unit'])})" if limit else ""
    yield from finding_lines(found, width, paint, held)


def _lines(
    title: str, lines: Iterator[doctor_words.Line], width: int, paint: Paint
) -> Iterator[str]:
    rows = list(lines)
    if rows:
        yield paint("strong", title)
    for name, message in rows:
        beside = len(name) < _NAME
        if not beside:
            yield f"  {name}"
        yield from wrapped(
            message, width, first=f"  {name if beside else '':<{_NAME}}", rest=" " * (_NAME + 2)
        )
