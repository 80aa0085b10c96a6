"""The terminal that output goes to: its width and whether it shows colours."""

from __future__ import annotations

import shutil
import sys

from trustbed.report.paint import Paint, enabled


def width(widest: int) -> int:
    """Columns to use on standard output: the terminal's, or ``widest`` for a file or a pipe."""
    return shutil.get_terminal_size((widest, 24)).columns if sys.stdout.isatty() else widest


def paint(*, no_color: bool) -> Paint:
    """Colours for standard output, if it is a terminal that shows them."""
    return Paint(enabled(sys.stdout, never=no_color))
