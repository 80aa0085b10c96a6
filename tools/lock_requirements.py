"""Resolves the dependencies that pyproject.toml names into exact versions.

Writes `requirements.txt` (what the command needs, and maturin to build it) and
`requirements-dev.txt` (everything the tests and checks need as well). It installs nothing; it asks
pip what it would install into an empty environment. Run it after a change of pyproject.toml or to
move to newer versions, read the difference, and run `make test`.

Bias: the answer is the one for the interpreter and the machine it runs on. Dependencies that only
other platforms need are missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    "# Made by tools/lock_requirements.py from pyproject.toml. Do not edit: change "
    "pyproject.toml and run `make lock`.\n"
)


def resolve(requirements: list[str], constraints: Path | None = None) -> list[str]:
    """The pins that pip would install for `requirements` in an empty environment, by name."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--report",
        "-",
    ]
    if constraints is not None:
        command += ["--constraint", str(constraints)]
    answer = subprocess.run(
        [*command, *requirements], check=True, capture_output=True, text=True
    ).stdout
    packages = (entry["metadata"] for entry in json.loads(answer)["install"])
    return sorted(
        f"{package['name'].lower().replace('_', '-')}=={package['version']}" for package in packages
    )


def main() -> None:
    """Writes both files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed: list[str] = project["project"]["dependencies"] + project["build-system"]["requires"]
    develop: list[str] = project["dependency-groups"]["develop"]
    run_file = ROOT / "requirements.txt"
    develop_file = ROOT / "requirements-dev.txt"
    pins = resolve(needed)
    run_file.write_text(HEADER + "\n".join(pins) + "\n", encoding="utf-8")
    every = resolve(needed + develop, constraints=run_file)
    more = [pin for pin in every if pin not in pins]
    develop_file.write_text(
        HEADER + "-r requirements.txt\n" + "\n".join(more) + "\n", encoding="utf-8"
    )
    print(
        f"requirements.txt: {len(pins)} packages; requirements-dev.txt: {len(more)} more",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
