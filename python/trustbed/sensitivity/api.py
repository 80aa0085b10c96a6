"""Carries out a sensitivity study: backgrounds alone, beside the application, and surrogates.

Each part is a run like any other, in a directory of its own, and can be read with ``trustbed
report``. An interrupted study continues where it stopped.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from trustbed.errors import TrustbedError
from trustbed.report import words
from trustbed.report.run.reading import Repetition
from trustbed.report.run.reading import Run as Reading
from trustbed.run.api import session_of
from trustbed.run.directory import RunDirectory, RunDirectoryError
from trustbed.run.error import RunError
from trustbed.run.execution import ceiling, demand
from trustbed.run.execution.listener import Listener
from trustbed.run.session_about import session_about
from trustbed.scenario import ScenarioError, ScenarioFile, load
from trustbed.scenario.file import keys_of
from trustbed.sensitivity import cascade, judge
from trustbed.sensitivity.arrivals import (
    MOST_BITS_PER_SECOND,
    Arrivals,
    arrivals,
    write_capture,
)
from trustbed.sensitivity.judge import Seen
from trustbed.sensitivity.model import Sensitivity
from trustbed.sensitivity.observing import Value, is_broken, sent_by, value_of
from trustbed.sensitivity.plan import (
    MOST_LOAD,
    OVERHEAD_SECONDS,
    QUIET,
    SECOND,
    Part,
    Place,
    SensitivityError,
    Treatment,
    alone,
    beside,
    members,
    pasted,
    place,
    seed_of,
    suite,
    surrogate,
)
from trustbed.sensitivity.words import span
from trustbed.workload.distribution import quantile

RESULT = "sensitivity.json"
_KEPT = "study.json"
LOADS = (0.3, 0.6)
BUDGET_SECONDS = 1800.0
MOST_ROUNDS = 30
_SUITE_SHARE = 0.6
"""Of the budget, if surrogates follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a study is asked for.

    Attributes:
        loads: Shares of the link, each above 0 and at most 0.95.
        backgrounds: Members of the suite by name; ``None``: all.
        workload: The application, if not the first workload.
        link: The link, if not the slowest.
        budget_seconds: When no further round begins.
        reverse: Whether traffic against the data is tried.
        surrogates: Whether time scales are changed one by one.
    """

    loads: Sequence[float] = LOADS
    backgrounds: Sequence[str] | None = None
    workload: str | None = None
    link: str | None = None
    budget_seconds: float = BUDGET_SECONDS
    reverse: bool = True
    surrogates: bool = True


class _Kept(msgspec.Struct, frozen=True):
    """Of a study that may go on later: seconds spent, and whose time scales are changed."""

    seconds: float
    base: str | None


_LEAST_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observed:
    value: Value | None
    broken: bool
    failed: int
    sent: float | None
    queue: float | None
    lost: float | None


@dataclass(slots=True)
class Planned:
    """A study before it begins.

    Attributes:
        study: The user's scenario.
        where: The link and the application.
        treatments: Of the suite, the quiet one first.
        left_out: Backgrounds that cannot be generated here, with the reason.
        suite: The run beside the application.
        alone: The run without it.
    """

    study: ScenarioFile
    where: Place
    treatments: tuple[Treatment, ...]
    suite: Part
    alone: Part
    bands: tuple[cascade.Band, ...] = ()
    left_out: list[str] = field(default_factory=list)

    @property
    def least_seconds(self) -> float:
        """What the backgrounds alone, and the least rounds of every part take."""
        cell = self.suite.study.cells[0].scenario.expected_ns / SECOND + OVERHEAD_SECONDS
        again = (1 + 2 * len(self.bands)) * cell if self.bands else 0.0
        rounds = judge.LEAST_ROUNDS
        return self.alone.seconds_per_round + rounds * (self.suite.seconds_per_round + again)


def planned(scenario: str | os.PathLike[str], options: Options) -> Planned:
    """Reads the scenario and composes the runs; nothing is carried out.

    Raises:
        ScenarioError: The scenario is invalid.
        SensitivityError: No study can be made of it.
    """
    study = load(Path(scenario))
    where = place(study, demand.path, workload=options.workload, link=options.link)
    _check(options)
    keys, left_out, kept = keys_of(study), [], []
    wanted = suite(where, members(options.backgrounds), options.loads, reverse=options.reverse)
    for one in wanted:
        try:
            part = beside(study, keys, (wanted[0], one) if one.load else (one,), where, "checked")
            ceiling.refuse_too_much([cell.scenario for cell in part.study.cells])
            kept.append(one)
        except (ScenarioError, RunError) as error:
            if not one.load:
                raise
            left_out.append(f"{one.label} was left out: {error.message}")
    if len({one.name for one in kept}) < 3:
        raise SensitivityError(
            f"too few backgrounds can be generated here: {'; '.join(left_out)}",
            "lower the loads, or the rate of the link",
        )
    sending = [one for one in kept if one.load]
    if where.note:
        left_out.append(where.note)
    return Planned(
        study=study,
        where=where,
        treatments=tuple(kept),
        suite=beside(study, keys, kept, where, "beside the suite"),
        alone=alone(study, keys, sending, where),
        bands=_bands(study, where, options, left_out),
        left_out=left_out,
    )


def _bands(
    study: ScenarioFile, where: Place, options: Options, said: list[str]
) -> tuple[cascade.Band, ...]:
    """The time scales that surrogates can change here; why there are none is ``said``."""
    if not options.surrogates:
        return ()
    if study.first.host(where.sender).guest is not None:
        said.append(f"no surrogates: {where.sender} is a guest, in which no capture is played back")
        return ()
    if max(options.loads) * where.capacity > MOST_BITS_PER_SECOND / 2:
        most = MOST_BITS_PER_SECOND / 1e6
        said.append(
            f"no surrogates: they are made of {most:g} Mbit/s at most, and bursts need room"
        )
        return ()
    return cascade.bands(where.workload.duration_ns // 1_000_000)


def _check(options: Options) -> None:
    for share in options.loads:
        if not 0 < share <= MOST_LOAD:
            raise SensitivityError(
                f"a load of {share:.0%} of the link leaves the application nothing"
                if share > MOST_LOAD
                else f"a load of {share:g} is none",
                f"give shares above 0 and at most {MOST_LOAD:g}, for example 0.3,0.6",
            )
    if len({round(100 * share) for share in options.loads}) < max(1, len(options.loads)):
        raise SensitivityError(
            "the loads are not all different by 1 % of the link", "for example 0.3,0.6"
        )


def sensitivity(
    scenario: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: Options | None = None,
    *,
    listener: Callable[[str, int], Listener] | None = None,
    about: Mapping[str, object] | None = None,
) -> Sensitivity:
    """Carries out a study, or continues it, and writes ``sensitivity.json`` into ``out``.

    ``listener`` makes the listener of each part from its title and its number of cells. Without
    root the process goes into a user namespace of its own for good, so call this before threads are
    started.

    Raises ``ScenarioError``, ``SensitivityError``, ``RunDirectoryError``, ``TestbedError``,
    ``AgentError`` or ``RunError``; each has a ``message`` and a ``hint``.
    """
    chosen = options or Options()
    plan = planned(scenario, chosen)
    if plan.least_seconds > chosen.budget_seconds:
        raise SensitivityError(
            f"{judge.LEAST_ROUNDS} rounds of everything take about "
            f"{words.duration(plan.least_seconds)}, and the budget is "
            f"{words.duration(chosen.budget_seconds)}",
            f"give --budget {math.ceil(plan.least_seconds)}s, fewer --backgrounds or --loads, or a "
            "shorter duration",
        )
    return _Study(plan, Path(out), chosen, listener, about or session_about()).carry_out()


class _Study:
    def __init__(
        self,
        plan: Planned,
        out: Path,
        options: Options,
        listener: Callable[[str, int], Listener] | None,
        about: Mapping[str, object],
    ) -> None:
        self._plan = plan
        self._out = out
        self._options = options
        self._listener = listener or (lambda _title, _cells: Listener())
        self._about = about
        self._kept = _Kept(0.0, None)
        self._observed: dict[Path, _Observed] = {}
        self._troubles: list[str] = []
        self._value: Value | None = None
        self._begun = time.monotonic()

    def _spent(self) -> float:
        """The seconds of this study so far, earlier calls included."""
        return self._kept.seconds + time.monotonic() - self._begun

    def _keep(self) -> None:
        """What a later call must know: the time spent, and the background that is changed."""
        kept = _Kept(self._spent(), self._kept.base)
        partial = self._out / f"{_KEPT}.partial"
        partial.write_bytes(msgspec.json.encode(kept))
        partial.replace(self._out / _KEPT)

    def carry_out(self) -> Sensitivity:
        self._out.mkdir(parents=True, exist_ok=True)
        file = self._out / _KEPT
        if file.is_file():
            try:
                self._kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
            except msgspec.DecodeError as error:
                raise SensitivityError(
                    f"{file} is damaged: {error}", "remove it; the study then has its whole budget"
                ) from None
        try:
            return self._carry_out()
        finally:
            self._keep()

    def _carry_out(self) -> Sensitivity:
        plan, options = self._plan, self._options
        self._run(plan.alone, "alone", 1)
        until = options.budget_seconds * (_SUITE_SHARE if plan.bands else 1.0)
        found = self._rounds(plan.suite, "suite", until)
        self._add_alone(found)
        if not any(one.logs for one in found):
            raise SensitivityError(
                f"{plan.where.workload.name} gave no number that could be compared",
                f"see trustbed report {self._out / 'suite'}",
            )
        base, surrogates = self._changed(found) if plan.bands else (None, [])
        result = self._answers(found, base, surrogates)
        partial = self._out / f"{RESULT}.partial"
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
        partial.replace(self._out / RESULT)
        return result

    def _changed(self, found: Sequence[Seen]) -> tuple[str | None, list[Seen]]:
        """The rounds of surrogates; without them the suite's answers stand."""
        try:
            base, part = self._surrogates(found)
            return base, self._rounds(part, "surrogates", self._options.budget_seconds)
        except TrustbedError as error:
            self._troubles.append(f"no surrogates: {error.message}")
            return None, []

    def _run(self, part: Part, name: str, repetitions: int) -> Reading:
        directory = RunDirectory(self._out / name)
        session_of(
            part.study,
            directory,
            about=self._about,
            repetitions=repetitions,
            listener=self._listener(name, len(part.study.cells)),
        ).carry_out()
        return Reading(directory.path)

    def _rounds(self, part: Part, name: str, until: float) -> list[Seen]:
        """Rounds until all intervals are narrow, or another round would not fit."""
        rounds = max(judge.LEAST_ROUNDS, _complete_rounds(self._out / name))
        while True:
            try:
                reading = self._run(part, name, rounds)
            except RunError as error:
                if _complete_rounds(self._out / name) == 0:
                    raise
                self._troubles.append(f"the rounds of {name} ended early: {error.message}")
                return self._seen(part, Reading(self._out / name))
            found = self._seen(part, reading)
            self._keep()
            full = self._spent() + part.seconds_per_round > until
            hopeless = not any(one.logs for one in found)
            if full or hopeless or rounds >= MOST_ROUNDS or _is_narrow(found):
                return found
            rounds += 1

    def _seen(self, part: Part, reading: Reading) -> list[Seen]:
        found = [Seen(treatment) for treatment in part.treatments]
        for repetition in reading.repetitions:
            if not repetition.complete:
                continue
            seen, one = found[repetition.cell], self._observe(repetition, part.background)
            seen.broken += one.broken
            seen.failed += one.failed
            if one.value is None or one.broken or not repetition.counts:
                continue
            self._value = self._value or one.value
            this_round = repetition.round
            seen.logs[this_round] = math.log(one.value.cost)
            seen.medians.append(one.value.median)
            if one.value.p95 is not None:
                seen.p95s.append(one.value.p95)
            if one.sent is not None:
                seen.rates[this_round] = one.sent
            if one.queue is not None and one.lost is not None:
                seen.queues[this_round], seen.losses[this_round] = one.queue, one.lost
        return found

    def _observe(self, repetition: Repetition, background: str) -> _Observed:
        """Read once: rounds are added to those that were read before."""
        known = self._observed.get(repetition.path)
        if known is not None:
            return known
        where = self._plan.where
        name = where.workload.name
        measured = repetition.measured(name)
        value = value_of(repetition, name)
        own = self._arrivals(repetition, where.workload.start_ns).get(where.pipe)
        found = _Observed(
            value=value,
            broken=is_broken(repetition, name),
            failed=0 if measured is None else measured.failed,
            sent=sent_by(repetition, background),
            queue=None if own is None else own.queue_seconds,
            lost=None if own is None else own.lost,
        )
        self._observed[repetition.path] = found
        return found

    def _arrivals(self, repetition: Repetition, start_ns: int) -> dict[str, Arrivals]:
        """What came to the link while the application ran, or for as long as it would."""
        begin = repetition.record.get("workload_start_ns")
        where = self._plan.where
        if begin is None:
            return {}
        seconds = repetition.workload(where.workload.name).get("seconds")
        lasted = where.workload.duration_ns if not seconds else round(seconds * SECOND)
        return arrivals(
            repetition.path,
            where.link,
            begin_ns=begin + start_ns,
            end_ns=begin + start_ns + min(where.workload.duration_ns, max(lasted, _LEAST_NS)),
            capacity=where.capacity,
        )

    def _add_alone(self, found: Sequence[Seen]) -> None:
        by_label = {
            one.label: repetition
            for repetition in Reading(self._out / "alone").repetitions
            for one in (self._plan.alone.treatments[repetition.cell],)
            if repetition.complete
        }
        for seen in found:
            repetition = by_label.get(seen.treatment.label)
            ways = self._arrivals(repetition, 0) if repetition is not None else {}
            if ways:
                own = max(ways.values(), key=lambda one: one.bits_per_second)
                seen.series, seen.carried = own.series, own.bits_per_second

    def _surrogates(self, found: Sequence[Seen]) -> tuple[str, Part]:
        """The series of the background that costs most, and one for each band and sign."""
        study, where = self._plan.study, self._plan.where
        base = next(
            (one for one in found if one.treatment.label == self._kept.base), None
        ) or _base(found)
        if base is None:
            raise SensitivityError(
                "no background came to the link, so there is nothing to change",
                "see trustbed report on the directory 'alone' of this study",
            )
        series = self._out / "series"
        series.mkdir(exist_ok=True)
        label, load = base.treatment.label, base.treatment.load
        self._kept = _Kept(self._kept.seconds, label)
        self._keep()
        wanted = load * where.capacity / (base.carried or 1.0)  # one draw of users is more, or less
        scaled = [wanted * one for one in base.series]
        made = []
        changes = [(None, False), *((b, up) for b in self._plan.bands for up in (False, True))]
        for band, amplified in changes:
            name = (
                "unchanged"
                if band is None
                else f"{'amplified' if amplified else 'flattened'}-{band.first:02}-{band.last:02}"
            )
            file = (series / f"{name}.pcap").resolve()
            changed = cascade.surrogate(
                scaled, band, amplified=amplified, seed=seed_of(study, name)
            )
            write_capture(file, _covering(changed, where, study))
            made.append(replace(surrogate(name, file, where, load), band=band, amplified=amplified))
        return label, beside(study, keys_of(study), made, where, f"beside surrogates of {label}")

    def _answers(
        self, found: Sequence[Seen], base: str | None, surrogates: Sequence[Seen]
    ) -> Sensitivity:
        plan, where = self._plan, self._plan.where
        measured = next((one for one in found if one.treatment.name == QUIET), found[0])
        bands = judge.bands(surrogates)
        value = self._value
        assert value is not None, "the suite has numbers, or there would be no answers"
        answers = {
            "matters": judge.matters(found, value.word),
            "kind": judge.kind(found, value.word),
            "scales": judge.scales(bands, base, value.word),
            "direction": judge.direction(found, value.word),
            "way": judge.way(found),
        }
        chosen = judge.bracket(found)
        unseen = [one for one in plan.bands if one.first not in {band.first for band in bands}]
        rounds = max((len(one.logs) for one in found), default=0)
        return Sensitivity(
            name=plan.study.first.name,
            workload=where.workload.name,
            measure=value.measure,
            unit=value.unit,
            word=value.word,
            link=where.link,
            capacity_bits_per_second=where.capacity,
            quiet=quantile(measured.medians, 0.5),
            matters=answers["matters"],
            kind=answers["kind"],
            scales=answers["scales"],
            direction=answers["direction"],
            way=answers["way"],
            treatments=judge.treatments(found),
            octaves=judge.octaves(found, seed=seed_of(plan.study, "octaves")),
            bands=bands,
            base=base,
            bracket=tuple(one.label for one in chosen),
            paste=pasted(chosen, where, keys_of(plan.study)) if len(chosen) > 1 else "",
            advice=judge.advice(answers, chosen),
            caveats=tuple(self._caveats(found, rounds, unseen)),
            rounds=rounds,
            surrogate_rounds=max((len(one.logs) for one in surrogates), default=0),
            seconds=self._spent(),
            budget_seconds=self._options.budget_seconds,
        )

    def _caveats(
        self, found: Sequence[Seen], rounds: int, unseen: Sequence[cascade.Band]
    ) -> list[str]:
        said = [*self._plan.left_out, *self._troubles]
        thin = [one.treatment.label for one in found if len(one.logs) < judge.LEAST_ROUNDS]
        if thin:
            said.append(f"fewer usable repetitions than {judge.LEAST_ROUNDS}: {', '.join(thin)}")
        off = []
        for one in found:
            treatment, rate = one.treatment, judge.sent(one)
            capacity = self._plan.where.capacity
            if treatment.reverse:
                capacity = self._plan.where.reverse_capacity
            if rate and not 0.7 <= rate / (treatment.load * capacity) <= 1.3:
                off.append(f"{treatment.label} ({rate / 1e6:.3g} Mbit/s)")
        if off:
            said.append(
                "these sent more than 30 % less or more than asked for, because their users wait "
                f"for answers, or large transfers fell into the time: {', '.join(off)}"
            )
        if unseen:
            scales = ", ".join(span(*one.seconds()) for one in unseen)
            said.append(f"no two usable repetitions of the surrogates at {scales}")
        failed = sum(one.failed for one in found)
        if failed:
            said.append(f"{failed:,} requests failed; they are not in the response times")
        if not judge.narrow(found) and rounds < MOST_ROUNDS:
            said.append("the budget ended before all intervals of the suite were narrow (10 %)")
        if self._plan.bands:
            said.append(
                "surrogates are played back: unlike users behind real TCP they do not give way"
            )
        return said


