"""Measures the path before the connections of a round.

One-way delays by test packets, available bandwidth by estimators.

Nothing else of the round is on the path meanwhile. Ports exist as long as one measurement, are
bound to the measured address, and accept packets of one peer: test packets with the number of their
session, an estimator's packets with a secret.

The sender's results stay if the receiver does not report its part: that is a warning of the round.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from trustbed.agent.client import Agent
from trustbed.agent.messages import Configuration, Event
from trustbed.campaign.answers import Answer, Estimated, Listening, Probed, Reflected
from trustbed.campaign.runner.validation import plain, stored, validate
from trustbed.errors import TestbedError
from trustbed.scenario.campaign_model import Delay, Estimator

_ANSWER_NS = 5_000_000_000
"""A probe without an answer for so long is lost."""
_SETTLING_NS = 30_000_000_000
"""How long an estimator may take beyond its time: its current run, and the last request."""
_BEGINNING_NS = 30_000_000_000
"""How far apart the beginnings of the two agents may be.

The receiver's, which is first, lasts so much longer than the sender's needs.
"""
_BURST_PACKETS = 1000
"""Test packets that may be answered at once, since they queue up while a host is stalled."""
HostT = TypeVar("HostT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing(Generic[HostT]):
    """The path from a sender to a receiver, and access to their agents.

    Attributes:
        sender: The host that probes.
        receiver: The host that answers.
        own: The address that the sender sends from.
        listens_at: An address of the receiver, as text to which a port is added.
        known_as: The same address as the sender knows it.
        peer: The sender's address as the receiver sees it.
        start: Starts an agent.
        report: Waits for an agent's report, for so many seconds.
        excused: Turns a failure inside into a warning with a name.
        now: A monotonic clock, in nanoseconds.
    """

    sender: HostT
    receiver: HostT
    own: str
    listens_at: str
    known_as: str
    peer: str
    start: Callable[[HostT, str, Configuration], Agent]
    report: Callable[[Agent, float], Event]
    excused: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], int] = time.monotonic_ns

    def _to(self, answering: Agent) -> str:
        ready = validate(answering.ready, Listening, answering.name)
        return f"{self.known_as}:{ready.listening.rpartition(':')[2]}"

    def delays(self, asked: Delay) -> Answer[Probed]:
        """Delays, losses by direction and clock offset, as the sender's agent reports them.

        Raises:
            AgentError: One of the two refused, or the sender's did not answer.
            TestbedError: A host, or the transport to it, was lost while they began.
        """
        session, longest = secrets.randbelow(0xFFFF) + 1, asked.longest_ns + _ANSWER_NS
        answers = {
            "listen": f"{self.listens_at}:0",
            "peer": self.peer,
            "session": session,
            # Four times their mean rate: packets that it leaves unanswered would look lost.
            "packets_per_second": max(1000, 4 * 10**9 // asked.mean_gap_ns),
            "burst_packets": _BURST_PACKETS,
            "duration_ns": longest + _BEGINNING_NS,
        }
        with self.start(self.receiver, "reflect", answers) as reflector:
            began = self.now()
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
                self._begin(prober, began)
                found = self.report(prober, longest / 1e9)
            with self.excused("reflector of test packets"):
                reflected = stored(reflector.stop(), Reflected, reflector.name)
                found["reflector"] = reflected.whole
                if count := reflected.read.too_fast_packets:
                    message = (
                        f"{count} test packets came too fast to be answered; they count as lost"
                    )
                    raise TestbedError(
                        message, "the path did not lose them: give mean_gap a longer time"
                    )
        return stored(found, Probed, prober.name)

    def bandwidth(
        self, estimator: Estimator, limit_ns: int, *, long_packets: bool
    ) -> Answer[Estimated]:
        """An estimator's report, with the trains that departure errors of either host invalidated.

        Raises:
            AgentError: One of the two refused, or the sender's did not answer.
            TestbedError: A host, or the transport to it, was lost while they began.
        """
        nonce, longest = secrets.randbits(63), limit_ns + _SETTLING_NS
        takes = {
            "role": "receive",
            "listen": f"{self.listens_at}:0",
            "peer": self.peer,
            "nonce": nonce,
        }
        limit = "time_limit_ns" if estimator == "pathload" else "duration_ns"
        with self.start(
            self.receiver, "estimate", {**takes, "duration_ns": longest + _BEGINNING_NS}
        ) as receiver:
            began = self.now()
            receiver.begin()
            settings = {"kind": estimator, limit: limit_ns, "long_packets": long_packets}
            asks = {
                "role": "send",
                "to": self._to(receiver),
                "from": self.own,
                "nonce": nonce,
                "estimator": settings,
            }
            with self.start(self.sender, "estimate", asks) as sender:
                self._begin(sender, began)
                found = self.report(sender, longest / 1e9)
            with self.excused(f"receiver of {estimator}"):
                found["receiver"] = plain(receiver.stop())
        return stored(found, Estimated, sender.name)

    def _begin(self, sending: Agent, began_ns: int) -> None:
        """Begins the sender's agent, which the receiver's, begun no earlier than then, outlasts.

        Otherwise packets that the receiver's misses would look lost.
        """
        sending.begin()
        if self.now() - began_ns > _BEGINNING_NS:
            hint = "a transport was lost, or a host is overloaded; the next round tries again"
            raise TestbedError(
                f"{sending.name}: it began more than {_BEGINNING_NS / 1e9:g} s after the other end",
                hint,
            )
