"""Run directories, campaigns and results of other programs into a store.

A directory that has grown since it was stored is stored again, and its earlier entry no longer
counts. The captures of a run come along as its judgement had them, with the evidence of its hosts:
storing them once more as captures would count them twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trustbed.campaign.results import open_campaign
from trustbed.compare.imported import KINDS, ImportedPart, read_results
from trustbed.compare.metrics import METRICS, base
from trustbed.report.records import Json, Row
from trustbed.report.schemas import from_rows
from trustbed.run.directory import TABLES, RunDirectory
from trustbed.run.owned_directory import RunDirectoryError, kind_of
from trustbed.run.results import Run, open_run
from trustbed.store.captures import date_of
from trustbed.store.entry import About, Kind, key_of, label
from trustbed.store.errors import StoreError
from trustbed.store.store import Store
from trustbed.store.tables import (
    CAMPAIGNS,
    RESULTS,
    RUNS,
    SOURCE,
    VERDICTS,
    conformed,
    store_schemas,
)

_HINT = f"name a run, a campaign, or a file or directory with results of {KINDS}"


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a run, a campaign or results that were to be stored.

    Attributes:
        key: Of the entry that the store has now.
        stored: It was not there as it is now.
        testbed: The label that the entry has, which may be that of an earlier time.
        paper: Likewise.
    """

    key: str
    stored: bool
    testbed: str
    paper: str | None


def add(store: Store, path: Path, *, testbed: str = "unnamed", paper: str | None = None) -> Added:
    """Stores a run, a campaign or results, unless they are there as they are now.

    Raises:
        RunDirectoryError: It is a damaged run or campaign.
        CompareError: It is nothing that can be read.
        StoreError: It cannot be stored.
    """
    label(testbed, "--testbed")
    if paper is not None:
        label(paper, "--paper")
    found = read(path, testbed=testbed, paper=paper)
    readers = {name: table.to_reader() for name, table in found.tables.items()}
    key = found.about.key
    if store.publish(found.about, readers) is not None:
        return Added(key, stored=True, testbed=testbed, paper=paper)
    # It may have been another in between: what was added last counts.
    store.renew([key])
    there = store.entry(key)
    if there is None:  # removed meanwhile
        raise StoreError(f"removed while it was added, {path}", "add it once more")
    return Added(key, stored=False, testbed=there.testbed, paper=there.paper)


@dataclass(frozen=True, slots=True)
class Directory:
    """What a store would hold of a run, a campaign or results."""

    about: About
    tables: Mapping[str, pa.Table]


def read(path: Path, *, testbed: str = "unnamed", paper: str | None = None) -> Directory:
    """A run, a campaign or results as a store would hold them.

    Raises:
        RunDirectoryError: There is nothing, or a damaged run or campaign.
        CompareError: It is nothing that can be read.
    """
    if not path.exists():
        raise RunDirectoryError(f"no such file or directory, {path}", _HINT)
    if kind_of(path) == "campaign":
        return _campaign(path, testbed)
    if path.is_dir() and (RunDirectory(path).exists or not any(map(Path.is_file, path.iterdir()))):
        return _run(open_run(path), testbed, paper)
    return _of_programs(path, testbed, paper)


def _run(run: Run, testbed: str, paper: str | None) -> Directory:
    about = run.model.run
    sessions = [str(one.get("started")) for one in about.sessions]
    began = _moment(sessions[0]) if sessions else None
    name = about.name or run.path.name
    rows = [_repetition(one, name, paper) for one in run.repetitions]
    findings = [
        {
            **finding,
            "source": one["directory"],
            "scope": f"repetition {one['number']}: {finding.get('scope') or 'run'}",
        }
        for one in run.repetitions
        for finding in one["findings"]
    ]
    schemas = store_schemas()
    tables = {"runs": from_rows(rows, RUNS), "findings": from_rows(findings, schemas["findings"])}
    for table in ("transfers", "phases"):
        found = [
            part
            for one in run.repetitions
            if (part := _of_repetition(run.path, one["directory"], table)) is not None
        ]
        if found:
            tables[table] = pa.concat_tables(found)
    if "transfers" in tables:
        tables["verdicts"] = _seen_once(tables["transfers"].select(list(VERDICTS)))
    return _described(
        tables,
        kind="run",
        subject=_digest([about.sha256, about.seed, sessions[:1] or str(run.path.resolve())]),
        name=name,
        path=run.path,
        testbed=testbed,
        paper=paper,
        first_ns=began,
        verdicts=Counter(row["use"] for row in rows),
    )


_NEAREST = {"sender": 0, "middle": 1, "unknown": 2, "receiver": 3}
"""Where questions take a transfer from that several captures of a repetition have."""


