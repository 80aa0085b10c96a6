"""Archives that a Linux kernel unpacks into its first file system.

Cpio in the format ``newc`` (cpio(5)). Pure.

Everything belongs to root, and nothing has a time, so that the same content gives the same bytes.
"""

from __future__ import annotations

import stat

_MAGIC = b"070701"
_LAST = "TRAILER!!!"


class Archive:
    """An archive under construction. Directories precede their content, as the kernel requires."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._directories: set[str] = set()
        self._number = 0

    def directory(self, path: str) -> None:
        """A directory and those above it, if they are not there yet."""
        if not path or path in self._directories:
            return
        self.directory(path.rpartition("/")[0])
        self._directories.add(path)
        self._add(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """A file."""
        self.directory(path.rpartition("/")[0])
        self._add(path, stat.S_IFREG | mode, content)

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        self.directory(path.rpartition("/")[0])
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        """A character device."""
        self.directory(path.rpartition("/")[0])
        self._add(path, stat.S_IFCHR | 0o600, b"", device=(major, minor))

    def _add(
        self, path: str, mode: int, content: bytes, *, device: tuple[int, int] = (0, 0)
    ) -> None:
        self._number += 1
        self._parts.append(_entry(path, self._number, mode, content, device))

    def written(self) -> bytes:
        """All of it."""
        return b"".join(self._parts) + _entry(_LAST, 0, 0, b"", (0, 0))


def _entry(path: str, number: int, mode: int, content: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    links = 1
    numbers = (number, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(name), 0)
    header = _MAGIC + b"".join(b"%08X" % value for value in numbers)
    return _padded(header + name) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)
