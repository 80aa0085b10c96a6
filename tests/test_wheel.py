"""What `pip install` takes is complete.

The wheel works alone, away from the checkout; the source distribution has all that makes one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    # The same profile and features as the installed one, so that nothing is compiled again.
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        str(directory),
        ".",
    ]
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(
        command,
        cwd=ROOT,
        check=True,
        env={**os.environ, "PATH": tools, "MATURIN_PEP517_ARGS": "--locked"},
    )
    (found,) = directory.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory, away from the checkout, that the wheel is installed in."""
    directory = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    where = ["--no-compile", "--target", str(directory)]
    subprocess.run([*pip, *where, str(wheel)], check=True)
    return directory


@pytest.mark.timeout(600)
def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tracked = subprocess.run(
        ["git", "ls-files", "python/trustbed"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    missing = {name.removeprefix("python/") for name in tracked} - set(names)
    assert missing == set()
    assert "trustbed/_core.abi3.so" in names
    assert "trustbed/bin/trustbed-agent" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"trustbed"}


@pytest.mark.timeout(600)
def test_it_serves_every_python_from_3_11_on(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.timeout(600)
def test_it_works_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys, trustbed; print(trustbed.__file__); "
        "print(len(trustbed.analyze(sys.argv[1]).transfers))"
    )
    recording = ROOT / "recordings" / "random-loss.sender.pcap.gz"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", code, str(recording)]
    printed = subprocess.run(
        command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    assert Path(printed[0]).is_relative_to(installed)
    assert int(printed[1]) >= 1


@pytest.mark.timeout(600)
def test_its_agent_needs_nothing_on_the_host(installed: Path) -> None:
    code = "from trustbed.agent import client; print(client.binary())"
    command = [sys.executable, "-c", code]
    program = Path(
        subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(installed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    assert program.is_relative_to(installed)
    ended = subprocess.run(
        [program, "exec", "--", "sh", "-c", "exit 5"], env={"PATH": os.environ["PATH"]}, check=False
    )
    assert ended.returncode == 5
    image = program.read_bytes()
    assert image[:4] == b"\x7fELF"
    # Program headers of 56 bytes from byte 64 on (elf(5)); 3 is PT_INTERP, the loader that a
    # program with shared libraries names.
    count = int.from_bytes(image[56:58], "little")
    assert 3 not in [
        int.from_bytes(image[64 + 56 * number :][:4], "little") for number in range(count)
    ]


def test_the_source_distribution_holds_everything_that_a_wheel_is_made_from(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, 'tools/build'); import backend; "
        "backend.build_sdist(sys.argv[1])"
    )
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": tools},
    )
    (packed,) = tmp_path.glob("trustbed-*.tar.gz")
    shutil.unpack_archive(packed, tmp_path)
    unpacked = tmp_path / packed.name.removesuffix(".tar.gz")
    held = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    sources = (
        "crates",
        "python/trustbed",
        "tools/build",
        "Cargo.toml",
        "Cargo.lock",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    )
    tracked = subprocess.run(
        ["git", "ls-files", *sources], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert {name for name in tracked if (ROOT / name).exists()} - held == set()
    # What was built here is built again there.
    assert not [
        name
        for name in held
        if name.endswith(".so") or ("/bin/" in name and name.startswith("python/"))
    ]
    asked = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    here, there = (
        {
            package["name"]
            for package in json.loads(
                subprocess.run(asked, cwd=directory, check=True, capture_output=True).stdout
            )["packages"]
        }
        for directory in (ROOT, unpacked)
    )
    assert here == there
