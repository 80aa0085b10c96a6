"""Archives that a Linux kernel unpacks into its first file system.

Cpio in the format ``newc`` (cpio(5)). Pure.

Nothing has a time, so that the same content gives the same bytes; everything belongs to root unless
an owner is given.
"""

from __future__ import annotations

import posixpath
import stat

_MAGIC = b"070701"
_LAST = "TRAILER!!!"
_MOST_LINKS = 40
ROOT = (0, 0)
"""User and group."""


class Archive:
    """An archive under construction. Directories precede their content, as the kernel requires.

    What lies below a link to a directory is put where it leads: the kernel would replace the link.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._directories: set[str] = set()
        self._links: dict[str, str] = {}
        self._number = 0
        self.size_bytes = 0

    def directory(
        self, path: str, *, mode: int | None = None, owner: tuple[int, int] = ROOT
    ) -> None:
        """A directory and those above it, if they are not there yet; a mode is set in any case."""
        path = self._placed(path)
        if not path or (path in self._directories and mode is None):
            return
        self.directory(path.rpartition("/")[0])
        self._directories.add(path)
        kind = stat.S_IFDIR | (0o755 if mode is None else mode)
        self._add(path, kind, b"", owner=owner)

    def file(
        self, path: str, content: bytes, *, mode: int = 0o644, owner: tuple[int, int] = ROOT
    ) -> None:
        """A file."""
        self._add(self._within(path), stat.S_IFREG | mode, content, owner=owner)

    def link(self, path: str, target: str, *, owner: tuple[int, int] = ROOT) -> None:
        """A symbolic link."""
        path = self._within(path)
        self._links[path] = target
        self._add(path, stat.S_IFLNK | 0o777, target.encode(errors="surrogateescape"), owner=owner)

    def device(self, path: str, major: int, minor: int) -> None:
        """A character device."""
        self._add(self._within(path), stat.S_IFCHR | 0o600, b"", device=(major, minor))

    def _within(self, path: str) -> str:
        """Where something lies, below a directory that is there."""
        above, _, name = path.rpartition("/")
        above = self._placed(above)
        self.directory(above)
        return f"{above}/{name}" if above else name

    def _placed(self, path: str) -> str:
        """A path without links to directories."""
        done, left = "", path.split("/")
        for _ in range(_MOST_LINKS + len(left)):
            if not left:
                break
            part, *left = left
            here = posixpath.normpath(posixpath.join("/", done, part))[1:]
            target = self._links.get(here)
            if target is None:
                done = here
            else:
                done = "" if target.startswith("/") else done
                left = [*(one for one in target.split("/") if one), *left]
        return done

    def _add(
        self,
        path: str,
        mode: int,
        content: bytes,
        *,
        device: tuple[int, int] = (0, 0),
        owner: tuple[int, int] = ROOT,
    ) -> None:
        self._number += 1
        self.size_bytes += len(content)
        self._parts.append(_entry(path, self._number, mode, content, device, owner))

    def written(self) -> bytes:
        """All of it."""
        return b"".join(self._parts) + _entry(_LAST, 0, 0, b"", (0, 0), ROOT)


def _entry(
    path: str,
    number: int,
    mode: int,
    content: bytes,
    device: tuple[int, int],
    owner: tuple[int, int],
) -> bytes:
    name = path.encode(errors="surrogateescape") + b"\0"
    links = 1
    numbers = (number, mode, *owner, links, 0, len(content), 0, 0, *device, len(name), 0)
    header = _MAGIC + b"".join(b"%08X" % value for value in numbers)
    return _padded(header + name) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)
