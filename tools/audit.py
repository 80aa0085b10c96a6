"""Holds what the project is built from against known vulnerabilities and the terms in deny.toml.

pip-audit checks requirements.txt and requirements-dev.txt, cargo-deny checks Cargo.lock and
fuzz/Cargo.lock. Either needs a database of advisories: pip-audit that of the package index,
cargo-deny RustSec's, fetched or, with ``--stored``, as an earlier call has stored it
($CARGO_HOME/advisory-dbs). Where a program or a database cannot be had, that part is skipped, and
its line names the reason; ``--strict`` makes a skip a failure.

Bias: an advisory that nobody has published is not found.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
LOCKS = ("Cargo.toml", "fuzz/Cargo.toml")


@dataclass(frozen=True)
class Outcome:
    """What a part of the audit came to.

    Attributes:
        part: What was audited.
        problems: What is wrong; empty if nothing is.
        skipped: Why it could not be done.
    """

    part: str
    problems: Sequence[str] = ()
    skipped: str | None = None


Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
"""Carries out a command in the checkout."""


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Carries out a command in the checkout, to its end."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def python_packages(run: Run = run) -> Outcome:
    """Every pin of the two files."""
    part = "Python packages"
    if shutil.which("pip-audit") is None:
        return Outcome(part, skipped="pip-audit is not installed (pip install pip-audit)")
    files = [word for name in REQUIREMENTS for word in ("--requirement", name)]
    ended = run(["pip-audit", "--disable-pip", "--require-hashes", "--format", "json", *files])
    try:
        found = json.loads(ended.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (ended.stderr.strip().splitlines() or ["pip-audit says nothing"])[-1]
        return Outcome(part, skipped=f"no advisories can be had: {last}")
    unknown = [one for one in found if "skip_reason" in one]
    if unknown:
        return Outcome(
            part,
            skipped=f"the package index has advisories on {len(found) - len(unknown)} of "
            f"{len(found)} packages only: {unknown[0]['skip_reason']}",
        )
    return Outcome(
        part,
        [
            f"{one['name']} {one['version']}: {advisory['id']}, fixed in "
            f"{', '.join(advisory['fix_versions']) or 'no version yet'}"
            for one in found
            for advisory in one["vulns"]
        ],
    )


def crates(manifest: str, *, stored: bool, run: Run = run) -> Outcome:
    """Advisories, licences and sources of all crates behind a manifest."""
    part = f"crates of {manifest}"
    if shutil.which("cargo-deny") is None:
        return Outcome(part, skipped="cargo-deny is not installed (cargo install cargo-deny)")
    command = ["cargo-deny", "--manifest-path", manifest, "check", "--config", "deny.toml"]
    problems = _errors(run([*command, "licenses", "bans", "sources"]))
    advised = run([*command, *(["--disable-fetch"] if stored else []), "advisories"])
    if advised.returncode and "advisory database" in advised.stderr:
        return Outcome(part, problems, skipped="no database of advisories can be had")
    return Outcome(part, [*problems, *_errors(advised)])


def _errors(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of an unsuccessful check that state an error."""
    if ended.returncode == 0:
        return []
    lines = (ended.stdout + ended.stderr).splitlines()
    return [one for one in lines if one.startswith("error")] or lines[-1:]


def report(outcomes: Sequence[Outcome], *, strict: bool) -> int:
    """Prints a line per part; 1 if one has problems, or was skipped where that is not permitted."""
    for one in outcomes:
        state = f"skipped: {one.skipped}" if one.skipped else f"{len(one.problems)} problems"
        print("\n  ".join([f"{one.part}: {state}", *one.problems]))
    return int(any(one.problems or (strict and one.skipped) for one in outcomes))


def main(words: Sequence[str] | None = None) -> int:
    """The audit."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("--stored", action="store_true", help="fetch no database of crates")
    parser.add_argument("--strict", action="store_true", help="a skip is a failure")
    options = parser.parse_args(words)
    outcomes = [python_packages(), *(crates(one, stored=options.stored) for one in LOCKS)]
    return report(outcomes, strict=options.strict)


if __name__ == "__main__":
    sys.exit(main())
