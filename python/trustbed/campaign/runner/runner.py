"""Runs all rounds of a campaign.

Begins them as scheduled, keeps the hosts connected, and passes the results to the judge.

One thread follows the schedule and writes the journal; each round has a thread of its own, since
hosts take part in one at a time; so has each attempt to connect a host, and some more have rounds
judged that have ended. A host that fails, answers slowly or never costs its own rounds and no
others.

Time is the real-time clock's, so that a campaign continues after a restart. A clock that is stepped
makes rounds late or lost; none comes twice.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from trustbed.agent.client import AgentError
from trustbed.campaign import Progress, Round, Schedule, progress
from trustbed.campaign.records import Failure, JudgedRound, RoundRecord
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.campaign.runner.journal import state_of
from trustbed.campaign.runner.judging import BUG
from trustbed.campaign.runner.listener import RoundListener
from trustbed.campaign.runner.round import CancelledRoundError, RoundCarrier
from trustbed.campaign.runner.space import CampaignError, Space
from trustbed.campaign.schedule.outcomes import NOT_MEASURED
from trustbed.errors import TestbedError
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import Campaign, HostPair
from trustbed.scenario.inventory import Address, Ssh

RETRY_SECONDS = 60.0
"""The interval between attempts to connect a host, give or take :data:`_JITTER`.

Hosts that were lost together are not tried together for ever.
"""
_JITTER = 0.25
FIRST_SECONDS = 30.0
"""How long the first rounds wait for hosts that do not answer.

Rounds between the other hosts then begin without them.
"""
_GIVE_UP_SECONDS = 0.5
"""The interval at which unreachable hosts are given up while a campaign ends."""
_APART_SECONDS = 0.05
"""How far apart rounds begin that are all due when a campaign begins or continues."""
_CHECK_SECONDS = 0.001
"""The least interval at which hosts are looked at, for each of them: there may be a thousand."""
_LONGEST_WAIT_SECONDS = 5.0
"""How late the loss of a host, or a step of the clock, may be noticed."""
_LACKING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})
"""Errors of this machine rather than of a round: with them the campaign ends."""
_AGAIN = "mend that, and continue the campaign: the round is judged again"
Judge: TypeAlias = Callable[[RoundDirectory, RoundRecord], JudgedRound]
"""Judges a complete round."""


class Roster(Protocol):
    """The hosts of a campaign.

    :class:`~trustbed.testbed.remote.Hosts`, as far as it is needed here.
    """

    def connect_one(self, name: str) -> None:
        """Connects a host that is not connected.

        Raises:
            TestbedError: It failed.
            CancelledError: The hosts were closed meanwhile.
        """

    def get(self, name: str) -> Any:  # noqa: ANN401 - a host
        """A host that is connected, or was; None if it never was."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a host with `is_gone`, `is_away`, `give_up`
        """A host that is connected, or was."""


@dataclass(slots=True)
class _Running:
    round: Round
    directory: RoundDirectory
    thread: threading.Thread | None = None


@dataclass(frozen=True, slots=True)
class _Ended:
    """A round has ended; without a record it was cancelled, or failed unexpectedly."""

    pair: str
    record: RoundRecord | None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Connected:
    """An attempt to connect a host has ended; with the error if it failed."""

    host: str
    error: TestbedError | None


_Event: TypeAlias = _Ended | _Connected | None
"""Wakes the loop; ``None``: it checks for a failure only."""


