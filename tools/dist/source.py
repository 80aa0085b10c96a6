"""The source of a release: the commit's tree, and a source distribution that builds offline.

A tree has what git tracks and nothing else, so that no file that lies about gets into a release.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""What a vendored crate has to serve; of crates that only others need, the manifests are kept."""
_VENDORED = """\
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def export(root: Path, commit: str, tree: Path) -> None:
    """Puts the files of a commit into an empty directory."""
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=root, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)


def source_distribution(tree: Path, out: Path, epoch: int) -> Path:
    """The source distribution with the crates that it needs, byte for byte the same every time.

    Cargo replaces its registry by ``vendor`` beside ``Cargo.toml``: nothing is downloaded.
    """
    made = tree / "sdist"
    subprocess.run(["maturin", "sdist", "--out", str(made)], cwd=tree, check=True)
    (packed,) = made.glob("trustbed-*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4
        archive.extractall(made)
    unpacked = made / packed.name.removesuffix(".tar.gz")
    vendor(unpacked)
    return pack(unpacked, out / packed.name, epoch)


def vendor(directory: Path) -> None:
    """Puts the crates of a workspace beside it, and tells Cargo so."""
    subprocess.run(
        ["cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", "vendor"],
        cwd=directory,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (directory / ".cargo").mkdir(exist_ok=True)
    (directory / ".cargo" / "config.toml").write_text(_VENDORED, encoding="utf-8")
    needed = packages(directory)
    for crate in sorted((directory / "vendor").iterdir()):
        if crate.name not in needed:
            _empty(crate)


def resolved(directory: Path) -> Iterator[Mapping[str, Any]]:
    """What Cargo resolves there (``cargo metadata``) for each of the targets."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform"]
    for target in TARGETS:
        said = subprocess.run([*command, target], cwd=directory, check=True, capture_output=True)
        yield json.loads(said.stdout)


def packages(directory: Path) -> set[str]:
    """``name-version`` of every crate that a build or test for one of the targets may compile."""
    return {
        f"{one['name']}-{one['version']}"
        for said in resolved(directory)
        for one in said["packages"]
    }


def _empty(crate: Path) -> None:
    """Keeps of a crate for other systems what Cargo reads: its manifest, and a library's file."""
    for path in sorted(crate.iterdir()):
        if path.name in ("Cargo.toml", ".cargo-checksum.json"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (crate / "src").mkdir()
    (crate / "src" / "lib.rs").write_text("", encoding="utf-8")
    checksums = crate / ".cargo-checksum.json"
    package = json.loads(checksums.read_text(encoding="utf-8"))["package"]
    checksums.write_text(json.dumps({"files": {}, "package": package}), encoding="utf-8")


def pack(directory: Path, archive: Path, epoch: int) -> Path:
    """A directory as ``tar.gz``, in the order of names, with one owner and one time."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = epoch
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in sorted(directory.rglob("*")):
            name = f"{directory.name}/{path.relative_to(directory)}"
            tar.add(path, arcname=name, recursive=False, filter=plain)
    return archive


def reproducible(tree: Path, epoch: int) -> dict[str, str]:
    """The environment in which a build does not depend on where and when it runs."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    places = {str(tree): ".", cargo: "/cargo"}
    return {
        **{name: value for name, value in os.environ.items() if name != "CARGO_ENCODED_RUSTFLAGS"},
        "SOURCE_DATE_EPOCH": str(epoch),
        "CARGO_INCREMENTAL": "0",
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={old}={new}" for old, new in places.items()),
        "CFLAGS": " ".join(f"-ffile-prefix-map={old}={new}" for old, new in places.items()),
    }
