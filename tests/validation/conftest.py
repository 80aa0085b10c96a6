"""What the tests of the cross-tool validation share.

Tools that may be missing, and a talk taken through all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
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


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., Comparison]:
    """Takes a talk through trustbed, tcptrace and tshark."""

    def compare(talk: Talk, *, inner: bool = False) -> Comparison:
        needs("tcptrace")
        needs("tshark")
        path = talk.write(tmp_path / "talk.pcap")
        capture = arrivals.read(records(contents(path)), inner=inner)
        tools = Tools(None if inner else tcptrace.run(path), tshark.run(path))
        return Comparison(
            capture, connections.cut(capture.arrivals), trustbed_side.run(path, inner=inner), tools
        )

    return compare
