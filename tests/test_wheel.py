"""The wheel that `pip install .` makes is complete: it works alone, away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # The same profile and features as the installed one, so that nothing is compiled again.
    command = [str(Path(sys.executable).with_name("maturin")), "build", "--release", "--locked", "--quiet", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.timeout(600)
def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tracked = subprocess.run(["git", "ls-files", "python/trustbed"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    missing = {name.removeprefix("python/") for name in tracked} - set(names)
    assert missing == set()
    assert "trustbed/_core.abi3.so" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"trustbed"}


@pytest.mark.timeout(600)
def test_it_serves_every_python_from_3_11_on(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.timeout(600)
def test_it_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place), str(wheel)]
    subprocess.run(pip, check=True)
    code = "import sys, trustbed; print(trustbed.__file__); print(len(trustbed.analyze(sys.argv[1]).transfers))"
    recording = ROOT / "recordings" / "random-loss.sender.pcap.gz"
    environment = {**os.environ, "PYTHONPATH": str(place)}
    command = [sys.executable, "-c", code, str(recording)]
    printed = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout.split()
    assert Path(printed[0]).is_relative_to(place)
    assert int(printed[1]) >= 1
