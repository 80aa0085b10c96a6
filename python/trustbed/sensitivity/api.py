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

from trustbed.report.run.reading import Measured, Repetition
from trustbed.report.run.reading import Run as Reading
from trustbed.run.api import session_of
from trustbed.run.directory import RunDirectory
from trustbed.run.error import RunError
from trustbed.run.execution import ceiling
from trustbed.run.execution.listener import Listener
from trustbed.run.session_about import session_about
from trustbed.scenario import ScenarioError, ScenarioFile, load
from trustbed.scenario.file import keys_of
from trustbed.sensitivity import cascade, judge
from trustbed.sensitivity.arrivals import Arrivals, arrivals, write_capture
from trustbed.sensitivity.judge import Seen
from trustbed.sensitivity.model import Sensitivity
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
from trustbed.workload.distribution import mean, quantile

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
    where = place(study, workload=options.workload, link=options.link)
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
    bins = where.workload.duration_ns // 1_000_000
    return Planned(
        study=study,
        where=where,
        treatments=tuple(kept),
        suite=beside(study, keys, kept, where, "beside the suite"),
        alone=alone(study, keys, sending, where),
        bands=cascade.bands(bins) if options.surrogates else (),
        left_out=left_out,
    )


def _check(options: Options) -> None:
    for share in options.loads:
        if not 0 < share <= MOST_LOAD:
            raise SensitivityError(
                f"a load of {share:.0%} of the link leaves the application nothing"
                if share > MOST_LOAD
                else f"a load of {share:g} is none",
                f"give shares above 0 and at most {MOST_LOAD:g}, for example 0.3,0.6",
            )
    if len(set(options.loads)) < len(options.loads) or not options.loads:
        raise SensitivityError("the loads are not all different", "for example 0.3,0.6")


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
            f"{judge.LEAST_ROUNDS} rounds of everything take about {plan.least_seconds / 60:.0f} min, "
            f"and the budget is {chosen.budget_seconds / 60:.3g} min",
            f"give --budget {math.ceil(plan.least_seconds / 60) + 1}min, fewer --backgrounds or "
            "--loads, or a shorter duration",
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
        self._begun = time.monotonic()

    def _spent(self) -> float:
        """The seconds of this study so far, earlier calls included."""
        return self._kept.seconds + time.monotonic() - self._begun

    def _keep(self, base: str | None) -> None:
        """What a later call must know: the time spent, and the background that is changed."""
        kept = _Kept(self._spent(), base)
        (self._out / _KEPT).write_bytes(msgspec.json.encode(kept))

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
            self._keep(self._kept.base)

    def _carry_out(self) -> Sensitivity:
        plan, options = self._plan, self._options
        self._run(plan.alone, "alone", 1)
        until = options.budget_seconds * (_SUITE_SHARE if plan.bands else 1.0)
        found = self._rounds(plan.suite, "suite", until)
        self._add_alone(found)
        base, surrogates = None, []
        if plan.bands:
            base, part = self._surrogates(found)
            surrogates = self._rounds(part, "surrogates", options.budget_seconds)
        result = self._answers(found, base, surrogates)
        partial = self._out / f"{RESULT}.partial"
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
        partial.replace(self._out / RESULT)
        return result

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
        rounds = judge.LEAST_ROUNDS
        while True:
            found = self._seen(part, self._run(part, name, rounds))
            full = self._spent() + part.seconds_per_round > until
            if full or rounds >= MOST_ROUNDS or self._is_narrow(found):
                return found
            rounds += 1

    def _is_narrow(self, found: Sequence[Seen]) -> bool:
        if any(one.treatment.name == QUIET for one in found):
            return judge.narrow(found)
        widths = [one.effect for one in judge.bands(found)]
        return all(
            one.low is not None
            and one.high is not None
            and math.log(one.high / one.low) / 2
            <= max(judge.NARROW / 2, 0.25 * abs(math.log(one.value)))
            for one in widths
        )

    def _seen(self, part: Part, reading: Reading) -> list[Seen]:
        found = [Seen(treatment) for treatment in part.treatments]
        where = self._plan.where
        for repetition in reading.repetitions:
            if not repetition.counts:
                continue
            seen, measured = found[repetition.cell], repetition.measured(where.workload.name)
            value = _value(measured)
            if measured is None or value is None:
                continue
            seen.logs[repetition.round] = math.log(value.slow)
            seen.medians.append(value.median)
            seen.failed += measured.failed
            if value.p95 is not None:
                seen.p95s.append(value.p95)
            ways = self._arrivals(repetition)
            if self._data_pipe in ways:
                seen.queues[repetition.round] = ways[self._data_pipe].queue_seconds
                seen.losses[repetition.round] = ways[self._data_pipe].lost
        return found

    def _arrivals(self, repetition: Repetition) -> dict[str, Arrivals]:
        begin = repetition.record.get("workload_start_ns")
        where = self._plan.where
        if begin is None:
            return {}
        return arrivals(
            repetition.path,
            where.link,
            begin_ns=begin,
            end_ns=begin + where.workload.duration_ns,
            capacity=where.capacity,
        )

    @property
    def _data_pipe(self) -> str:
        """The direction of the link in which the application's data flow."""
        where = self._plan.where
        link = next(one for one in self._plan.study.first.links if one.name == where.link)
        if link.backward is None:
            return link.name
        return f"{link.name}.{'up' if self._is_forward(link.ends) else 'down'}"

    def _is_forward(self, ends: tuple[str, str]) -> bool:
        """Whether the sender is on the first end's side of the link."""
        scenario, where = self._plan.study.first, self._plan.where
        joined = [
            (one.ends[0], one.ends[1]) for one in scenario.links if one.name != where.link
        ] + [(host.name, host.router) for host in scenario.hosts if host.router is not None]
        side, grown = {where.sender}, True
        while grown:
            more = {
                other
                for pair in joined
                for here, other in (pair, pair[::-1])
                if here in side and other not in side
            }
            side |= more
            grown = bool(more)
        return ends[0] in side

    def _add_alone(self, found: Sequence[Seen]) -> None:
        by_label = {
            one.label: repetition
            for repetition in Reading(self._out / "alone").repetitions
            for one in (self._plan.alone.treatments[repetition.cell],)
            if repetition.complete
        }
        for seen in found:
            repetition = by_label.get(seen.treatment.label)
            ways = self._arrivals(repetition) if repetition is not None else {}
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
            write_capture(file, _covering(changed, study))
            made.append(replace(surrogate(name, file, where, load), band=band, amplified=amplified))
        return label, beside(study, keys_of(study), made, where, f"beside surrogates of {label}")

    def _answers(
        self, found: Sequence[Seen], base: str | None, surrogates: Sequence[Seen]
    ) -> Sensitivity:
        plan, where = self._plan, self._plan.where
        measured = next((one for one in found if one.treatment.name == QUIET), found[0])
        bands = judge.bands(surrogates)
        answers = {
            "matters": judge.matters(found),
            "kind": judge.kind(found),
            "scales": judge.scales(bands, base),
            "direction": judge.direction(found),
            "way": judge.way(found),
        }
        chosen = judge.bracket(found)
        unseen = [one for one in plan.bands if one.first not in {band.first for band in bands}]
        name, unit = self._measure()
        rounds = max((len(one.logs) for one in found), default=0)
        return Sensitivity(
            name=plan.study.first.name,
            workload=where.workload.name,
            measure=name,
            unit=unit,
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
            paste=pasted(chosen, where) if len(chosen) > 1 else "",
            advice=judge.advice(answers, chosen),
            caveats=tuple(self._caveats(found, rounds, unseen)),
            rounds=rounds,
            surrogate_rounds=max((len(one.logs) for one in surrogates), default=0),
            seconds=self._spent(),
            budget_seconds=self._options.budget_seconds,
        )

    def _measure(self) -> tuple[str, str]:
        for repetition in Reading(self._out / "suite").repetitions:
            value = _value(repetition.measured(self._plan.where.workload.name))
            if value is not None:
                return value.measure, value.unit
        raise SensitivityError(
            f"{self._plan.where.workload.name} gave no number that could be compared",
            "see trustbed report on the directory 'suite' of this study",
        )

    def _caveats(
        self, found: Sequence[Seen], rounds: int, unseen: Sequence[cascade.Band]
    ) -> list[str]:
        said = list(self._plan.left_out)
        thin = [one.treatment.label for one in found if len(one.logs) < judge.LEAST_ROUNDS]
        if thin:
            said.append(f"fewer usable repetitions than {judge.LEAST_ROUNDS}: {', '.join(thin)}")
        off = [
            f"{one.treatment.label} ({one.carried / 1e6:.3g} Mbit/s)"
            for one in found
            if one.carried
            and not 0.7 <= one.carried / (one.treatment.load * self._plan.where.capacity) <= 1.3
        ]
        if off:
            said.append(
                "these carried more than 30 % less or more than asked for, because their users "
                f"wait for answers or a burst fell into the measured time: {', '.join(off)}"
            )
        if unseen:
            scales = ", ".join(span(*one.seconds()) for one in unseen)
            said.append(f"no two usable repetitions of the surrogates at {scales}")
        failed = sum(one.failed for one in found)
        if failed:
            said.append(f"{failed:,} requests failed; they are not in the response times")
        if not judge.narrow(found) and rounds < MOST_ROUNDS:
            said.append("the budget ended before all intervals were narrow (10 %)")
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


