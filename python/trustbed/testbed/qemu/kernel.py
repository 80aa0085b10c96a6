"""The kernel that guests run.

Debian's, fetched as a package and unpacked into the user's cache; not installed, and not this
machine's.

With it comes busybox, the one program that a guest has besides the agent. On a machine with apt
both are fetched when the first guest is started (`make setup` does it before); elsewhere the two
packages can be laid into the directory by hand. What is kept is the kernel itself, without the
compression that an emulated processor would need half of its boot for, and the modules that guests
can need.
"""

from __future__ import annotations

import bz2
import contextlib
import fcntl
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trustbed import disk
from trustbed.errors import TestbedError, reason
from trustbed.testbed.qemu import modules, package

LAYOUT = 1
"""Of the directory; another version does not take it for its own."""
_METAPACKAGE = "linux-image-amd64"
_BUSYBOX = "busybox-static"
_FETCH_SECONDS = 600.0
_COMPRESSIONS: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\xfd7zXZ\0": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b\x08": lambda data: zlib.decompressobj(31).decompress(data),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data),
    b"\x5d\x00\x00": lambda data: lzma.LZMADecompressor(format=lzma.FORMAT_ALONE).decompress(data),
}
# The entry point by which QEMU starts a kernel that is not compressed: an ELF note of type 18 by
# Xen (docs/x86/boot.rst, "PVH").
_PVH_NOTES = tuple(struct.pack("<III", 4, size, 18) + b"Xen\0" for size in (4, 8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel with what is started beside it."""

    directory: Path
    release: str
    image: Path
    busybox: Path
    needed: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, directory: Path) -> Self:
        """The one in a directory that is complete."""
        about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
        return cls(
            directory=directory,
            release=about["release"],
            image=directory / "kernel",
            busybox=directory / "busybox",
            needed={name: tuple(others) for name, others in about["modules"].items()},
        )

    def module(self, name: str) -> bytes:
        """A module, ready to be loaded."""
        return (self.directory / "modules" / f"{name}.ko").read_bytes()


def cache() -> Path:
    """The directory of the guests' files."""
    return disk.cache() / "guests"


def ready(report: Callable[[str], object] | None = None) -> Kernel:
    """The newest kernel there is; fetched if there is none.

    Args:
        report: Receives progress messages; without it, they go to standard error.

    Raises:
        TestbedError: There is none, and none can be fetched.
    """
    directory = cache()
    found = _newest(directory)
    if found is not None:
        return found
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(directory):
            return _newest(directory) or _unpacked(directory, report or _print)
    except OSError as error:
        raise TestbedError(
            f"{directory} cannot be written: {reason(error)}",
            "set XDG_CACHE_HOME to a directory",
        ) from error


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _newest(directory: Path) -> Kernel | None:
    found = []
    for about in directory.glob(f"{LAYOUT}-*/about.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            found.append(Kernel.of(about.parent))
    return max(
        found,
        key=lambda one: [int(number) for number in re.findall(r"\d+", one.release)],
        default=None,
    )


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Two that want a kernel at once: the second waits and takes what the first has fetched."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _unpacked(directory: Path, report: Callable[[str], object]) -> Kernel:
    for left in directory.glob("new-*"):  # of a killed process: the lock keeps others out
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=directory) as name:
        draft = Path(name)
        image, busybox = _packages(directory, draft, report)
        target = draft / "complete"
        (target / "modules").mkdir(parents=True)
        release, needed = _take_kernel(image, target)
        _take_busybox(busybox, target)
        about = {"release": release, "modules": needed, "packages": [image.name, busybox.name]}
        (target / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        final = directory / f"{LAYOUT}-{release}"
        shutil.rmtree(final, ignore_errors=True)
        target.rename(final)
    return Kernel.of(final)


def _packages(directory: Path, draft: Path, report: Callable[[str], object]) -> tuple[Path, Path]:
    """The two packages: those that lie there, else fetched."""
    own = _sorted_packages(directory)
    if own is not None:
        return own
    if shutil.which("apt-get") is None:
        raise TestbedError(
            f"there is no kernel for guests in {directory}, and no apt-get to fetch it with",
            (
                f"lay two packages of Debian's there, linux-image-…-amd64_….deb and "
                f"{_BUSYBOX}_….deb (packages.debian.org)"
            ),
        )
    report("fetching Debian's kernel for guests (70 MB, once)")
    _fetch([_kernel_package(), _BUSYBOX], draft)
    found = _sorted_packages(draft)
    if found is None:
        raise TestbedError("apt-get fetched no kernel", "try: apt-get download linux-image-amd64")
    return found


def _sorted_packages(directory: Path) -> tuple[Path, Path] | None:
    images = sorted(directory.glob("linux-image-[0-9]*_*.deb"))
    busyboxes = sorted(directory.glob(f"{_BUSYBOX}_*.deb"))
    return (images[-1], busyboxes[-1]) if images and busyboxes else None


def _kernel_package() -> str:
    """The package that the one without a version leads to."""
    query = ["apt-cache", "--no-all-versions", "show", _METAPACKAGE]
    text = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    if not text and os.geteuid() == 0:  # a machine whose list of packages was never fetched
        subprocess.run(
            ["apt-get", "update", "-qq"], capture_output=True, check=False, timeout=_FETCH_SECONDS
        )
        text = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    found = re.search(r"^Depends:.*?(linux-image-[0-9][^ ,]*)", text, re.MULTILINE)
    if found is None:
        raise TestbedError(
            f"apt knows no package {_METAPACKAGE}",
            "guests run Debian's kernel for amd64; as root: apt-get update",
        )
    return found.group(1)


def _fetch(names: list[str], directory: Path) -> None:
    try:
        ended = subprocess.run(
            ["apt-get", "download", "-qq", *names],
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=_FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise TestbedError(
            f"apt-get did not fetch {' and '.join(names)} within {_FETCH_SECONDS:g} s",
            "see to the network",
        ) from None
    if ended.returncode:
        message = [
            line.removeprefix("E: ") for line in ended.stderr.splitlines() if line.startswith("E:")
        ]
        why = f": {message[0]}" if message else ""
        raise TestbedError(
            f"apt-get cannot fetch {' and '.join(names)}{why}",
            "see to the network, or as root: apt-get update",
        )


def _take_kernel(image: Path, target: Path) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The kernel and its modules; the release, and which modules need which."""
    release = None
    needed = {}
    for path, content in package.files(
        image, lambda name: name.startswith("boot/vmlinuz-") or modules.is_needed(name)
    ):
        if path.startswith("boot/"):
            release = path.removeprefix("boot/vmlinuz-")
            (target / "kernel").write_bytes(plain(content))
            continue
        name, bare = modules.name_of(path), modules.bare(content)
        assert name is not None, "it is a module"
        (target / "modules" / f"{name}.ko").write_bytes(bare)
        needed[name] = modules.needs(bare)
    if release is None:
        raise TestbedError(
            f"{image} holds no kernel",
            "take a package linux-image-…-amd64, not the one that only leads to it",
        )
    return release, needed


def _take_busybox(busybox: Path, target: Path) -> None:
    content = next(
        (
            content
            for path, content in package.files(busybox, lambda name: name.endswith("bin/busybox"))
        ),
        None,
    )
    if content is None:
        raise TestbedError(f"{busybox} holds no busybox", f"take Debian's package {_BUSYBOX}")
    (target / "busybox").write_bytes(content)
    (target / "busybox").chmod(0o755)


def plain(image: bytes) -> bytes:
    """A kernel without its compression, if QEMU can start it so.

    Else as it is, which boots as well, but slower.

    The head of the image gives the position of the payload (the Linux x86 boot protocol:
    ``setup_sects`` at 0x1f1, ``payload_offset`` and ``payload_length`` at 0x248).
    """
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        return image
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[(sectors + 1) * 512 + offset :][:length]
    for magic, decompress in _COMPRESSIONS.items():
        if payload.startswith(magic):
            try:
                found = decompress(payload)
            except (OSError, EOFError, lzma.LZMAError, zlib.error):
                return image
            return (
                found
                if found.startswith(b"\x7fELF") and any(note in found for note in _PVH_NOTES)
                else image
            )
    return image


def main() -> None:
    """For set-up: fetches what is missing, and prints nothing if nothing is."""
    try:
        ready()
    except TestbedError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
