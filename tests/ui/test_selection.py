"""A list shows what its URL asks for: the same as looking at every row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustbed.diagnose.causes import cause_in_words
from trustbed.store.tables import PARTITIONS, conformed, store_schemas
from trustbed.ui.library import COLUMNS
from trustbed.ui.selection import NOT_JUDGED, ROWS, Selection, find

VERDICTS = ("trust", "review", "discard", NOT_JUDGED)
CAUSES = ("bandwidth_limited", "host_scheduling", None)
NAMES = {"a": "before/client.pcap", "b": "after/client.pcap"}
DATES = ("2026-01-01", "2026-01-02", "undated")


def table(rows: list[dict[str, Any]]) -> pa.Table:
    schema = pa.schema([*PARTITIONS, *store_schemas()["verdicts"]])
    found = conformed(pa.Table.from_pylist(rows or [dict.fromkeys(rows)], schema), schema)
    found = found.slice(0, len(rows)).select(COLUMNS)
    return pa.table(
        [
            column.dictionary_encode() if pa.types.is_string(column.type) else column
            for column in found.columns
        ],
        names=found.column_names,
    ).combine_chunks()


ROW = st.fixed_dictionaries(
    {
        "testbed": st.sampled_from(["lab", "wan"]),
        "date": st.sampled_from(DATES),
        "capture": st.sampled_from(["a", "b"]),
        "source": st.sampled_from(["One.pcap", "two.pcap"]),
        "transfer": st.sampled_from(["1.0", "1.1"]),
        "src": st.sampled_from(["10.0.0.1", "10.0.0.2", None]),
        "src_port": st.sampled_from([80, 5201]),
        "dst": st.sampled_from(["10.0.0.1", "fd00::1"]),
        "dst_port": st.sampled_from([80, 443]),
        "cause": st.sampled_from(CAUSES),
        "verdict": st.sampled_from(VERDICTS),
        "throughput_bytes_per_second": st.one_of(st.none(), st.floats(1, 1e9)),
    }
)
CHOICES = st.fixed_dictionaries(
    {
        "verdict": st.lists(st.sampled_from(VERDICTS), max_size=2),
        "cause": st.lists(st.sampled_from(["bandwidth_limited", "host_scheduling"]), max_size=1),
        "testbed": st.lists(st.sampled_from(["lab", "other"]), max_size=1),
        "host": st.sampled_from(["", "10.0.0.1"]),
        "since": st.sampled_from(["", "2026-01-02"]),
        "until": st.sampled_from(["", "2026-01-01"]),
        "capture": st.sampled_from(["", "a"]),
        "q": st.sampled_from(
            ["", "one", ":80", "10.0.0.1:5201", "10.0.0 TWO", "[fd00::1]:443", "AFTER", "filled"]
        ),
    }
)


def fits(row: dict[str, Any], chosen: dict[str, Any]) -> bool:
    def word(text: str) -> bool:
        names = ("src", "dst", "source", "cause", "testbed", "transfer", "capture")
        if any(text.lower() in (row[name] or "").lower() for name in names):
            return True
        shown = (NAMES.get(row["capture"], ""), cause_in_words(row["cause"] or ""))
        if any(text.lower() in one.lower() for one in shown):
            return True
        address, colon, port = text.rpartition(":")
        return bool(colon) and any(
            str(row[f"{side}_port"]) == port
            and row[side] is not None
            and address.strip("[]") in row[side]
            for side in ("src", "dst")
        )

    dated = row["date"] != "undated"
    return (
        (row["verdict"] in chosen["verdict"] if chosen["verdict"] else row["verdict"] != NOT_JUDGED)
        and (not chosen["cause"] or row["cause"] in chosen["cause"])
        and (not chosen["testbed"] or row["testbed"] in chosen["testbed"])
        and (not chosen["host"] or chosen["host"] in (row["src"], row["dst"]))
        and (not chosen["since"] or (dated and row["date"] >= chosen["since"]))
        and (not chosen["until"] or (dated and row["date"] <= chosen["until"]))
        and (not chosen["capture"] or row["capture"] == chosen["capture"])
        and all(map(word, chosen["q"].split()))
    )


def pairs(chosen: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, one)
        for name, value in chosen.items()
        for one in (value if isinstance(value, list) else [value])
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(ROW, max_size=60), CHOICES, st.sampled_from(["", "throughput", "-throughput"]))
def test_a_list_is_what_looking_at_every_row_finds(
    rows: list[dict[str, Any]], chosen: dict[str, Any], sort: str
) -> None:
    selection = Selection.of([*pairs(chosen), ("sort", sort)])
    found = find(table(rows), selection, NAMES)
    expected = [row for row in rows if fits(row, chosen)]
    if sort:
        rate = "throughput_bytes_per_second"
        known = [row for row in expected if row[rate] is not None]
        known.sort(key=lambda row: row[rate], reverse=sort.startswith("-"))
        expected = known + [row for row in expected if row[rate] is None]
    assert found.count == len(expected)
    assert [row["throughput_bytes_per_second"] for row in found.rows] == [
        row["throughput_bytes_per_second"] for row in expected[:ROWS]
    ]
    other = {**chosen, "cause": []}
    counts = {cause: sum(fits({**row}, other) and row["cause"] == cause for row in rows)
              for cause in CAUSES[:2]}  # fmt: skip
    assert dict(found.facets["cause"]) == {name: count for name, count in counts.items() if count}


@given(CHOICES, st.integers(1, 9))
def test_a_selection_is_its_url(chosen: dict[str, Any], page: int) -> None:
    from urllib.parse import parse_qsl

    selection = Selection.of([*pairs(chosen), ("page", str(page)), ("sort", "-bytes")])
    again = Selection.of(parse_qsl(selection.query(page=selection.page)[1:]))
    assert again == selection


@pytest.mark.parametrize(
    "pair", [("page", "0"), ("page", "x"), ("sort", "nothing"), ("since", "yesterday"), ("z", "1")]
)
def test_what_makes_no_sense_is_left_out(pair: tuple[str, str]) -> None:
    assert Selection.of([pair]) == Selection()
