"""A study before it begins: what is asked for, and the runs that it comes to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trustbed.run.error import RunError
from trustbed.run.execution.ceiling import Ceiling, refuse_too_much
from trustbed.scenario import ScenarioError, ScenarioFile, load
from trustbed.scenario.bottleneck import path
from trustbed.scenario.file import keys_of
from trustbed.sensitivity import cascade
from trustbed.sensitivity.arrivals import MOST_BITS_PER_SECOND
from trustbed.sensitivity.judge.effects import LEAST_ROUNDS
from trustbed.sensitivity.plan import (
    MOST_LOAD,
    OVERHEAD_SECONDS,
    SECOND,
    Part,
    Place,
    SensitivityError,
    Treatment,
    alone,
    beside,
    members,
    place,
    suite,
)

LOADS = (0.3, 0.6)
BUDGET_SECONDS = 1800.0
MOST_ROUNDS = 30


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


@dataclass(slots=True)
class Planned:
    """A study before it begins.

    Attributes:
        study: The user's scenario.
        where: The link and the application.
        treatments: Of the suite, the quiet one first.
        ceiling: What this machine sustains, if it had to be known.
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
    ceiling: Ceiling | None = None

    @property
    def least_seconds(self) -> float:
        """What the backgrounds alone, and the least rounds of every part take."""
        cell = self.suite.study.cells[0].scenario.expected_ns / SECOND + OVERHEAD_SECONDS
        again = (1 + 2 * len(self.bands)) * cell if self.bands else 0.0
        rounds = LEAST_ROUNDS
        return self.alone.seconds_per_round + rounds * (self.suite.seconds_per_round + again)


def planned(
    scenario: str | os.PathLike[str],
    options: Options,
    known: Ceiling | None = None,
    sender: str | None = None,
) -> Planned:
    """Reads the scenario and composes the runs; nothing is carried out.

    The machine's ceiling is measured where it matters, unless it is ``known``. ``sender`` is the
    host that was measured to send a command's data.

    Raises:
        ScenarioError: The scenario is invalid.
        SensitivityError: No study can be made of it.
    """
    study = load(Path(scenario))
    where = place(study, path, workload=options.workload, link=options.link, sender=sender)
    _check(options)
    keys, left_out, kept = keys_of(study), [], []
    wanted = suite(where, members(options.backgrounds), options.loads, reverse=options.reverse)
    for one in wanted:
        try:
            part = beside(study, keys, (wanted[0], one) if one.load else (one,), where, "checked")
            known = refuse_too_much([cell.scenario for cell in part.study.cells], known) or known
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
        ceiling=known,
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
