"""Before its connections a round may ask what else the path is like.

One-way delays by test packets, available bandwidth by estimators.

Nothing else of the round is on the path meanwhile. Ports exist as long as one question does, are
bound to the measured address, and take packets of one peer: test packets with the number of their
session, those of an estimator with a secret.

The near end's results stay where the far end no longer reports its part: that is a warning of the
round.
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
"""What an estimator may take beyond its time: the run that it is in, and the last question."""
_BEGINNING_NS = 30_000_000_000
"""What may pass between the beginnings of the two ends.

The far one, which is first, lasts so much longer than the near one needs.
"""
_BURST_PACKETS = 1000
"""Test packets that are answered at once.

So many queue up while a host is stalled; the host is the cause.
"""
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
        excused: Turns a failure inside into a warning under a name.
        now: A clock that is never set, in nanoseconds.
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
        """The fate of the test packets, as the sender's agent reports it.

        Delays, losses by direction, how the clocks differ.

        Raises:
            AgentError: One of the two refused, or the sender's did not answer.
            TestbedError: A host, or the transport to it, was lost while they began.
        """
        session, longest = secrets.randbelow(0xFFFF) + 1, asked.longest_ns + _ANSWER_NS
        answers = {
            "listen": f"{self.listens_at}:0",
            "peer": self.peer,
            "session": session,
            # Four times as often as they come on average: what it leaves unanswered would look
            # lost.
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

    def _begin(self, near: Agent, began_ns: int) -> None:
        """Begins the near end, where the far one, which began no earlier than then, outlasts it.

        Else what that misses would look lost.
        """
        near.begin()
        if self.now() - began_ns > _BEGINNING_NS:
            hint = "a transport was lost, or a host is overloaded; the next round tries again"
            raise TestbedError(
                f"{near.name}: it began more than {_BEGINNING_NS / 1e9:g} s behind the other end",
                hint,
            )
