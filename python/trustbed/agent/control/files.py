"""Files that agents write on another host, fetched over its control channel after the report.

An agent's configuration names files of this machine. On the other host they have names that the
host chooses (:meth:`~trustbed.agent.control.host.ControlledHost.remote_path`), and they lie
there until they are fetched.
"""

from __future__ import annotations

import json
import os
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


@dataclass(frozen=True, slots=True)
class Written:
    """A file that an agent writes.

    The key that names it, where it is to be here, and its name there.
    """

    key: str
    here: Path
    there: str


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
    return tuple(Written(key, here, remote_path(here)) for key, here in named.items())


def there(config: Configuration, files: tuple[Written, ...]) -> Configuration:
    """An agent's configuration with the names that its files have on its host."""
    names = {file.key: file.there for file in files}
    found: Configuration = json.loads(json.dumps({**config, **names}, default=str))
    return found


def fetch(control: Control, path: str, to: Path, *, seconds: float) -> None:
    """Copies a file of another host here, and removes it there once it is here.

    Under its name there is a whole file or none.

    Raises:
        TestbedError: It is not there, cannot be written here, or takes too long.
    """
    draft = to.with_name(f".{to.name}.part")
    try:
        with draft.open("wb") as file:
            unwritten = _run(control, ["cat", path], path, stdout=file, seconds=seconds)
        if unwritten is not None:
            raise TestbedError(
                f"{to} cannot be written: {os.strerror(unwritten).lower()}",
                "free some space, then try again",
            )
        draft.replace(to)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _run(control, ["rm", path], path, stdout=subprocess.DEVNULL, seconds=seconds)


def _run(
    control: Control, words: list[str], path: str, *, stdout: int | IO[bytes], seconds: float
) -> int | None:
    """The number of the error for which not all that a command wrote is here."""
    with ControlledProcess.start(control, words, stdout=stdout, stderr=subprocess.PIPE) as process:
        try:
            _, err = process.output(seconds)
        except subprocess.TimeoutExpired:
            message = f"{path} cannot be fetched from {control.peer.title} within {seconds:g} s"
            raise TestbedError(message, "the machine may be overloaded; try again") from None
        if process.unwritten is None and process.poll() != 0:
            message = err.decode(errors="replace").strip()
            raise TestbedError(
                f"{path} cannot be fetched from {control.peer.title}: {message}",
                control.peer.when_unread,
            )
        return process.unwritten
