"""The chapters of a page.

The verdicts of each title, and what the testbed of their captures did.

Arranges the results of other modules: sections come from :mod:`~trustbed.report.transfer.view`,
tables and charts of a run from :mod:`~trustbed.report.run.page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from trustbed.report import definitions as page_definitions
from trustbed.report.html.elements import Pair, Table
from trustbed.report.html.payload import Payload
from trustbed.report.run import page as run
from trustbed.report.transfer.model import Chapter, Page

_WORDS = ("cell", "use", "departure_error", "ledger")
"""What the tables and charts of a testbed use of the words of a run."""
WHAT = "What the testbed did"


class OfCapture(Protocol):
    """A section that knows its capture."""

    @property
    def capture(self) -> int:
        """The index of its capture on the page."""


Section = TypeVar("Section", bound=OfCapture)


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbed:
    """The emulated links of a chapter, and the emulator's departure error."""

    anchor: str
    title: str
    repetitions: Table
    pipes: Table | None
    queues: Sequence[Pair]


@dataclass(frozen=True, slots=True)
class Shown(Generic[Section]):
    """Sections under one title; the first group of a page has none of its own."""

    chapter: Chapter | None
    anchor: str
    sections: Sequence[Section]


def grouped(page: Page, reported: Sequence[Section]) -> list[Shown[Section]]:
    """The sections by chapter, those of no chapter first. A chapter without sections stays."""
    taken = {name for chapter in page.chapters for name in chapter.captures}
    titles = [capture.title for capture in page.captures]
    free = [section for section in reported if titles[section.capture] not in taken]
    return [
        Shown(None, "verdicts", free),
        *(
            Shown(
                chapter,
                f"chapter-{number}",
                [section for section in reported if titles[section.capture] in chapter.captures],
            )
            for number, chapter in enumerate(page.chapters, start=1)
        ),
    ]


def testbeds(page: Page, payload: Payload) -> list[Testbed]:
    """The testbeds of the chapters that have a run. Adds their charts to the payload."""
    return [
        Testbed(
            anchor=f"testbed-{number}",
            title=WHAT
            if sum(one.run is not None for one in page.chapters) == 1
            else f"{chapter.title}: {WHAT[0].lower()}{WHAT[1:]}",
            repetitions=run.repetitions(chapter.run),
            pipes=run.pipes(chapter.run),
            queues=run.queues(chapter.run, payload),
        )
        for number, chapter in enumerate(page.chapters, start=1)
        if chapter.run is not None
    ]


def definitions(page: Page) -> list[page_definitions.Definition]:
    """The definitions that testbeds need, if there is one."""
    needed = _WORDS if any(chapter.run is not None for chapter in page.chapters) else ()
    return [definition for definition in page_definitions.of("run") if definition.anchor in needed]
