"""An interface measured while traffic passes.

What is remembered of its windows, and the forms in which that is shown.

The engine (``trustbed._core.Watch``) captures and measures; this package keeps totals and the
latest windows (:class:`History`), draws them (:mod:`~trustbed.watch.view`,
:mod:`~trustbed.watch.screen`) and serves them to scrapers (:mod:`~trustbed.watch.openmetrics`,
:mod:`~trustbed.watch.scrape`). It judges nothing.
"""

from __future__ import annotations

from trustbed.watch.engine import Window
from trustbed.watch.history import DIRECTIONS, Direction, History

__all__ = ["DIRECTIONS", "Direction", "History", "Window"]