class Runner:
    """One session of a campaign: from its current state to its end, or to an interrupt."""

    def __init__(
        self,
        study: CampaignFile,
        directory: CampaignDirectory,
        hosts: Roster,
        *,
        judge: Judge,
        judges: int = 1,
        about: Mapping[str, object],
        listener: RoundListener | None = None,
        carrier: Callable[..., Any] = RoundCarrier,
        beside: AbstractContextManager[object] | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            study: The campaign.
            directory: Its directory, existing or not.
            hosts: Its hosts, not yet connected.
            judge: Judges a round; called by several threads.
            judges: How many rounds are judged at a time.
            about: The program and its version, for the manifest.
            listener: Is called as the campaign proceeds.
            carrier: Runs a round; simulated campaigns pass another one.
            beside: Is entered while this session owns the directory, until all rounds are judged.
        """
        self._study = study
        self._campaign = study.campaign
        self._names = [host.name for host in study.campaign.hosts]
        self._directory = directory
        self._hosts = hosts
        self._judge = judge
        self._judges = judges
        self._about = about
        self._listener = listener or RoundListener()
        self._carrier = carrier
        self._beside = beside or contextlib.nullcontext()
        self._journal = directory.journal
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._to_judge: queue.SimpleQueue[RoundDirectory | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._running: dict[str, _Running] = {}
        self._known: Mapping[str, Progress] = {}
        self._down: dict[str, TestbedError] = {}
        self._reported: dict[str, bool] = {}
        self._facts: dict[str, str] = {}
        self._connecting: set[str] = set()
        self._retry_at: dict[str, float] = {}
        self._failure: BaseException | None = None
        self._space = Space(directory, study.campaign.recording.disk_bytes)

    def carry_out(self) -> None:
        """Runs all remaining rounds, and judges them.

        Raises:
            CampaignError: Its disk limit is reached, or a host has no address to be measured at.
            RunDirectoryError: The directory belongs to another run or campaign, or another session
                is running in it.
            KeyboardInterrupt: It was interrupted; complete rounds stay.
        """
        addresses = {pair.name: _address(self._campaign, pair) for pair in self._campaign.pairs}
        with self._directory.locked():
            began_ns = self._begin()
            with self._beside, self._judging():
                try:
                    self._connect_all()
                    self._loop(self._schedule(began_ns), addresses)
                    self._journal.append(time.time_ns(), "finished")
                except BaseException:
                    self._cancelled.set()
                    raise
                finally:
                    self._end_all()
            if self._failure is not None:
                raise self._failure

    def _begin(self) -> int | None:
        """Begins the campaign, or continues it; when its first period began, if it has."""
        now = time.time_ns()
        resumed = self._directory.exists
        if resumed:
            created = self._directory.check(self._study)
        else:
            created = now
            self._directory.begin(self._study, began_ns=created, about=self._about)
        state = state_of(self._journal.lines())
        for name, number in list(state.interrupted):
            self._journal.append(now, "ended", pair=name, number=number, outcome="interrupted")
        self._journal.append(now, "session", **dict(self._about))
        self._known = progress(state_of(self._journal.lines()).rounds)
        for round_directory in self._directory.rounds():
            self._space.add(round_directory)
            failed = round_directory.judging_failed and round_directory.captures
            if failed or not round_directory.is_judged:
                self._to_judge.put(round_directory)
        self._space.count()
        self._listener.on_begun(rounds=len(state.rounds), resumed=resumed)
        if state.scheduled_ns is None and state.rounds:
            return created  # by an earlier version
        return state.scheduled_ns

    def _schedule(self, began_ns: int | None) -> Schedule:
        """The schedule; its first period begins now, if none has begun."""
        if began_ns is None:
            began_ns = time.time_ns()
            self._journal.append(began_ns, "scheduled")
        return Schedule(self._campaign, began_ns)

    # The loop.

    def _loop(self, schedule: Schedule, addresses: Mapping[str, Address]) -> None:
        check_at = 0.0
        while True:
            if time.monotonic() >= check_at:
                with self._journal.together():
                    self._check_hosts()
                check_at = time.monotonic() + _CHECK_SECONDS * len(self._names)
            step = schedule.next(
                time.time_ns(),
                running=tuple(self._running),
                down=tuple(self._down),
                known=self._known,
            )
            self._known = step.known
            with self._journal.together():
                for skip in step.skip:
                    self._journal.skipped(time.time_ns(), skip)
                    self._listener.on_skipped(skip)
                for one in step.begin:
                    self._announce(one)
            for before, one in enumerate(step.begin):
                self._start(one, addresses[one.pair.name], before * _APART_SECONDS)
            if step.wake_ns is None and not self._running:
                return
            self._wait(step.wake_ns)

    def _wait(self, until_ns: int | None) -> None:
        """Waits for the end of a round, or for a moment; not longer than hosts go unchecked."""
        self._listener.on_waiting(until_ns, len(self._running))
        left = (
            _LONGEST_WAIT_SECONDS
            if until_ns is None
            else min(_LONGEST_WAIT_SECONDS, max(0.0, (until_ns - time.time_ns()) / 1e9))
        )
        with contextlib.suppress(queue.Empty), self._journal.together():
            self._on_event(self._events.get(timeout=left))
            while True:
                self._on_event(self._events.get_nowait())

    def _on_event(self, event: _Event) -> None:
        if isinstance(event, _Ended):
            self._on_ended(event)
        elif isinstance(event, _Connected):
            self._on_connected(event)
        if self._failure is not None:
            raise self._failure

    # Hosts.

    def _check_hosts(self) -> None:
        """Notices lost hosts and starts a thread that reconnects them, so that no round waits."""
        gone = [name for name in self._names if name not in self._down and not self._is_there(name)]
        for name in gone:
            what = (
                "the transport to the host {} is lost"
                if self._hosts[name].is_away
                else "the host {} is gone"
            )
            self._down[name] = TestbedError(what.format(name), "connecting it is retried")
            self._report_host(name)
        now = time.monotonic()
        for name in list(self._down):
            if self._is_there(name):
                del self._down[name]  # its facts are still being read
                self._report_host(name)
            elif name not in self._connecting and now >= self._retry_at.get(name, 0.0):
                self._begin_connecting(name)

    def _connect_all(self) -> None:
        for name in self._names:
            self._begin_connecting(name)
        self._await_hosts(time.monotonic() + FIRST_SECONDS)

    def _begin_connecting(self, name: str) -> None:
        self._connecting.add(name)
        # As a daemon: one that hangs does not prevent the program from exiting.
        threading.Thread(
            target=self._connect, args=(name,), name=f"connect {name}", daemon=True
        ).start()

    def _await_hosts(self, until: float) -> None:
        """Waits until every host is connected or has failed, or until a deadline.

        It does not wait longer for a host that hangs.
        """
        waiting = set(self._names)
        while waiting - self._reported.keys() and time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                self._on_event(self._events.get(timeout=max(0.0, until - time.monotonic())))
        for name in [name for name in waiting - self._reported.keys() if not self._is_there(name)]:
            self._down[name] = TestbedError(
                f"the host {name} has not answered within {FIRST_SECONDS:g} s",
                "connecting it is still being tried",
            )
        for name in sorted(waiting - self._reported.keys()):
            self._report_host(name)

    def _connect(self, name: str) -> None:
        """Connects a host, and stores its facts unless it has only lost its transport.

        Such a host is unchanged, and may be in the middle of a round.
        """
        before, error = self._hosts.get(name), None
        try:
            self._hosts.connect_one(name)
            if self._hosts.get(name) is not before:
                self._store_facts(name)
        except CancelledError:
            return  # the hosts were closed meanwhile
        except TestbedError as failed:
            error = failed
        except Exception as unexpected:  # what one host brings about ends no other's rounds
            described = _described(unexpected)
            error = TestbedError(
                f"the host {name} cannot be connected: {described.message}", described.hint
            )
        self._events.put(_Connected(name, error))

    def _is_there(self, name: str) -> bool:
        host = self._hosts.get(name)
        return host is not None and not host.is_gone and not host.is_away

    def _on_connected(self, event: _Connected) -> None:
        name = event.host
        self._connecting.discard(name)
        wait = RETRY_SECONDS * random.uniform(1 - _JITTER, 1 + _JITTER)
        self._retry_at[name] = time.monotonic() + wait
        if event.error is None:
            self._down.pop(name, None)
        else:
            self._down[name] = event.error
        self._report_host(name)

    def _store_facts(self, name: str) -> None:
        """Stores a host's facts, as its agent reports them.

        A host without facts can measure all the same.
        """
        host = self._hosts[name]
        with (
            contextlib.suppress(AgentError, TestbedError),
            host.start_agent("facts", {"live": None}, name=f"facts on {name}") as agent,
        ):
            agent.begin()
            facts = {**agent.report(RETRY_SECONDS), "host": host.facts()}
            self._facts[name] = self._directory.write_host(name, time.time_ns(), facts)

    def _report_host(self, name: str) -> None:
        error = self._down.get(name)
        if self._reported.get(name) == (error is None):
            return
        self._reported[name] = error is None
        why, hint = (None, None) if error is None else (error.message, error.hint)
        self._journal.append(time.time_ns(), "host", host=name, up=error is None, why=why)
        self._listener.on_host(name, up=error is None, why=why, hint=hint)

    # Rounds.

    def _announce(self, one: Round) -> None:
        for removed, size in self._space.make():
            self._journal.append(
                time.time_ns(),
                "captures_removed",
                pair=removed.pair,
                number=removed.number,
                bytes=size,
            )
        self._journal.append(
            time.time_ns(),
            "began",
            pair=one.pair.name,
            number=one.number,
            index=one.index.name,
            due_ns=one.due_ns,
        )

    def _start(self, one: Round, address: Address, delay: float) -> None:
        name = one.pair.name
        round_directory = self._directory.begin_round(name, one.number)
        sender, receiver = (self._hosts[host] for host in one.pair.hosts)
        carrier = self._carrier(self._campaign, one, sender, receiver, address, self._cancelled)
        running = _Running(one, round_directory)
        running.thread = threading.Thread(
            target=self._carry_out, args=(running, carrier, delay), name=f"round of {name}"
        )
        self._running[name] = running
        self._listener.on_round(one)
        running.thread.start()

    def _carry_out(self, running: _Running, carrier: Any, delay: float) -> None:  # noqa: ANN401
        name = running.round.pair.name
        try:
            try:
                if delay and self._cancelled.wait(delay):
                    raise CancelledRoundError
                record = carrier.carry_out(running.directory.path)
            except CancelledRoundError:
                raise
            except Exception as error:  # an error in one round ends no other round
                if isinstance(error, OSError) and error.errno in _LACKING:
                    raise
                record = _failed(running.round, error)
            record.hosts = {host: self._facts.get(host) for host in running.round.pair.hosts}
            running.directory.finish(record)
        except CancelledRoundError:
            self._events.put(_Ended(name, None))
        except BaseException as error:
            self._events.put(_Ended(name, None, error))
        else:
            self._events.put(_Ended(name, record))

    def _on_ended(self, event: _Ended) -> None:
        running = self._running.pop(event.pair)
        number = running.round.number
        outcome = "interrupted" if event.record is None else event.record.outcome or "failed"
        losses = [] if event.record is None else event.record.transport_losses
        lost = {"transport_losses": list(dict.fromkeys(one.host for one in losses))}
        self._journal.append(
            time.time_ns(),
            "ended",
            pair=event.pair,
            number=number,
            outcome=outcome,
            **(lost if losses else {}),
        )
        if event.error is not None:
            raise event.error
        if outcome in NOT_MEASURED and event.pair in self._known:
            before = self._known[event.pair]
            self._known = {**self._known, event.pair: replace(before, begun=before.begun - 1)}
        if event.record is not None:
            self._space.add(running.directory, running.directory.size_bytes())
            self._listener.on_ended(running.round, event.record)
            self._to_judge.put(running.directory)

    def _end_all(self) -> None:
        """Waits for running rounds; cancelled ones end soon."""
        for running in list(self._running.values()):
            assert running.thread is not None, "it was started"
            while running.thread.is_alive():
                if self._cancelled.is_set():
                    self._give_up_waiting()
                running.thread.join(_GIVE_UP_SECONDS)
        while self._running:
            event = self._events.get()
            if isinstance(event, _Ended):
                with contextlib.suppress(
                    OSError
                ):  # a full disk: the next session finds a round that began and did not end
                    self._on_ended(event)

    def _give_up_waiting(self) -> None:
        """Gives up unreachable hosts, so that cancelled rounds do not wait for their return."""
        for name in self._names:
            found = self._hosts.get(name)
            if found is not None and found.is_away:
                found.give_up()

    # Judging.

    @contextlib.contextmanager
    def _judging(self) -> Iterator[None]:
        """Judges rounds in threads until the block ends."""
        judging = [
            threading.Thread(target=self._judge_all, name="judge") for _ in range(self._judges)
        ]
        for thread in judging:
            thread.start()
        try:
            yield
        finally:
            for _ in judging:
                self._to_judge.put(None)
            for thread in judging:
                thread.join()

    def _judge_all(self) -> None:
        while (round_directory := self._to_judge.get()) is not None:
            if self._cancelled.is_set():
                continue  # the next session judges it
            try:
                judged = self._judged(round_directory)
                round_directory.write_judged(judged)
                self._listener.on_judged(round_directory.pair, round_directory.number, judged)
            except BaseException as error:
                self._failure = error
                self._events.put(None)
                return

    def _judged(self, round_directory: RoundDirectory) -> JudgedRound:
        """The judgement of a round, or why judging it failed.

        Raises:
            OSError: This machine lacks a resource that every other round needs as well.
        """
        try:
            return self._judge(round_directory, round_directory.record())
        except OSError as error:
            if error.errno in _LACKING:
                raise
            return not_judged(error)
        except Exception as error:
            return not_judged(error)


def _described(error: Exception) -> Failure:
    lacking = isinstance(error, OSError | MemoryError)
    return Failure(
        message=getattr(error, "message", None) or f"{type(error).__name__}: {error}",
        hint=getattr(error, "hint", None) or (_AGAIN if lacking else BUG),
    )


def _failed(one: Round, error: Exception) -> RoundRecord:
    """The record of a round that ended with an unexpected error."""
    return RoundRecord(
        pair=one.pair.name,
        sender=one.pair.sender,
        receiver=one.pair.receiver,
        number=one.number,
        index=one.index.name,
        due_ns=one.due_ns,
        error=_described(error),
        outcome="failed",
    )


def not_judged(error: Exception) -> JudgedRound:
    """The judgement of a round whose judging failed: the error, and no findings."""
    return JudgedRound(flags=["not_judged"], judging_error=_described(error))


def _address(campaign: Campaign, pair: HostPair) -> Address:
    """The address that the sender connects to: as configured, else SSH's, if it is an address."""
    described = next(host for host in campaign.inventory.hosts if host.name == pair.receiver)
    found = pair.address or described.measured
    if found is None and isinstance(described.transport, Ssh):
        with contextlib.suppress(ValueError):
            found = ipaddress.ip_address(described.transport.address)
    if found is None:
        message = f"the address at which {pair.receiver} is measured is unknown"
        raise CampaignError(
            message,
            (
                f'write measure = "192.0.2.1" to {pair.receiver} in the inventory, or address '
                f"to the pair"
            ),
        )
    return found
