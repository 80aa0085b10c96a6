"""Asks others what they know of a round's hosts, while the campaign goes on.

Prometheus, CloudWatch.

What they know of a moment comes later than the moment, so a round is asked for again, each time
after twice as long, until all of its time is known or it is given up; at the end of a session what
is still open is asked for once more, and the next session takes up the rest. A server that does not
answer is left alone for a minute. A thread of its own does it: no round and no verdict waits, and
whatever goes wrong is written into the round's directory and nowhere else.
"""

from __future__ import annotations

import contextlib
import heapq
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import TypeAlias

from trustbed.campaign.metrics import cloudwatch, prometheus
from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.kept import Kept, State
from trustbed.campaign.metrics.table import Span
from trustbed.campaign.records import RoundRecord
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.scenario.campaign_model import Campaign
from trustbed.scenario.metric_sources import CloudWatch, Outside, Prometheus, name_of

_SECOND = 1_000_000_000
MOST_TIMES = 6
"""How often a source is asked for one round until it is given up."""
PROMETHEUS_AFTER_NS = 20 * _SECOND
"""When the next scrape can be expected."""
CLOUDWATCH_AFTER_NS = 180 * _SECOND
"""When a period can be expected to be told, from its end on."""
QUIET_NS = 60 * _SECOND
"""How long a server that did not answer is left alone."""
LAST_SECONDS = 60.0
"""What asking may take at the end of a session.

A question that is under way then may take its own time.
"""
_LONGEST_QUESTION_SECONDS = 45.0

Ask: TypeAlias = Callable[[Outside, Span, int], Answer]


def ask(source: Outside, span: Span, now_ns: int) -> Answer:
    """Asks a source of whatever kind.

    Raises:
        SourceError: It did not answer what it was asked.
    """
    if isinstance(source, Prometheus):
        return prometheus.ask(source, span, now_ns=now_ns)
    return cloudwatch.ask(source, span, now_ns=now_ns)


