"""The rows that were scored, as Parquet: anybody can score them again, with these rules or others.

``transfers.parquet`` has a row per transfer: what was made, what it cost, and the stored data (the
rows of its captures, facts, samples, the kernel's counters) as JSON; no packets.
``answers.parquet`` has a row per transfer and view: what is accepted, what was answered, and the
evidence as JSON. While a plan is not complete it holds none of the families that are reported:
their answers are first read when all of them can be.

A plan that was interrupted goes on elsewhere from its published transfers (:func:`restore`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from validation.truth.looks import HALF
from validation.truth.result import VIEWS, Judged, Result, View
from validation.truth.store import Store

DIRECTORY = Path(__file__).with_name("rows")
TRANSFERS, ANSWERS = "transfers.parquet", "answers.parquet"
_COMPRESSION_LEVEL = 19

_TRANSFERS = pa.schema(
    [
        ("name", pa.string()),
        ("plan", pa.string()),
        ("half", pa.string()),
        ("family", pa.string()),
        ("network", pa.string()),
        ("kind", pa.string()),
        ("dose", pa.string()),
        ("outcome", pa.string()),
        ("standing", pa.string()),
        ("made", pa.string()),
        ("cost", pa.float64()),
        ("stored", pa.large_string()),
    ]
)
_ANSWERS = pa.schema(
    [
        ("name", pa.string()),
        ("view", pa.string()),
        ("accepted", pa.list_(pa.string())),
        ("verdicts", pa.list_(pa.string())),
        ("causes", pa.list_(pa.string())),
        ("verdict", pa.string()),
        ("confidence", pa.float64()),
        ("rule", pa.string()),
        ("is_right", pa.bool_()),
        ("verdict_is_right", pa.bool_()),
        ("evidence", pa.large_string()),
    ]
)


def write(result: Result, directory: Path = DIRECTORY) -> None:
    """Both files, replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, schema, rows in (
        (TRANSFERS, _TRANSFERS, list(_transfers(result))),
        (ANSWERS, _ANSWERS, list(_answers(result))),
    ):
        partial = directory / f"{name}.partial"
        pq.write_table(
            pa.Table.from_pylist(rows, schema=schema),
            partial,
            compression="zstd",
            compression_level=_COMPRESSION_LEVEL,
        )
        partial.replace(directory / name)


def read(directory: Path, kinds: Collection[str] | None = None) -> Result:
    """The result of published transfers, of all kinds or some, judged with today's rules."""
    some = None if kinds is None else pc.field("kind").isin(list(kinds))
    columns = ["plan", "stored"]
    rows = pq.read_table(directory / TRANSFERS, columns=columns, filters=some).to_pylist()
    identity = json.loads(rows[0]["plan"]) if rows else None
    return Result([json.loads(row["stored"]) for row in rows], identity=identity)


def restore(store: Store, directory: Path = DIRECTORY) -> int:
    """Adds the published transfers that a store does not hold; returns their number.

    Raises a ``StoreError`` if they are of another plan than the store's.
    """
    rows = pq.read_table(directory / TRANSFERS, columns=["name", "plan", "stored"]).to_pylist()
    if rows:
        store.belong_to(json.loads(rows[0]["plan"]))
    missing = [row for row in rows if not store.holds(row["name"])]
    for row in missing:
        store.write(json.loads(row["stored"]))
    return len(missing)


def _transfers(result: Result) -> Iterator[Mapping[str, Any]]:
    judged = {one.stored["name"]: one for one in result.made}
    plan = _json(result.identity)
    for stored in result.transfers:
        one = judged.get(stored["name"])
        yield {
            "name": stored["name"],
            "plan": plan,
            "kind": stored["kind"],
            "dose": _json(stored["dose"]),
            "outcome": stored["outcome"],
            "stored": _json(stored),
            **(_label(one) if one is not None else {}),
        }


def _label(one: Judged) -> Mapping[str, Any]:
    return {
        "half": one.half,
        "family": one.network.family,
        "network": one.network.name,
        "standing": one.label.standing,
        "made": one.label.made,
        "cost": one.label.cost,
    }


def _answers(result: Result) -> Iterator[Mapping[str, Any]]:
    for one in result.made:
        if one.half == HALF and not result.is_complete:
            continue
        for view in VIEWS:
            if (row := _answer(one, view)) is not None:
                yield row


def _answer(one: Judged, view: View) -> Mapping[str, Any] | None:
    case, answer = one.case(view), one.answers.get(view.name)
    if case is None or answer is None:
        return None
    return {
        "name": case.name,
        "view": view.name,
        "accepted": list(case.accepted),
        "verdicts": list(case.verdicts),
        "causes": list(case.causes),
        "verdict": case.verdict,
        "confidence": case.confidence,
        "rule": answer.rule,
        "is_right": case.is_right,
        "verdict_is_right": case.verdict_is_right,
        "evidence": _json(answer.evidence),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
