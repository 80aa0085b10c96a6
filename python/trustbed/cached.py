"""Where files are kept that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """The user's directory for them (XDG Base Directory Specification); it need not exist."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "trustbed"
