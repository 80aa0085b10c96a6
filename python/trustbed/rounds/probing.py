"""Before its connections a round may ask what else the path is like: one-way delays by test packets, available bandwidth by estimators.

Nothing of ours is on the path meanwhile but what asks. Ports exist as long as one question does, are bound to the measured address, and
take packets of one peer: test packets with the number of their session, those of an estimator with a secret.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from trustbed.agent import Agent, Event
from trustbed.scenario.campaign_model import Delay, Estimator

_ANSWER_NS = 5_000_000_000
"""A probe without an answer for so long is lost."""
_SETTLING_NS = 30_000_000_000
"""What an estimator may take beyond its time: the run that it is in, and the last question."""
HostT = TypeVar("HostT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing(Generic[HostT]):
    """The way from a sender to a receiver, and how agents are had there.

    Attributes:
        sender: Who asks.
        receiver: Who answers.
        own: The address that the sender sends from.
        listens_at: An address of the receiver, as text for an end without its port.
        known_as: The same as the sender knows it.
        peer: As whom the receiver sees the sender.
        start: Starts an agent.
        report: Waits for an agent's report, so many seconds.
    """

    sender: HostT
    receiver: HostT
    own: str
    listens_at: str
    known_as: str
    peer: str
    start: Callable[[HostT, str, Mapping[str, Any]], Agent]
    report: Callable[[Agent, float], Event]

    def _to(self, answering: Agent) -> str:
        return f"{self.known_as}:{str(answering.ready['listening']).rpartition(':')[2]}"

    def delays(self, asked: Delay) -> dict[str, Any]:
        """What became of the test packets, as the sender's agent tells: delays, losses by direction, how the clocks differ.

        Raises:
            AgentError: One of the two refused, or did not answer.
            TestbedError: A host is gone.
        """
        session, longest = secrets.randbelow(0xFFFF) + 1, asked.longest_ns + _ANSWER_NS
        answers = {"listen": f"{self.listens_at}:0", "peer": self.peer, "session": session, "duration_ns": longest + _SETTLING_NS}
        with self.start(self.receiver, "reflect", answers) as reflector:
            reflector.begin()
            asks = {
                "to": self._to(reflector),
                "from": self.own,
                "count": asked.probes,
                "mean_gap_ns": asked.mean_gap_ns,
                "duration_ns": asked.longest_ns,
                "give_up_ns": _ANSWER_NS,
                "session": session,
                "reflector_is_stateful": True,
                "seed": secrets.randbits(32),
            }
            with self.start(self.sender, "probe", asks) as prober:
                prober.begin()
                found = dict(self.report(prober, longest / 1e9))
            found["reflector"] = _plain(reflector.stop())
        return _plain(found)

    def bandwidth(self, estimator: Estimator, limit_ns: int) -> dict[str, Any]:
        """What an estimator found, as the sender's agent tells, with what both hosts' lateness spoilt.

        Raises:
            AgentError: One of the two refused, or did not answer.
            TestbedError: A host is gone.
        """
        nonce, longest = secrets.randbits(63), limit_ns + _SETTLING_NS
        takes = {"role": "receive", "listen": f"{self.listens_at}:0", "peer": self.peer, "nonce": nonce, "duration_ns": longest}
        limit = "time_limit_ns" if estimator == "pathload" else "duration_ns"
        with self.start(self.receiver, "estimate", takes) as receiver:
            receiver.begin()
            asks = {"role": "send", "to": self._to(receiver), "from": self.own, "nonce": nonce}
            with self.start(self.sender, "estimate", {**asks, "estimator": {"kind": estimator, limit: limit_ns}}) as sender:
                sender.begin()
                found = dict(self.report(sender, longest / 1e9))
            found["receiver"] = _plain(receiver.stop())
        return _plain(found)


def _plain(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "event"}
