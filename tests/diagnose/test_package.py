"""The package: its public names, its example, what it imports, its thresholds."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import trustbed.diagnose
from trustbed.diagnose import THRESHOLDS, Evidence, diagnose

PACKAGE = Path(trustbed.diagnose.__file__).parent


def test_public_names() -> None:
    names = trustbed.diagnose.__all__
    assert names == sorted(
        names, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert all(hasattr(trustbed.diagnose, name) for name in names)
    assert len(names) == 34


def test_the_example_runs() -> None:
    results = doctest.testmod(trustbed.diagnose)
    assert results.attempted == 5
    assert results.failed == 0


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); import trustbed.diagnose; "
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parent.parent,
    )
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded - set(sys.stdlib_module_names) == {"trustbed"}
    # Each of these costs as much start-up time as the package itself.
    assert loaded.isdisjoint(
        {"json", "datetime", "decimal", "statistics", "logging", "asyncio", "pathlib"}
    )


def test_no_module_is_long() -> None:
    for path in PACKAGE.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path.name


def test_every_module_states_what_it_does() -> None:
    for path in PACKAGE.glob("*.py"):
        assert re.match(r'"""[A-Z]', path.read_text(encoding="utf-8")), path.name


def test_a_calibration_replaces_the_thresholds(healthy: Evidence) -> None:
    pausing = replace(healthy, throughput_bytes_per_second=1e6, idle_open_window_fraction=0.5)
    assert diagnose(pausing).cause == "host_scheduling"
    stricter = replace(THRESHOLDS, idle_open_window_fraction=0.6)
    assert diagnose(pausing, thresholds=stricter).cause == "unexplained"
