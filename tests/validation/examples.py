"""What a reason's tests share: a talk that gives the reason, a twin that does not, and readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.validation.talk import Talk
from validation import arrivals, connections
from validation.case import History
from validation.finding import Result
from validation.records import contents, records


def built(build: Callable[..., object], options: Mapping[str, Any], network: int = 0) -> Talk:
    """A talk of what ``build`` adds to it."""
    talk = Talk(network=network)
    build(talk, **options)
    return talk


@dataclass(frozen=True)
class Example:
    """``build`` with the options ``holds`` gives the reason, and with ``fails`` it does not."""

    reason: str
    build: Callable[..., object]
    holds: Mapping[str, Any]
    fails: Mapping[str, Any]

    def talk(self, options: Mapping[str, Any], network: int = 0) -> Talk:
        """The packets with these options."""
        return built(self.build, options, network)


def reasons(results: list[Result], tool: str) -> set[str]:
    """The reasons by which differences from a tool are explained."""
    prefix = f"{tool}."
    return {
        reason.removeprefix(prefix)
        for result in results
        for reason in result.reasons
        if reason.startswith(prefix)
    }


def unexplained(results: list[Result], tool: str) -> list[str]:
    """The differences from a tool that nothing explains."""
    return [
        f"{finding.field}: {finding.detail}"
        for result in results
        for finding in result.findings
        if finding.tool == tool and finding.state == "unexplained"
    ]


def history_of(path: Path, frame: int) -> History:
    """The connection of a frame."""
    found = connections.cut(arrivals.read(records(contents(path))).arrivals)
    return next(History.of(one) for one in found if any(p.frame == frame for p in one.packets))
