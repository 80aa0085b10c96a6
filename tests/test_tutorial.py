"""The tutorial: its outputs are real, and its commands run in the order of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.generate_docs import TUTORIAL, with_outputs
from trustbed.testbed.netns.rootless import may_make_networks

ROOT = Path(__file__).resolve().parent.parent
TEXT = TUTORIAL.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_outputs_shown_are_what_the_commands_print() -> None:
    assert with_outputs(TEXT) == TEXT, "run: make docs"


def shorter(scenario: Path) -> None:
    """Puts one in its stead whose repetitions take one second instead of five."""
    text = scenario.read_text(encoding="utf-8")
    assert text.count('duration = "5s"') == 1
    scenario.unlink()
    scenario.write_text(text.replace('duration = "5s"', 'duration = "1s"'), encoding="utf-8")


@pytest.mark.timeout(300)
def test_the_commands_run(tmp_path: Path) -> None:
    if not may_make_networks():
        pytest.skip("network namespaces need root here")
    (tmp_path / "recordings").symlink_to(ROOT / "recordings")
    (tmp_path / "examples").mkdir()
    for example in sorted((ROOT / "examples").iterdir()):
        (tmp_path / "examples" / example.name).symlink_to(example)
    shorter(tmp_path / "examples" / "starved-process.toml")
    programs = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env=programs,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
    assert (tmp_path / "starved.html").stat().st_size > 0
