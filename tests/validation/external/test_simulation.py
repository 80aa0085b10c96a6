"""A transfer simulated by ns-3, which must be installed with a C++ compiler."""

from __future__ import annotations

import fcntl
import hashlib
from ctypes.util import find_library
from pathlib import Path

import pytest

from trustbed import analyze
from validation.external import simulated
from validation.external.answers import POINTS
from validation.external.ns3 import make
from validation.external.ns3.make import Maker, MissingError


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Maker:
    """Makes transfers anew, with a program that is kept until ns-3 or what compiles it changes."""
    found = Maker(tmp_path_factory.mktemp("ns3"))
    compiled_by = f"{find_library('ns3-core')} {Path(make.__file__).read_text(encoding='utf-8')}"
    assert pytestconfig.cache is not None
    kept = pytestconfig.cache.mkdir(f"ns3-{hashlib.sha256(compiled_by.encode()).hexdigest()[:16]}")
    (found.directory / "build").symlink_to(kept)
    try:
        with (kept / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found.program()
    except MissingError as error:
        pytest.skip(f"{error}: {error.hint}")
    return found


def test_a_transfer_is_made_once_and_read_at_three_points(maker: Maker) -> None:
    truth = maker.make("short", 1)
    assert truth is not None
    assert truth["account"]["received"] == truth["account"]["written"]
    assert not truth["account"]["left_slow_start"]
    made = maker.file("short-1", "sender").stat().st_mtime_ns
    assert maker.make("short", 1) is not None
    assert maker.file("short-1", "sender").stat().st_mtime_ns == made
    for point in POINTS:
        transfers = analyze(maker.file("short-1", point), at=point).transfers.to_pylist()
        sizes = {f"{row['src']}:{row['src_port']}": row["unique_bytes"] for row in transfers}
        assert sizes[truth["sender"]] == truth["account"]["received"]


def test_its_answers_are_scored_at_three_points(maker: Maker) -> None:
    assert maker.make("short", 1) is not None
    cases = list(simulated.cases(maker, [("short", 1), ("short", 2)], workers=1))
    assert [(case.name, case.point) for case in cases] == [("short-1", point) for point in POINTS]
