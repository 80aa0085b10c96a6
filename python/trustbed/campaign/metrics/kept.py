"""Stored answers of other metric sources about a round's hosts, in the round's directory.

``resources.json`` says who was asked and how that went, ``resources.parquet`` has the values.
Values stay when a later question fails. Either file is there as a whole or not at all; between the
two, a kill leaves values that are newer than what is said of them, which the next question mends.
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
from trustbed.campaign.metrics.table import Place, Span, nothing, table_of
from trustbed.campaign.runner.directory import RESOURCE_TABLE, RESOURCES, RoundDirectory
from trustbed.run.owned_directory import as_text, write_whole
from trustbed.scenario.metric_sources import SourceName


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a source has been asked for a host of a round.

    Attributes:
        role: What the host was in the round.
        host: Its name.
        source: Who is asked.
        asked: What was asked: the source as the inventory described it.
        scheduled_ns: When it was asked last.
        times: How often it was asked.
        reached_ns: Until when it knew the host.
        is_whole: Whether it knew all of the round's time, and told everything.
        problems: What went wrong the last time, each with a ``message`` and a ``hint``.
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


class Kept:
    """Both files of a round's directory, read when it is made."""

    def __init__(self, directory: RoundDirectory) -> None:
        self._directory = directory
        self._states = _states(directory.path / RESOURCES)

    @property
    def states(self) -> tuple[State, ...]:
        """Everybody who was to be asked."""
        return tuple(self._states.values())

    def state(self, role: str, source: SourceName) -> State | None:
        """How far somebody has been asked for the host of that role."""
        return self._states.get((role, source))

    def table(self) -> pa.Table:
        """The values of all of them.

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
    def changed(self) -> Iterator[Kept]:
        """Writes down what the block changes."""
        before = dict(self._states)
        yield self
        if self._states != before:
            write_whole(
                self._directory.path / RESOURCES,
                as_text({"sources": [asdict(state) for state in self._states.values()]}),
            )

    def expect(self, role: str, host: str, source: SourceName) -> None:
        """Somebody is to be asked."""
        self._states.setdefault((role, source), State(role=role, host=host, source=source))

    def told(self, asked: State, span: Span, answer: Answer) -> None:
        """A source has answered.

        Args:
            asked: Who was asked, what, and when.
            span: The round's time.
            answer: What was told.

        Raises:
            ValueError: It cannot stand in a table.
        """
        self._write(asked, answer)
        problems = tuple({"message": text, "hint": ""} for text in answer.problems)
        is_whole = (
            answer.reached_ns is not None and answer.reached_ns >= span.until_ns and not problems
        )
        self._put(
            replace(asked, reached_ns=answer.reached_ns, is_whole=is_whole, problems=problems)
        )

    def failed(self, asked: State, message: str, hint: str) -> None:
        """A source has not answered a query; its earlier answers stay.

        Args:
            asked: Who was asked, what, and when.
            message: Why.
            hint: What can be done.
        """
        before = self.state(asked.role, asked.source) or asked
        self._put(
            replace(
                asked, reached_ns=before.reached_ns, problems=({"message": message, "hint": hint},)
            )
        )

    def _put(self, state: State) -> None:
        before = self.state(state.role, state.source) or state
        self._states[state.role, state.source] = replace(state, times=before.times + 1)

    def _write(self, asked: State, answer: Answer) -> None:
        """Puts an answer in the place of an earlier one of the same source."""
        place = Place(
            pair=self._directory.pair,
            round=self._directory.number,
            role=asked.role,
            host=asked.host,
            source=asked.source,
        )
        try:
            earlier = self.table()
        except OSError:
            earlier = nothing()  # damaged: others are asked again by whoever misses it
        others = pc.invert(
            pc.and_(
                pc.equal(earlier["role"], asked.role), pc.equal(earlier["source"], asked.source)
            )
        )
        whole = pa.concat_tables([earlier.filter(others), table_of(place, answer.observations)])
        write_table(whole, self._directory.path / RESOURCE_TABLE)


def write_table(table: pa.Table, path: Path) -> None:
    """A Parquet file that is there with all its content or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    pa.parquet.write_table(table, partial, compression="zstd", version="2.6")
    with partial.open("rb+") as stream:
        os.fsync(stream.fileno())
    partial.replace(path)


def _states(file: Path) -> dict[tuple[str, str], State]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        states = [State(**{**one, "problems": tuple(one["problems"])}) for one in found["sources"]]
    except (OSError, ValueError, TypeError, KeyError):
        return {}  # none yet, or damaged: then everybody is asked again
    return {(state.role, state.source): state for state in states}
