"""The scenarios of a sensitivity study: the user's, beside every background of a suite.

Each is the scenario's own keys with one more background and one factor, the background's settings.
It can be read, and carried out, like any other (``scenario.toml`` of its run directory).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trustbed.errors import TrustbedError
from trustbed.scenario import Scenario, ScenarioFile, Workload
from trustbed.scenario.file import composed
from trustbed.scenario.model import ESTIMATORS
from trustbed.scenario.populations import by_name
from trustbed.scenario.positions import Keys
from trustbed.scenario.toml_text import inline, toml
from trustbed.sensitivity.cascade import Band
from trustbed.traffic.suite import SUITE, Member

SECOND = 1e9
QUIET = "quiet"
_TABLE = "noise"
MOST_LOAD = 0.95


class SensitivityError(TrustbedError):
    """A study that cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """A background beside the application.

    Attributes:
        name: A member of the suite, or of a surrogate.
        keys: What ``[background.NAME]`` has for it.
        load: The share of the link that it should take; 0 for none.
        reverse: Whether it flows against the data of the application.
        band: Of a surrogate: the time scales that were changed.
        amplified: Whether they were amplified, or flattened.
    """

    name: str
    keys: Mapping[str, str | float]
    load: float = 0.0
    reverse: bool = False
    band: Band | None = None
    amplified: bool = False

    @property
    def label(self) -> str:
        """``web 30 %``, ``poisson 60 % reverse``."""
        if not self.load:
            return self.name
        return f"{self.name} {self.load:.0%}".replace("%", " %") + (
            " reverse" if self.reverse else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the background competes: the link, its capacity, and who sends the data.

    Attributes:
        link: The name of the link.
        pipe: Its direction in which the application's data flow.
        capacity: The rate of that direction in bit/s.
        reverse_capacity: The rate of the other one.
        sender: The host that sends most of the application's data.
        receiver: The other one.
        workload: The application.
        is_known: Whether who sends the data is known: of a command it must be measured.
        note: What limits the data before this link does; empty if nothing.
    """

    link: str
    pipe: str
    capacity: float
    reverse_capacity: float
    sender: str
    receiver: str
    workload: Workload
    is_known: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run of the study: its scenario, the treatment of every cell, and the background's name."""

    study: ScenarioFile
    treatments: tuple[Treatment, ...]
    background: str

    @property
    def seconds_per_round(self) -> float:
        """The expected time of all cells once."""
        return sum(
            cell.scenario.expected_ns / SECOND + OVERHEAD_SECONDS for cell in self.study.cells
        )


OVERHEAD_SECONDS = 1.0
"""What a repetition takes beyond its traffic: namespaces, starting, judging."""


Route = Callable[[Scenario, str, str], Sequence[tuple[str, str]]]
"""The ends of the links from one host to another, first to last."""


def place(
    study: ScenarioFile,
    path: Route,
    *,
    workload: str | None,
    link: str | None,
    sender: str | None = None,
) -> Place:
    """Where backgrounds go.

    ``sender``: the host that sends most of the application's data, where only a measurement knows
    it. Without one, a command is taken to send where it runs.

    Raises:
        SensitivityError: The scenario has factors, no such workload or link, a workload that
            cannot be compared, or no link with a rate on the way of its data.
    """
    if study.factors:
        raise SensitivityError(
            f"{study.file.name} has factors: {', '.join(one.key for one in study.factors)}",
            "give a scenario of one cell; the background is the factor here",
        )
    scenario = study.first
    found = _workload(scenario, workload)
    if found.kind in ESTIMATORS:
        raise SensitivityError(
            f"{found.name} is an estimator, and its error is not larger where it is slower",
            "compare its errors with a factor of backgrounds: examples/background",
        )
    # What a program is told by its own options may turn the data round.
    sure = None if found.command else found.data_from
    is_known = sure is not None or sender is not None
    sender = sure or sender or found.data_from or found.host
    receiver = found.to if sender == found.host else found.host
    if receiver is None:
        raise SensitivityError(
            f"nobody is named at the other end of {found.name}",
            f'add to = "HOST" to [workload.{found.name}]: background flows between the same hosts',
        )
    ways = _ways(scenario, set(path(scenario, sender, receiver)))
    if link is not None and link not in ways:
        raise SensitivityError(
            f"no link with a rate on the way of {found.name}'s data is called {link}",
            f"there are: {', '.join(ways)}" if ways else 'give the link a rate = "10Mbit/s"',
        )
    if not ways:
        raise SensitivityError(
            f"no link on the way of {found.name}'s data has a rate, so nothing would queue",
            'give the link a rate = "10Mbit/s"; backgrounds do not cross access links of hosts',
        )
    name = link or min(ways, key=lambda one: ways[one].capacity)
    chosen = ways[name]
    return Place(
        link=name,
        pipe=chosen.pipe,
        capacity=chosen.capacity,
        reverse_capacity=chosen.reverse_capacity,
        sender=sender,
        receiver=receiver,
        workload=found,
        is_known=is_known,
        note=_narrower(scenario, sender, receiver, chosen.capacity),
    )


@dataclass(frozen=True, slots=True)
class _Way:
    pipe: str
    capacity: float
    reverse_capacity: float


def _ways(scenario: Scenario, edges: Collection[tuple[str, str]]) -> dict[str, _Way]:
    """The links that data cross, each in their direction, if it has a rate."""
    found = {}
    for one in scenario.links:
        pipes = (one.name, "") if one.backward is None else (f"{one.name}.up", f"{one.name}.down")
        directions = (one.forward, one.backward)
        for place_, edge in enumerate((one.ends, one.ends[::-1])):
            own, other = directions[place_], directions[1 - place_]
            if own is None or edge not in edges or own.drain_rate is None:
                continue
            back = None if other is None else other.drain_rate
            found[one.name] = _Way(pipes[place_], own.drain_rate, back or own.drain_rate)
    return found


def _narrower(scenario: Scenario, sender: str, receiver: str, capacity: float) -> str:
    """A word about an access link that is narrower than the link of the backgrounds."""
    for name, way in (
        (sender, scenario.host(sender).access_up),
        (receiver, scenario.host(receiver).access_down),
    ):
        rate = None if way is None else way.drain_rate
        if rate is not None and rate < capacity:
            return (
                f"the access link of {name} has {rate / 1e6:.3g} Mbit/s, less than the link that "
                "the backgrounds share with it"
            )
    return ""


def _workload(scenario: Scenario, name: str | None) -> Workload:
    if name is None:
        return scenario.workloads[0]
    for one in scenario.workloads:
        if one.name == name:
            return one
    raise SensitivityError(
        f"no workload is called {name}",
        f"there are: {', '.join(one.name for one in scenario.workloads)}",
    )


def members(names: Sequence[str] | None) -> tuple[Member, ...]:
    """The members of the suite that send something, or those of these names.

    Raises:
        SensitivityError: No member has such a name.
    """
    known = {one.name: one for one in SUITE}
    for name in names or ():
        if name not in known:
            raise SensitivityError(
                f"no background is called {name}", f"there are: {', '.join(known)}"
            )
    chosen = tuple(one for one in SUITE if names is None or one.name in names)
    sending = tuple(one for one in chosen if one.name != QUIET)
    if len(sending) < 2:
        raise SensitivityError(
            "one background shows no difference between backgrounds", "name two or more"
        )
    return sending


def suite(
    where: Place, chosen: Sequence[Member], loads: Sequence[float], *, reverse: bool
) -> tuple[Treatment, ...]:
    """Every member at every load, none at all first, and the highest load against the data."""
    found = [Treatment(name=QUIET, keys={"model": "none"})]
    found += [_treatment(one, load, where, reverse=False) for load in loads for one in chosen]
    if reverse:
        found += [_treatment(one, max(loads), where, reverse=True) for one in _apart(chosen)]
    return tuple(found)


def _apart(chosen: Sequence[Member]) -> list[Member]:
    """A rigid background and one of a model, as different as the suite has."""
    rigid = [one for one in chosen if not one.is_model]
    models = [one for one in chosen if one.is_model]
    return [*rigid[-1:], *models[-1:]]


def _treatment(one: Member, load: float, where: Place, *, reverse: bool) -> Treatment:
    data_from, data_to, capacity = where.sender, where.receiver, where.capacity
    if reverse:
        data_from, data_to, capacity = data_to, data_from, where.reverse_capacity
    # Of a model most data flow from its servers, which are where ``to`` is.
    ends = (
        {"from": data_to, "to": data_from} if one.is_model else {"from": data_from, "to": data_to}
    )
    return Treatment(
        name=one.name,
        keys={**one.keys, **ends, "rate": f"{round(load * capacity)}bit/s"},
        load=load,
        reverse=reverse,
    )


def surrogate(name: str, file: Path, where: Place, load: float, **what: object) -> Treatment:
    """A series of bytes that is played back, unchanged or with a band flattened or amplified."""
    return replace(
        Treatment(
            name=name,
            keys={
                "model": "playback",
                "file": str(file),
                "from": where.sender,
                "to": where.receiver,
            },
            load=load,
        ),
        **what,  # type: ignore[arg-type] # band and amplified
    )


_ELSE = frozenset({"services", "faults", "background", "capture", "trace"})
"""Tables of the user's scenario that have no part in a background by itself."""


def alone(study: ScenarioFile, keys: Keys, treatments: Sequence[Treatment], where: Place) -> Part:
    """Every treatment without anything else, to see what it is by itself."""
    seconds = where.workload.duration_ns / SECOND
    waiting = {"kind": "command", "host": where.receiver, "command": f"sleep {seconds:g}"}
    without = {key: value for key, value in keys.items() if key not in _ELSE}
    changed = {**without, "workload": {"wait": waiting}, "duration": f"{seconds:g}s"}
    return beside(study, changed, treatments, where, "the backgrounds alone")


def beside(
    study: ScenarioFile, keys: Keys, treatments: Sequence[Treatment], where: Place, what: str
) -> Part:
    """The scenario beside every treatment; its ledger has packets."""
    backgrounds, table = by_name(keys), _free_name(keys)
    ends = {"from": where.sender, "to": where.receiver}
    changed = {
        **{key: value for key, value in keys.items() if key != "factors"},
        "name": f"{study.first.name}: {what}",
        "emulator": {**(keys.get("emulator") or {}), "ledger": "packets"},
        "background": {**backgrounds, table: {"model": "none", **ends}},
        "factors": {"background": {table: [dict(one.keys) for one in treatments]}},
    }
    found = composed(study.file, toml(changed), changed)
    return Part(study=found, treatments=tuple(treatments), background=table)


def _free_name(keys: Keys) -> str:
    """A name that no background, workload or service of the scenario has."""
    taken = set(by_name(keys))
    taken |= {name for table in ("workload", "services") for name in keys.get(table) or {}}
    return next(
        name
        for number in itertools.count(1)
        if (name := _TABLE if number == 1 else f"{_TABLE}-{number}") not in taken
    )


def pasted(treatments: Sequence[Treatment], where: Place, keys: Keys) -> str:
    """A factor for the user's own scenario: these backgrounds, as lines of TOML."""
    table = _free_name(keys)
    lines = [
        f"[background.{table}]",
        'model = "none"',
        f"from = {inline(where.sender)}",
        f"to = {inline(where.receiver)}",
        "",
        "[factors]",
        f"background.{table} = [",
        *(f"  {inline(dict(one.keys))}," for one in treatments),
        "]",
    ]
    return "\n".join(lines) + "\n"


def seed_of(study: ScenarioFile, *parts: object) -> int:
    """A seed of a random part of the study."""
    text = "|".join(str(part) for part in (study.first.seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
