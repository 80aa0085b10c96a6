"""Members of a ZIP archive of anybody's: read within bounds, with one error for all damage."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    RuntimeError,  # an encrypted member, or a feature of ZIP that Python has not
    ValueError,
)


class ArchiveError(Exception):
    """An archive that cannot be read; the text says why."""


def read(path: Path, most: Mapping[str, int]) -> dict[str, bytes]:
    """The members of these names that there are, each of at most so many bytes.

    Memory grows with what is read, never with what an archive claims to hold.

    Raises:
        OSError: The file cannot be read.
        ArchiveError: It is no ZIP archive, is damaged or encrypted, or a member is too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            there = set(archive.namelist())
            return {
                name: _member(archive, name, limit) for name, limit in most.items() if name in there
            }
    except _DAMAGED as error:
        raise ArchiveError(str(error) or type(error).__name__) from None


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    about = archive.getinfo(name)
    if about.compress_type not in _METHODS:
        raise ArchiveError(f"{name} is compressed by method {about.compress_type} of ZIP")
    too_large = ArchiveError(f"{name} has more than {limit:,} bytes")
    if about.file_size > limit:
        raise too_large
    with archive.open(about) as stream:
        found = stream.read(limit + 1)
    if len(found) > limit:
        raise too_large
    return found
