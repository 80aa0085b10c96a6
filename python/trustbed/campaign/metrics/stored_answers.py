"""Stored answers of other metric sources about a round's hosts, in the round's directory.

``resources.json`` has the state of each source, ``resources.parquet`` has the values. Values stay
when a later query fails. Either file is complete or absent; a process that is killed between the
two leaves values that are newer than their state, until the next query.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trustbed.campaign.metrics.answer import Answer
from trustbed.campaign.metrics.table import Origin, Span, nothing, table_of
from trustbed.campaign.runner.directory import RESOURCE_TABLE, RESOURCES, RoundDirectory
from trustbed.disk import flush
from trustbed.run.owned_directory import as_text, write_whole
from trustbed.scenario.metric_sources import SourceName


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """The queries of a source about a host of a round so far.

    Attributes:
        role: The host's role in the round.
        host: Its name.
        source: The source.
        asked: The source as the inventory describes it.
        scheduled_ns: Time of the last query.
        times: Number of queries.
        reached_ns: The end of the time for which the source had data.
        is_whole: It had data for all of the round, and reported everything.
        problems: Problems of the last query, each with a ``message`` and a ``hint``.
    """

    role: str
    host: str
    source: SourceName
    asked: Mapping[str, Any] | None = None
    scheduled_ns: int | None = None
    times: int = 0
    reached_ns: int | None = None
    is_whole: bool = False
    problems: tuple[Mapping[str, str], ...] = ()


class StoredAnswers:
    """Both files of a round's directory; the states are read when it is created."""

    def __init__(self, directory: RoundDirectory) -> None:
        self._directory = directory
        self._states = _states(directory.path / RESOURCES)

    @property
    def states(self) -> tuple[SourceState, ...]:
        """One for each source of each host."""
        return tuple(self._states.values())

    def state(self, role: str, source: SourceName) -> SourceState | None:
        """The state of a source for the host of that role."""
        return self._states.get((role, source))

    def table(self) -> pa.Table:
        """The values of all sources.

        Raises:
            OSError: The file is damaged.
        """
        file = self._directory.path / RESOURCE_TABLE
        if not file.is_file():
            return nothing()
        try:
            return pa.parquet.read_table(file, schema=nothing().schema)
        except pa.ArrowException as error:
            raise OSError(f"{file} is damaged: {error}") from None

    @contextmanager
    def saved(self) -> Iterator[StoredAnswers]:
        """Saves the states that the block changes."""
        before = dict(self._states)
        yield self
        if self._states != before:
            write_whole(
                self._directory.path / RESOURCES,
                as_text({"sources": [asdict(state) for state in self._states.values()]}),
            )

    def expect(self, role: str, host: str, source: SourceName) -> None:
        """Adds a source that is to be queried."""
        self._states.setdefault((role, source), SourceState(role=role, host=host, source=source))

    def record_answer(self, state: SourceState, span: Span, answer: Answer) -> None:
        """Stores the answer of a source.

        Args:
            state: The source and the time of the query.
            span: The round's time.
            answer: The answer.

        Raises:
            ValueError: The table cannot hold it.
        """
        self._write(state, answer)
        problems = tuple({"message": text, "hint": ""} for text in answer.problems)
        is_whole = (
            answer.reached_ns is not None and answer.reached_ns >= span.until_ns and not problems
        )
        self._put(
            replace(state, reached_ns=answer.reached_ns, is_whole=is_whole, problems=problems)
        )

    def record_failure(self, state: SourceState, message: str, hint: str) -> None:
        """Stores why a source did not answer a query; its earlier answers stay.

        Args:
            state: The source and the time of the query.
            message: Why.
            hint: How to fix it.
        """
        before = self.state(state.role, state.source) or state
        self._put(
            replace(
                state, reached_ns=before.reached_ns, problems=({"message": message, "hint": hint},)
            )
        )

    def _put(self, state: SourceState) -> None:
        before = self.state(state.role, state.source) or state
        self._states[state.role, state.source] = replace(state, times=before.times + 1)

    def _write(self, state: SourceState, answer: Answer) -> None:
        """Replaces the earlier answer of the same source."""
        origin = Origin(
            pair=self._directory.pair,
            round=self._directory.number,
            role=state.role,
            host=state.host,
            source=state.source,
        )
        try:
            earlier = self.table()
        except OSError:
            earlier = nothing()  # damaged: its values are lost
        others = pc.invert(
            pc.and_(
                pc.equal(earlier["role"], state.role), pc.equal(earlier["source"], state.source)
            )
        )
        whole = pa.concat_tables([earlier.filter(others), table_of(origin, answer.observations)])
        write_table(whole, self._directory.path / RESOURCE_TABLE)


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a Parquet file, complete or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    pa.parquet.write_table(table, partial, compression="zstd", version="2.6")
    with partial.open("rb+") as stream:
        os.fsync(stream.fileno())
    partial.replace(path)
    flush(path.absolute().parent)


def _states(file: Path) -> dict[tuple[str, str], SourceState]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        states = [
            SourceState(**{**one, "problems": tuple(one["problems"])}) for one in found["sources"]
        ]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}  # none yet, or damaged: then all sources are queried again
    return {(state.role, state.source): state for state in states}
