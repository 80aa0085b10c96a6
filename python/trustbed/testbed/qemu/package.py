"""Reads files out of Debian's packages (deb(5)) without installing anything.

A compressed archive of tar(1) in one of ar(1).
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from trustbed.errors import TestbedError

_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_COMPRESSIONS = {"data.tar": "", "data.tar.gz": "gz", "data.tar.bz2": "bz2", "data.tar.xz": "xz"}


def files(package: Path, matches: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The matching regular files of a package, by name without a dot before it, in their order.

    Raises:
        TestbedError: It is no package, or damaged.
    """
    try:
        with package.open("rb") as file:
            section, compression = _data(file, package)
            with tarfile.open(fileobj=section, mode=f"r|{compression}") as archive:  # type: ignore[call-overload] # the modes are literals
                for member in archive:
                    name = member.name.removeprefix("./").removeprefix("/")
                    if member.isfile() and matches(name):
                        content = archive.extractfile(member)
                        assert content is not None, "it is a file"
                        yield name, content.read()
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        raise TestbedError(
            f"{package} cannot be read: {error}", "remove it; it is fetched again then"
        ) from error


def _data(file: BinaryIO, package: Path) -> tuple[_Section, str]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise TestbedError(
            f"{package} is no package of Debian's", "remove it; it is fetched again then"
        )
    while len(header := file.read(_HEADER_BYTES)) == _HEADER_BYTES:
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        if name in _COMPRESSIONS:
            return _Section(file, size), _COMPRESSIONS[name]
        if name.startswith("data.tar"):
            raise TestbedError(
                f"{package}: {name} has a compression that trustbed cannot read",
                "take a package of Debian's own",
            )
        file.seek(size + size % 2, io.SEEK_CUR)
    raise TestbedError(f"{package} holds no files", "remove it; it is fetched again then")


class _Section(io.RawIOBase):
    """A part of a file from its current position."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Up to so many bytes."""
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        return piece
