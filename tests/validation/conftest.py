"""What the tests of the cross-tool validation share.

Tools that may be missing, and a talk taken through all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.validation.talk import Talk
from validation import arrivals, connections, tcptrace, trustbed_side, tshark
from validation.compare import Comparison, Tools
from validation.records import contents, records


def needs(tool: str) -> None:
    """Skips where a tool is not installed."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


class Frames:
    """What tshark finds in talks.

    Its start costs more than the largest talk: it is asked for no talk twice, and can be asked for
    many at once, each in a network of its own.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "talks.pcap"
        self._known: dict[bytes, dict[int, tshark.Frame]] = {}

    def of(self, talk: Talk) -> dict[int, tshark.Frame]:
        """The frames of one talk."""
        if talk.capture() not in self._known:
            self._known[talk.capture()] = tshark.run(talk.write(self._file))
        return self._known[talk.capture()]

    def ask(self, builders: Iterable[Callable[[int], Talk]]) -> None:
        """Asks for talks, each of which is built in any network."""
        needs("tshark")
        together = Talk()
        begun: list[tuple[bytes, range]] = []
        for number, build in enumerate(builders, 1):
            records = build(number).records
            first = len(together.records) + 1
            begun.append((build(0).capture(), range(first, first + len(records))))
            together.records += records
        found = tshark.run(together.write(self._file))
        for capture, numbers in begun:
            own = [found[number] for number in numbers if number in found]
            earlier = min((stream for frame in own for stream in frame.streams), default=0)
            self._known[capture] = {
                number: replace(
                    frame,
                    number=number,
                    streams=tuple(stream - earlier for stream in frame.streams),
                )
                for frame in own
                for number in [frame.number - numbers.start + 1]
            }


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """What tshark finds in the talks of a file."""
    return Frames(tmp_path_factory.mktemp("frames"))


@pytest.fixture
def compared(tmp_path: Path, frames: Frames) -> Callable[..., Comparison]:
    """Takes a talk through trustbed, tcptrace and tshark."""

    def compare(talk: Talk, *, inner: bool = False) -> Comparison:
        needs("tcptrace")
        needs("tshark")
        path = talk.write(tmp_path / "talk.pcap")
        capture = arrivals.read(records(contents(path)), inner=inner)
        tools = Tools(None if inner else tcptrace.run(path), frames.of(talk))
        return Comparison(
            capture, connections.cut(capture.arrivals), trustbed_side.run(path, inner=inner), tools
        )

    return compare
