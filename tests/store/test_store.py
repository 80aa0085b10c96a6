"""A store: stored once, whole or not at all, readable by others, kept by gc."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import polars
import pyarrow as pa
import pytest

import trustbed
from tests.store.conftest import HOW, ROOT
from tests.store.stores import BEGAN, SECOND, Sent, store_transfers
from trustbed.store import entry, files, store
from trustbed.store.captures import Job, Outcome, jobs_of, store_capture
from trustbed.store.errors import StoreError, StoreFull
from trustbed.store.files import LocalFiles, files_of
from trustbed.store.store import Store, open_store
from trustbed.store.tables import ABOUT, PARTITIONS

ONE = [Sent("alpha", "beta", BEGAN)]
TWO = [*ONE, Sent("beta", "alpha", BEGAN + SECOND, "host_scheduling")]


def stored(url: str, jobs: Sequence[Job], **options: Any) -> list[Outcome]:  # noqa: ANN401
    return [store_capture(job, url, replace(HOW, **options)) for job in jobs]


def listed(url: str) -> list[str]:
    return [one.name for one in files_of(url).list("tables")]


def fewer_on_s3(url: str, captures: list[Job]) -> list[Job]:
    """All captures for a store on a disk, one for a store on S3, which answers slowly."""
    return captures if Path(url).is_absolute() else captures[:1]


def test_a_store_holds_what_the_analysis_gives(url: str, captures: list[Job]) -> None:
    captures = fewer_on_s3(url, captures)
    assert [one.state for one in stored(url, captures)] == ["stored"] * len(captures)
    found = open_store(url)
    alone = [trustbed.analyze(job.files) for job in captures]
    for name in ("transfers", "phases", "findings"):
        table = found.view(name).table()
        assert table.num_rows == found.view(name).rows
        for job, capture in zip(captures, alone, strict=True):
            here = table.filter(pa.compute.equal(table.column("source"), job.name))
            expected = capture.stream(name).read_all()
            assert here.select(expected.column_names).combine_chunks().equals(expected)
    assert set(found.transfers.table(["testbed"]).column(0).to_pylist()) == {"lab"}


def test_a_capture_is_stored_once(url: str, captures: list[Job]) -> None:
    captures = fewer_on_s3(url, captures)
    stored(url, captures)
    before = listed(url)
    again = stored(url, captures, testbed="elsewhere")
    assert [one.state for one in again] == ["present"] * len(captures)
    assert [one.verdicts for one in again] == [one.verdicts for one in stored(url, captures)]
    assert listed(url) == before


def test_a_copy_is_the_same_capture(disk: str, captures: list[Job], tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap.gz"
    copy.write_bytes(Path(captures[0].files[0]).read_bytes())
    states = [one.state for one in stored(disk, [captures[0], *jobs_of([copy])])]
    assert states == ["stored", "present"]


def test_other_options_are_another_analysis_and_the_later_one_counts(
    disk: str, captures: list[Job]
) -> None:
    stored(disk, captures[:1])
    assert stored(disk, captures[:1], workload="bulk")[0].state == "stored"
    found = open_store(disk)
    assert len(found.manifests) == 2
    assert [one.options for one in found.entries] == [{"workload": "bulk"}]


def documented(pattern: str) -> str:
    """A pattern that docs/store.md gives to others."""
    page = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
    assert pattern in page
    return pattern


def test_duckdb_and_polars_read_it_without_us(disk: str) -> None:
    here = open_store(disk)
    store_transfers(here, "a.pcap", ONE)
    store_transfers(here, "b.pcap", TWO, testbed="cloud")
    names = f"{disk}/{documented('tables/*/*/*/verdicts.parquet')}"
    rows = duckdb.sql(
        "select testbed, count(*), count_if(verdict = 'discard') from "
        f"read_parquet('{names}', hive_partitioning = true) group by testbed order by testbed"
    ).fetchall()
    assert rows == [("cloud", 2, 1), ("lab", 1, 0)]
    frame = polars.scan_parquet(names, hive_partitioning=True)
    assert frame.filter(polars.col("testbed") == "cloud").select(polars.len()).collect().item() == 2
    manifests = f"{disk}/{documented('manifests/*.json')}"
    assert duckdb.sql(f"select count(*) from read_json('{manifests}')").fetchall() == [(2,)]


def test_views_are_lazy_frames_with_partitions_units_and_meanings(url: str) -> None:
    store_transfers(open_store(url), "a.pcap", TWO)
    found = open_store(url)
    for name in ABOUT:
        view = found.view(name)
        assert view.schema.names[:3] == PARTITIONS.names
        assert all((field.metadata or {}).get(b"meaning") for field in view.schema)
        assert view.lazy().collect().height == view.rows
    lazy = found.verdicts.lazy().filter(polars.col("verdict") == "discard")
    assert lazy.select("src", "date").collect().rows() == [("beta", "2026-01-01")]


def test_what_has_no_manifest_does_not_exist(
    url: str, captures: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> bool:
        raise Killed

    kind = type(files_of(url))
    with monkeypatch.context() as patch:
        patch.setattr(kind, "create", killed)
        with pytest.raises(Killed):
            store_capture(captures[0], url, HOW)
    assert len(listed(url)) == 4
    assert open_store(url).entries == []
    assert open_store(url).transfers.table().num_rows == 0
    assert open_store(url).gc() == [], "a writer may still be at work"
    assert stored(url, captures[:1])[0].state == "stored"
    assert len(listed(url)) == 4
    with monkeypatch.context() as patch:
        patch.setattr(kind, "create", killed)
        with pytest.raises(Killed):
            store_capture(captures[1], url, HOW)
    (removed,) = open_store(url).gc(older_seconds=-1)
    assert removed.why == "no manifest"
    assert len(listed(url)) == 4
    assert open_store(url).gc(older_seconds=-1) == []
    assert stored(url, captures[1:2])[0].state == "stored"


def test_two_writers_lose_and_double_nothing(url: str, captures: list[Job]) -> None:
    outcomes: list[Outcome] = []
    captures = captures[:2]
    ready = threading.Barrier(3)

    def write(testbed: str) -> None:
        ready.wait()
        outcomes.extend(stored(url, captures, testbed=testbed))

    writers = [threading.Thread(target=write, args=(f"bed{n}",)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [one.state for one in outcomes].count("stored") == 2
    assert [one.state for one in outcomes].count("present") == 4
    found = open_store(url)
    assert sorted(one.name for one in found.entries) == sorted(job.name for job in captures)
    held = {one.directory for one in found.entries}
    assert {name.rpartition("/")[0] for name in listed(url)} == held


def test_a_later_analysis_replaces_and_gc_removes_the_earlier_one(url: str) -> None:
    here = open_store(url)
    old = store_transfers(here, "a.pcap", ONE, version="0.0.9", subject="5" * 64)
    new = store_transfers(here, "a.pcap", TWO, version="0.0.10", subject="5" * 64)
    assert [one.key for one in open_store(url).entries] == [new]
    assert open_store(url).transfers.rows == 2
    assert open_store(url).gc() == [], "a reader may still be at work"
    (would,) = open_store(url).gc(older_seconds=-1, dry_run=True)
    assert would.why == f"replaced by {new}"
    assert len(open_store(url).manifests) == 2
    assert open_store(url).gc(older_seconds=-1) == [would]
    assert old not in open_store(url).manifests
    assert open_store(url).transfers.table().num_rows == 2


def test_a_removal_that_was_killed_is_finished_and_refuses_writers_meanwhile(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = open_store(url)
    old = store_transfers(here, "a.pcap", ONE, version="0.0.9", subject="5" * 64, wide=False)
    store_transfers(here, "a.pcap", TWO, subject="5" * 64, wide=False)
    with monkeypatch.context() as patch:
        patch.setattr(type(here.files), "remove", lambda *_: (_ for _ in ()).throw(OSError(5, "x")))
        with pytest.raises(OSError, match="x"):
            open_store(url).gc(older_seconds=-1)
    with pytest.raises(StoreError, match="is being removed"):
        store_transfers(here, "a.pcap", ONE, version="0.0.9", subject="5" * 64, wide=False)
    assert open_store(url).verdicts.rows == 2
    assert [one.why for one in open_store(url).gc(older_seconds=-1)] == ["removal was interrupted"]
    assert old not in open_store(url).manifests
    assert (
        store_transfers(here, "a.pcap", ONE, version="0.0.9", subject="5" * 64, wide=False) == old
    )


def test_a_later_version_is_refused(disk: str) -> None:
    here = open_store(disk)
    key = store_transfers(here, "a.pcap", ONE)
    manifest = json.loads(here.files.read(f"manifests/{key}.json") or b"")
    later = {**manifest, "schema_version": entry.SCHEMA_VERSION + 1, "tables": "another form"}
    here.files.replace(f"manifests/{key}.json", json.dumps(later).encode())
    with pytest.raises(StoreError, match=r"a later version of trustbed \(schema 2, .* up to 1\)"):
        _ = open_store(disk).entries
    here.files.replace(store.MARKER, b'{"kind": "trustbed-store", "schema_version": 9}')
    with pytest.raises(StoreError, match="schema 9") as refused:
        open_store(disk)
    assert "--upgrade" in refused.value.hint


def test_earlier_schemas_are_read_as_todays(disk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions hence: ``dst`` has been called ``far`` in between, and is ``peer`` then."""
    store_transfers(open_store(disk), "one.pcap", TWO)
    today = store_schemas_with(["dst"])
    for version, name in ((2, "far"), (3, "peer")):
        monkeypatch.setattr(entry, "SCHEMA_VERSION", version)
        monkeypatch.setattr(store, "SCHEMA_VERSION", version)
        monkeypatch.setattr("trustbed.store.view.store_schemas", lambda n=name: today(n))
        renames = {1: {"verdicts": {"dst": "far"}}, 2: {"verdicts": {"far": "peer"}}}
        monkeypatch.setattr(entry, "RENAMED", {k: v for k, v in renames.items() if k < version})
        publish_renamed(open_store(disk), f"{version}.pcap", name)
    view = open_store(disk).verdicts
    assert {one.schema_version for one in view.entries} == {1, 2, 3}
    peers = ["alpha", "alpha", "alpha", "beta", "beta", "beta"]
    assert sorted(view.table(["peer"]).column(0).to_pylist()) == peers
    chosen = view.table(["source"], where=pa.compute.field("peer") == "beta")
    assert sorted(chosen.column(0).to_pylist()) == ["2.pcap", "3.pcap", "one.pcap"]
    assert sorted(view.lazy().select("peer").collect()["peer"]) == peers


