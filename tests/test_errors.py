"""One base of errors: a message, a hint, an exit code."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import trustbed
from trustbed.cli import main
from trustbed.errors import TrustbedError

INTERNAL = {
    "ArchiveError",
    "BandwidthUnknownError",
    "CancelledRoundError",
    "Changed",
    "HostFailedError",
    "Lost",
    "Malformed",
    "NotApplied",
    "NotReadable",
    "_Exceeds",
}
"""They are caught where they arise and reach nobody."""


def exceptions() -> list[type[Exception]]:
    """Every exception that a module of the product defines."""
    found = {}
    for module in pkgutil.walk_packages(trustbed.__path__, "trustbed."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if (
                isinstance(value, type)
                and issubclass(value, Exception)
                and value.__module__.startswith("trustbed.")
                and not value.__module__.startswith("trustbed._core")
            ):
                found[f"{value.__module__}.{value.__name__}"] = value
    return [found[name] for name in sorted(found)]


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: kind.__name__)
def test_every_error_that_reaches_a_user_has_the_one_base(kind: type[Exception]) -> None:
    assert issubclass(kind, TrustbedError) or kind.__name__ in INTERNAL


def test_the_command_line_ends_with_the_code_of_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    class NotTodayError(TrustbedError):
        exit_code = 7

    def fails(words: object) -> int:
        raise NotTodayError("no packets today", "try tomorrow")

    monkeypatch.setattr("trustbed.cli.analyze.run", fails)
    assert main(["analyze", str(tmp_path / "x.pcap")]) == 7
    assert capsys.readouterr().err == "error: no packets today\nhint: try tomorrow\n"