def check(campaign: Campaign) -> None:
    """Finds out before anything begins whether everybody can be asked.

    Raises:
        SourceError: CloudWatch is to be asked, and boto3 is not installed.
    """
    if any(host.cloudwatch is not None for host in campaign.hosts):
        cloudwatch.check()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A source to be asked for a host of a round."""

    role: str
    host: str
    source: Outside

    @property
    def server(self) -> str:
        return (
            self.source.url
            if isinstance(self.source, Prometheus)
            else self.source.endpoint or f"cloudwatch {self.source.region}"
        )

    @property
    def after_ns(self) -> int:
        return (
            CLOUDWATCH_AFTER_NS + self.source.period_ns
            if isinstance(self.source, CloudWatch)
            else PROMETHEUS_AFTER_NS
        )


@dataclass(order=True, slots=True)
class _Waiting:
    due_ns: int
    directory: RoundDirectory
    span: Span = field(compare=False)


class Asking(AbstractContextManager["Asking"]):
    """Asks for the rounds of a campaign from when it is entered until it is left.

    Without any source it does nothing.
    """

    def __init__(self, campaign: Campaign, directory: CampaignDirectory, *, ask: Ask = ask) -> None:
        """Prepares it.

        Raises:
            SourceError: CloudWatch is to be asked, and boto3 is not installed.
        """
        check(campaign)
        self._directory = directory
        self._ask = ask
        outside = {host.name: host.outside for host in campaign.hosts}
        self._wanted: Mapping[str, tuple[_Wanted, ...]] = {
            pair.name: tuple(
                _Wanted(role, host, source)
                for role, host in (("sender", pair.sender), ("receiver", pair.receiver))
                for source in outside.get(host, ())
            )
            for pair in campaign.pairs
        }
        self._new: queue.SimpleQueue[tuple[RoundDirectory, RoundRecord] | None] = (
            queue.SimpleQueue()
        )
        self._waiting: list[_Waiting] = []
        self._quiet: dict[str, int] = {}
        self._cancelled = threading.Event()
        # As a daemon: a question that never ends is left behind, and the program is not kept by it.
        self._thread = (
            threading.Thread(target=self._run, name="ask others", daemon=True)
            if any(self._wanted.values())
            else None
        )

    def __enter__(self) -> Asking:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is None:
            return
        if kind is not None:
            self._cancelled.set()
        self._new.put(None)
        try:
            self._thread.join(_LONGEST_QUESTION_SECONDS + (0 if kind is not None else LAST_SECONDS))
        except BaseException:
            self._cancelled.set()
            raise

    def put(self, round_directory: RoundDirectory, record: RoundRecord) -> None:
        """A round has ended: what others know of it is to be asked for."""
        if self._thread is not None:
            self._new.put((round_directory, record))

    # The thread.

    def _run(self) -> None:
        for round_directory in self._directory.rounds():
            # Others come by `put`, when they are judged.
            if any(
                not state.is_whole and state.times < MOST_TIMES
                for state in Kept(round_directory).states
            ):
                with self._excused():
                    self._take(round_directory, round_directory.record())
        while True:
            try:
                new = self._new.get(timeout=self._pause())
            except queue.Empty:
                self._look()
                continue
            if new is None:
                break
            self._take(*new)
        deadline = time.monotonic() + LAST_SECONDS
        while self._waiting and not self._cancelled.is_set() and time.monotonic() < deadline:
            self._answer(heapq.heappop(self._waiting), last=True)

    def _pause(self) -> float | None:
        """Until somebody is to be asked, in seconds."""
        return max(0.0, (self._waiting[0].due_ns - time.time_ns()) / 1e9) if self._waiting else None

    def _look(self) -> None:
        if (
            self._waiting
            and self._waiting[0].due_ns <= time.time_ns()
            and not self._cancelled.is_set()
        ):
            self._answer(heapq.heappop(self._waiting))

    def _take(self, round_directory: RoundDirectory, record: RoundRecord) -> None:
        """Puts a round among those that wait, if somebody is to be asked for it."""
        span = span_of(record)
        if span is None or round_directory.pair not in self._wanted:
            return
        with self._excused():
            with Kept(round_directory).changed() as kept:
                for wanted in self._wanted[round_directory.pair]:
                    kept.expect(wanted.role, wanted.host, name_of(wanted.source))
            self._wait(round_directory, span)

    def _wait(self, round_directory: RoundDirectory, span: Span) -> None:
        dues = [due for _, due in self._open(round_directory, span)]
        if dues:
            heapq.heappush(self._waiting, _Waiting(min(dues), round_directory, span))

    def _open(self, round_directory: RoundDirectory, span: Span) -> Iterator[tuple[_Wanted, int]]:
        """Who is still to be asked for a round, and when."""
        kept = Kept(round_directory)
        for wanted in self._wanted[round_directory.pair]:
            state = kept.state(wanted.role, name_of(wanted.source))
            if state is None or state.is_whole or state.times >= MOST_TIMES:
                continue
            due = span.until_ns + wanted.after_ns
            if state.scheduled_ns is not None:
                due = max(due, state.scheduled_ns + (wanted.after_ns << max(0, state.times - 1)))
            yield wanted, max(due, self._quiet.get(wanted.server, 0))

    def _answer(self, waiting: _Waiting, *, last: bool = False) -> None:
        """Asks who is due, or at the end everybody who can be asked."""
        with self._excused():
            for wanted, due in list(self._open(waiting.directory, waiting.span)):
                now = time.time_ns()
                is_quiet = self._quiet.get(wanted.server, 0) > now
                if (due <= now or last) and not is_quiet and not self._cancelled.is_set():
                    self._ask_one(waiting, wanted)
            if not last:
                self._wait(waiting.directory, waiting.span)

    def _ask_one(self, waiting: _Waiting, wanted: _Wanted) -> None:
        now = time.time_ns()
        state = State(
            role=wanted.role,
            host=wanted.host,
            source=name_of(wanted.source),
            asked=asdict(wanted.source),
            scheduled_ns=now,
        )
        with Kept(waiting.directory).changed() as kept:
            try:
                kept.told(state, waiting.span, self._ask(wanted.source, waiting.span, now))
            except SourceError as error:
                kept.failed(state, error.message, error.hint)
                if error.is_away:
                    self._quiet[wanted.server] = time.time_ns() + QUIET_NS
            except OSError:
                raise
            # A mistake of ours: resources are context, and no campaign of weeks may end for them.
            except Exception as error:
                kept.failed(
                    state,
                    f"what {state.source} answers could not be read: {error!r:.300}",
                    "this is a mistake of trustbed",
                )

    @contextlib.contextmanager
    def _excused(self) -> Iterator[None]:
        """A disk that is full, a directory that is gone.

        This round is left to the next session, and the others go on.
        """
        with contextlib.suppress(Exception):
            yield


def span_of(record: RoundRecord) -> Span | None:
    """The time that a round took, by our clock; nothing where its record does not say."""
    began, ended = record.began_ns, record.ended_ns
    if began is None or ended is None or began >= ended:
        return None
    return Span(from_ns=began, until_ns=ended)
