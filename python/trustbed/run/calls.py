"""The rows of a trace of system calls as the table of calls."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trustbed.calls.table import ARCHITECTURE, COMPLETE, yes_or_no
from trustbed.run import rows

TABLE = ".calls.parquet"
"""What follows the name of a trace, below ``samples`` and below ``tables``."""


def convert(source: Path, target: Path, *, complete: bool | None = None) -> rows.Converted:
    """Writes the rows of a tracer as the table of calls (:data:`trustbed.calls.table.CALLS`).

    Args:
        source: The rows.
        target: The table.
        complete: Whether the tracer lost none, if that is known by now; the table says so.

    Raises:
        RowsError: The file is none of a tracer, or damaged.
    """
    lists = rows.lists(source)
    names = lists.get("calls")
    architecture = rows.word(source, "architecture")
    if names is None or architecture is None:
        raise rows.RowsError(f"no system calls, {source}", "the file is damaged: do not use it")
    metadata = {ARCHITECTURE: architecture.encode()}
    if complete is not None:
        metadata[COMPLETE] = yes_or_no(complete)
    words = {"call": names, "kind": lists.get("kinds", [])}
    return rows.convert(source, target, names=words, metadata=metadata)


def offer(record: Mapping[str, Any], path: Path, tables: Path) -> None:
    """Offers the tables of a repetition's traces among its derived ones, without a second copy.

    Args:
        record: The record of the repetition.
        path: Its directory.
        tables: Where its derived tables are written.
    """
    for trace in record.get("traces") or ():
        table = path / "samples" / f"{trace['name']}{TABLE}"
        if table.is_file():
            try:
                os.link(table, tables / table.name)
            except OSError:  # a file system without links
                shutil.copyfile(table, tables / table.name)
