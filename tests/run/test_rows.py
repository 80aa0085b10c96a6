"""Rows of the agents become tables.

Every number, its unit, its meaning; what is absent is null, what is cut is counted.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trustbed.run import rows

FORMATS = {"i64": "q", "u64": "Q", "i32": "i", "u32": "I", "u16": "H", "u8": "B"}
LIMITS = {
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "u32": (0, 2**32 - 1),
    "u16": (0, 2**16 - 1),
    "u8": (0, 255),
}
KINDS = st.lists(st.sampled_from(sorted(FORMATS)), min_size=1, max_size=6)


def written(path: Path, kinds: list[str], records: list[list[int]], cut: bytes = b"") -> Path:
    columns = [
        {"name": f"c{index}", "type": kind, "unit": "ns", "meaning": f"the {index}."}
        for index, kind in enumerate(kinds)
    ]
    packed = struct.Struct("<" + "".join(FORMATS[kind] for kind in kinds))
    header = {"columns": columns, "byte_order": "little", "record_bytes": packed.size}
    path.write_bytes(
        json.dumps(header).encode()
        + b"\n"
        + b"".join(packed.pack(*record) for record in records)
        + cut
    )
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KINDS, st.data())
def test_every_number_arrives(tmp_path: Path, kinds: list[str], data: st.DataObject) -> None:
    records = data.draw(
        st.lists(st.tuples(*(st.integers(*LIMITS[kind]) for kind in kinds)).map(list), max_size=5)
    )
    record_bytes = struct.calcsize("<" + "".join(FORMATS[kind] for kind in kinds))
    cut = data.draw(st.integers(0, record_bytes - 1))
    source = written(tmp_path / "rows", kinds, records, cut=bytes(cut))
    converted = rows.convert(source, tmp_path / "rows.parquet")
    table = pa.parquet.read_table(tmp_path / "rows.parquet")
    least = -(2**63)
    wanted = [
        [
            None if kind == "i64" and value == least else value
            for kind, value in zip(kinds, record, strict=True)
        ]
        for record in records
    ]
    assert [list(row.values()) for row in table.to_pylist()] == wanted
    assert table.schema.field(0).metadata == {b"unit": b"ns", b"meaning": b"the 0."}
    assert converted == rows.Converted(len(records), cut)


def test_rows_in_several_pieces_stay_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_BLOCK_ROWS", 7)
    source = written(
        tmp_path / "rows", ["u32", "u8"], [[number, number % 3] for number in range(100)]
    )
    assert rows.convert(
        source, tmp_path / "out.parquet", names={"c1": ("a", "b")}
    ) == rows.Converted(100, 0)
    table = pa.parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert table["c0"] == list(range(100))
    assert table["c1"][:4] == ["a", "b", None, "a"]
    assert rows.read(source).column("c1").to_pylist()[:4] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "header",
    [b"", b"{}", b"[]",
     b'{"columns":[{"name":"a","type":"x"}],"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":"a","type":"u8"}],"byte_order":"little","record_bytes":2}',
     b'{"columns":[{"name":"a","type":"u8"}],"byte_order":"big","record_bytes":1}',
     b'{"columns":[],"byte_order":"little","record_bytes":0}',
     b'{"columns":{"name":"a"},"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":7,"type":"u8"}],"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":"a","type":"u8","meaning":[]}],"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":"\xff","type":"u8"}],"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":"a","type":["u8"]}],"byte_order":"little","record_bytes":1}',
     b'{"columns":[{"name":"a","type":"u8"}],"byte_order":"little","record_bytes":"1"}',
     b'{"columns":[{"name":"a","type":"u8"},{"name":"a","type":"u8"}],"byte_order":"little",'
     b'"record_bytes":2}',
     b'{"columns":' * 5000,
     b'{"columns":[' + b",".join(b'{"name":"c%d","type":"f64"}' % n for n in range(257))
     + b'],"byte_order":"little","record_bytes":2056}'],
    ids=lambda header: header[:70],
)  # fmt: skip
def test_a_first_line_that_makes_no_sense_is_an_error(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "rows").write_bytes(header + b"\nxxxx")
    with pytest.raises(rows.RowsError, match="first line"):
        rows.convert(tmp_path / "rows", tmp_path / "out.parquet")


@pytest.mark.parametrize("kind", ["i64", "u64", "i32", "u8", "f64"])
def test_a_code_without_a_word_is_null(tmp_path: Path, kind: str) -> None:
    head = {
        "columns": [{"name": "fate", "type": kind}],
        "byte_order": "little",
        "record_bytes": {"i64": 8, "u64": 8, "i32": 4, "u8": 1, "f64": 8}[kind],
    }
    code = {"i64": "q", "u64": "Q", "i32": "i", "u8": "B", "f64": "d"}[kind]
    large = {"i64": 2**62, "u64": 2**64 - 1, "i32": 2**31 - 1, "u8": 255, "f64": 1e300}[kind]
    values = [1, 2, large]
    values += {"i64": [-1], "i32": [-1], "f64": [float("nan"), 0.5]}.get(kind, [])
    content = b"".join(struct.pack(f"<{code}", value) for value in values)
    (tmp_path / "rows").write_bytes(json.dumps(head).encode() + b"\n" + content)
    rows.convert(tmp_path / "rows", tmp_path / "out.parquet", names={"fate": ["sent", "lost"]})
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet").column("fate").to_pylist()
    assert found == ["lost"] + [None] * (len(values) - 1)
