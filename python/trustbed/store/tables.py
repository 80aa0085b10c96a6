"""The tables of a store: one source for type, unit and meaning of each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import pyarrow as pa

from trustbed.report import schemas
from trustbed.report.schemas import column
from trustbed.report.transfer.contract import engine_schemas

PARTITIONS = pa.schema(
    [
        column("testbed", pa.string(), "", "the label of the testbed"),
        column("date", pa.string(), "", "day of the first packet or the beginning (UTC)"),
        column("capture", pa.string(), "", "key of the capture, run, campaign or result"),
    ]
)
"""Columns that are in the paths, as Hive has them, and not in the files."""

SOURCE = column(
    "source", pa.string(), "", "file of the capture or result, or repetition and file below the run"
)

RUNS = pa.schema(
    [
        column("run", pa.string(), "", "name of the scenario"),
        column("paper", pa.string(), "", "label of the study that the run belongs to"),
        column("directory", pa.string(), "", "directory of the repetition in the run"),
        column("repetition", pa.int64(), "1", "number of the repetition, from 0"),
        column("cell", pa.int64(), "1", "number of the cell of the scenario's matrix"),
        column("label", pa.string(), "", "levels of the cell's factors"),
        column("round", pa.int64(), "1", "round in which it was carried out, from 0"),
        column("complete", pa.bool_(), "", "whether it was carried out completely"),
        column(
            "use",
            pa.string(),
            "",
            "trust, review, discard or not_judged; missing: it was not completed",
        ),
        column("why", pa.string(), "", "why it is to be reviewed or discarded"),
        column("findings", schemas.WORDS, "", "codes of its warnings and errors"),
        column("start_ns", pa.timestamp("ns", "UTC"), "ns", "when it began"),
    ]
)

CAMPAIGNS = pa.schema(
    [
        column("campaign", pa.string(), "", "name of the campaign"),
        column("pair", pa.string(), "", "name of the pair of hosts"),
        column("sender", pa.string(), "", "host that sent"),
        column("receiver", pa.string(), "", "host that received"),
        column("round", pa.int64(), "1", "number of the round, from 0"),
        column("start_ns", pa.timestamp("ns", "UTC"), "ns", "when it began"),
        column("use", pa.string(), "", "trust, review or discard; null: none was judged"),
        column("causes", schemas.WORDS, "", "causes of its connections to be discarded"),
        column(
            "data_bytes_per_second", pa.float64(), "B/s", "mean throughput of its data connections"
        ),
        column("probe_bytes_per_second", pa.float64(), "B/s", "the same of its probes"),
        column("rtt_base_seconds", pa.float64(), "s", "mean of the pings before it"),
    ]
)

RESULTS = pa.schema(
    [
        SOURCE,
        column("program", pa.string(), "", "which printed the result: iperf3, flent, …"),
        column("test", pa.string(), "", "of several in one file"),
        column("metric", pa.string(), "", "as `trustbed compare` names it; null: it has none"),
        column("value", pa.float64(), "unit", "in the unit that the next column names"),
        column("unit", pa.string(), "", "the base unit, or per what is counted: `1/MB`"),
        column("invalid", pa.string(), "", "why the result does not count; null: it does"),
    ]
)

VERDICTS = (
    "source",
    "transfer",
    "src",
    "src_port",
    "dst",
    "dst_port",
    "at",
    "start_ns",
    "duration_ns",
    "unique_bytes",
    "throughput_bytes_per_second",
    "cause",
    "confidence",
    "verdict",
)
"""The columns of transfers that questions are about.

They are a table of their own: of a small capture the wide one takes six times as long to open.
"""

ABOUT: Mapping[str, str] = {
    "transfers": "The table `transfers` of every capture, and of the captures of runs.",
    "verdicts": "The columns of `transfers` that most questions are about; quick to read.",
    "phases": "The table `phases` of the same.",
    "findings": "The table `findings` of every capture, and the findings of runs.",
    "runs": "One row per repetition of a run.",
    "campaigns": "One row per judged round of a campaign.",
    "results": "One row per file, test and metric of what other programs measured.",
}
"""The views of a store."""


@cache
def store_schemas() -> Mapping[str, pa.Schema]:
    """The columns of every table's files."""
    engine = engine_schemas()
    transfers = pa.schema([SOURCE, *engine["transfers"], *schemas.VERDICT_FIELDS])
    return {
        "transfers": transfers,
        "verdicts": pa.schema([transfers.field(name) for name in VERDICTS]),
        "phases": pa.schema([SOURCE, *engine["phases"]]),
        "findings": pa.schema([SOURCE, *schemas.FINDINGS]),
        "runs": RUNS,
        "campaigns": CAMPAIGNS,
        "results": RESULTS,
    }


def with_source(reader: pa.RecordBatchReader, name: str) -> pa.RecordBatchReader:
    """The same rows behind a column with their source, bare."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            source = pa.repeat(pa.scalar(name, pa.string()), batch.num_rows)
            yield pa.RecordBatch.from_arrays([source, *batch.columns], schema=schema)

    schema = _bare_with_source(reader.schema)
    return pa.RecordBatchReader.from_batches(schema, batches())


def bare(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows without units and meanings: two fifths of a small file, and in docs/tables.md.

    A view has them again.
    """
    schema = _bare(reader.schema)
    if reader.schema.equals(schema, check_metadata=True):
        return reader
    return pa.RecordBatchReader.from_batches(
        schema, (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    )


@schemas.derived
def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in schema])


@schemas.derived
def _bare_with_source(schema: pa.Schema) -> pa.Schema:
    return _bare(pa.schema([SOURCE, *schema]))


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema: those that the table lacks are null, others are left out."""
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