def store_schemas_with(names: list[str]) -> Callable[[str], dict[str, pa.Schema]]:
    """The schemas, in which the columns of these names have another one."""
    schemas = dict(store.View.schema.fget.__globals__["store_schemas"]())  # type: ignore[attr-defined]

    def renamed(name: str) -> dict[str, pa.Schema]:
        fields = [one.with_name(name) if one.name in names else one for one in schemas["verdicts"]]
        return {**schemas, "verdicts": pa.schema(fields)}

    return renamed


def publish_renamed(here: Store, name: str, column: str) -> None:
    """A capture as that version would publish it."""
    publish = Store.publish

    def renamed(self: Store, about: Any, tables: Any) -> Any:  # noqa: ANN401
        table = tables["verdicts"].read_all()
        names = [column if one == "dst" else one for one in table.column_names]
        return publish(self, about, {"verdicts": table.rename_columns(names).to_reader()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "publish", renamed)
        assert store_transfers(here, name, TWO, wide=False) is not None


def test_a_column_that_did_not_exist_is_null(disk: str) -> None:
    here = open_store(disk)
    bare = pa.table({"source": ["a.pcap"], "src": ["alpha"]})
    with pytest.MonkeyPatch.context() as patch:
        publish = Store.publish
        patch.setattr(
            Store, "publish", lambda s, about, _: publish(s, about, {"verdicts": bare.to_reader()})
        )
        store_transfers(here, "a.pcap", ONE)
    store_transfers(here, "b.pcap", ONE)
    table = open_store(disk).verdicts.table(["src", "dst"])
    assert sorted(table.to_pylist(), key=str) == [
        {"src": "alpha", "dst": "beta"},
        {"src": "alpha", "dst": None},
    ]


def test_a_damaged_manifest_is_named(disk: str) -> None:
    here = open_store(disk)
    key = store_transfers(here, "a.pcap", ONE)
    here.files.replace(f"manifests/{key}.json", b'{"schema_version": 1, "state": ')
    with pytest.raises(StoreError, match=rf"manifest is damaged, .*{key}"):
        _ = open_store(disk).entries


def test_a_table_that_is_damaged_or_missing_is_named_with_what_to_do(url: str) -> None:
    here = open_store(url)
    store_transfers(here, "a.pcap", ONE)
    key = store_transfers(here, "b.pcap", ONE)
    found = open_store(url)
    (name,) = (name for name in listed(url) if f"{key}/verdicts" in name)
    half = here.files.read(name)
    assert half is not None
    here.files.replace(name, half[: len(half) // 2])
    with pytest.raises(StoreError, match=rf"a table of b\.pcap is damaged, .*{name}") as refused:
        found.verdicts.table()
    assert f"manifests/{key}.json" in refused.value.hint
    assert found.transfers.table().num_rows == 2, "the others are read"
    here.files.remove(f"manifests/{key}.json")
    assert open_store(url).verdicts.table().num_rows == 1
    assert store_transfers(here, "b.pcap", ONE) == key
    assert open_store(url).verdicts.table().num_rows == 2, "what was damaged is replaced"
    here.files.remove(name)
    with pytest.raises(StoreError, match=rf"a table of b\.pcap is missing, .*{name}"):
        found.verdicts.table()
    here.files.remove(f"manifests/{key}.json")
    assert store_transfers(here, "b.pcap", ONE) == key
    assert open_store(url).verdicts.table().num_rows == 2, "what was missing is there again"


def test_a_manifest_that_cannot_be_read_is_an_error(
    disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_transfers(open_store(disk), "a.pcap", ONE)
    found = open_store(disk)

    def denied(path: str, **_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(found.files.system, "cat_file", denied)
    with pytest.raises(StoreError):
        _ = found.entries


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("x", "../../victim/capture=x"),
        ("x", "tables/../../../victim"),
        ("x", "tables/testbed=lab"),
        ("../../x", "tables/capture=../../x"),
    ],
)
def test_a_manifest_that_leads_out_of_the_store_is_refused(
    name: str, directory: str, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "thesis.tex").write_text("mine", encoding="utf-8")
    here = open_store(tmp_path / "a" / "lab.store", create=True)
    key = store_transfers(here, "a.pcap", ONE)
    planted = json.loads(here.files.read(f"manifests/{key}.json") or b"")
    planted |= {"state": "removing", "key": name, "directory": directory}
    here.files.create("manifests/x.json", json.dumps(planted).encode())
    for ask in (lambda store: store.entries, lambda store: store.gc(older_seconds=0)):
        with pytest.raises(StoreError, match=r"manifest is damaged, .*x\.json: it names "):
            ask(open_store(here.url))
    assert (victim / "thesis.tex").is_file()


def test_captures_of_one_name_are_told_apart_by_their_directories(
    tmp_path: Path, captures: list[Job]
) -> None:
    url = open_store(tmp_path / "lab.store", create=True).url
    places = ["rep-0/tap/client.pcap.gz", "rep-1/tap/client.pcap.gz", "once.pcap.gz"]
    for place, job in zip(places, captures, strict=False):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(Path(job.files[0]).read_bytes())
    stored(url, jobs_of([tmp_path]))
    entries = list(open_store(url).entries)
    assert sorted(entry.distinct_names(entries).values()) == sorted(places)
    again = next(one for one in entries if "rep-0" in one.files[0])
    entries.append(msgspec.structs.replace(again, key="0" * 40))
    assert sorted(entry.distinct_names(entries).values()) == sorted([*places, places[0]])


def test_brackets_are_no_pattern(tmp_path: Path, captures: list[Job]) -> None:
    url = open_store(tmp_path / "lab[1]*.store", create=True).url
    assert stored(url, captures[:1])[0].state == "stored"
    assert len(open_store(url).entries) == 1
    assert open_store(url).verdicts.table().num_rows > 0


def test_a_file_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "lab.store"
    file.write_text("mine", encoding="utf-8")
    for create in (False, True):
        with pytest.raises(StoreError, match=r"is a file, not a store, .*lab\.store") as refused:
            open_store(file, create=create)
        assert refused.value.hint == "name a directory"
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EROFS, "read-only file system, "),
        (errno.EACCES, "permission denied, "),
    ],
)
def test_a_store_that_must_not_be_written_is_named(
    disk: str,
    captures: list[Job],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    message: str,
) -> None:
    def refuses(path: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", refuses)
    (one,) = stored(disk, captures[:1])
    assert (one.state, one.problem) == ("failed", "store")
    assert one.message.startswith(message)
    assert disk in one.message + one.hint


# Bad captures.


def test_a_capture_that_is_not_there_costs_only_itself(disk: str, captures: list[Job]) -> None:
    gone = Job(("/nowhere/x.pcap",), 0)
    outcomes = stored(disk, [gone, captures[0]])
    assert [one.state for one in outcomes] == ["failed", "stored"]
    assert outcomes[0].message == "no such file or directory, /nowhere/x.pcap"


def test_no_capture_at_all_costs_only_itself(disk: str, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(b"not a capture at all, whatever its name")
    (one,) = stored(disk, jobs_of([tmp_path / "x.pcap"]))
    assert (one.state, one.problem) == ("failed", "capture")
    assert one.hint
    assert listed(disk) == []


@pytest.mark.parametrize("how", ["grows", "vanishes"])
def test_a_capture_that_changes_while_it_is_read_is_not_stored(
    how: str,
    disk: str,
    captures: list[Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "live.pcap.gz"
    whole = Path(captures[0].files[0]).read_bytes()
    file.write_bytes(whole[:-20])
    analyze = trustbed.analysis.capture.analyze

    def late(*given: Any, **options: Any) -> object:  # noqa: ANN401
        found = analyze(*given, **options)
        file.write_bytes(whole) if how == "grows" else file.unlink()
        return found

    with monkeypatch.context() as patch:
        patch.setattr("trustbed.analysis.capture.analyze", late)
        (one,) = stored(disk, jobs_of([file]))
    assert one.state == "failed"
    assert re.match("changed while it was read|no such file", one.message)
    assert listed(disk) == []
    file.write_bytes(whole)
    assert stored(disk, jobs_of([file]))[0].state == "stored"


def test_a_name_that_is_no_utf8_costs_nothing(
    disk: str, captures: list[Job], tmp_path: Path
) -> None:
    whole = Path(captures[0].files[0]).read_bytes()
    (tmp_path / os.fsdecode(b"caf\xe9.pcap.gz")).write_bytes(whole)
    outcomes = stored(disk, jobs_of([tmp_path]))
    assert [one.state for one in outcomes] == ["stored"]
    (entry,) = open_store(disk).entries
    assert entry.name == "caf\\xe9.pcap.gz"


def test_whatever_happens_to_a_capture_costs_only_itself(
    disk: str, captures: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **options: object) -> object:
        raise KeyError("x")

    with monkeypatch.context() as patch:
        patch.setattr("trustbed.analysis.capture.analyze", broken)
        (one,) = stored(disk, captures[:1])
    assert (one.state, one.problem) == ("failed", "capture")
    assert "KeyError" in one.message


def test_a_file_that_its_writer_has_just_begun_holds_no_other_back(tmp_path: Path) -> None:
    for name, data in (("a.pcap", b"123"), ("a.pcap1", b"123"), ("a.pcap2", b""), ("b.pcap", b"")):
        (tmp_path / name).write_bytes(data)
    found = [[Path(file).name for file in job.files] for job in jobs_of([tmp_path])]
    assert found == [["a.pcap", "a.pcap1"], ["b.pcap"]]


def test_a_store_that_cannot_be_listed_is_not_empty(disk: str, captures: list[Job]) -> None:
    stored(disk, captures[:1])
    store = open_store(disk)

    def refused(path: str, *given: Any, **more: Any) -> Any:  # noqa: ANN401
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        with pytest.raises(StoreError, match="permission denied"):
            store.files.list("manifests")


def test_rotated_files_are_one_capture(tmp_path: Path) -> None:
    names = [
        "a.pcap", "a.pcap1", "a.pcap2", "a.pcap10", "b.pcap",
        "net_00002_20260105120000.pcapng.gz", "net_00001_20260105110000.pcapng.gz",
        "net_00001_20260105110000.pcapng", "notes.txt", "d/a.pcap",
    ]  # fmt: skip
    (tmp_path / "d").mkdir()
    for name in names:
        (tmp_path / name).write_bytes(b"123")
    jobs = jobs_of([tmp_path, tmp_path / "b.pcap"])
    found = {tuple(os.path.relpath(file, tmp_path) for file in job.files) for job in jobs}
    assert found == {
        ("a.pcap", "a.pcap1", "a.pcap2", "a.pcap10"),
        ("b.pcap",),
        ("net_00001_20260105110000.pcapng.gz", "net_00002_20260105120000.pcapng.gz"),
        ("net_00001_20260105110000.pcapng",),
        ("d/a.pcap",),
    }
    assert len(jobs) == 5
    assert sum(job.size_bytes for job in jobs) == 3 * 9


# Bad storage.


def test_a_disk_that_is_full_from_any_change_on_leaves_no_half(
    disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = open_store(disk)
    store_transfers(here, "first.pcap", ONE)
    changes = [(os, "link"), (Path, "rename"), (Path, "mkdir"), (files, "flush")]
    changes += [(files, "flush_tree"), (store, "write_table")]
    reached = 0
    for name in range(40):
        left = name

        def spend() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            for owner, method in changes:
                patch.setattr(owner, method, spending(getattr(owner, method), spend))
            try:
                store_transfers(here, f"{name}.pcap", TWO)
                break
            except StoreFull:
                reached += 1
        found = open_store(disk)
        assert {one.name for one in found.entries} - {"first.pcap"} <= {
            f"{n}.pcap" for n in range(name + 1)
        }
        assert found.transfers.table(["src"]).num_rows == found.transfers.rows
        store_transfers(here, f"{name}.pcap", TWO)
        assert open_store(disk).transfers.rows == 1 + 2 * (name + 1)
    assert reached > 7, reached
    assert not list((Path(disk) / files.PARTIAL).iterdir())


def spending(function: Callable[..., Any], spend: Callable[[], None]) -> Callable[..., Any]:
    def limited(*given: Any, **options: Any) -> Any:  # noqa: ANN401
        spend()
        return function(*given, **options)

    return limited


def test_a_full_disk_is_the_stores_problem_and_not_the_captures(
    disk: str, captures: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "write_table", full)
    (one,) = stored(disk, captures[:1])
    assert (one.state, one.problem) == ("failed", "full")
    assert listed(disk) == []


def test_credentials_that_expired_are_named(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.exceptions import ClientError
    from s3fs.errors import translate_boto_error

    here = open_store(bucket, create=True)
    answer = {"Error": {"Code": "ExpiredToken", "Message": "The provided token has expired."}}
    error = translate_boto_error(ClientError(answer, "PutObject"))

    def expired(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(here.files.system, "put_file", expired)
    with pytest.raises(StoreError, match=r"access denied, s3://lab/store: .*expired") as refused:
        store_transfers(here, "a.pcap", ONE)
    assert "renew the credentials" in refused.value.hint


def test_a_bucket_that_does_not_exist_is_named(bucket: str) -> None:
    with pytest.raises(StoreError, match="s3://nowhere/store"):
        open_store("s3://nowhere/store", create=True)


def test_a_url_without_a_library_says_what_to_install() -> None:
    with pytest.raises(StoreError, match="not the URL of a store"):
        open_store("nonsense://x")
    with pytest.raises(StoreError, match="no library for gs: is installed"):
        open_store("gs://bucket/x")


def test_a_directory_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(StoreError, match="directory holds something else"):
        open_store(tmp_path, create=True)
    with pytest.raises(StoreError, match="no store"):
        open_store(tmp_path)
    assert isinstance(files_of(str(tmp_path)), LocalFiles)


def test_what_a_killed_writer_was_preparing_is_removed(disk: str) -> None:
    left = Path(disk) / files.PARTIAL / "0123"
    left.mkdir(parents=True)
    (left / "transfers.parquet").write_bytes(b"half")
    assert open_store(disk).gc() == []
    (removed,) = open_store(disk).gc(older_seconds=-1)
    assert (removed.why, removed.size_bytes) == ("never finished", 4)
    assert not left.exists()


@pytest.mark.parametrize("text", ["", "a/b", "..", "x=y", "ä", "a" * 65])
def test_labels_are_parts_of_paths(text: str) -> None:
    with pytest.raises(StoreError, match="cannot be a part of a path"):
        entry.label(text, "--testbed")
