"""A configuration profile for Wireshark that shows annotated captures.

Three files: columns (comment, stream, sequence number, length, window), colours, and filter
buttons. They go into a directory of their own below Wireshark's ``profiles``; the user's other
profiles stay as they are.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from trustbed.report import placing

FILES = ("preferences", "colorfilters", "dfilter_buttons")
_OURS = "# Made by trustbed"


def check(directory: Path, *, force: bool = False) -> None:
    """Finds out beforehand whether ``directory`` may become, or already is, our profile.

    Raises:
        OutputError: It is no directory, or holds a profile that somebody else made or changed.
    """
    if directory.exists() and not directory.is_dir():
        raise placing.OutputError(
            f"exists and is not a directory, {directory}", "give the profile another name"
        )
    for file in (directory / name for name in FILES):
        if file.exists() and not force and not _is_ours(file):
            raise placing.OutputError(
                f"holds a profile of your own, {file}",
                "give the profile a directory of its own, or --force to replace that file",
            )


def write(directory: Path, *, force: bool = False) -> None:
    """Writes the profile; ``directory`` is made where it does not exist.

    Raises:
        OutputError: As :func:`check`.
    """
    check(directory, force=force)
    directory.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = resources.files(__name__).joinpath("profile", name).read_text(encoding="utf-8")
        head, _, body = text.partition("\n")
        with placing.whole_file(directory / name) as stream:
            stream.write(f"{head} [{_digest(body)}]\n{body}")


def _is_ours(file: Path) -> bool:
    """Whether it is as some version of trustbed wrote it: its first line has a digest of the rest.

    Wireshark writes the whole file anew, without our line.
    """
    head, _, body = file.read_text(encoding="utf-8", errors="replace").partition("\n")
    return head.startswith(_OURS) and head.endswith(f" [{_digest(body)}]")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
