"""Resolves the dependencies that pyproject.toml names into exact versions, with hashes.

Writes `requirements.txt` (what the command needs, and maturin to build it),
`requirements-dev.txt` (everything the tests and checks need as well) and `requirements-dist.txt`
(what a release needs beside the first). It installs nothing; it asks
pip what it would install into an empty environment, and the package index for the SHA-256 of every
file of those versions that Python 3.11 or newer can use, on whichever platform. Set-up installs
nothing that has another one. Run it after a change of pyproject.toml or to move to newer versions,
read the difference, and run `make test`. With `--hashes` the versions stay as they are.

Bias: the versions are those for the machine it runs on, and for any Python from 3.11.0 on.
Dependencies that only other platforms need are missing, and pip then refuses to install there.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    "# Made by tools/lock_requirements.py from pyproject.toml. Do not edit: change "
    "pyproject.toml and run `make lock`.\n"
)


OLDEST = "3.11.0"
"""The oldest interpreter that every version must run on, whichever one resolves them."""
NEWEST_ABI3 = 11
"""A wheel for the stable ABI of this Python 3 or an older one serves 3.11 as well."""


def pip(*words: str) -> str:
    """What pip prints."""
    command = [sys.executable, "-m", "pip", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def resolve(requirements: Sequence[str], pins: Sequence[str] = ()) -> list[str]:
    """The pins that pip would install for `requirements` in an empty environment, by name."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as constraints:
        constraints.write("\n".join(pins))
        constraints.flush()
        answer = pip(
            *("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"),
            *("--constraint", constraints.name),
            *requirements,
        )
    packages = [entry["metadata"] for entry in json.loads(answer)["install"]]
    for package in packages:
        if OLDEST not in SpecifierSet(package.get("requires_python") or ""):
            raise SystemExit(
                f"error: {package['name']} {package['version']} needs Python "
                f"{package['requires_python']}\nhint: Python {OLDEST} is to be enough: bound its "
                "version in pyproject.toml"
            )
    return sorted(
        f"{canonicalize_name(package['name'])}=={package['version']}" for package in packages
    )


def index() -> str:
    """The package index that pip is configured for."""
    settings = dict(
        line.split("=", 1) for line in pip("config", "list").splitlines() if "=" in line
    )
    named = next((settings[key] for key in settings if key.endswith("index-url")), None)
    return (named or "https://pypi.org/simple").strip("'").rstrip("/")


def hashes(pin: str, index_url: str) -> list[str]:
    """The SHA-256 of every file of a version that one of our interpreters can install."""
    name, version = pin.split("==")
    request = urllib.request.Request(
        f"{index_url}/{canonicalize_name(name)}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json"},
    )
    trust = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
        files = json.load(answer)["files"]
    found = sorted({one["hashes"]["sha256"] for one in files if serves(one["filename"], version)})
    if not found:
        raise SystemExit(f"error: the index has no file of {pin}")
    return found


def serves(filename: str, version: str) -> bool:
    """Whether a file is one of this version, for Python 3.11 or newer on any platform."""
    try:
        if filename.endswith(".whl"):
            _, found, _, tags = parse_wheel_filename(filename)
            return str(found) == version and any(map(_is_recent, tags))
        _, found = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):  # of the years before there were rules
        return False
    return str(found) == version


def _is_recent(tag: Tag) -> bool:
    if tag.interpreter.startswith("py3"):
        return True
    python = re.fullmatch(r"cp3(\d+)", tag.interpreter)
    return python is not None and (
        int(python[1]) >= NEWEST_ABI3 or (tag.abi == "abi3" and int(python[1]) < NEWEST_ABI3)
    )


def pinned(text: str) -> list[str]:
    """The pins of a file of requirements."""
    return re.findall(r"^([a-z0-9-]+==[^\s\\]+)", text, re.MULTILINE)


def lines(pins: Sequence[str], index_url: str) -> str:
    """Pins as pip reads them, each with its hashes."""
    return "".join(
        " \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in hashes(pin, index_url))]) + "\n"
        for pin in pins
    )


def main() -> None:
    """Writes all files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed: list[str] = project["project"]["dependencies"] + project["build-system"]["requires"]
    groups: dict[str, list[str]] = {
        "requirements.txt": [],
        "requirements-dev.txt": project["dependency-groups"]["develop"],
        "requirements-dist.txt": project["dependency-groups"]["release"],
    }
    url, first = index(), list[str]()
    for name, group in groups.items():
        file = ROOT / name
        if sys.argv[1:] == ["--hashes"]:
            pins = pinned(file.read_text(encoding="utf-8"))
        else:
            pins = [pin for pin in resolve([*needed, *group], first) if pin not in first]
        start = "-r requirements.txt\n" if first else ""
        file.write_text(HEADER + start + lines(pins, url), encoding="utf-8")
        print(f"{name}: {len(pins)} packages", file=sys.stderr)
        first = first or pins


if __name__ == "__main__":
    main()
