"""The charts' script is bundled once for a user, and nobody else's is taken."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trustbed.report.html import vega

SCRIPT = "vegaEmbed();"


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A call to the bundler adds to this; the cache is empty."""
    calls: list[str] = []

    def bundle() -> str:
        calls.append(SCRIPT)
        return SCRIPT

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vega, "_bundled", bundle)
    return calls


def kept(directory: Path) -> Path:
    (file,) = (directory / "trustbed" / "pages").iterdir()
    return file


def again() -> str:
    """What the next program gets."""
    vega.vega.cache_clear()
    return vega.vega()


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    vega.vega.cache_clear()
    yield
    vega.vega.cache_clear()


def test_it_is_bundled_once(bundled: list[str], tmp_path: Path) -> None:
    assert vega.vega() == SCRIPT
    assert stat.S_IMODE(kept(tmp_path).stat().st_mode) == 0o600
    assert again() == SCRIPT
    assert bundled == [SCRIPT]


def cut(file: Path) -> None:
    os.truncate(file, 70)


def changed(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"alert()")


def others_may_write(file: Path) -> None:
    file.chmod(0o666)


def planted(file: Path) -> None:
    file.rename(file.with_suffix(".others"))
    file.symlink_to(file.with_suffix(".others"))


@pytest.mark.parametrize("spoil", [cut, changed, others_may_write, planted])
def test_what_is_not_its_own_is_made_anew(
    spoil: Callable[[Path], None], bundled: list[str], tmp_path: Path
) -> None:
    vega.vega()
    file = kept(tmp_path)
    spoil(file)
    assert again() == SCRIPT
    assert bundled == [SCRIPT, SCRIPT]
    assert not file.is_symlink()
    assert again() == SCRIPT
    assert bundled == [SCRIPT, SCRIPT]


def test_a_cache_that_cannot_be_written_only_costs_time(
    bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert (vega.vega(), again()) == (SCRIPT, SCRIPT)
    assert bundled == [SCRIPT, SCRIPT]
