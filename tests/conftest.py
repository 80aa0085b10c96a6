"""What every test shares: a skip is a failure in CI, and property tests draw the same examples there every time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() == "true"

# A deadline per example would make the tests depend on how busy the machine is; the timeout per test is enough.
hypothesis.settings.register_profile("developer", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if IN_CI else "developer")

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them every program that they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A test never passes because it could not run: in CI its skip is a failure that names the reason."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not accept: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns the skip of a test into a failure in CI."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turns the skip of a whole file into a failure in CI."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """Whatever a test has started ends with it: Python waits at its end, for ever if need be, for threads that are no daemons."""
    before = set(threading.enumerate())
    yield
    stayed = [
        thread for thread in threading.enumerate() if not thread.daemon and thread not in before
    ]
    for thread in stayed:
        thread.join(PATIENCE)
    assert [thread.name for thread in stayed if thread.is_alive()] == []


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of the recordings that the repository ships."""
    return ROOT / "recordings"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of captures from elsewhere, which lies beside a checkout on the project's machines."""
    folder = Path(os.environ.get("TRUSTBED_TRACES", ROOT.parent / "shared" / "traces"))
    if not folder.is_dir():
        pytest.skip(f"no captures at {folder} (set TRUSTBED_TRACES)")
    return folder
