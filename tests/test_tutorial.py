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


@pytest.mark.timeout(300)
def test_the_commands_run(tmp_path: Path) -> None:
    if not may_make_networks():
        pytest.skip("network namespaces need root here")
    for name in ("recordings", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
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