def _base(found: Sequence[Seen]) -> Seen | None:
    """The background whose time scales are changed: the model that surely costs most."""
    slow = judge.slowdowns(found)
    known = [
        (one, (effect.value if effect.low is None else effect.low))
        for one, effect in zip(found, slow, strict=True)
        if effect is not None and any(one.series) and not one.treatment.reverse
    ]
    varied = [pair for pair in known if pair[0].treatment.name not in ("steady", "poisson")]
    return max(varied or known, key=lambda pair: pair[1], default=(None, 0.0))[0]


def _covering(series: Sequence[float], where: Place, study: ScenarioFile) -> list[float]:
    """A series that begins with the application and repeats, with the time before it."""
    scenario = study.first
    before = (scenario.warm_up_ns + where.workload.start_ns) // 1_000_000
    whole = -(-scenario.longest_ns // 1_000_000)
    return [series[(place - before) % len(series)] for place in range(whole)]


def _complete_rounds(directory: Path) -> int:
    """How many rounds of a run are complete; 0 if there is none."""
    try:
        reading = Reading(directory)
    except RunDirectoryError:
        return 0
    incomplete = [one.round for one in reading.repetitions if not one.complete]
    rounds = 1 + max((one.round for one in reading.repetitions), default=-1)
    return min(incomplete, default=rounds)


def _is_narrow(found: Sequence[Seen]) -> bool:
    if any(one.treatment.name == QUIET for one in found):
        return judge.narrow(found)
    changes = judge.changes(found)
    return bool(changes) and all(judge.is_narrow(one, judge.NARROW / 2) for one in changes.values())
