"""Whether a host is fit to measure on: its facts are asked for, judged, and put into one plain model.

    hosts      per host: its name, whether it is fit, review, unfit or unknown, its findings, and the facts that they were made from;
               of one that could not be asked the error
    summary    how many hosts are fit, are to be looked at, are unfit, or could not be asked

The facts are one object that an agent reports (its verb ``facts``), wherever it runs; whoever has one from elsewhere hands it to
:func:`examine`. Numbers are in base units, unknown is null.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trustbed.agent import Agent, AgentError
from trustbed.diagnose.doctor_facts import HostFacts
from trustbed.diagnose.doctor_findings import Fitness, doctor_findings, fitness
from trustbed.diagnose.findings import Finding

if TYPE_CHECKING:
    from trustbed.testbed.remote import Hosts

SLEEPING_NS = 1_500_000_000
SPINNING_NS = 1_000_000_000
PACKETS = 1000
"""What is tried: a second and a half of sleeping a millisecond at a time, a second of spinning, and so many packets over loopback."""
SECONDS = 60.0
"""How long an agent has for it: it takes some three seconds, on a machine that is not withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """A host, looked at; ``error`` and ``hint`` say why it could not be asked, if it could not."""

    host: str
    fitness: Fitness | Literal["unknown"]
    findings: Sequence[Finding]
    facts: Mapping[str, Any]
    error: str | None = None
    hint: str | None = None

    def model(self) -> dict[str, Any]:
        """The same for reports."""
        findings = [asdict(found) for found in self.findings]
        error = None if self.error is None else {"message": self.error, "hint": self.hint}
        return {
            "host": self.host,
            "fitness": self.fitness,
            "error": error,
            "findings": findings,
            "facts": dict(self.facts),
        }


def facts_of_this_host(*, live: bool = True, namespace: Path | None = None) -> dict[str, Any]:
    """What an agent tells of the host that this runs on, after some three seconds of trying if ``live``.

    Raises:
        AgentError: There is no agent, or it does not answer.
    """
    return _told(Agent.start("facts", _question(live=live), namespace=namespace))


def examine_hosts(hosts: Hosts, *, live: bool = True) -> Iterator[Examination]:
    """Connects to hosts and examines one after the other, so that none of them is another's load; one that fails stops no other."""
    from trustbed.testbed.error import TestbedError

    failed = hosts.connect()
    for name in hosts.described:
        try:
            if name in failed:
                raise failed[name]
            facts = _told(
                hosts[name].start_agent("facts", _question(live=live), name=f"facts on {name}")
            )
        except (AgentError, TestbedError) as error:
            yield Examination(
                host=name,
                fitness="unknown",
                findings=(),
                facts={},
                error=error.message,
                hint=error.hint,
            )
        else:
            yield examine(facts, host=name)


def _question(*, live: bool) -> dict[str, Any]:
    tried = {"sleeping_ns": SLEEPING_NS, "spinning_ns": SPINNING_NS, "packets": PACKETS}
    return {"live": tried if live else None}


def _told(started: Agent) -> dict[str, Any]:
    with started as agent:
        agent.begin()
        report = agent.report(SECONDS)
    return {key: value for key, value in report.items() if key != "event"}


def examine(facts: Mapping[str, Any], *, host: str | None = None) -> Examination:
    """Judges what an agent has told; ``host`` is what it is called, its own name if not given."""
    known = {key: _finite(value) for key, value in facts.items()}
    findings = doctor_findings(known)
    name = host or HostFacts(known).text("system.host") or "unknown"
    return Examination(host=name, fitness=fitness(findings), findings=findings, facts=known)


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The same without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def model_of(examined: Sequence[Examination]) -> dict[str, Any]:
    """The model of some hosts, in the order that is given."""
    counts = Counter(one.fitness for one in examined)
    summary = {
        "hosts": len(examined),
        **{kind: counts[kind] for kind in ("fit", "review", "unfit", "unknown")},
    }
    return {"summary": summary, "hosts": [one.model() for one in examined]}
