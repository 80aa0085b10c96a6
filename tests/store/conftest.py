"""Stores on a disk and on S3, and captures to fill them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import trustbed
from tests.amazon import amazon as amazon
from tests.amazon import moto as moto
from trustbed.store.captures import How, Job, jobs_of
from trustbed.store.store import open_store

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