def _seen_once(verdicts: pa.Table) -> pa.Table:
    """Each transfer as one capture of its repetition has it: two points are no two measurements."""
    ends = ("src", "src_port", "dst", "dst_port")
    keys = [*zip(*(verdicts.column(name).to_pylist() for name in ends), strict=True)]
    sources = verdicts.column("source").to_pylist()
    repetitions = [source.rpartition("/")[0] for source in sources]
    places = [_NEAREST.get(at, 2) for at in verdicts.column("at").to_pylist()]
    chosen: dict[tuple[object, ...], tuple[int, str]] = {}
    for repetition, key, place, source in zip(repetitions, keys, places, sources, strict=True):
        best = chosen.get((repetition, *key))
        if best is None or (place, source) < best:
            chosen[repetition, *key] = (place, source)
    kept = [
        chosen[repetition, *key][1] == source
        for repetition, key, source in zip(repetitions, keys, sources, strict=True)
    ]
    return verdicts.filter(pa.array(kept))


def _repetition(one: Row, run: str, paper: str | None) -> Json:
    grave = [f["code"] for f in one["findings"] if f.get("severity") in ("warning", "error")]
    return {
        **one,
        "run": run,
        "paper": paper,
        "repetition": one["number"],
        "findings": sorted(set(grave)),
        "start_ns": _moment(one["started"]),
    }


def _moment(text: str | None) -> int | None:
    """An ISO 8601 moment in nanoseconds since the epoch."""
    try:
        return None if text is None else int(datetime.fromisoformat(text).timestamp() * 1e9)
    except ValueError:
        return None


def _of_repetition(run: Path, directory: str, table: str) -> pa.Table | None:
    """A table of a repetition's captures."""
    file = run / directory / TABLES / f"{table}.parquet"
    if not file.is_file():
        return None
    try:
        found = pyarrow.parquet.read_table(file)
        source = pc.binary_join_element_wise(directory, found.column("capture"), "/")
        return conformed(found.append_column(SOURCE, source), store_schemas()[table])
    except (pa.ArrowException, KeyError, OSError) as error:
        raise RunDirectoryError(
            f"cannot be read, {file}: {error}", "judge the repetition again, or leave the run out"
        ) from None


def _campaign(path: Path, testbed: str) -> Directory:
    campaign = open_campaign(path)
    facts = campaign.model.campaign
    rows = [
        {
            "campaign": facts.name,
            "pair": pair.pair,
            "sender": pair.sender,
            "receiver": pair.receiver,
            "round": one.number,
            "start_ns": one.at_ns,
            "use": one.use,
            "causes": list(one.causes),
            "data_bytes_per_second": one.data,
            "probe_bytes_per_second": one.probe,
            "rtt_base_seconds": one.rtt_base,
        }
        for pair, one in campaign.rounds()
    ]
    return _described(
        {"campaigns": from_rows(rows, CAMPAIGNS)},
        kind="campaign",
        subject=_digest([facts.sha256, facts.began_ns]),
        name=facts.name,
        path=path,
        testbed=testbed,
        first_ns=facts.began_ns,
        verdicts=Counter(str(row["use"] or "not_judged") for row in rows),
    )


def _unit(metric: str, per: str | None) -> str:
    unit = METRICS[base(metric)].unit
    return unit if per is None else f"{unit}/{per}"


def _of_programs(path: Path, testbed: str, paper: str | None) -> Directory:
    source = read_results(path, path.name)
    files = [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file())
    rows = [
        {
            "source": file,
            "program": source.facts["program"],
            "test": cell.label,
            "metric": key,
            "value": value,
            "unit": None if key is None else _unit(key, found.per.get(key)),
            "invalid": found.invalid,
        }
        for cell in source.cells
        if isinstance(cell.part, ImportedPart)
        for file, found in cell.part.results
        for key, value in found.values.items() or [(None, None)]
    ]
    return _described(
        {"results": from_rows(rows, RESULTS)},
        kind="result",
        subject=_digest(["result", source.facts["program"], _first_result(files)]),
        name=path.name,
        path=path,
        testbed=testbed,
        paper=paper,
        first_ns=min(file.stat().st_mtime_ns for file in files),
        verdicts=Counter(),
    )


def _first_result(files: Sequence[Path]) -> str:
    """The digest of the oldest file: a directory that grew keeps it, another test has another one.

    Where results lie says little: the next test is written into the same file.
    """
    oldest = min(files, key=lambda file: (file.stat().st_mtime_ns, file.name))
    with oldest.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _described(
    tables: dict[str, pa.Table],
    *,
    kind: Kind,
    subject: str,
    name: str,
    path: Path,
    testbed: str,
    first_ns: int | None,
    verdicts: Counter[str],
    paper: str | None = None,
) -> Directory:
    from trustbed import __version__

    revision = hashlib.sha256()
    for table in tables.values():
        for batch in table.combine_chunks().to_batches():
            revision.update(batch.serialize())
    options = {"revision": revision.hexdigest()[:16]}
    about = About(
        kind=kind,
        key=key_of(subject, __version__, options),
        subject=subject,
        name=name,
        version=__version__,
        options=options,
        testbed=testbed,
        paper=paper,
        date=date_of(first_ns),
        first_ns=first_ns,
        files=(str(path.resolve()),),
        verdicts=dict(verdicts),
    )
    return Directory(about, tables)


def _digest(facts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
