"""What the URL names, wherever it is: on a disk, in several places at once, on S3."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from tests.patience import PATIENCE, wait_until
from tests.report.run_directories import make_run
from tests.store.conftest import amazon as amazon
from tests.store.conftest import bucket as bucket
from tests.store.conftest import moto as moto
from tests.store.stores import BEGAN, Sent, store_transfers
from tests.ui.conftest import RECORDINGS
from trustbed.store.captures import How
from trustbed.store.directories import add
from trustbed.store.entry import Entry
from trustbed.store.errors import StoreError
from trustbed.store.store import open_store
from trustbed.ui import captures as captures_module
from trustbed.ui import library as library_module
from trustbed.ui.captures import MOST_WAITING, Captures, Pending
from trustbed.ui.library import Item, Library


def test_a_run_that_the_store_has_too_is_there_once(place: Path) -> None:
    runs = Library(str(place)).holdings().of_kind("run")
    assert [(one.entry.testbed, one.entry.paper, one.path) for one in runs] == [
        ("bench", "imc", place / "study")
    ]
    alone = Library(str(place / "lab.store")).holdings().of_kind("run")
    assert [(one.entry.key, one.path) for one in alone] == [(runs[0].entry.key, None)]


def test_a_run_that_has_grown_replaces_what_was_stored(tmp_path: Path, quick_store: None) -> None:
    run = make_run(tmp_path / "study")
    store = open_store(tmp_path / "lab.store", create=True)
    shutil.rmtree(sorted(run.path.glob("rep-*"))[-1])
    stored = add(store, run.path).key
    make_run(tmp_path / "again")
    shutil.copytree(sorted((tmp_path / "again").glob("rep-*"))[-1], run.path / "rep-020")
    shutil.rmtree(tmp_path / "again")
    holdings = Library(str(tmp_path)).holdings()
    (item,) = holdings.of_kind("run")
    assert item.entry.key != stored
    assert holdings.item(stored) == item
    assert item.table("runs").num_rows == 21


def test_a_store_on_s3_is_shown(bucket: str) -> None:
    store = open_store(bucket, create=True)
    store_transfers(store, "one.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN)])
    holdings = Library(bucket).holdings()
    assert holdings.transfers.num_rows == 1
    (item,) = holdings.of_kind("capture")
    assert item.table("transfers").num_rows == 1


def test_what_was_removed_is_gone(tmp_path: Path, quick_store: None) -> None:
    store = open_store(tmp_path / "lab.store", create=True)
    for number in range(3):
        store_transfers(store, f"{number}.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN + number)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library_module, "LOOK_SECONDS", 0.0)
        library = Library(store.url)
        first = library.holdings()
        assert first.transfers.num_rows == 3
        entry = first.of_kind("capture")[0].entry
        Path(store.files.path(f"manifests/{entry.key}.json")).unlink()
        library._looked = 0.0
        assert library.holdings().transfers.num_rows == 2


def test_what_begins_in_the_directory_appears_and_what_goes_is_gone(
    tmp_path: Path, quick_store: None
) -> None:
    sent = [Sent("10.0.0.1", "10.0.0.2", BEGAN)]
    store_transfers(open_store(tmp_path / "a.store", create=True), "a.pcap", sent)
    library = Library(str(tmp_path))
    assert len(library.holdings().items) == 1
    store_transfers(open_store(tmp_path / "b.store", create=True), "b.pcap", sent)
    library._looked = 0.0
    assert len(library.holdings().items) == 2
    shutil.rmtree(tmp_path / "a.store")
    library._looked = 0.0
    assert [item.entry.name for item in library.holdings().of_kind("capture")] == ["b.pcap"]


def test_a_capture_that_two_stores_have_is_there_once(tmp_path: Path, quick_store: None) -> None:
    sent = [Sent("10.0.0.1", "10.0.0.2", BEGAN)]
    for name in ("a.store", "b.store"):
        store_transfers(open_store(tmp_path / name, create=True), "a.pcap", sent)
    holdings = Library(str(tmp_path)).holdings()
    assert len(holdings.of_kind("capture")) == 1
    assert holdings.transfers.num_rows == 1


def _item(place: Path) -> Item:
    holdings = Library(str(place / "lab.store")).holdings()
    return next(one for one in holdings.of_kind("capture") if "random" in one.entry.name)


def test_the_cache_keeps_what_was_used_last(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, cache = _item(place), tmp_path / "ui"
    captures = Captures(cache)
    monkeypatch.setattr(captures_module, "_AT_ONCE_SECONDS", 100)
    monkeypatch.setattr(captures_module, "KEPT_BYTES", 300_000)
    transfers = item.table("transfers").sort_by([("unique_bytes", "descending")])
    names = transfers.column("transfer").to_pylist()
    for name in names[:3]:
        assert not isinstance(captures.points(item, item.entry.name, name, 0), Pending)
    captures._make_room()
    kept = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    assert 0 < kept <= 300_000
    captures.close()


def test_few_captures_wait_to_be_read(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, captures = _item(place), Captures(tmp_path / "ui")
    monkeypatch.setattr(captures_module, "_AT_ONCE_SECONDS", 0)
    monkeypatch.setattr(captures._thread, "submit", lambda *_: None)
    found = [
        captures.points(item, item.entry.name, f"{number}.0", 0)
        for number in range(MOST_WAITING + 1)
    ]
    states = [one.state for one in found if isinstance(one, Pending)]
    assert states == ["reading"] * MOST_WAITING + ["failed"]
    captures.close()


def test_a_failure_is_told_to_who_asks_after_it(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, captures = _item(place), Captures(tmp_path / "ui")
    monkeypatch.setattr(captures_module, "_AT_ONCE_SECONDS", 0)
    goes_on = threading.Event()

    def reads(*_: object, **__: object) -> None:
        assert goes_on.wait(PATIENCE)
        raise OSError(5, "Input/output error", "one.pcap")

    monkeypatch.setattr(captures_module, "analyze", reads)
    asked = partial(captures.points, item, item.entry.name, "1.0", 0)
    assert asked() == Pending(state="reading")
    goes_on.set()
    wait_until(lambda: captures._failures, "the failure")
    assert asked() == Pending(state="failed", message="input/output error, one.pcap")
    captures.close()


def test_what_is_read_is_given_up_in_the_end(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, captures = _item(place), Captures(tmp_path / "ui")
    monkeypatch.setattr(captures_module, "_AT_ONCE_SECONDS", 0)
    begun = threading.Event()

    def reads(*_: object, progress: Callable[[int, int], None], **__: object) -> None:
        while True:
            progress(7, 9)
            begun.set()

    monkeypatch.setattr(captures_module, "analyze", reads)
    captures.points(item, item.entry.name, "1.0", 0)
    assert begun.wait(PATIENCE)
    found = captures.points(item, item.entry.name, "1.0", 0)
    assert found == Pending(state="reading", done=7, total=9)
    captures.close()
    wait_until(lambda: not captures._jobs, "the end of reading")


def test_a_capture_is_read_again_as_it_was_analysed() -> None:
    how = How(
        version="1", at="receiver", workload="bulk", capacity=10**7, dedup=True, memory=1 << 28
    )
    entry = SimpleNamespace(name="x", version="1", options=how.options)
    assert How.of(cast("Entry", entry)) == how
    entry.options = {"at": "nowhere"}
    with pytest.raises(StoreError, match="options of x make no sense"):
        How.of(cast("Entry", entry))


def test_what_cannot_be_read_later_is_told_until_it_can(tmp_path: Path, quick_store: None) -> None:
    store = open_store(tmp_path / "lab.store", create=True)
    sent = [Sent("10.0.0.1", "10.0.0.2", BEGAN)]
    store_transfers(store, "a.pcap", sent)
    library = Library(store.url)
    assert library.holdings().problems == []
    library._looked = 0.0
    planted = Path(store.files.path("manifests/x.json"))
    planted.write_text("{", encoding="utf-8")
    for _ in range(2):
        holdings = library.holdings()
        library._looked = 0.0
        assert len(holdings.items) == 1
        (problem,) = holdings.problems
        assert "what was there before is shown" in problem
    planted.unlink()
    assert library.holdings().problems == []


def test_a_run_that_is_removed_while_it_is_shown_is_said_to_be_gone(tmp_path: Path) -> None:
    run = make_run(tmp_path / "study")
    library = Library(str(run.path))
    assert library.holdings().problems == []
    library._looked = 0.0
    shutil.rmtree(run.path)
    holdings = library.holdings()
    assert (len(holdings.items), len(holdings.problems)) == (0, 1)
    assert str(run.path) in holdings.problems[0]


def test_captures_are_kept_below_the_directory(tmp_path: Path) -> None:
    outside = SimpleNamespace(entry=SimpleNamespace(key="../../x"))
    place = Captures(tmp_path / "ui")._place(cast("Item", outside), "../..")
    assert place.parent == tmp_path / "ui"


def test_a_store_that_names_other_files_reads_none(tmp_path: Path, quick_store: None) -> None:
    secret = tmp_path / "secret.pcap"
    shutil.copy(RECORDINGS / "random-loss.sender.pcap.gz", secret)
    store = open_store(tmp_path / "lab.store", create=True)
    key = store_transfers(store, "secret.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN)])
    manifest = Path(store.files.path(f"manifests/{key}.json"))
    entry = msgspec.json.decode(manifest.read_bytes())
    entry |= {"files": [str(secret)], "size_bytes": secret.stat().st_size}
    manifest.write_bytes(msgspec.json.encode(entry))
    (item,) = Library(store.url).holdings().of_kind("capture")
    captures = Captures(tmp_path / "ui")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captures_module, "_AT_ONCE_SECONDS", 100)
        found = captures.points(item, "secret.pcap", "0.0", 0)
    assert isinstance(found, Pending)
    assert (found.state, "changed" in found.message) == ("missing", True)
    captures.close()
