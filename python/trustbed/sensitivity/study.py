"""Carries out a study: backgrounds alone, beside the application, and surrogates.

Each part is a run like any other, in a directory of its own, and can be read with ``trustbed
report``. An interrupted study continues where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from trustbed.errors import TrustbedError
from trustbed.report.run.reading import Run as Reading
from trustbed.run.api import session_of
from trustbed.run.directory import RunDirectory
from trustbed.run.error import RunError
from trustbed.run.execution.ceiling import refuse_too_much
from trustbed.run.execution.listener import Listener
from trustbed.scenario.file import keys_of
from trustbed.sensitivity.conclusions import Carried, concluded
from trustbed.sensitivity.design import MOST_ROUNDS, Options, Planned
from trustbed.sensitivity.judge import effects
from trustbed.sensitivity.judge.effects import Seen
from trustbed.sensitivity.judge.scales import changes
from trustbed.sensitivity.kept import Kept
from trustbed.sensitivity.model import Sensitivity
from trustbed.sensitivity.observing import is_broken
from trustbed.sensitivity.plan import QUIET, Part, SensitivityError, beside
from trustbed.sensitivity.rounds import Rounds, complete_rounds
from trustbed.sensitivity.surrogates import base_of, surrogates

RESULT = "sensitivity.json"
_SUITE_SHARE = 0.6
"""Of the budget, if surrogates follow."""


class Study:
    """A study in its directory, to be carried out or continued."""

    def __init__(
        self,
        plan: Planned,
        out: Path,
        earlier: Kept,
        options: Options,
        listener: Callable[[str, int], Listener] | None,
        about: Mapping[str, object],
    ) -> None:
        self._plan = plan
        self._out = out
        self._options = options
        self._listener = listener or (lambda _title, _cells: Listener())
        self._about = about
        self._kept = msgspec.structs.replace(earlier, ceiling=plan.ceiling)
        self._read = Rounds(plan.where)
        self._troubles: list[str] = []
        self._begun = time.monotonic()

    def _spent(self) -> float:
        """The seconds of this study so far, earlier calls included."""
        return self._kept.seconds + time.monotonic() - self._begun

    def _keep(self) -> None:
        """What a later call must know, with the time spent until now."""
        msgspec.structs.replace(self._kept, seconds=self._spent()).write(self._out)

    def measured_sender(self) -> str | None:
        """Which of both ends of the link sends most of the application's data, by one repetition.

        ``None`` where the scenario has other traffic, which would be counted, too, or where nothing
        crossed the link, or the application gave no result.
        """
        plan = self._plan
        if plan.study.first.backgrounds or len(plan.study.first.workloads) > 1:
            return None
        self._out.mkdir(parents=True, exist_ok=True)
        where, keys = plan.where, keys_of(plan.study)
        part = beside(plan.study, keys, plan.treatments[:1], where, "who sends")
        (repetition, *_) = self._run(part, "direction", 1).repetitions
        if not repetition.complete or is_broken(repetition, where.workload.name):
            return None
        ways = self._read.ways(repetition, where.workload.start_ns)
        if not ways:
            return None
        most = max(ways, key=lambda pipe: ways[pipe].bits_per_second)
        sender = where.sender if most == where.pipe else where.receiver
        self._kept = msgspec.structs.replace(
            self._kept, sender=sender, sender_of=where.workload.name
        )
        self._keep()
        return sender

    def carry_out(self) -> Sensitivity:
        """Carries out what is missing, and writes the result."""
        self._out.mkdir(parents=True, exist_ok=True)
        try:
            return self._carry_out()
        finally:
            self._keep()

    def _carry_out(self) -> Sensitivity:
        plan, options = self._plan, self._options
        alone = self._run(plan.alone, "alone", 1)
        until = options.budget_seconds * (_SUITE_SHARE if plan.bands else 1.0)
        found = self._rounds(plan.suite, "suite", until)
        self._read.add_alone(found, plan.alone, alone)
        value = self._read.value
        if value is None or not any(one.logs for one in found):
            discarded = sum(one.discarded for one in found)
            raise SensitivityError(
                f"{plan.where.workload.name} gave no number that could be compared"
                + (f": {discarded} repetitions were discarded" if discarded else ""),
                f"see trustbed report {self._out / 'suite'}",
            )
        base, changed = self._changed(found) if plan.bands else (None, [])
        result = concluded(
            plan,
            Carried(
                suite=found,
                base=base,
                surrogates=changed,
                value=value,
                troubles=self._troubles,
                seconds=self._spent(),
                budget_seconds=options.budget_seconds,
            ),
        )
        partial = self._out / f"{RESULT}.partial"
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
        partial.replace(self._out / RESULT)
        return result

    def _changed(self, found: Sequence[Seen]) -> tuple[str | None, list[Seen]]:
        """The rounds of surrogates; without them the suite's answers stand."""
        plan = self._plan
        try:
            base = base_of(found, self._kept.base)
            self._kept = msgspec.structs.replace(self._kept, base=base.treatment.label)
            self._keep()
            part = surrogates(plan.study, plan.where, plan.bands, base, self._out / "series")
            changed = self._rounds(part, "surrogates", self._options.budget_seconds)
        except TrustbedError as error:
            self._troubles.append(f"no surrogates: {error.message}")
            return None, []
        return base.treatment.label, changed

    def _run(self, part: Part, name: str, repetitions: int) -> Reading:
        cells = [cell.scenario for cell in part.study.cells]
        known = refuse_too_much(cells, self._kept.ceiling) or self._kept.ceiling
        if known != self._kept.ceiling:
            self._kept = msgspec.structs.replace(self._kept, ceiling=known)
            self._keep()
        directory = RunDirectory(self._out / name)
        session_of(
            part.study,
            directory,
            about=self._about,
            repetitions=repetitions,
            listener=self._listener(name, len(cells)),
            known_ceiling=known,
        ).carry_out()
        return Reading(directory.path)

    def _rounds(self, part: Part, name: str, until: float) -> list[Seen]:
        """Rounds until all intervals are narrow, or another round would not fit.

        Each is a session of its own, as a run leaves out what fails several times in one; the first
        few are carried out whatever their share of the budget, as long as there is any of it.
        """
        rounds = max(1, complete_rounds(self._out / name))
        per_round = part.seconds_per_round
        while True:
            begun, before = self._spent(), complete_rounds(self._out / name)
            try:
                reading = self._run(part, name, rounds)
            except RunError as error:
                if complete_rounds(self._out / name) == 0:
                    raise
                self._troubles.append(f"the rounds of {name} ended early: {error.message}")
                return self._read.seen(part, Reading(self._out / name))
            found = self._read.seen(part, reading)
            self._keep()
            if rounds > before:
                per_round = max(per_round, (self._spent() - begun) / (rounds - before))
            is_first = rounds < effects.LEAST_ROUNDS
            full = self._spent() + per_round > (self._options.budget_seconds if is_first else until)
            # A busy machine may let go; an application without a number has none.
            hopeless = not any(one.logs or (is_first and one.discarded) for one in found)
            if full or hopeless or rounds >= MOST_ROUNDS or (not is_first and _is_narrow(found)):
                return found
            rounds += 1


def _is_narrow(found: Sequence[Seen]) -> bool:
    if any(one.treatment.name == QUIET for one in found):
        return effects.narrow(found)
    bands = changes(found)
    least = effects.NARROW / 2
    return bool(bands) and all(effects.is_narrow(one, least) for one in bands.values())
