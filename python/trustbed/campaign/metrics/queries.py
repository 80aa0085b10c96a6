"""Queries Prometheus and CloudWatch about a round's hosts while the campaign runs.

Their data lag behind, so queries about a round are repeated, each after twice the time, until the
source has data for all of the round or the limit of queries is reached. At the end of a session all
open rounds are queried once more; the next session continues with the rest. A server that does not
answer is not queried for a minute. The queries run in a thread of their own: no round and no
verdict waits for them, and errors are written into the round's directory and nowhere else.
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
from trustbed.campaign.metrics.stored_answers import SourceState, StoredAnswers
from trustbed.campaign.metrics.table import Span
from trustbed.campaign.records import RoundRecord
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.scenario.campaign_model import Campaign
from trustbed.scenario.metric_sources import CloudWatch, Outside, Prometheus, name_of

_SECOND = 1_000_000_000
MOST_TIMES = 6
"""Queries of a source about one round, at most."""
PROMETHEUS_AFTER_NS = 20 * _SECOND
"""When the next scrape can be expected."""
CLOUDWATCH_AFTER_NS = 180 * _SECOND
"""How long after its end a period can be expected to have data."""
QUIET_NS = 60 * _SECOND
"""How long a server that did not answer is not queried."""
LAST_SECONDS = 60.0
"""How long queries may take at the end of a session.

