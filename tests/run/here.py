"""`trustbed run` in the process of the tests, which has imported all that it needs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from trustbed.cli import main

Trustbed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def trustbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Trustbed:
    """Runs a scenario in a directory of its own, as the fixture of test_live.py does."""
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "registry"))

    def call(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        study = tmp_path / "study.toml"
        study.write_text(text, encoding="utf-8")
        words = ["run", str(study), "--out", str(tmp_path / "run"), "--no-report", *options]
        code = main(words)
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, out, err)

    return call
