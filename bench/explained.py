"""Differences made on emulated hosts: is the setting that makes it named, among others that do not?

A server answers requests for objects of 100 kB over a link of 20 Mbit/s. Each candidate differs
from the reference in three settings: one that matters, and two of no consequence, so that setting
all of them back is no answer. `trustbed compare --explain` carries out both, and every change that
it thinks of; nothing is told to it.

Bias: the settings are of the network and the hosts of one emulator, and far from the resolution;
what several settings do together is not asked.
"""

from __future__ import annotations

import copy
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.process import ProgramFailed, program, run
from bench.speed import Target
from trustbed.scenario.toml_text import toml

Keys = dict[str, Any]

_BUDGET = "150s"
_DIFFERENT = 3
"""The exit code of `compare` where something differs, among others."""
REFERENCE: Keys = {
    "name": "reference",
    "seed": 5,
    "duration": "1500ms",
    "warm_up": "300ms",
    "repetitions": 5,
    "hosts": {"client": {}, "server": {}},
    "link": {"rate": "20Mbit/s", "delay": "5ms", "queue": "60p"},
    "workload": {
        "fetch": {
            "kind": "http",
            "host": "client",
            "to": "server",
            "object": "100kB",
            "connections": 2,
        }
    },
    "capture": {"snap": 128},
    "samples": {"enabled": False},
}
_DECOYS: Sequence[tuple[str, object]] = (("link.delay", "5.02ms"), ("capture.snap", 120))
_OTHER_DECOY = ("link.queue", "61p")
"""In the place of one that matters."""


@dataclass(frozen=True, slots=True)
class Made:
    """One difference: the key that matters, its value, and how answers may call it."""

    key: str
    value: object
    also: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """For a person."""
        return f"{self.key} = {json.dumps(self.value)}"

    def is_named_by(self, setting: str | None) -> bool:
        """Whether the name of a setting is this one, set back in full or in part."""
        return setting is not None and any(one in setting for one in (self.key, *self.also))


MADE = (
    Made("link.loss", "2%", ("no loss",)),
    Made("link.delay", "20ms"),
    Made("link.rate", "17Mbit/s"),
    Made("link.queue", "6p", ("longer queue",)),
    Made("link.policer", {"rate": "10Mbit/s", "burst": "16KiB"}, ("no policer",)),
    Made("link.jitter", "4ms", ("no jitter",)),
    Made(
        "faults.slow",
        {"kind": "cpu-quota", "host": "server", "share": 0.005, "period": "200ms"},
        ("without faults", "cpu-quota slow"),
    ),
    Made(
        "faults.held",
        {"kind": "freeze", "host": "client", "stopped": "35ms of 50ms"},
        ("without faults", "freeze held"),
    ),
    Made(
        "background.beside",
        {
            "model": "poisson",
            "rate": "8Mbit/s",
            "from": "server",
            "to": "client",
        },
        ("without background", "background beside"),
    ),
    Made("hosts.server.egress", {"rate": "8Mbit/s", "burst": "16kB", "queue": "50ms"}, ("egress",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said of one difference."""

    made: str
    right: bool
    named: str | None
    sentence: str
    levels: Sequence[str]
    rounds: int


def measure(count: int) -> list[Answer]:
    """Asks for the first ``count`` of the made differences."""
    with tempfile.TemporaryDirectory(prefix="trustbed-bench-") as name:
        directory = Path(name)
        _run(directory, "reference", REFERENCE)
        return [_asked(directory, number, one) for number, one in enumerate(MADE[:count])]


def candidate(one: Made) -> Keys:
    """The keys of the testbed that a difference makes."""
    keys = copy.deepcopy(REFERENCE)
    decoys = [decoy for decoy in _DECOYS if decoy[0] != one.key]
    if len(decoys) < len(_DECOYS):
        decoys.append(_OTHER_DECOY)
    for key, value in [*decoys, (one.key, one.value)]:
        *tables, last = key.split(".")
        table = keys
        for part in tables:
            table = table.setdefault(part, {})
        table[last] = value
    return keys


def _asked(directory: Path, number: int, one: Made) -> Answer:
    name = f"candidate-{number}"
    _run(directory, name, candidate(one))
    said = subprocess.run(
        [
            program("trustbed"),
            "compare",
            *(str(directory / f"{side}.run") for side in ("reference", name)),
            "--explain",
            *("--budget", _BUDGET, "--runs", str(directory / f"{name}.explained")),
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode not in (0, _DIFFERENT):
        raise ProgramFailed(f"trustbed compare exited with {said.returncode}: {said.stderr[-500:]}")
    return answer(one, json.loads(said.stdout))


def answer(one: Made, compared: Mapping[str, Any]) -> Answer:
    """The answer in what `compare --json` printed."""
    levels = [
        level["level"]
        for case in compared["cases"]
        for other in case["candidates"]
        for level in other["levels"]
        if level["verdict"] == "different"
    ]
    found: Mapping[str, Any] = next(iter(compared["explanation"]), {})
    named = found.get("named")
    return Answer(
        made=one.words,
        right=one.is_named_by(named),
        named=named,
        sentence=found.get("sentence", "no level was different"),
        levels=levels,
        rounds=found.get("rounds", 0),
    )


def _run(directory: Path, name: str, keys: Keys) -> None:
    scenario = directory / f"{name}.toml"
    scenario.write_text(toml({**keys, "name": name}), encoding="utf-8")
    run([program("trustbed"), "run", str(scenario), "--out", str(directory / f"{name}.run")])


def lines(answers: Sequence[Answer]) -> list[str]:
    """What was found, a line each."""
    return [
        f"{'named' if one.right else 'MISSED':<7} {one.made}: {one.sentence} "
        f"(different: {', '.join(one.levels) or 'nothing'}; {one.rounds} rounds)"
        for one in answers
    ]


def targets(answers: Sequence[Answer]) -> list[Target]:
    """The figure, and what it should be."""
    return [
        Target(
            what=f"explain: settings named, of {len(answers)} made on emulated hosts",
            value=sum(one.right for one in answers),
            lower=0.9 * len(answers),
        )
    ]
