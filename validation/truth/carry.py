"""One planned transfer, made with the parts of `trustbed run`, and its stored data.

What cannot be made here is a result, not an error: the outcome is *not made*, with the reason. A
repetition in which the emulator or a generator was late is *invalid* and is made again once. A
failure has a reason, too. None of the three is counted.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from trustbed.diagnose.host import processor_of
from trustbed.diagnose.run_findings import run_findings
from trustbed.findings.words import percent_words
from trustbed.run.directory import RunDirectory
from trustbed.run.execution.execute import RunError
from trustbed.run.execution.session import Session
from trustbed.scenario import Scenario, ScenarioError, load
from validation.truth.calm import Calm
from validation.truth.measured import SOCKET_SAMPLES, measured
from validation.truth.networks import Network
from validation.truth.plan import Planned
from validation.truth.scenario import PROGRAMS, ROUTER, toml, undisturbed

MADE, NOT_MADE, INVALID, FAILED = "made", "not made", "invalid", "failed"
ATTEMPTS = 2
MOST_WAITED = 0.05
"""Of the time that the sender's processes may wait for a processor where nothing disturbs it."""
_INVALIDATING = frozenset(
    {"run_emulator_late", "run_emulator_dropped", "run_generator_late", "run_agent_failed"}
)

Stored = dict[str, Any]


def carry_out(planned: Planned, *, keep: Path | None = None, calm: Calm | None = None) -> Stored:
    """Makes a transfer.

    ``keep`` is a subdirectory for its captures, ``calm`` waits for the machine before each attempt.
    """
    about = description(planned)
    with tempfile.TemporaryDirectory(prefix="trustbed-truth-") as subdirectory:
        file = Path(subdirectory) / "transfer.toml"
        text = planned.scenario(middle=captures_in_the_middle())
        file.write_text(text.replace("PROGRAMS/", f"{PROGRAMS}/"), encoding="utf-8")
        for name, content in planned.files.items():
            (file.parent / name).write_text(content, encoding="utf-8")
        found: Stored = {}
        for attempt in range(ATTEMPTS):
            before = dict(calm.wait()) if calm else {}
            found = {
                **about,
                "attempt": attempt,
                "before": before,
                **_attempt(file, Path(subdirectory) / f"run-{attempt}", keep),
            }
            found |= _checked(planned, found)
            if found["outcome"] != INVALID:
                break
        return found


def _checked(planned: Planned, found: Stored) -> Stored:
    """A sender that others of the run kept waiting was disturbed by what its label knows not."""
    if (
        found["outcome"] != MADE
        or planned.values(middle=False).get("faults")
        or planned.network.guest
    ):
        return {}
    rows = [
        row
        for name, samples in (found.get("samples") or {}).items()
        if name.split(".")[-1] == "processes"
        for row in samples
    ]
    waited = processor_of(rows).processor_missed or 0.0
    if waited < MOST_WAITED:
        return {}
    reason = (
        f"the sender's processes waited for a processor for {percent_words(waited)} of the time"
    )
    return {"outcome": INVALID, "reason": reason}


def description(planned: Planned) -> Stored:
    """The description of a transfer, without its outcome."""
    return {
        "name": planned.name,
        "kind": planned.kind,
        "seed": planned.seed,
        "network": asdict(planned.network),
        "dose": dict(planned.dose),
    }


def _attempt(file: Path, run: Path, keep: Path | None) -> Stored:
    try:
        study = load(file)
    except ScenarioError as error:
        where = f"{error.key}: " if error.key else ""
        return {
            "outcome": NOT_MADE,
            "reason": f"not supported by scenarios: {where}{error.args[0]}",
        }
    scenario_faults = tomllib.loads(study.text).get("faults", {})
    directory = RunDirectory(run)
    about: Mapping[str, object] = {"version": None, "command": None, "started": None}
    found: Stored = {}

    def judge(where: RunDirectory, subdirectory: str, scenario: Scenario) -> Mapping[str, Any]:
        found.update(_stored_data(where, subdirectory, faults=len(scenario_faults)))
        if keep is not None and found["outcome"] == MADE:
            _keep(where.repetition(subdirectory), keep)
        where.write_findings(subdirectory, {})
        return {"use": "trust", "why": ""}

    try:
        Session(study, directory, judge=judge, about=about).carry_out()
    except RunError as error:
        return {"outcome": FAILED, "reason": error.message}
    return found


def _stored_data(directory: RunDirectory, subdirectory: str, *, faults: int) -> Stored:
    """The stored data of a run; without a record of every fault it is not counted.

    It would be mistaken for a transfer on which the fault had no effect.
    """
    record = directory.record(subdirectory)
    reasons = [
        one["reason"]
        for one in (*record["workloads"], *record.get("faults", ()))
        if one.get("reason")
    ]
    if record["outcome"] == NOT_MADE:
        return {"outcome": NOT_MADE, "reason": "; ".join(dict.fromkeys(reasons))}
    made = [fault for fault in record.get("faults") or () if fault.get("made")]
    if len(made) < faults:
        return {
            "outcome": NOT_MADE,
            "reason": "; ".join(dict.fromkeys(reasons))
            or "the record does not show that the fault was made",
        }
    findings = run_findings(record)
    late = [
        found.message
        for found in findings
        if found.code in _INVALIDATING and found.severity == "error"
    ]
    if record["outcome"] != "complete":
        failures = [one["message"] for one in record["failures"]]
        return {"outcome": FAILED, "reason": "; ".join([*reasons, *failures]) or "see its record"}
    return {
        "outcome": INVALID if late else MADE,
        "reason": "; ".join(late) or None,
        **measured(directory.repetition(subdirectory), record),
    }


def _keep(repetition: Path, target: Path) -> None:
    """Stores what a transfer is measured from: its captures and the samples of its socket."""
    target.mkdir(parents=True, exist_ok=True)
    samples = repetition / "samples" / SOCKET_SAMPLES
    if samples.is_file():
        shutil.copy(samples, target)
    for file in (repetition / "captures").glob("*.pcapng"):
        with (
            file.open("rb") as source,
            gzip.open(target / f"{file.name}.gz", "wb", compresslevel=1) as copy,
        ):
            shutil.copyfileobj(source, copy, 1 << 20)


@cache
def captures_in_the_middle() -> bool:
    """Whether scenarios can name a router as a capture point."""
    network = Network(
        family="office",
        rate_megabits=10,
        round_trip_ms=10,
        limit="link",
        congestion_control="cubic",
        seconds=1,
    )
    with tempfile.TemporaryDirectory(prefix="trustbed-truth-") as subdirectory:
        file = Path(subdirectory) / f"{ROUTER}.toml"
        file.write_text(toml(undisturbed(network, seed=1, middle=True)), encoding="utf-8")
        try:
            load(file)
        except ScenarioError:
            return False
    return True
