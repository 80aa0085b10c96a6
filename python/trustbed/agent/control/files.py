"""Files that agents write on another host, fetched over its control channel after the report.

An agent's configuration names files of this machine. On the other host they have names that the
host chooses (:meth:`~trustbed.agent.control.host.ControlledHost.remote_path`), and they lie
there until they are fetched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trustbed.agent.control.commands import ControlledProcess
from trustbed.agent.control.control import Control
from trustbed.agent.messages import Configuration
from trustbed.errors import TestbedError

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "bulk": ("samples",),
    "capture": ("path",),
    "inject": (),
    "estimate": (),
    "facts": (),
    "fetch": ("rows",),
    "generate": ("rows",),
    "media": ("rows",),
    "pairs": (),
    "ping": (),
    "probe": ("rows",),
    "reflect": (),
    "sample": ("path",),
    "send": ("departures",),
    "serve": (),
    "sink": (),
    "spin": ("path",),
    "trace": ("path",),
    "video": ("rows",),
}
"""The keys of an agent's configuration that name files it writes, by verb.

One that is missing would leave its files there.
"""

MOST_BYTES = 64 << 20
"""The largest file that is fetched where its kind is not known."""
MOST_ERRORS = 16 << 20
"""The most that an agent may write to its standard error."""
MOST_BYTES_BY_VERB: Mapping[str, int] = {
    "bulk": 1 << 30,
    "capture": 64 << 30,
    "fetch": 4 << 30,
    "generate": 16 << 30,
    "media": 4 << 30,
    "probe": 1 << 30,
    "sample": 1 << 30,
    "send": 16 << 30,
    "spin": 1 << 30,
    "trace": 16 << 30,
    "video": 1 << 30,
}
"""The largest file that an agent may have written, by verb.

Rows of 100 bytes for 100 million packets, samples of a day; a capture of an hour at 140 Mbit/s.
"""
FREE_BYTES = 1 << 30
"""What a fetched file leaves free on the file system here."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that an agent writes.

    The key that names it, where it is to be here, its name there, and how large it may be.
    """

    key: str
    here: Path
    there: str
    most_bytes: int


def written(
    verb: str, config: Configuration, remote_path: Callable[[Path], str]
) -> tuple[Written, ...]:
    """The files that an agent will write, with absolute names."""
    assert verb in OUTPUTS, (
        f"which files {verb} writes is known, or it is not started on another host"
    )
    named = {
        key: Path(str(config[key])).absolute()
        for key in OUTPUTS[verb]
        if config.get(key) is not None
    }
    return tuple(
        Written(key, here, remote_path(here), MOST_BYTES_BY_VERB[verb])
        for key, here in named.items()
    )


def there(config: Configuration, files: tuple[Written, ...]) -> Configuration:
    """An agent's configuration with the names that its files have on its host."""
    names = {file.key: file.there for file in files}
    found: Configuration = json.loads(json.dumps({**config, **names}, default=str))
    return found


def fetch(
    control: Control, path: str, to: Path, *, seconds: float, most_bytes: int = MOST_BYTES
) -> None:
    """Copies a file of another host here, and removes it there once it is here.

    Under its name there is a whole file or none. It is its owner's alone, as an agent's is: it
    holds what others sent. A host decides what its files hold, so no more than ``most_bytes`` are
    taken, nor more than leaves :data:`FREE_BYTES` here.

    Raises:
        TestbedError: It is not there, is too large, cannot be written here, or takes too long.
    """
    draft = to.with_name(f".{to.name}.part")
    room = max(0, shutil.disk_usage(to.parent).free - FREE_BYTES)
    most = min(most_bytes, room)
    try:
        with _created(draft) as file:
            unwritten = _run(
                control, ["cat", path], path, stdout=file, seconds=seconds, most_bytes=most
            )
        if unwritten is not None:
            raise TestbedError(
                f"{to} cannot be written: {os.strerror(unwritten).lower()}",
                "free some space, then try again",
            )
        draft.replace(to)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if not isinstance(error, _Exceeds):
            raise
        if room < most_bytes:
            raise TestbedError(
                f"{to} would leave less than {FREE_BYTES >> 20} MiB free",
                "free some space, then try again",
            ) from None
        raise TestbedError(
            f"{path} of {control.peer.title} is larger than {most_bytes} bytes",
            "no agent writes so much: see what the file there holds",
        ) from None
    _run(control, ["rm", path], path, stdout=subprocess.DEVNULL, seconds=seconds)


def _created(path: Path) -> IO[bytes]:
    """A new file that nobody but its owner reads, in place of what was left there."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class _Exceeds(Exception):
    """A command wrote more than was to be taken."""


def _run(
    control: Control,
    words: list[str],
    path: str,
    *,
    stdout: int | IO[bytes],
    seconds: float,
    most_bytes: int | None = None,
) -> int | None:
    """The number of the error for which not all that a command wrote is here."""
    with ControlledProcess.start(
        control, words, stdout=stdout, stderr=subprocess.PIPE, most_bytes=most_bytes
    ) as process:
        try:
            _, err = process.output(seconds)
        except subprocess.TimeoutExpired:
            message = f"{path} cannot be fetched from {control.peer.title} within {seconds:g} s"
            raise TestbedError(message, "the machine may be overloaded; try again") from None
        if process.exceeds:
            raise _Exceeds
        if process.unwritten is None and process.poll() != 0:
            message = err.decode(errors="replace").strip()
            raise TestbedError(
                f"{path} cannot be fetched from {control.peer.title}: {message}",
                control.peer.when_unread,
            )
        return process.unwritten
