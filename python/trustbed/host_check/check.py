"""Checks whether a host is fit to measure on: reads its facts, judges them, makes one plain model.

    hosts      per host: its name, its fitness (fit, review, unfit or unknown), its findings and the
               facts behind them; the error of a host that could not be checked
    summary    how many hosts have which fitness

The facts are one object that an agent reports (its verb ``facts``); :func:`judge_host` takes one
from anywhere. Numbers are in base units, unknown is null.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trustbed.agent.client import Agent, AgentError
from trustbed.findings import Finding
from trustbed.host_check.facts import HostFacts
from trustbed.host_check.findings import (
    Facts,
    Fitness,
    HostModel,
    HostsModel,
    fitness,
    host_check_findings,
)

if TYPE_CHECKING:
    from trustbed.testbed.remote import Hosts

SLEEPING_NS = 1_500_000_000
SPINNING_NS = 1_000_000_000
PACKETS = 1000
"""What a live check tries: 1.5 s of sleeping a millisecond at a time, 1 s of spinning, and packets
over loopback.
"""
SECONDS = 60.0
"""Time limit of an agent: a live check takes about three seconds on a machine with a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCheck:
    """A checked host; ``error`` and ``hint`` explain why it could not be checked."""

    host: str
    fitness: Fitness | Literal["unknown"]
    findings: Sequence[Finding]
    facts: Facts
    error: str | None = None
    hint: str | None = None

    def model(self) -> HostModel:
        """The same for reports."""
        return {
            "host": self.host,
            "fitness": self.fitness,
            "error": None if self.error is None else {"message": self.error, "hint": self.hint},
            "findings": [asdict(found) for found in self.findings],
            "facts": dict(self.facts),
        }


def facts_of_this_host(*, live: bool = True, namespace: Path | None = None) -> Facts:
    """The facts of this host, as its agent reports them; takes about three seconds if ``live``.

    Raises:
        AgentError: There is no agent, or it does not answer.
    """
    return _report_of(Agent.start("facts", _request(live=live), namespace=namespace))


def check_hosts(hosts: Hosts, *, live: bool = True) -> Iterator[HostCheck]:
    """Connects to hosts and checks one after the other, so that none is another's load.

    A failed host stops no other.
    """
    from trustbed.errors import TestbedError

    failed = hosts.connect()
    for name in hosts.described:
        try:
            if name in failed:
                raise failed[name]
            facts = _report_of(
                hosts[name].start_agent("facts", _request(live=live), name=f"facts on {name}")
            )
        except (AgentError, TestbedError) as error:
            yield HostCheck(
                host=name,
                fitness="unknown",
                findings=(),
                facts={},
                error=error.message,
                hint=error.hint,
            )
        else:
            yield judge_host(facts, host=name)


def _request(*, live: bool) -> dict[str, dict[str, int] | None]:
    tried = {"sleeping_ns": SLEEPING_NS, "spinning_ns": SPINNING_NS, "packets": PACKETS}
    return {"live": tried if live else None}


def _report_of(started: Agent) -> Facts:
    with started as agent:
        agent.begin()
        report = agent.report(SECONDS)
    return {key: value for key, value in report.items() if key != "event"}


def judge_host(facts: Facts, *, host: str | None = None) -> HostCheck:
    """Judges the facts of a host; ``host`` overrides the name that it reports."""
    known = {key: _finite(value) for key, value in facts.items()}
    findings = host_check_findings(known)
    name = host or HostFacts(known).text("system.host") or "unknown"
    return HostCheck(host=name, fitness=fitness(findings), findings=findings, facts=known)


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value without numbers that JSON cannot represent."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def model_of(examined: Sequence[HostCheck]) -> HostsModel:
    """The model of some hosts, in the order that is given."""
    counts = Counter(one.fitness for one in examined)
    summary = {
        "hosts": len(examined),
        **{kind: counts[kind] for kind in ("fit", "review", "unfit", "unknown")},
    }
    return {"summary": summary, "hosts": [one.model() for one in examined]}
