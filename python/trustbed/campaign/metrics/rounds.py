"""The table of a round or a campaign: samples of both hosts, and other metric sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from trustbed.campaign.metrics.queries import span_of
from trustbed.campaign.metrics.samples import read_samples
from trustbed.campaign.metrics.stored_answers import SourceState, StoredAnswers
from trustbed.campaign.metrics.table import RESOURCES, Origin, Problem, Source, Span, table_of
from trustbed.campaign.records import HostRole, RoundRecord
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.report.placing import check_file, whole_file
from trustbed.run.owned_directory import RunDirectoryError
from trustbed.scenario.error import nearest

_ROLES: tuple[HostRole, ...] = ("sender", "receiver")


def round_resources(round_directory: RoundDirectory) -> pa.Table:
    """All reported resources of a round's hosts.

    Returns:
        A table of the schema :data:`~trustbed.campaign.metrics.table.RESOURCES`: the samples of
        both hosts and the values of other sources, each also per minute where it is finer, and a
        row with a ``problem`` for everything that was not reported.

    Raises:
        RunDirectoryError: The record of the round is damaged.
    """
    record = round_directory.record()
    span = span_of(record) or Span(from_ns=0, until_ns=0)
    tables = [_sampled(round_directory, role, record, span) for role in _ROLES]
    stored = StoredAnswers(round_directory)
    try:
        tables.append(stored.table())
        damaged = []
    except OSError as error:
        damaged = [Problem(span=span, text=str(error))]
    for state in stored.states:
        origin = Origin(
            pair=round_directory.pair,
            round=round_directory.number,
            role=state.role,
            host=state.host,
            source=state.source,
        )
        tables.append(table_of(origin, (), [*_problems(state, span), *damaged]))
    return pa.concat_tables(tables)


def _sampled(
    round_directory: RoundDirectory, role: HostRole, record: RoundRecord, span: Span
) -> pa.Table:
    """The samples of a host's agent, and what it did not report."""
    host = (record.sender if role == "sender" else record.receiver) or role

    def origin(source: Source) -> Origin:
        return Origin(
            pair=round_directory.pair,
            round=round_directory.number,
            role=role,
            host=host,
            source=source,
        )

    warnings = [
        one.message
        for one in record.warnings
        if one.what in (f"samples of {host}", f"{role}.samples")
    ]
    try:
        sampled = read_samples(round_directory.path / f"{role}.samples.jsonl")
    except OSError as error:
        why = warnings or [f"there are no samples: {(error.strerror or str(error)).lower()}"]
        return table_of(origin("proc"), (), [Problem(span=span, text=text) for text in why])
    short = [] if sampled.proc or warnings else ["no sample falls into the time of the connections"]
    problems = [Problem(span=span, text=text) for text in (*warnings, *short, *sampled.unavailable)]
    return pa.concat_tables(
        [
            table_of(origin("proc"), sampled.proc, problems),
            table_of(origin("cgroup"), sampled.cgroup),
        ]
    )


def _problems(state: SourceState, span: Span) -> Iterator[Problem]:
    """What a source did not report of a round."""
    for one in state.problems:
        yield Problem(
            span=span,
            text=f"{one['message']} ({one['hint']})" if one.get("hint") else one["message"],
        )
    if state.times == 0:
        yield Problem(
            span=span,
            text=f"{state.source} was not queried yet; the campaign does so when it continues",
        )
    elif not state.is_whole and not state.problems:
        reached = (
            span.from_ns
            if state.reached_ns is None
            else max(span.from_ns, min(state.reached_ns, span.until_ns))
        )
        rest = Span(from_ns=reached, until_ns=span.until_ns)
        yield Problem(span=rest, text=f"{state.source} had no data from here on at the last query")


def campaign_resources(
    path: str | os.PathLike[str], *, only: tuple[str, int] | None = None
) -> Iterator[pa.Table]:
    """The tables of a campaign's rounds, one after another.

    Those of a pair in order, behind those of the pair before.

    Args:
        path: The campaign's directory; it may be at work meanwhile.
        only: One round: its pair and its number.

    Raises:
        RunDirectoryError: There is no such campaign or no such round, or something in it is
        damaged.
    """
    directory = CampaignDirectory(Path(path))
    pairs = [one.pair for one in directory.check_readable().campaign.pairs]
    if only is None:
        return (round_resources(round_directory) for round_directory in directory.rounds())
    if only[0] not in pairs:
        raise RunDirectoryError(
            f"no pair {only[0]} in this campaign, {directory.path}", nearest(only[0], pairs)
        )
    round_directory = directory.round(*only)
    if not round_directory.is_complete:
        hint = f"those that have ended lie in {round_directory.path.parent}"
        raise RunDirectoryError(
            f"no round {only[1]} of {only[0]} has ended, {directory.path}", hint
        )
    return iter([round_resources(round_directory)])


def write_resources(
    path: str | os.PathLike[str], file: Path, *, only: tuple[str, int] | None = None
) -> int:
    """Writes the table of a campaign or of one round as Parquet; holds one round in memory.

    Args:
        path: The campaign's directory.
        file: Where the table goes.
        only: One round: its pair and its number.

    Returns:
        How many rows there are.

    Raises:
        RunDirectoryError: There is no such campaign or no such round, or something in it is
            damaged.
        OutputError: The file cannot be written there.
        OSError: It could not be written as a whole.
    """
    check_file(file)
    tables = campaign_resources(path, only=only)
    rows = 0
    with (
        whole_file(file) as stream,
        pa.parquet.ParquetWriter(
            stream.buffer, RESOURCES, compression="zstd", version="2.6"
        ) as writer,
    ):
        for table in tables:
            if table.num_rows:
                writer.write_table(table)
                rows += table.num_rows
    return rows
