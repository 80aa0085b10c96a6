"""A root file system of the user's own for a guest: a directory, or a tar archive.

What ``docker export``, ``debootstrap`` or ``tar`` make. Its programs run on the guests' kernel;
what that kernel and the agent need is added, and nothing of the image is started by itself. Device
files, sockets and pipes are left out: the kernel makes its own devices.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from trustbed.errors import TestbedError, reason
from trustbed.scenario.guests import Guest
from trustbed.testbed.qemu.archive import Archive

_BESIDE_BYTES = 96 << 20
"""What a guest needs beside its image: its kernel, the agent, and room for what it writes."""
_MOST_BYTES = 4 << 30
_HINT = "image = a directory, or a tar archive such as `docker export CONTAINER > image.tar` writes"


def add(archive: Archive, image: Path) -> None:
    """Puts an image into the archive of a guest.

    Raises:
        TestbedError: It cannot be read, or is larger than any guest.
    """
    try:
        if image.is_dir():
            _add_directory(archive, image)
        else:
            _add_tar(archive, image)
    except (tarfile.TarError, EOFError) as error:
        what = str(error).partition("\n")[0].removesuffix(":")  # the first of several lines
        raise TestbedError(f"the guest's image is no tar archive, {image}: {what}", _HINT) from None
    except OSError as error:
        where = error.filename or image
        raise TestbedError(
            f"the guest's image cannot be read, {where}: {reason(error)}", _HINT
        ) from None


def check(guest: Guest) -> int:
    """Checks that a guest has room for its image, and returns the image's bytes.

    The kernel holds the image twice while it unpacks it, and keeps half of the memory for files.

    Raises:
        TestbedError: It has not, or the image cannot be read.
    """
    if guest.image is None:
        return 0
    archive = Archive()
    add(archive, Path(guest.image))
    needed = 2 * archive.size_bytes + _BESIDE_BYTES
    if needed > guest.memory_bytes:
        raise TestbedError(
            f"the image {guest.image} has {archive.size_bytes >> 20} MiB, too much for a guest of "
            f"{guest.memory_bytes >> 20} MiB",
            f'give the guest memory = "{(needed >> 20) + 1}MiB", or leave out of the image what '
            "is not used",
        )
    return archive.size_bytes


def _add_tar(archive: Archive, image: Path) -> None:
    with tarfile.open(image) as tar:
        for member in tar:
            path = _inside(member.name)
            if path is None:
                continue
            owner = (member.uid, member.gid)
            mode = stat.S_IMODE(member.mode)
            if member.isdir():
                archive.directory(path, mode=mode, owner=owner)
            elif member.issym():
                archive.link(path, member.linkname, owner=owner)
            elif member.isreg() or member.islnk():
                _check_size(archive, image, member.size)
                # A hard link has the content of what it names.
                content = tar.extractfile(member)
                written = b"" if content is None else content.read(_MOST_BYTES)
                archive.file(path, written, mode=mode, owner=owner)


def _add_directory(archive: Archive, image: Path) -> None:
    for file in _walk(image):
        path = file.relative_to(image).as_posix()
        about = file.lstat()
        owner, mode = (about.st_uid, about.st_gid), stat.S_IMODE(about.st_mode)
        if stat.S_ISDIR(about.st_mode):
            archive.directory(path, mode=mode, owner=owner)
        elif stat.S_ISLNK(about.st_mode):
            archive.link(path, str(file.readlink()), owner=owner)
        elif stat.S_ISREG(about.st_mode):
            _check_size(archive, image, about.st_size)
            archive.file(path, file.read_bytes(), mode=mode, owner=owner)


def _walk(directory: Path) -> Iterator[Path]:
    """Everything below, by name, a directory before what it holds; no link is followed."""
    for entry in sorted(os.scandir(directory), key=lambda one: one.name):
        path = Path(entry.path)
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path)


def _inside(name: str) -> str | None:
    """A member's path in the guest; ``None``: the root itself, or what would lie outside."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if not parts or ".." in parts else "/".join(parts)


def _check_size(archive: Archive, image: Path, more: int) -> None:
    if archive.size_bytes + more > _MOST_BYTES:
        raise TestbedError(
            f"the guest's image is larger than {_MOST_BYTES >> 30} GiB, {image}",
            "leave out of it what is not used: it lies in the guest's memory",
        )