def _covering(series: Sequence[float], study: ScenarioFile) -> list[float]:
    """A series that begins with the application and repeats, with the warm-up before it."""
    scenario = study.first
    before = scenario.warm_up_ns // 1_000_000
    whole = -(-scenario.longest_ns // 1_000_000)
    return [series[(place - before) % len(series)] for place in range(whole)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    slow: float
    median: float
    p95: float | None
    measure: str
    unit: str


def _value(measured: Measured | None) -> _Value | None:
    """What is compared: larger is slower. A throughput counts by its inverse."""
    if measured is None:
        return None
    if measured.responses is not None and measured.responses.seconds:
        seconds = measured.responses.seconds
        return _value_of(
            mean(seconds), quantile(seconds, 0.5), quantile(seconds, 0.95), "mean response time"
        )
    if measured.percentiles:
        shares = sorted(measured.percentiles.items())
        below, area = 0.0, 0.0
        for share, seconds_there in shares:
            area += (share - below) * seconds_there
            below = share
        middle = min(shares, key=lambda one: abs(one[0] - 0.5))[1]
        high = min(shares, key=lambda one: abs(one[0] - 0.95))[1]
        return _value_of(area / below if below else None, middle, high, "mean response time")
    for name, rate in (("throughput", measured.rate), ("video rate", measured.video_rate)):
        if rate:
            return _Value(slow=1 / rate, median=rate, p95=None, measure=name, unit="bit/s")
    if measured.jitter:
        return _value_of(measured.jitter, measured.jitter, None, "jitter")
    return _value_of(measured.mean, measured.mean, None, "mean response time")


def _value_of(
    slow: float | None, median: float | None, p95: float | None, measure: str
) -> _Value | None:
    if not slow or median is None:
        return None
    return _Value(slow=slow, median=median, p95=p95, measure=measure, unit="s")
