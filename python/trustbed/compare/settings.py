"""Which settings of a candidate can be changed one at a time, and the scenario of each.

First those in which the candidate's scenario differs from the reference's: each is set back by
itself. Then what the scenario language can say of any testbed: no offloads of a guest, no limits
of a container, a longer queue, faults and background removed, CPUs, what is recorded, and where
processes run. A change is made to the keys of the scenario and read again, so that an impossible
one is found before anything runs.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trustbed.errors import TrustbedError
from trustbed.scenario import Scenario, ScenarioFile
from trustbed.scenario.file import composed
from trustbed.scenario.positions import Keys
from trustbed.scenario.toml_text import inline, toml

Path = tuple[str, ...]
_FIXED = frozenset({"name", "about", "seed", "repetitions", "factors"})
_LONG_QUEUE = "1000p"
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One change.

    Attributes:
        name: In words.
        change: The keys with their new values, as a scenario has them.
        study: The candidate's scenario with that change.
        is_reference: It is the reference's scenario then: what was set back is all that differed.
    """

    name: str
    change: str
    study: ScenarioFile
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    name: str
    path: Path
    value: object

    @property
    def words(self) -> str:
        """``link.queue = "1000p"``; a key that is taken away: ``faults.x removed``."""
        key = ".".join(self.path)
        return f"{key} removed" if self.value is _MISSING else f"{key} = {inline(self.value)}"


def settings(
    file: ScenarioFile, candidate: Keys, reference: Keys
) -> tuple[list[Setting], list[str]]:
    """Every change that gives another valid scenario, and a word about each that does not."""
    found, skipped = [], []
    seen = {_nameless(study_of(file, candidate, ""))}
    try:
        goal = _nameless(study_of(file, reference, ""))
    except TrustbedError:  # what it names lies beside its own file
        goal = None
    for change in (*_differences(candidate, reference), *_usual(candidate)):
        try:
            study = study_of(file, _applied(candidate, change), change.name)
        except TrustbedError as error:
            skipped.append(f"{change.name}: {error.message}")
            continue
        scenario = _nameless(study)
        if scenario not in seen:
            seen.add(scenario)
            found.append(
                Setting(
                    name=change.name,
                    change=change.words,
                    study=study,
                    is_reference=scenario == goal,
                )
            )
    return found, skipped


def _nameless(study: ScenarioFile) -> Scenario:
    """The scenario by which two changes are the same."""
    return replace(study.first, name="")


def study_of(file: ScenarioFile, keys: Keys, what: str) -> ScenarioFile:
    """A scenario of one cell; files that it names are sought beside ``file``.

    Raises:
        ScenarioError: It is invalid.
    """
    named = {**keys, "name": f"{file.first.name}: {what}"}
    return composed(file.file, toml(named), named)


def cell_keys(keys: Keys, factors: Mapping[str, tuple[Path, object]]) -> Keys:
    """The keys of one cell: the factors' values written into them."""
    found = {key: copy.deepcopy(value) for key, value in keys.items() if key != "factors"}
    for path, value in factors.values():
        own = _at(found, path)
        if isinstance(value, dict) and isinstance(own, dict):
            value = {**own, **value}
        _put(found, path, copy.deepcopy(value))
    return found


def _applied(keys: Keys, change: _Change) -> Keys:
    found = copy.deepcopy(dict(keys))
    value = change.value
    _put(found, change.path, value if value is _MISSING else copy.deepcopy(value))
    return found


def _put(keys: dict[str, Any], path: Path, value: object) -> None:
    table = keys
    for name in path[:-1]:
        below = table.get(name)
        table[name] = table = below if isinstance(below, dict) else {}
    if value is _MISSING:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = value


def _at(keys: Mapping[str, Any], path: Path) -> object:
    found: object = keys
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


# What differs.


def _differences(
    candidate: Mapping[str, Any], reference: Mapping[str, Any], path: Path = ()
) -> Iterator[_Change]:
    """Each key that differs, set to what the reference has."""
    for key in dict.fromkeys((*candidate, *reference)):
        if not path and key in _FIXED:
            continue
        own, other = candidate.get(key, _MISSING), reference.get(key, _MISSING)
        here = (*path, key)
        if own == other:
            continue
        if isinstance(own, Mapping) and isinstance(other, Mapping):
            yield from _differences(own, other, here)
            continue
        dotted = ".".join(here)
        name = f"without {dotted}" if other is _MISSING else f"{dotted} as in the reference"
        yield _Change(name, here, other)


# What can be tried of any testbed.


def _usual(keys: Keys) -> Iterator[_Change]:
    for kind in _USUAL:
        yield from kind(keys)


