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


def add(
    store: Store, path: Path, *, testbed: str = "unnamed", paper: str | None = None
) -> str | None:
    """Stores a run, a campaign or results; returns its key, or None if it is there as it is now.

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
    if store.publish(found.about, readers) is not None:
        return found.about.key
    # It may have been another in between: what was added last counts.
    store.renew([found.about.key])
    return None


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
        tables["verdicts"] = tables["transfers"].select(list(VERDICTS))
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
        subject=_digest(["result", source.facts["program"], str(path.resolve())]),
        name=path.name,
        path=path,
        testbed=testbed,
        paper=paper,
        first_ns=min(file.stat().st_mtime_ns for file in files),
        verdicts=Counter(),
    )


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
