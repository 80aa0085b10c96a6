"""What a workload was asked to do: two testbeds are compared only where that is the same.

Settings of the testbed (congestion control, buffers, delayed acknowledgements, Nagle's algorithm)
are not part of it: they are what may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TypeAlias

from trustbed.compare.error import CompareError
from trustbed.scenario import Workload

Asked: TypeAlias = Mapping[str, str]
"""The settings of a workload by their names, in words; those that are not set are left out."""

_TESTBED = frozenset(
    {
        "name",
        "host",
        "to",
        "limit_ns",
        "judged_as",
        "environment",
        "service",
        "port",
        "congestion_control",
        "send_buffer_bytes",
        "receive_buffer_bytes",
        "window_clamp_bytes",
        "window_bytes",
        "delayed_ack",
        "nagle",
    }
)
"""What belongs to the testbed, and names."""
_KEYS = {
    "object_bytes": "object",
    "duration_ns": "duration",
    "discard_ns": "discard",
    "think_ns": "think",
    "start_ns": "start",
    "heading": "direction",
}


def asked_of(workload: Workload) -> Asked:
    """The settings of a workload in a scenario."""
    found = {}
    for one in fields(workload):
        value = getattr(workload, one.name)
        if one.name not in _TESTBED and value not in (None, (), ""):
            found[_KEYS.get(one.name, one.name)] = _words(one.name, value)
    return found


def _words(name: str, value: object) -> str:
    if name.endswith("_ns") and isinstance(value, int):
        return f"{value / 1e9:g} s"
    if name.endswith("bytes") and isinstance(value, int):
        return f"{value} B"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def matched(
    reference: Mapping[str, Asked], candidate: Mapping[str, Asked], where: str
) -> list[tuple[str, str]]:
    """The workloads that both have: by name, or the only one of each.

    Raises:
        CompareError: They have none in common, or one that was asked something else.
    """
    if len(reference) == len(candidate) == 1:
        pairs = [(next(iter(reference)), next(iter(candidate)))]
    else:
        pairs = [(name, name) for name in reference if name in candidate]
    if not pairs:
        raise CompareError(
            f"no workload is in both testbeds ({where}): {_listed(reference)} in one, "
            f"{_listed(candidate)} in the other",
            "compare runs of the same scenario",
        )
    for own, other in pairs:
        apart = list(_differences(reference[own], candidate[other]))
        if apart:
            raise CompareError(
                f"{own} was asked for something else ({where}): {'; '.join(apart)}",
                "compare runs of the same workload and length; what is varied with --by must be "
                "the testbed",
            )
    return pairs


def _listed(names: Mapping[str, Asked]) -> str:
    return ", ".join(names) or "none"


def _differences(reference: Asked, candidate: Asked) -> Iterator[str]:
    """Settings that differ; of results of other programs only those that both know."""
    keys = dict.fromkeys((*reference, *candidate))
    if not ("kind" in reference and "kind" in candidate):
        keys = {key: None for key in keys if key in reference and key in candidate}
    for key in keys:
        own, other = reference.get(key, "not set"), candidate.get(key, "not set")
        if own != other:
            yield f"{key} {own} against {other}"