A query that is running then may take longer.
"""
_LONGEST_QUERY_SECONDS = 45.0

Query: TypeAlias = Callable[[Outside, Span, int], Answer]


def query(source: Outside, span: Span, now_ns: int) -> Answer:
    """Queries a source of any kind.

    Raises:
        SourceError: It did not answer.
    """
    if isinstance(source, Prometheus):
        return prometheus.query(source, span, now_ns=now_ns)
    return cloudwatch.query(source, span, now_ns=now_ns)


def check(campaign: Campaign) -> None:
    """Checks before the campaign begins whether all sources can be queried.

    Raises:
        SourceError: CloudWatch is a source, and boto3 is not installed.
    """
    if any(host.cloudwatch is not None for host in campaign.hosts):
        cloudwatch.check()


@dataclass(frozen=True, slots=True)
class _Target:
    """A source to be queried about a host of each round."""

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


class Queries(AbstractContextManager["Queries"]):
    """Queries metric sources about the rounds of a campaign from entry to exit.

    Without any source it does nothing.
    """

    def __init__(
        self, campaign: Campaign, directory: CampaignDirectory, *, query: Query = query
    ) -> None:
        """Starts nothing yet.

        Raises:
            SourceError: CloudWatch is a source, and boto3 is not installed.
        """
        check(campaign)
        self._directory = directory
        self._query = query
        outside = {host.name: host.outside for host in campaign.hosts}
        self._targets: Mapping[str, tuple[_Target, ...]] = {
            pair.name: tuple(
                _Target(role, host, source)
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
        # As a daemon: a query that never ends does not prevent the program from exiting.
        self._thread = (
            threading.Thread(target=self._run, name="metric queries", daemon=True)
            if any(self._targets.values())
            else None
        )

    def __enter__(self) -> Queries:
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
            self._thread.join(_LONGEST_QUERY_SECONDS + (0 if kind is not None else LAST_SECONDS))
        except BaseException:
            self._cancelled.set()
            raise

    def put(self, round_directory: RoundDirectory, record: RoundRecord) -> None:
        """Adds a round that has ended."""
        if self._thread is not None:
            self._new.put((round_directory, record))

    # The thread.

    def _run(self) -> None:
        for round_directory in self._directory.rounds():
            # New rounds come by `put`, when they are judged.
            if any(
                not state.is_whole and state.times < MOST_TIMES
                for state in StoredAnswers(round_directory).states
            ):
                with self._excused():
                    self._take(round_directory, round_directory.record())
        while True:
            try:
                new = self._new.get(timeout=self._pause())
            except queue.Empty:
                self._query_due()
                continue
            if new is None:
                break
            self._take(*new)
        deadline = time.monotonic() + LAST_SECONDS
        while self._waiting and not self._cancelled.is_set() and time.monotonic() < deadline:
            self._query_round(heapq.heappop(self._waiting), last=True)

    def _pause(self) -> float | None:
        """Seconds until the next query is due."""
        return max(0.0, (self._waiting[0].due_ns - time.time_ns()) / 1e9) if self._waiting else None

    def _query_due(self) -> None:
        if (
            self._waiting
            and self._waiting[0].due_ns <= time.time_ns()
            and not self._cancelled.is_set()
        ):
            self._query_round(heapq.heappop(self._waiting))

    def _take(self, round_directory: RoundDirectory, record: RoundRecord) -> None:
        """Adds a round to those that wait, if a source is to be queried about it."""
        span = span_of(record)
        if span is None or round_directory.pair not in self._targets:
            return
        with self._excused():
            with StoredAnswers(round_directory).saved() as stored:
                for target in self._targets[round_directory.pair]:
                    stored.expect(target.role, target.host, name_of(target.source))
            self._wait(round_directory, span)

    def _wait(self, round_directory: RoundDirectory, span: Span) -> None:
        dues = [due for _, due in self._open(round_directory, span)]
        if dues:
            heapq.heappush(self._waiting, _Waiting(min(dues), round_directory, span))

    def _open(self, round_directory: RoundDirectory, span: Span) -> Iterator[tuple[_Target, int]]:
        """The sources that are still to be queried about a round, and when."""
        stored = StoredAnswers(round_directory)
        for target in self._targets[round_directory.pair]:
            state = stored.state(target.role, name_of(target.source))
            if state is None or state.is_whole or state.times >= MOST_TIMES:
                continue
            due = span.until_ns + target.after_ns
            if state.scheduled_ns is not None:
                due = max(due, state.scheduled_ns + (target.after_ns << max(0, state.times - 1)))
            yield target, max(due, self._quiet.get(target.server, 0))

    def _query_round(self, waiting: _Waiting, *, last: bool = False) -> None:
        """Queries the sources that are due, or with ``last`` all that can be queried."""
        with self._excused():
            for target, due in list(self._open(waiting.directory, waiting.span)):
                now = time.time_ns()
                is_quiet = self._quiet.get(target.server, 0) > now
                if (due <= now or last) and not is_quiet and not self._cancelled.is_set():
                    self._query_source(waiting, target)
            if not last:
                self._wait(waiting.directory, waiting.span)

    def _query_source(self, waiting: _Waiting, target: _Target) -> None:
        now = time.time_ns()
        state = SourceState(
            role=target.role,
            host=target.host,
            source=name_of(target.source),
            asked=asdict(target.source),
            scheduled_ns=now,
        )
        with StoredAnswers(waiting.directory).saved() as stored:
            try:
                answer = self._query(target.source, waiting.span, now)
                stored.record_answer(state, waiting.span, answer)
            except SourceError as error:
                stored.record_failure(state, error.message, error.hint)
                if error.is_away:
                    self._quiet[target.server] = time.time_ns() + QUIET_NS
            except OSError:
                raise
            # A bug of ours: resources are context, and no campaign of weeks may end for them.
            except Exception as error:
                stored.record_failure(
                    state,
                    f"the answer of {state.source} could not be read: {error!r:.300}",
                    "this is a bug of trustbed",
                )

    @contextlib.contextmanager
    def _excused(self) -> Iterator[None]:
        """Ignores errors such as a full disk or a missing directory.

        The next session continues with this round; the other rounds are not affected.
        """
        with contextlib.suppress(Exception):
            yield


def span_of(record: RoundRecord) -> Span | None:
    """The time of a round, by the controller's clock; ``None`` where its record has none."""
    began, ended = record.began_ns, record.ended_ns
    if began is None or ended is None or began >= ended:
        return None
    return Span(from_ns=began, until_ns=ended)