def _guests(keys: Keys) -> Iterator[_Change]:
    for name, host in _tables(keys, "hosts"):
        guest = host.get("guest", "none")
        if guest == "none":
            continue
        own: Mapping[str, Any] = {"nic": guest} if isinstance(guest, str) else guest
        path = ("hosts", name, "guest")
        if own.get("offloads", True):
            yield _Change(f"offloads of {name} off", path, {**own, "offloads": False})
        else:
            yield _Change(f"offloads of {name} on", path, {**own, "offloads": True})
        processors = int(own.get("cpus", 1))
        yield _Change(f"one more CPU for {name}", path, {**own, "cpus": processors + 1})


def _containers(keys: Keys) -> Iterator[_Change]:
    """The limits of a container, and the filter of system calls that engines give it."""
    for name, host in _tables(keys, "hosts"):
        described = host.get("container", "none")
        if described == "none":
            continue
        own: Mapping[str, Any] = {"image": described} if isinstance(described, str) else described
        path = ("hosts", name, "container")
        for key in ("cpus", "memory"):
            if key in own:
                rest = {other: value for other, value in own.items() if other != key}
                yield _Change(f"no limit of {key} for {name}", path, rest)
        options = own.get("options", [])
        options = [options] if isinstance(options, str) else list(options)
        if not any("seccomp" in one for one in options):
            more = [*options, "--security-opt=seccomp=unconfined"]
            yield _Change(f"no filter of system calls in {name}", path, {**own, "options": more})


def _pinning(keys: Keys) -> Iterator[_Change]:
    """The processes of a host on one processor, or free of the ones they are pinned to."""
    ends = {
        one[key]
        for _, one in _tables(keys, "workload")
        for key in ("host", "to")
        if isinstance(one.get(key), str)
    }
    spun = {one.get("host") for _, one in _tables(keys, "faults") if one.get("kind") == "spinner"}
    last = max(os.sched_getaffinity(0))
    for name in sorted(ends - spun):
        host = (keys.get("hosts") or {}).get(name) or {}
        path = ("hosts", name, "pin")
        if host.get("pin") not in (None, "none"):
            yield _Change(f"{name} not pinned", path, _MISSING)
        else:
            yield _Change(f"{name} pinned to processor {last}", path, last)


def _faults(keys: Keys) -> Iterator[_Change]:
    """A CPU quota, a spinner or stops are faults of the scenario."""
    for name, fault in _tables(keys, "faults"):
        if fault.get("kind") != "none":
            kind = fault.get("kind", "fault")
            yield _Change(f"{kind} {name} removed", ("faults", name, "kind"), "none")


def _queues(keys: Keys) -> Iterator[_Change]:
    for path, link in _links(keys):
        yield _Change(f"longer queue of {_link(path)}", (*path, "queue"), _LONG_QUEUE)
        for key in ("loss", "jitter", "policer", "shaper", "reorder", "outages"):
            if key in link:
                yield _Change(f"no {key} of {_link(path)}", (*path, key), _MISSING)


def _link(path: Path) -> str:
    return "the link" if len(path) == 1 else path[-1]


def _egress(keys: Keys) -> Iterator[_Change]:
    for name, host in _tables(keys, "hosts"):
        if "egress" in host:
            yield _Change(f"egress limit of {name} removed", ("hosts", name, "egress"), _MISSING)


def _backgrounds(keys: Keys) -> Iterator[_Change]:
    for name, one in _tables(keys, "background"):
        if one.get("model") != "none":
            yield _Change(f"background {name} removed", ("background", name, "model"), "none")


def _recording(keys: Keys) -> Iterator[_Change]:
    """What observes: tracing of system calls, probes, samples and indicators."""
    if "trace" in keys:
        yield _Change("tracing off", ("trace",), _MISSING)
    if "probe" in keys:
        yield _Change("probes off", ("probe",), _MISSING)
    samples = keys.get("samples")
    if not isinstance(samples, Mapping) or samples.get("enabled", True):
        yield _Change("samples off", ("samples",), {"enabled": False})


_USUAL: Sequence[Callable[[Keys], Iterator[_Change]]] = (
    _faults,
    _guests,
    _containers,
    _egress,
    _queues,
    _backgrounds,
    _recording,
    _pinning,
)


def _tables(keys: Keys, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, value in (keys.get(name) or {}).items():
        if isinstance(value, Mapping):
            yield key, value


def _links(keys: Keys) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if isinstance(keys.get("link"), Mapping):
        yield ("link",), keys["link"]
    for name, link in _tables(keys, "links"):
        yield ("links", name), link
