"""Version and start of a session of a run or campaign, for manifests and reports."""

from __future__ import annotations

import datetime
from typing import TypedDict


class SessionAbout(TypedDict):
    """A session of the library; the command line has a command as well."""

    version: str
    command: None
    started: str


def session_about() -> SessionAbout:
    """This session of the library, started now (UTC)."""
    from trustbed import __version__

    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"version": __version__, "command": None, "started": now.replace("+00:00", "Z")}
