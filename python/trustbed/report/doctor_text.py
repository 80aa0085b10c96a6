"""Hosts that were examined, as text for a terminal: at most 100 columns, readable without colour.

Order, per host: what it is and whether it is fit; what is wrong with it, each with the reason and with what mends it; what is worth
knowing; what was looked at; what could not be known. The same facts give the same text at the same width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trustbed.diagnose.doctor_facts import HostFacts, printable
from trustbed.report import doctor_words, words
from trustbed.report.paint import Paint

WIDEST = 100
NARROWEST = 60
_PLAIN = Paint()
_INDENT = 9
_NAME = 14
_ROLES = {"fit": "trust", "review": "review", "unfit": "discard"}
Row = Mapping[str, Any]


def render(model: Row, *, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """All hosts, with a newline at the end."""
    width = max(NARROWEST, min(columns, WIDEST))
    blocks = [block for host in model["hosts"] for block in _host(host, width, paint)]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _host(host: Row, width: int, paint: Paint) -> Iterator[Sequence[str]]:
    if host["error"] is not None:
        yield list(_silent(host, width, paint))
        return
    facts = HostFacts(host["facts"])
    yield list(_head(host, facts, width, paint))
    yield list(_grave(host, width, paint))
    yield list(_notes(host, width, paint))
    yield list(_lines("Looked at", doctor_words.looked_at(facts), width, paint))
    yield list(_lines("Not known", iter(doctor_words.unknown(facts)), width, paint))


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def _silent(host: Row, width: int, paint: Paint) -> Iterator[str]:
    yield host["host"]
    for line in _wrapped(f"Could not be asked: {printable(host['error']['message'])}", width):
        yield paint("discard", line)
    yield from _wrapped(f"hint: {printable(host['error']['hint'] or 'try again')}", width)


def _head(host: Row, facts: HostFacts, width: int, paint: Paint) -> Iterator[str]:
    yield from _wrapped(f"{host['host']} · {doctor_words.machine(facts)}", width)
    count = {
        severity: sum(found["severity"] == severity for found in host["findings"])
        for severity in ("warning", "error")
    }
    for line in _wrapped(
        doctor_words.headline(host["fitness"], count["warning"], count["error"]), width
    ):
        yield paint(_ROLES[host["fitness"]], line)
    if facts.flag("ended_early"):
        yield "It was stopped before everything was tried."


def _grave(host: Row, width: int, paint: Paint) -> Iterator[str]:
    margin = " " * _INDENT
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
        yield from _wrapped(found["meaning"], width, first=margin, rest=margin)
        yield from _mended(found, width)


def _mended(found: Row, width: int) -> Iterator[str]:
    margin = " " * _INDENT
    yield from _wrapped(found["next_step"], width, first=f"{margin}→ ", rest=f"{margin}  ")


def _notes(host: Row, width: int, paint: Paint) -> Iterator[str]:
    notes = [found for found in host["findings"] if found["severity"] == "info"]
    if notes:
        yield paint("strong", "Worth knowing")
    for found in notes:
        yield from _finding(found, width, paint)
        yield from _mended(found, width)


def _finding(found: Row, width: int, paint: Paint) -> Iterator[str]:
    limit = found["threshold"]
    held = f" (threshold {words.quantity(limit, found['unit'])})" if limit else ""
    first, *rest = _wrapped(
        found["message"] + held, width, first=f"{found['severity']:<{_INDENT}}", rest=" " * _INDENT
    )
    yield paint(found["severity"], first[:_INDENT]) + first[_INDENT:]
    yield from rest


def _lines(
    title: str, lines: Iterator[doctor_words.Line], width: int, paint: Paint
) -> Iterator[str]:
    rows = list(lines)
    if rows:
        yield paint("strong", title)
    for name, said in rows:
        beside = len(name) < _NAME
        if not beside:
            yield f"  {name}"
        yield from _wrapped(
            said, width, first=f"  {name if beside else '':<{_NAME}}", rest=" " * (_NAME + 2)
        )
