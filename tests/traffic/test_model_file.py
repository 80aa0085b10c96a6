"""The file of a model: what comes back, and what is refused."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet
import pytest

from trustbed.traffic import Model, ModelError, archive
from trustbed.traffic import model as module
from trustbed.traffic.model import ClassRule, checked, load
from trustbed.traffic.offer import offer
from trustbed.traffic.recipe import named
from trustbed.traffic.summary import summarise

HTTP = ClassRule("HTTP", 6, (80,))


def test_what_was_saved_comes_back_and_the_same_model_is_the_same_file(
    small: Model, tmp_path: Path
) -> None:
    first, second = (small.save(tmp_path / f"{name}.model") for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    found = load(first)
    assert found.tables == small.tables
    assert found.header == msgspec.structs.replace(small.header, sha256=found.header.sha256)
    assert found.name == "small"


def rewritten(source: Path, target: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for member in before.namelist():
            after.writestr(member, content if member == name else before.read(member))
    return target


def test_files_that_are_no_models_are_refused(small: Model, tmp_path: Path) -> None:
    good = small.save(tmp_path / "good.model")
    (tmp_path / "text.model").write_text("no archive")
    header = zipfile.ZipFile(good).read("model.json")
    other = header.replace(b'"version": 1', b'"version": 7')
    broken = {
        "text.model": "not a traffic model",
        "absent.model": "there is no such file",
        "newer.model": "a model of version 7, and this is trustbed for 1",
        "alien.model": "is not that of a traffic model",
        "edited.model": "the table units is not the one that its header names",
        "bare.model": "Object missing required field",
    }
    rewritten(good, tmp_path / "newer.model", "model.json", other)
    rewritten(good, tmp_path / "alien.model", "model.json", b"{}")
    rewritten(
        good,
        tmp_path / "bare.model",
        "model.json",
        b'{"format": "trustbed traffic model", "version": 1}',
    )
    units = zipfile.ZipFile(good).read("connections.parquet")
    rewritten(good, tmp_path / "edited.model", "units.parquet", units)
    for name, words in broken.items():
        with pytest.raises(ModelError) as caught:
            load(tmp_path / name)
        assert words in caught.value.message, name
        assert caught.value.hint


def test_tables_that_contradict_each_other_are_refused(small: Model) -> None:
    for model, words in (
        (replace(small, connections=small.connections.slice(0, 0)), "without connections"),
        (replace(small, hosts=small.hosts.slice(0, 3)), "there are 3"),
        (
            replace(
                small,
                header=msgspec.structs.replace(small.header, classes=(ClassRule("SSH", 6, (22,)),)),
            ),
            "the class HTTP has no rule",
        ),
        (
            replace(small, header=msgspec.structs.replace(small.header, duration_ns=0)),
            "of no duration",
        ),
    ):
        with pytest.raises(ModelError, match=words):
            checked(model)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ((HTTP, ClassRule("SSH", 6, (22,))), "the class SSH has no connection"),
        ((ClassRule("HTTP", 1, (80,)),), "the class HTTP is of IP protocol 1"),
        ((ClassRule("HTTP", 17, (80,)),), "the class HTTP is of protocol 17, and has .* of 6"),
        ((ClassRule("HTTP", 6, (80, 0)),), "the class HTTP has the port 0"),
        ((ClassRule("HTTP", 6, (65_536,)),), "the class HTTP has the port 65536"),
        ((HTTP, ClassRule("", 6)), "a class has no name"),
        ((HTTP, HTTP), "two classes are called HTTP"),
        ((HTTP, ClassRule("HTTP", 17)), "two classes are called HTTP"),
    ],
)
def test_classes_that_cannot_be_are_refused_by_name(
    small: Model, classes: tuple[ClassRule, ...], words: str
) -> None:
    header = msgspec.structs.replace(small.header, classes=classes)
    with pytest.raises(ModelError, match=words) as caught:
        checked(replace(small, header=header))
    assert caught.value.hint


def test_a_header_that_was_changed_by_hand_is_refused(small: Model, tmp_path: Path) -> None:
    good = small.save(tmp_path / "good.model")
    header = json.loads(zipfile.ZipFile(good).read("model.json"))
    changed = tmp_path / "changed.model"
    for edited, words in (
        ({**header, "duration_ns": 2 * header["duration_ns"]}, "model.json was changed by hand"),
        ({**header, "colour": "red"}, "model.json was changed by hand"),
        ({**header, "classes": 3}, "model.json: Expected"),
    ):
        rewritten(good, changed, "model.json", json.dumps(edited).encode())
        with pytest.raises(ModelError, match=words) as caught:
            load(changed)
        assert caught.value.hint
    # Its layout says nothing, and files of before headers had a sum have none.
    rewritten(good, changed, "model.json", json.dumps(header, sort_keys=True).encode())
    assert load(changed) == load(good)
    del header["sha256"]["model"]
    rewritten(good, changed, "model.json", json.dumps(header).encode())
    assert load(changed).tables == small.tables


def test_a_variant_of_a_file_without_a_sum_has_one(small: Model, tmp_path: Path) -> None:
    old = small.save(tmp_path / "old.model")
    header = json.loads(zipfile.ZipFile(old).read("model.json"))
    del header["sha256"]["model"]
    bare = rewritten(old, tmp_path / "bare.model", "model.json", json.dumps(header).encode())
    variant = load(bare).with_steps(*named("HB")).save(tmp_path / "variant.model")
    assert load(variant).header.sha256["model"]


def damaged(good: bytes, at: bytes, offset: int, value: bytes) -> bytes:
    """A file with other bytes at an offset of every record that begins so."""
    parts = good.split(at)
    return at.join(
        [parts[0], *(one[:offset] + value + one[offset + len(value) :] for one in parts[1:])]
    )


CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


def test_damaged_archives_are_refused_in_words(small: Model, tmp_path: Path) -> None:
    good = small.save(tmp_path / "good.model")
    data = good.read_bytes()
    packed = tmp_path / "packed.model"
    with (
        zipfile.ZipFile(good) as before,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for member in before.namelist():
            after.writestr(member, before.read(member))
    assert load(packed).tables == small.tables
    text = packed.read_bytes()
    start = text.index(b"model.json") + len(b"model.json")
    cases = {
        "encrypted": damaged(damaged(data, CENTRAL, 4, b"\x01"), LOCAL, 2, b"\x01"),
        "method": damaged(damaged(data, CENTRAL, 6, b"\x63"), LOCAL, 4, b"\x63"),
        "deflate": text[:start] + b"\xff" * 40 + text[start + 40 :],
        "cut": data[: len(data) // 2],
        "flipped": data.replace(b'"duration_ns"', b'"duration_nt"', 1),
        "empty": b"",
    }
    for name, content in cases.items():
        (tmp_path / f"{name}.model").write_bytes(content)
        with pytest.raises(ModelError, match=r"not a traffic model: \w") as caught:
            load(tmp_path / f"{name}.model")
        assert caught.value.hint, name


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("model.json", b'{"a":' * 100_000),
        ("model.json", b"\xff\xfe{}"),
        ("model.json", b"[]"),
    ],
)
def test_headers_that_are_no_json_are_refused(
    small: Model, tmp_path: Path, member: str, content: bytes
) -> None:
    good = small.save(tmp_path / "good.model")
    rewritten(good, tmp_path / "bad.model", member, content)
    with pytest.raises(ModelError, match=r"bad\.model: model\.json: "):
        load(tmp_path / "bad.model")


def test_a_member_that_would_fill_memory_is_not_read(small: Model, tmp_path: Path) -> None:
    good, bomb = small.save(tmp_path / "good.model"), tmp_path / "bomb.model"
    with zipfile.ZipFile(good) as before, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as after:
        for member in before.namelist():
            content = bytes(17 << 20) if member == "model.json" else before.read(member)
            after.writestr(member, content)
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(ModelError, match=r"model\.json has more than 16,777,216 bytes"):
        load(bomb)
    with pytest.raises(archive.ArchiveError, match=r"units\.parquet has more than 10 bytes"):
        archive.read(good, {"units.parquet": 10})
    assert archive.read(good, {"other": 10}) == {}


def packed(good: Path, target: Path, name: str, table: pa.Table) -> Path:
    """A model with another table, whose sum its header has."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd", store_schema=False)
    header = json.loads(zipfile.ZipFile(good).read("model.json"))
    header["sha256"][name] = hashlib.sha256(out.getvalue()).hexdigest()
    del header["sha256"]["model"]
    between = rewritten(
        good, target.with_suffix(".between"), "model.json", json.dumps(header).encode()
    )
    return rewritten(between, target, f"{name}.parquet", out.getvalue())


