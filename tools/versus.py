"""The last part of `make demo`: two testbeds that differ in one thing, compared.

The server of `examples/e1000-against-virtio.toml` is a guest with either NIC. The run is carried
out by :mod:`tools.carry_out` and compared as `trustbed compare` does; the page of the comparison
stands beside the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.live import Missing, told_of
from tools.stories import NICS
from tools.telling import NAME_WIDTH, indented
from trustbed.compare.api import Options, compare
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import Comparison
from trustbed.report.compare import page as pages
from trustbed.report.compare import verdicts
from trustbed.report.records import Row
from trustbed.report.transfer import html
from trustbed.run.directory import RunDirectory
from trustbed.run.results import open_run

PAGE = "compare.html"
ACCELERATED = "kvm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison, and how the guests were run, in words."""

    comparison: Comparison
    guests: str


def carry_out(subdirectory: Path, *, scenario: Path | None = None) -> Compared | Missing:
    """Runs both testbeds in turns and compares them, or says why that was not possible.

    ``scenario`` is another file with the same factor.
    """
    directory = RunDirectory(subdirectory / f"{NICS.name}.run")
    told = told_of(NICS, scenario or NICS.file, directory)
    if isinstance(told, Missing):
        return told
    found = compare(directory.path, options=Options(by=NICS.factor))
    guests = open_run(directory.path).model.host["guests"]
    by = guests["accelerators"]["auto"]
    how = "run by KVM" if by["name"] == ACCELERATED else f"emulated, because {by['reason']}"
    return Compared(comparison=found, guests=f"guests of QEMU {guests['qemu']} ({how})")


def lines(found: Compared | Missing) -> Iterator[str]:
    """A line or two for every level, or why there is none."""
    yield "two testbeds compared: a server on virtual machines that differ in their NIC"
    yield ""
    if isinstance(found, Missing):
        yield from indented(f"not carried out: {found.message}")
        yield from indented(f"hint: {found.hint}")
        yield ""
        return
    for name, sentences in _told(found.comparison):
        yield name
        for title, sentence in sentences:
            first, *rest = indented(sentence)
            yield f"  {title}".ljust(NAME_WIDTH) + first[NAME_WIDTH:]
            yield from rest
    yield from indented(_counted(found.comparison))
    yield ""


def chapter(found: Compared | Missing) -> html.Chapter:
    """The comparison as a part of the report."""
    if isinstance(found, Missing):
        introduction = f"This was not carried out: {found.message}. To have it, {found.hint}."
        return html.Chapter(title=NICS.title, introduction=introduction)
    notes = [
        f"{name}, {title}: {sentence}"
        for name, sentences in _told(found.comparison)
        for title, sentence in sentences
    ]
    introduction = (
        "Is one testbed a stand-in for the other? Clients fetch objects of 1 MB from a server on "
        f"{found.guests}; the two differ in their NIC alone, and were measured in turns. "
        f"{_counted(found.comparison)} {PAGE}, beside this page, has every metric with its "
        "interval."
    )
    return html.Chapter(title=NICS.title, introduction=introduction, notes=notes)


def write(found: Compared | Missing, beside: Path, about: Row) -> Path | None:
    """The page of the comparison beside another; an older one of another run is removed."""
    path = beside.with_name(PAGE)
    if isinstance(found, Missing):
        path.unlink(missing_ok=True)
        return None
    pages.write(found.comparison, path, about)
    return path


def _told(found: Comparison) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Every candidate with its levels, in sentences."""
    for case in found.cases:
        for candidate in case.candidates:
            levels = [(LEVEL_TITLES[one.level], one.sentence) for one in candidate.levels]
            yield verdicts.heading(case, candidate), levels


def _counted(found: Comparison) -> str:
    """How much this rests on."""
    said = ", ".join(f"{one.used} of {one.planned} of {one.name}" for one in found.testbeds)
    return f"Repetitions that count: {said}. Ten of each are asked for where it matters."
