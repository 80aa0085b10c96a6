"""One round of connection pairs between two hosts.

Pings, probes of the path, then all connections, sampled and captured on both hosts.

The receiver's ports exist while the connections last, are bound to the measured address, and accept
connections that present the round's secret. A failure beside the connections (a capture that is not
permitted, a clock that cannot be read) is a warning in the record, and the round continues without
it; when one of the two hosts fails, the round fails, and its data until then stay.

A host that has lost its transport still does its part, and each of its agents ends by itself at its
time limit. The round waits for their reports while the host's replay buffer lasts; the record has
the times without a transport (``transport_losses``).
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, TypeAlias

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.control import Loss, Reading
from trustbed.agent.messages import Configuration, Event
from trustbed.campaign import Round, answers, failure, outcome
from trustbed.campaign.answers import Answer, Pinged
from trustbed.campaign.records import (
    ClockReading,
    Clocks,
    ConnectionOutcome,
    Failure,
    HostRole,
    RoundRecord,
    RoundWarning,
    TransportLoss,
)
from trustbed.campaign.runner.directory import CAPTURES
from trustbed.campaign.runner.probing import Probing
from trustbed.campaign.runner.validation import stored, validate
from trustbed.errors import TestbedError
from trustbed.scenario.campaign_model import ROLES, Campaign, Role, Rounds
from trustbed.scenario.inventory import Address

WAKEUP_INTERVAL_NS = 5_000_000
"""The interval at which a thread of each host wakes up to measure its wake-up latency.

It costs less than a hundredth of a core.
"""
_MARGIN_SECONDS = 60.0
"""How long agents may take beyond the requested time until they are given up."""
_LOOK_SECONDS = 1.0
"""How late it may be noticed that a campaign ends."""
_ANSWER_NS = 10_000_000_000
"""How long beyond its time limit a sender waits for the receiver's result."""

_FAILURES: Mapping[str, str | None] = {
    "complete": None,
    "refused": "unconnected",
    "absent": "unconnected",
    "reset": "reset",
    "timed_out": "late",
}


class Host(Protocol):
    """A host, as far as a round needs it."""

    name: str

    def start_agent(self, verb: str, config: Configuration, *, name: str) -> Agent:
        """Starts an agent there."""

    def read_clock(self) -> Reading:
        """Compares its clock with ours."""

    @property
    def losses(self) -> Sequence[Loss]:
        """The times without a transport to it, in order."""


class CancelledRoundError(Exception):
    """The campaign ends before the round does."""