def repeated(table: pa.Table, rows: int) -> pa.Table:
    """The first row of a table so many times: a few bytes as Parquet."""
    first = pa.array([0] * rows, pa.int32())
    return pa.table(
        {
            column: pa.DictionaryArray.from_arrays(
                first, table[column].slice(0, 1).combine_chunks()
            )
            for column in ("connection", "class")
        }
    )


def test_tables_of_more_rows_than_an_extraction_keeps_are_not_read(
    small: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = small.save(tmp_path / "good.model")
    bomb = packed(
        good, tmp_path / "bomb.model", "connections", repeated(small.connections, 1_000_001)
    )
    assert bomb.stat().st_size < 1 << 20
    monkeypatch.setattr(pyarrow.parquet, "read_table", lambda *_, **__: pytest.fail("it is read"))
    with pytest.raises(ModelError, match=r"connections has 1,000,001 rows, and .* 1,000,000 at"):
        load(bomb)
    monkeypatch.setitem(module._MOST_ROWS, "hosts", small.hosts.num_rows - 1)
    with pytest.raises(ModelError, match="hosts has 13 rows, and a model's has 12 at most"):
        small.save(tmp_path / "large.model")


def test_texts_that_a_table_repeats_do_not_fill_memory(
    small: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = small.save(tmp_path / "good.model")
    rows = small.connections.num_rows
    place = small.connections.schema.get_field_index("class")
    long = small.connections.set_column(place, "class", pa.array(["x" * 1001] * rows))
    bomb = packed(good, tmp_path / "bomb.model", "connections", long)
    with pytest.raises(ModelError, match="a class of the table connections has 1,001 bytes"):
        load(bomb)
    other = small.connections.append_column("other", pa.array(["x"] * rows))
    with pytest.raises(ModelError, match="connections has a column 'other', and no model has"):
        load(packed(good, tmp_path / "other.model", "connections", other))
    monkeypatch.setattr(module, "_MOST_UNPACKED", 100)
    with pytest.raises(ModelError, match=r"the table connections has .* bytes unpacked"):
        load(good)


def test_a_file_that_lacks_a_table_is_refused(small: Model, tmp_path: Path) -> None:
    good = small.save(tmp_path / "good.model")
    with zipfile.ZipFile(good) as before, zipfile.ZipFile(tmp_path / "b.model", "w") as after:
        after.writestr("model.json", before.read("model.json"))
    with pytest.raises(ModelError, match=r"it has no connections\.parquet"):
        load(tmp_path / "b.model")


def test_nothing_is_left_of_a_file_that_could_not_be_written(small: Model, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        small.save(tmp_path / "absent" / "one.model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("hosts", "toward_bits_per_second", float("nan")),
        ("hosts", "from_bits_per_second", float("inf")),
        ("hosts", "toward_loss", -0.1),
        ("hosts", "from_loss", 1.5),
        ("hosts", "latency_ns", -5e9),
        ("connections", "start_gap_ns", -1),
        ("units", "server_wait_ns", -1),
    ],
)
def test_numbers_that_cannot_be_are_refused_by_column(
    small: Model, table: str, column: str, value: float
) -> None:
    rows = small.tables[table].to_pylist()
    rows[0][column] = value
    changed = pa.Table.from_pylist(rows, small.tables[table].schema)
    with pytest.raises(ModelError, match=f"{column} of the table {table}"):
        checked(replace(small, **{table: changed}))


def test_a_client_that_is_a_server_is_refused(small: Model) -> None:
    rows = small.connections.to_pylist()
    rows[0]["client"] = rows[0]["server"]
    changed = pa.Table.from_pylist(rows, small.connections.schema)
    with pytest.raises(ModelError, match="is no client"):
        checked(replace(small, connections=changed))


def test_a_row_that_lacks_what_it_must_have_is_named(small: Model) -> None:
    starts = pa.nulls(small.connections.num_rows, pa.int64())
    at = small.connections.column_names.index("start_ns")
    broken = replace(small, connections=small.connections.set_column(at, "start_ns", starts))
    with pytest.raises(ModelError, match=r"the table connections: .*start_ns"):
        offer(broken)
    with pytest.raises(ModelError, match=r"the table connections: .*start_ns"):
        summarise(broken)
