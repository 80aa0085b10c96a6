"""Stores on a disk and on S3, and captures to fill them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import trustbed
from tests.amazon import amazon as amazon
from tests.amazon import moto as moto
from tests.report.campaign_directories import Story, make_campaign
from tests.report.run_directories import make_run
from tests.store.stores import lab
from trustbed.store import files
from trustbed.store.captures import How, Job, jobs_of
from trustbed.store.directories import add
from trustbed.store.store import Store, open_store

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("random-loss.sender", "guest-frozen.sender", "bandwidth-limited.sender")
HOW = How(version=trustbed.__version__, testbed="lab", workers=1)


@pytest.fixture(scope="session")
def captures() -> list[Job]:
    """Three captures of a few hundred kilobytes."""
    return jobs_of([ROOT / "recordings" / f"{name}.pcap.gz" for name in NAMES])


@pytest.fixture
def bucket(amazon: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a store on S3 that does not exist yet."""
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", amazon)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("lab")
    yield "s3://lab/store"
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(params=["disk", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, on a disk and on S3."""
    found = (
        request.getfixturevalue("bucket") if request.param == "s3" else os.fspath(tmp_path / "s")
    )
    open_store(found, create=True)
    return str(found)


@pytest.fixture
def disk(tmp_path: Path) -> str:
    """An empty store on a disk."""
    return open_store(tmp_path / "s", create=True).url


@pytest.fixture(scope="session")
def lab_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Twenty days between three hosts, a run and a campaign; see :func:`tests.store.stores.lab`."""
    directory = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        # Nothing here is to outlive a power failure; flushing takes most of the time.
        patch.setattr(files, "flush", lambda _: None)
        patch.setattr(files, "flush_tree", lambda _: None)
        store = lab(directory / "lab.store")
        make_run(directory / "study")
        add(store, directory / "study", testbed="lab", paper="imc")
        make_campaign(directory / "paths", Story(rounds=20, always={"beta": 1.0}))
        add(store, directory / "paths", testbed="wan")
    return open_store(store.url)