class RoundCarrier:
    """Runs one round. Several carriers may run at once."""

    def __init__(
        self,
        campaign: Campaign,
        one: Round,
        sender: Host,
        receiver: Host,
        address: Address,
        cancelled: threading.Event,
    ) -> None:
        """Prepares a round.

        Args:
            campaign: Its campaign.
            one: The round.
            sender: The host that sends data.
            receiver: The host that receives them.
            address: The address that the sender connects to.
            cancelled: Set when the campaign has to end now.
        """
        self._rounds: Rounds = campaign.rounds
        self._recording = campaign.recording
        self._round = one
        self._sender, self._receiver = sender, receiver
        self._address = address
        described = {host.name: host for host in campaign.inventory.hosts}
        far = described[receiver.name]
        # Another address that is configured for the pair is reached without translation.
        translated = address == far.measured
        self._listens_at = (far.private if translated else None) or address
        """The address of the receiver's ports; behind a translation another one."""
        self._seen_as = (
            (described[sender.name].private, described[sender.name].measured)
            if translated
            else (None, None)
        )
        """The sender's own address and its address behind a translation, where they differ."""
        self._cancelled = cancelled
        self._warnings: list[RoundWarning] = []

    def carry_out(self, directory: Path) -> RoundRecord:
        """Runs the round; files go into the directory. Returns its record, whatever happened.

        Raises:
            CancelledRoundError: It was cancelled.
        """
        one, began_ns = self._round, time.time_ns()
        record = RoundRecord(
            pair=one.pair.name,
            sender=self._sender.name,
            receiver=self._receiver.name,
            number=one.number,
            index=one.index.name,
            probe_bytes=one.index.probe_bytes,
            data_bytes=one.index.data_bytes,
            arrangement=self._rounds.arrangement,
            limit_ns=self._rounds.limit_ns,
            due_ns=one.due_ns,
            began_ns=began_ns,
            warnings=self._warnings,
        )
        try:
            self._measure(directory, record)
        except (AgentError, TestbedError, OSError) as error:
            record.error = Failure(**_described(error))
        record.ended_ns = time.time_ns()
        record.transport_losses = self._transport_losses(began_ns)
        record.connections = connections_of(record)
        failures = [row.failure for row in record.connections]
        record.outcome = "failed" if record.error is not None or not failures else outcome(failures)
        return record

    def _measure(self, directory: Path, record: RoundRecord) -> None:
        record.clocks = self._clocks()
        record.ping = self._ping()
        pinged = record.ping.read
        self._probe(record, pinged)
        if self._rounds.before_ns > self._rounds.pinging_ns:
            # Probing takes minutes, in which clocks drift: the start of the connections is dated by
            # these readings.
            record.clocks_before = self._clocks()
        with contextlib.ExitStack() as stack:
            self._exchange(directory, record, pinged, stack)
        record.clocks_after = self._clocks()

    def _transport_losses(self, since_ns: int) -> list[TransportLoss]:
        """When there was no transport to a host during the round."""
        return [
            TransportLoss(host=host.name, **asdict(loss))
            for host in (self._sender, self._receiver)
            for loss in host.losses
            if loss.until_ns is None or loss.until_ns >= since_ns
        ]

    def _losses(self) -> int:
        return len(self._sender.losses) + len(self._receiver.losses)

    # Before the connections.

    def _ping(self) -> Answer[Pinged]:
        """Round-trip times, and the address and interface that the sender uses."""
        rounds = self._rounds
        asked = {
            "to": str(self._address),
            "method": rounds.ping,
            "count": rounds.pings,
            "interval_ns": rounds.ping_interval_ns,
            "timeout_ns": rounds.ping_interval_ns,
        }
        with self._start(self._sender, "ping", asked) as agent:
            agent.begin()
            report = self._report(agent, rounds.pinging_ns / 1e9 + _MARGIN_SECONDS)
            return stored(report, Pinged, agent.name)

    def _probe(self, record: RoundRecord, pinged: Pinged) -> None:
        """Other measurements of the path; null where one failed."""
        path = Probing(
            sender=self._sender,
            receiver=self._receiver,
            own=pinged.own,
            listens_at=_written(self._listens_at),
            known_as=_written(self._address),
            peer=self._peer(pinged),
            start=self._start,
            report=lambda agent, seconds: self._report(agent, seconds + _MARGIN_SECONDS),
            excused=self._excused,
        )
        if self._rounds.delay is not None:
            record.delay = None
            with self._excused("one-way delays"):
                record.delay = path.delays(self._rounds.delay)
        for estimator, limit in self._rounds.bandwidth:
            found = record.bandwidth = record.bandwidth or {}
            found[estimator] = None
            with self._excused(f"available bandwidth by {estimator}"):
                found[estimator] = path.bandwidth(
                    estimator, limit, long_packets=self._rounds.long_packets
                )

    @property
    def _hosts(self) -> tuple[tuple[HostRole, Host], tuple[HostRole, Host]]:
        return ("sender", self._sender), ("receiver", self._receiver)

    def _clocks(self) -> Clocks:
        """The offsets of the hosts' clocks from the controller's, where they can be read."""
        found: Clocks = {}
        for role, host in self._hosts:
            with self._excused(f"clock of {host.name}"):
                found[role] = ClockReading(**asdict(host.read_clock()))
        return found

    # The connections.

    def _exchange(
        self, directory: Path, record: RoundRecord, pinged: Pinged, stack: contextlib.ExitStack
    ) -> None:
        common = {
            "round": self._round.number,
            "nonce": secrets.token_hex(16),
            "connections": self._declared(),
        }
        limit = self._rounds.limit_ns
        windows = {role: self._rounds.window_of(role) for role in ROLES}
        lasts = self._rounds.longest_ns - self._rounds.before_ns + 2 * _ANSWER_NS
        limit_ns = lasts + int(_MARGIN_SECONDS * 1e9)
        receiving = stack.enter_context(
            self._start(
                self._receiver,
                "pairs",
                {
                    "role": "receive",
                    "listen": str(self._listens_at),
                    "peer": self._peer(pinged),
                    "window_bytes": windows,
                    "transfer_timeout_ns": limit,
                    "duration_ns": limit_ns,
                    **common,
                },
            )
        )
        opened = validate(receiving.ready, answers.Opened, receiving.name).listening
        to = {
            role: end and f"{_written(self._address)}:{end.rpartition(':')[2]}"
            for role, end in opened.items()
        }
        sending = stack.enter_context(
            self._start(
                self._sender,
                "pairs",
                {
                    "role": "send",
                    "from": pinged.own,
                    "to": to,
                    "order": self._rounds.arrangement,
                    "transfer_timeout_ns": limit + _ANSWER_NS,
                    **common,
                },
            )
        )
        losses = self._losses()
        watching = self._watch(
            directory,
            pinged,
            to,
            stack,
            {"sender": sending.pid, "receiver": receiving.pid},
            limit_ns,
        )
        order: tuple[tuple[HostRole, Agent], ...] = (("receiver", receiving), ("sender", sending))
        started = {
            role: validate(agent.begin(), answers.Started, agent.name).start_ns
            for role, agent in order
        }
        record.started_ns = started
        clocks = record.clocks if record.clocks_before is None else record.clocks_before
        record.start_spread_ns = _spread(started, clocks or {})
        if self._losses() != losses:
            # Samples and captures could end before the connections do.
            raise TestbedError(
                "the transport to a host was lost just before the connections began",
                "the next round has the same sizes",
            )
        sent = self._report(sending, lasts / 1e9 + _MARGIN_SECONDS)
        record.sent = stored(sent, answers.Sent, sending.name)
        # Data that have not arrived by now will not arrive.
        record.received = stored(receiving.stop(), answers.Received, receiving.name)
        for name, agent in watching.items():
            with self._excused(name):
                found = stored(agent.stop(), answers.Watched, agent.name)
                record.watched = {**(record.watched or {}), name: found}

    def _declared(self) -> list[Configuration]:
        index = self._round.index
        return [
            {"pair": number, "role": role, "bytes": index.size_of(role)}
            for number in range(self._rounds.pairs_at_once)
            for role in ROLES
        ]

    def _watch(
        self,
        directory: Path,
        pinged: Pinged,
        to: Mapping[str, str | None],
        stack: contextlib.ExitStack,
        processes: Mapping[str, int],
        limit_ns: int,
    ) -> dict[str, Agent]:
        """Starts samples and captures on both hosts."""
        watching: dict[str, Agent] = {}
        for role, host in self._hosts:
            with self._excused(f"samples of {host.name}"):
                asked: Configuration = {
                    "path": directory / f"{role}.samples.jsonl",
                    "wakeup_interval_ns": WAKEUP_INTERVAL_NS,
                    "processes": [processes[role]],
                    "duration_ns": limit_ns,
                }
                watching[f"{role}.samples"] = stack.enter_context(
                    self._start(host, "sample", asked)
                )
        if self._recording.capture:
            for (role, host), name in zip(self._hosts, CAPTURES, strict=True):
                with self._excused(f"capture on {host.name}"):
                    interface = (
                        pinged.interface if role == "sender" else self._far_interface(pinged)
                    )
                    asked = {
                        **self._capture(host, interface, to),
                        "path": directory / name,
                        "duration_ns": limit_ns,
                    }
                    watching[f"{role}.capture"] = stack.enter_context(
                        self._start(host, "capture", asked)
                    )
        for name, agent in watching.items():
            with self._excused(name):
                agent.begin()
        return watching

    def _far_interface(self, pinged: Pinged) -> str | None:
        """The interface of the receiver that has the measured address.

        A ping agent is started there to find it, and does not ping.
        """
        with self._start(
            self._receiver,
            "ping",
            {"to": self._peer(pinged), "from": str(self._listens_at), "count": 0},
        ) as agent:
            return validate(agent.ready, answers.Interface, agent.name).interface

    def _capture(
        self, host: Host, interface: str | None, to: Mapping[str, str | None]
    ) -> Configuration:
        if interface is None:
            raise TestbedError(
                f"no interface of {host.name} has the measured address",
                "its capture is left out",
            )
        ports = " or ".join(
            f"port {end.rpartition(':')[2]}" for end in to.values() if end is not None
        )
        address = self._listens_at if host is self._receiver else self._address
        return {
            "interface": interface,
            "snap_length": self._recording.snap_bytes,
            "filter": f"tcp and host {address} and ({ports})",
        }

    def _peer(self, pinged: Pinged) -> str:
        """The sender's address as the receiver sees it."""
        own, outside = self._seen_as
        return str(outside if own is not None and pinged.own == str(own) else pinged.own)

    # Agents.

    def _start(self, host: Host, verb: str, config: Configuration) -> Agent:
        if self._cancelled.is_set():
            raise CancelledRoundError
        return host.start_agent(verb, config, name=f"{verb} on {host.name}")

    def _report(self, agent: Agent, seconds: float) -> Event:
        """Waits for a report, or for the end of the campaign."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._cancelled.is_set():
                raise CancelledRoundError
            event = agent.poll(_LOOK_SECONDS)
            if event is not None and event["event"] == "report":
                return event
            if agent.is_away:
                deadline = max(deadline, time.monotonic() + _MARGIN_SECONDS)
        hint = "the host may be overloaded, or gone; the next round shows"
        raise AgentError(f"{agent.name}: the agent did not report within {seconds:g} s", hint)

    @contextlib.contextmanager
    def _excused(self, what: str) -> Iterator[None]:
        """A failure inside is a warning of the round, not its end."""
        try:
            yield
        except (AgentError, TestbedError, OSError) as error:
            self._warnings.append(RoundWarning(what=what, **_described(error)))


def _written(address: Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)


def _described(error: Exception) -> dict[str, str]:
    return {
        "message": str(getattr(error, "message", error)),
        "hint": str(getattr(error, "hint", "")),
    }


def _spread(started: Mapping[HostRole, int], clocks: Clocks) -> int | None:
    """How far apart the hosts started, by the controller's clock, as exact as the readings."""
    if not all(role in clocks for role in started):
        return None
    moments = [at - clocks[role].ahead_ns for role, at in started.items()]
    return max(moments) - min(moments)


