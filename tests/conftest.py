"""What every test shares.

With ``TRUSTBED_STRICT=1`` a skip is a failure; in CI, and then, property tests draw the same
examples every time.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from syrupy.assertion import SnapshotAssertion

import trustbed
from tests.patience import PATIENCE
from trustbed.testbed.netns.rootless import may_make_networks

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() == "true"
Refuses = Callable[[type[Exception]], AbstractContextManager[Any]]
STRICT = os.environ.get("TRUSTBED_STRICT", "") == "1"
"""Whether a skip is a failure.

On machines that have everything, so that nothing is left out unseen.
"""

# A deadline per example would make the tests depend on how busy the machine is; the timeout per
# test is enough.
hypothesis.settings.register_profile("developer", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if IN_CI or STRICT else "developer")

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them every
# program that they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay until the end: the garbage collector need not look at them again."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_itemcollected(item: pytest.Item) -> None:
    """The quiet tests are looked for in the files that say the word."""
    if item.get_closest_marker("quiet") and "quiet" not in item.path.read_text(encoding="utf-8"):
        raise pytest.UsageError(f"{item.nodeid} is quiet, and its file does not say so")


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Where the tests are strict, a skip is a failure that names the reason."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which TRUSTBED_STRICT forbids: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns the skip of a test into a failure where the tests are strict."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turns the skip of a whole file into a failure where the tests are strict."""
    report = yield
    _forbid_skip(report)
    return report


_VARYING = {
    r"\b\d+(,\d{3})+ bytes\b": "N bytes",
    r"\bport \d+": "port N",
    r"\b127\.0\.0\.1:\d+": "127.0.0.1:N",
    r"\b[0-9a-f]{16,64}\b": "HASH",
    rf"\b{re.escape(os.uname().machine)}\b": "MACHINE",
    rf"\b{re.escape(trustbed.__version__)}\b": "VERSION",
    re.escape(str(Path(trustbed.__file__).parent)): "PACKAGE",
    r"\btrustbed-\d+\b": "trustbed-UID",
    "[‘’]": "'",
}
"""What of an error differs from run to run, or from machine to machine."""


@pytest.fixture
def refuses(tmp_path: Path, snapshot: SnapshotAssertion) -> Refuses:
    """Like ``pytest.raises``; the error's message and hint are a snapshot."""

    @contextlib.contextmanager
    def expected(kind: type[Exception]) -> Iterator[Any]:
        with pytest.raises(kind) as caught:
            yield caught
        text = str(caught.value).replace(str(tmp_path), "DIRECTORY")
        if hint := getattr(caught.value, "hint", ""):
            text += f"\nhint: {hint}".replace(str(tmp_path), "DIRECTORY")
        for pattern, instead in _VARYING.items():
            text = re.sub(pattern, instead, text)
        assert text == snapshot

    return expected


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """Every thread that a test starts ends with it.

    Python waits at its end, for ever if need be, for threads that are no daemons.
    """
    before = set(threading.enumerate())
    yield
    stayed = [
        thread for thread in threading.enumerate() if not thread.daemon and thread not in before
    ]
    for thread in stayed:
        thread.join(PATIENCE)
    assert [thread.name for thread in stayed if thread.is_alive()] == []


@pytest.fixture(scope="session")
def networks() -> None:
    """Requires that networks can be created here."""
    if not may_make_networks():
        pytest.skip("networks cannot be created here: this needs root")


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The directory of the recordings that the repository ships."""
    return ROOT / "recordings"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The directory of captures that others published and that are not shipped.

    docs/traces.md says where each comes from. Without them the tests that need them are skipped.
    """
    directory = Path(os.environ.get("TRUSTBED_TRACES", ROOT.parent / "shared" / "traces"))
    if not directory.is_dir():
        pytest.skip(
            f"needs captures that are not shipped, and {directory} is not there "
            "(set TRUSTBED_TRACES)"
        )
    return directory
