"""An audit says what it found, and what it could not look for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence

import pytest

from tools import audit
from tools.audit import Outcome

Answers = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.shutil, "which", lambda name: f"/bin/{name}")


def answering(*answers: tuple[int, str, str]) -> Answers:
    """Commands that end like this, one after the other."""
    left = list(answers)

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        code, out, err = left.pop(0)
        return subprocess.CompletedProcess(command, code, out, err)

    return run


def dependencies(*found: dict[str, object]) -> str:
    return json.dumps({"dependencies": found})


FINE = {"name": "fine", "version": "1", "vulns": []}
BROKEN = {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "new", "skip_reason": "not found"}


def test_vulnerable_packages_are_named() -> None:
    found = audit.python_packages(answering((1, dependencies(FINE, BROKEN), "")))
    assert found.problems == ["bad 2: PYSEC-1, fixed in 3"]
    assert found.skipped is None


@pytest.mark.parametrize("out", ["", "no JSON", dependencies(FINE, UNKNOWN)])
def test_packages_that_nobody_knows_are_not_sound(out: str) -> None:
    found = audit.python_packages(answering((0, out, "cannot connect\n")))
    assert found.problems == ()
    assert found.skipped is not None


def test_crates_are_checked_without_advisories_where_there_are_none() -> None:
    no_database = (1, "", "error[...]: failed to fetch advisory database\n")
    found = audit.crates("Cargo.toml", stored=False, run=answering((0, "", ""), no_database))
    assert (found.problems, found.skipped) == ([], "no database of advisories can be had")
    refused = (4, "", "error[rejected]: failed to satisfy license requirements\nmore\n")
    found = audit.crates("Cargo.toml", stored=True, run=answering(refused, no_database))
    assert found.problems == ["error[rejected]: failed to satisfy license requirements"]


def test_a_vulnerable_crate_is_named() -> None:
    advised = (1, "", "error[vulnerability]: it overflows\n")
    found = audit.crates("Cargo.toml", stored=True, run=answering((0, "", ""), advised))
    assert found == Outcome("crates of Cargo.toml", ["error[vulnerability]: it overflows"])


def test_missing_programs_are_skips_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.shutil, "which", lambda name: None)
    for found in (audit.python_packages(answering()), audit.crates("x", stored=False)):
        assert "is not installed" in (found.skipped or "")


@pytest.mark.parametrize(
    ("outcome", "strict", "code"),
    [
        (Outcome("a"), True, 0),
        (Outcome("a", skipped="because"), False, 0),
        (Outcome("a", skipped="because"), True, 1),
        (Outcome("a", ["wrong"], skipped="because"), False, 1),
    ],
)
def test_the_exit_code(
    outcome: Outcome, strict: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.report([outcome], strict=strict) == code
    assert (outcome.skipped or "0 problems") in capsys.readouterr().out
