"""Makes simulated transfers: compiles the simulation, runs it, keeps what came true.

The compiled program and the captures go into a directory outside version control. A transfer that
is there is not made again.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from validation.external.ns3.kinds import KINDS
from validation.external.ns3.nets import Draft, Net, net

Point: TypeAlias = Literal["sender", "middle", "receiver"]
POINTS: Final[tuple[Point, ...]] = ("sender", "middle", "receiver")
ATTEMPTS: Final = 12
"""Draws of one seed before its transfer is given up."""
LIMIT_SECONDS: Final = 300
_MODULES: Final = (
    "core",
    "network",
    "internet",
    "applications",
    "point-to-point",
    "traffic-control",
)
_SOURCES: Final = Path(__file__).with_name("simulation")


class MissingError(Exception):
    """ns-3 or a compiler is not there."""

    hint = "install a C++ compiler and ns-3 (Debian: g++ libns3-dev)"


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes transfers in one directory."""

    directory: Path

    def program(self) -> Path:
        """The compiled simulation, newer than its sources.

        Raises:
            MissingError: No compiler, or it finds no ns-3.
        """
        program = self.directory / "build" / "path"
        newest = max(file.stat().st_mtime for file in _SOURCES.iterdir())
        if program.is_file() and program.stat().st_mtime > newest:
            return program
        compiler = shutil.which("c++") or shutil.which("g++")
        if compiler is None:
            raise MissingError("no C++ compiler")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        libraries = [f"-lns3-{module}" for module in _MODULES]
        done = subprocess.run(
            [compiler, "-O2", "-std=c++17", "-o", partial, _SOURCES / "path.cc", *libraries],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            line = next((x for x in done.stderr.splitlines() if "error" in x), "no reason given")
            raise MissingError(f"the simulation does not compile: {line}")
        partial.replace(program)
        return program

    def file(self, name: str, point: Point) -> Path:
        """The capture of a transfer."""
        return self.directory / f"{name}.{point}.pcap.gz"

    def truth(self, kind: str, seed: int) -> dict[str, Any] | None:
        """What is true of a transfer that was made, by today's kinds.

        ``None`` where it was not, or where today it would be drawn otherwise.
        """
        file = self.directory / "truth" / f"{kind}-{seed}.json"
        if not file.is_file():
            return None
        stored: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for attempt in range(ATTEMPTS):
            on = net(kind, seed, attempt)
            draft = KINDS[kind](on)
            if draft.arguments == stored["params"] and draft.holds(stored["account"]):
                return _truth(kind, seed, on, draft, stored["account"])
        return None

    def make(self, kind: str, seed: int, link: str = "raw") -> dict[str, Any] | None:
        """Makes a transfer, or returns the one that is there.

        ``None`` where no draw came true.
        """
        if (found := self.truth(kind, seed)) is not None:
            return found
        name = f"{kind}-{seed}"
        for attempt in range(ATTEMPTS):
            on = net(kind, seed, attempt)
            draft = KINDS[kind](on)
            account = self._run(name, draft, link)
            if account is not None and account["over"] and draft.holds(account):
                return self._keep(name, _truth(kind, seed, on, draft, account))
        for point in POINTS:
            (self.directory / f"{name}.{point}.pcap").unlink(missing_ok=True)
        return None

    def _run(self, name: str, draft: Draft, link: str) -> Mapping[str, Any] | None:
        words = [f"--{key}={_word(value)}" for key, value in draft.arguments.items()]
        try:
            done = subprocess.run(
                [
                    self.program(),
                    f"--prefix={self.directory / name}",
                    f"--link={link}",
                    *words,
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        account: dict[str, Any] = json.loads(done.stdout)
        return account

    def _keep(self, name: str, truth: dict[str, Any]) -> dict[str, Any]:
        for point in POINTS:
            plain = self.directory / f"{name}.{point}.pcap"
            self.file(name, point).write_bytes(gzip.compress(plain.read_bytes(), 6, mtime=0))
            plain.unlink()
        file = self.directory / "truth" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(truth), encoding="utf-8")
        return truth


def _truth(
    kind: str, seed: int, on: Net, draft: Draft, account: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{kind}-{seed}",
        "kind": kind,
        "seed": seed,
        "family": on.family,
        "causes": list(draft.causes),
        "verdicts": list(draft.verdicts),
        "sender": account["sender"],
        "rtt_seconds": round(on.rtt, 5),
        "bdp_bytes": round(on.bdp),
        "params": draft.arguments,
        "account": dict(account),
    }
    if draft.elsewhere:
        found["causes_elsewhere"] = [*draft.causes, *draft.elsewhere]
        found["verdicts_elsewhere"] = [*draft.verdicts, *draft.verdicts_elsewhere]
    return found


def write_truth(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One line of JSON per transfer."""
    file.write_text("".join(f"{json.dumps(dict(row))}\n" for row in rows), encoding="utf-8")


def _word(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