# Outcomes of the connections.

ConnectionKey: TypeAlias = tuple[int, Role]
"""The number of a connection pair, and which of its two connections."""


def connections_of(record: RoundRecord) -> list[ConnectionOutcome]:
    """Why each connection of a round failed, if it did.

    The receiver decides; without its report, the sender does.
    """
    sent, received = sent_of(record), received_of(record)
    return [
        ConnectionOutcome(
            number=key[0],
            role=key[1],
            failure=_failure(sent.get(key), received.get(key), record.limit_ns),
        )
        for key in dict.fromkeys((*sent, *received))
    ]


def sent_of(record: RoundRecord) -> dict[ConnectionKey, answers.SentConnection]:
    """The sender's report of each connection."""
    rows = () if record.sent is None else record.sent.read.connections
    return {(row.pair, row.role): row for row in rows}


def received_of(record: RoundRecord) -> dict[ConnectionKey, answers.ReceivedConnection]:
    """The receiver's report of each connection."""
    rows = () if record.received is None else record.received.read.connections
    return {(row.pair, row.role): row for row in rows}


def _failure(
    sent: answers.SentConnection | None, received: answers.ReceivedConnection | None, limit_ns: int
) -> str | None:
    if received is not None:
        if not received.failed:
            return None
        accepted = received.accepted_ns
        found = failure(
            size=received.size_bytes,
            received=received.payload_bytes,
            accepted_ns=accepted,
            ended_ns=received.result_ns or received.last_byte_ns or accepted or 0,
            reset=received.close == "reset",
            limit_ns=limit_ns,
        )
        return _FAILURES.get(received.close or "", "short") if found is None else found
    assert sent is not None, "one of the two has reported it"
    if sent.connected_ns is None:
        return "unconnected"
    return _FAILURES.get(sent.close or "", "short")
