"""The file of a model: what comes back, and what is refused."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from trustbed.traffic import Model, ModelError
from trustbed.traffic.model import ClassRule, checked, load
from trustbed.traffic.offer import offer
from trustbed.traffic.summary import summarise


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


def test_nothing_is_left_of_a_file_that_could_not_be_written(small: Model, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        small.save(tmp_path / "absent" / "one.model")
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_lacks_what_it_must_have_is_named(small: Model) -> None:
    starts = pa.nulls(small.connections.num_rows, pa.int64())
    at = small.connections.column_names.index("start_ns")
    broken = replace(small, connections=small.connections.set_column(at, "start_ns", starts))
    with pytest.raises(ModelError, match=r"the table connections: .*start_ns"):
        offer(broken)
    with pytest.raises(ModelError, match=r"the table connections: .*start_ns"):
        summarise(broken)
