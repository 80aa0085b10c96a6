"""A store with recordings, a run, a campaign, results and ten thousand transfers; all served."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import trustbed
from tests.report.campaign_directories import Story, make_campaign
from tests.report.run_directories import make_run
from tests.store.stores import BEGAN, DAY, Sent, store_transfers
from tests.ui.serving import Client, serving
from trustbed.store import files
from trustbed.store.captures import How, jobs_of, store_capture
from trustbed.store.directories import add
from trustbed.store.store import open_store

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
AB = Path(__file__).resolve().parents[1] / "workload" / "fixtures" / "ab.txt"
NAMES = ("random-loss.sender", "guest-frozen.sender")


@pytest.fixture(scope="session")
def quick_store() -> Iterator[None]:
    """Nothing here is to outlive a power failure; flushing takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "flush", lambda _: None)
        patch.setattr(files, "flush_tree", lambda _: None)
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory, quick_store: None) -> Path:
    """A directory with ``lab.store``, the captures in it, ``study`` and ``paths``."""
    place = tmp_path_factory.mktemp("ui")
    store = open_store(place / "lab.store", create=True)
    for name in NAMES:
        shutil.copy(RECORDINGS / f"{name}.pcap.gz", place)
    how = How(version=trustbed.__version__, testbed="lab", workers=1)
    for job in jobs_of([place]):
        assert store_capture(job, store.url, how).state == "stored"
    make_run(place / "study")
    add(store, place / "study", testbed="bench", paper="imc")
    (place / "load").mkdir()
    for number in (1, 2):
        shutil.copy(AB, place / "load" / f"{number}.txt")
    add(store, place / "load", testbed="cloud")
    make_campaign(place / "paths", Story(rounds=20, always={"beta": 1.0}))
    causes = ("bandwidth_limited", "host_scheduling", "network_congestion", "bandwidth_limited")
    for number in range(10):
        sent = [
            Sent(
                f"10.{number}.0.{n % 40}",
                f"10.{number}.1.{n % 7}",
                BEGAN + number * DAY + n * 10**9,
                causes[n % 4],
            )
            for n in range(1000)
        ]
        store_transfers(store, f"drawn-{number}.pcap", sent, testbed="wan")
    return place


@pytest.fixture(scope="session")
def client(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(place, tmp_path_factory.mktemp("cache") / "ui") as client:
        yield client


@pytest.fixture(scope="session")
def transfer(client: Client) -> str:
    """The path of the largest transfer of a recording, below ``/transfer/``."""
    return first(client, "/?q=random-loss&sort=-bytes")


def first(client: Client, path: str) -> str:
    """The first transfer of a list."""
    return client.page(path).partition('data-ref="')[2].partition('"')[0]
