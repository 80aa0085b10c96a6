"""``trustbed compare --explain`` in namespaces: the setting that was changed is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.run.stalls import found_too_late

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.alone,
    pytest.mark.usefixtures("networks"),
    pytest.mark.timeout(900),
]
# A single packet that leaves late costs a repetition of less than a second.
SCENARIO = """
name = "near and far"
repetitions = 3
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "50Mbit/s"
queue = "1000p"
[samples]
enabled = false
[workload.fetch]
kind = "http"
host = "client"
to = "server"
object = "2kB"
requests = 12
duration = "1s"
[factors]
link.delay = ["1ms", "20ms"]
"""


def explained(directory: Path) -> dict[str, Any] | None:
    """What a study that is carried out there says about the delay that was changed.

    None if no repetition of one of the two could be used.
    """
    directory.mkdir()
    (directory / "study.toml").write_text(SCENARIO, encoding="utf-8")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "trustbed", "compare", "study.toml", "--by", "link.delay"),
            *("--explain", "--repetitions", "3", "--budget", "40s", "--json"),
        ],
        cwd=directory,
        env={**os.environ, "TRUSTBED_RUNTIME": str(directory / "registry")},
        capture_output=True,
        text=True,
        timeout=8 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout)["explanation"]
    assert len(found) <= 1
    return found[0] if found else None


def test_the_delay_that_was_changed_closes_the_gap(tmp_path: Path) -> None:
    # Of three repetitions one that the machine held up leaves nothing certain, which is said: the
    # study is made once more, up to two times. What is named must be right each time.
    for attempt in range(3):
        found = explained(tmp_path / str(attempt))
        assert found is None or found["candidate"] == "20ms"
        if found is not None and found["named"] is not None:
            break
    if found is None or found["named"] is None:
        held_up = [found_too_late(one.parent) for one in tmp_path.rglob("findings.json")]
        if message := next(filter(None, held_up), None):
            pytest.xfail(f"three studies, and in none of them enough to decide: {message}")
    assert found is not None
    assert found["rounds"] == 3
    assert found["named"] == "link.delay as in the reference"
    best = found["settings"][0]
    assert (best["setting"], best["change"]) == (found["named"], 'link.delay = "1ms"')
    assert best["closed"] == pytest.approx(1, abs=0.3)
