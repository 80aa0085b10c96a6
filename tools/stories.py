"""What the live part of `make demo` carries out: its scenarios, and the story of each transfer.

Says what is meant to be shown; whether it came out so is for the packets to say
(:mod:`tools.live`). Imports nothing of Arrow's, because whoever carries the scenarios out must not
(:mod:`tools.carry_out`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from trustbed.scenario import ScenarioFile

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A cell of a scenario, by the name that the demo gives it.

    ``levels`` are the cell's. ``text`` says what happens in it, ``meant`` is the verdict that this
    should lead to, ``beside`` names the cell that is its control.
    """

    name: str
    levels: tuple[str, ...]
    text: str
    meant: Literal["trust", "review", "discard"]
    beside: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A scenario with some of its cells, and the title of its part of the page.

    The cells run in the order of their stories.
    """

    name: str
    file: Path
    title: str
    stories: tuple[Story, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the cells that are carried out."""
        return tuple(story.name for story in self.stories)

    def chosen(self, scenario: ScenarioFile) -> ScenarioFile:
        """The scenario with these cells alone, in their order."""
        cells = {tuple(cell.levels.values()): cell for cell in scenario.cells}
        return replace(
            scenario,
            cells=tuple(
                replace(cells[story.levels], number=number)
                for number, story in enumerate(self.stories)
            ),
        )


NETWORK = Study(
    name="network",
    file=EXAMPLES / "demo.toml",
    title="Live, on this machine",
    stories=(
        Story(
            name="live-healthy",
            levels=("none", "0%"),
            text="Nobody else on the link, nothing lost. The receiver's buffer is smaller than "
            "what fits into the path: the window that it "
            "allows is the limit, and the transfer reaches it. The number is true.",
            meant="trust",
        ),
        Story(
            name="live-background",
            levels=("poisson", "0%"),
            text="The same transfer, and others send 14 Mbit/s at random moments through the "
            "same 20 Mbit/s. Packets wait in the link's "
            "queue, and the RTT shows it. This is the network under load: the number is true.",
            meant="trust",
            beside="live-healthy",
        ),
        Story(
            name="live-loss",
            levels=("none", "2%"),
            text="The same transfer, nobody else, but the link loses two packets in a hundred. "
            "We know that it was the link, because we "
            "made it; the packets beside the sender cannot say where they were lost, so "
            "somebody has to look.",
            meant="review",
            beside="live-healthy",
        ),
    ),
)

_STARVED = "Live, a starved sender"

GUEST = Study(
    name="guest",
    file=EXAMPLES / "starved-guest.toml",
    title=_STARVED,
    stories=(
        Story(
            name="live-guest",
            levels=("none",),
            text=(
                "A virtual machine sends, left alone: whenever it may, until its window is "
                "full. The number is true."
            ),
            meant="trust",
        ),
        Story(
            name="live-guest-starved",
            levels=("freeze",),
            text="The same machine on the same link, but of every 180 ms it does not run for "
            "120, as under a hypervisor that has too many "
            "guests for its processors. Nothing is lost, and the RTT is the path's own as "
            "before; only the throughput is gone. The machine "
            "was measured, not the network.",
            meant="discard",
            beside="live-guest",
        ),
    ),
)

PROCESS = Study(
    name="process",
    file=EXAMPLES / "starved-process.toml",
    title=_STARVED,
    stories=(
        Story(
            name="live-process",
            levels=("none",),
            text="A process sends, left alone. Its send buffer is small, but holds more than "
            "its window: the window is the limit, and the "
            "transfer reaches it. The number is true.",
            meant="trust",
        ),
        Story(
            name="live-process-starved",
            levels=("freeze",),
            text="The same process, stopped for 400 of every 600 ms. The kernel sends what is "
            "left in the small buffer; then nothing is "
            "sent until the process goes on. Nothing is lost, and the RTT is the path's "
            "own as before; only the throughput is gone. The "
            "machine was measured, not the network.",
            meant="discard",
            beside="live-process",
        ),
    ),
)

STUDIES = (NETWORK, GUEST, PROCESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbeds:
    """A scenario of which one factor makes testbeds, to be compared."""

    __test__ = False  # it is no test, whatever pytest makes of the name

    name: str
    file: Path
    title: str
    factor: str


NICS = Testbeds(
    name="testbeds",
    file=EXAMPLES / "e1000-against-virtio.toml",
    title="Live, two testbeds compared",
    factor="hosts.server.guest",
)
