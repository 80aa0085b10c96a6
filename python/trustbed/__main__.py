"""The program: ``trustbed`` and ``python -m trustbed``.

It has a process to itself, and spares it what libraries load without need.

The table library looks for pandas whenever a list becomes a column, and loading it takes longer
than most captures; its numeric library starts threads that spin. Neither is used here. Whoever
imports :mod:`trustbed` keeps both as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType

from trustbed.cli import main


class WithoutPandas:
    """Finds pandas nowhere."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """As if it were not installed."""
        if name == "pandas":
            raise ModuleNotFoundError("this program does without pandas", name=name)


def program() -> int:
    """Runs the command line in a process of its own."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, WithoutPandas())
    return main()


if __name__ == "__main__":
    sys.exit(program())
