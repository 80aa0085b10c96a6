"""Set-up installs nothing but the files that were there when the versions were chosen."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tools.lock_requirements import OLDEST, pinned, serves

ROOT = Path(__file__).parents[1]
FILES = ("requirements.txt", "requirements-dev.txt", "requirements-dist.txt")


@pytest.mark.parametrize("name", FILES)
def test_every_pin_has_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = [
        one
        for one in text.replace("\\\n", "").splitlines()
        if one and not one.startswith(("#", "-r "))
    ]
    assert len(entries) == len(pinned(text)) >= 1
    for entry in entries:
        pin, *hashes = entry.split()
        assert hashes, f"{pin} has no hash: make lock"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), pin


def test_every_version_runs_on_the_oldest_python() -> None:
    """Whichever interpreter resolved them: Debian 12 has Python 3.11.2."""
    pins = pinned((ROOT / FILES[0]).read_text() + (ROOT / FILES[1]).read_text())
    needed = {
        pin: metadata.metadata(pin.split("==")[0]).get("Requires-Python") or "" for pin in pins
    }
    assert len(needed) > 100
    assert not [pin for pin, pythons in needed.items() if OLDEST not in SpecifierSet(pythons)]


@pytest.mark.parametrize(
    ("filename", "whether"),
    [
        ("some_thing-1.2-py3-none-any.whl", True),
        ("some_thing-1.2-cp311-cp311-manylinux_2_28_aarch64.whl", True),
        ("some_thing-1.2-cp314-cp314t-musllinux_1_2_x86_64.whl", True),
        ("some_thing-1.2-cp39-abi3-macosx_11_0_arm64.whl", True),
        ("some_thing-1.2-cp310-cp310-manylinux_2_28_x86_64.whl", False),
        ("some_thing-1.2-pp311-pypy311_pp73-manylinux_2_28_x86_64.whl", False),
        ("some_thing-1.3-py3-none-any.whl", False),
        ("some_thing-1.2.tar.gz", True),
        ("some_thing-1.2.post1.tar.gz", False),
        ("some_thing-1.2.macosx-10.12-x86_64.tar.gz", False),
        ("some_thing-1.2-py3.9.egg", False),
    ],
)
def test_files_for_every_platform_are_among_them(filename: str, whether: bool) -> None:
    assert serves(filename, "1.2") is whether


def wheel(directory: Path, text: str) -> str:
    """A package of one module, and the SHA-256 of its file."""
    path = directory / "tiny-1-py3-none-any.whl"
    files = {
        "tiny.py": text,
        "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
        "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        lines = []
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
            digest = hashlib.sha256(content.encode()).digest()
            encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            lines.append(f"{name},sha256={encoded},{len(content)}\n")
        lines.append("tiny-1.dist-info/RECORD,,\n")
        archive.writestr(zipfile.ZipInfo("tiny-1.dist-info/RECORD"), "".join(lines))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_was_exchanged_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup.sh", tmp_path / "tools")
    # An environment like the one that set-up makes, where pip is not installed anew.
    venv.create(tmp_path / ".venv", with_pip=False, symlinks=True)
    (packages,) = tmp_path.glob(".venv/lib/python3*/site-packages")
    (packages / "pip.pth").write_text(f"{metadata.distribution('pip').locate_file('')}\n")
    wanted = wheel(tmp_path, "whose = 'ours'\n")
    requirements = tmp_path / "requirements.txt"

    def set_up(line: str) -> tuple[int, str, bool]:
        requirements.write_text(f"{line}\n", encoding="utf-8")
        ended = subprocess.run(
            [tmp_path / "tools" / "setup.sh", "python", sys.executable, requirements],
            env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        there = any(tmp_path.glob(".venv/lib/python3*/site-packages/tiny.py"))
        return ended.returncode, ended.stderr, there

    wheel(tmp_path, "whose = 'theirs'\n")
    code, said, there = set_up(f"tiny==1 --hash=sha256:{wanted}")
    assert (code != 0, there) == (True, False)
    assert "DO NOT MATCH THE HASHES" in said
    code, said, there = set_up("tiny==1")
    assert (code != 0, there) == (True, False)
    assert "--require-hashes" in said
    wheel(tmp_path, "whose = 'ours'\n")
    assert set_up(f"tiny==1 --hash=sha256:{wanted}") == (0, "", True)
