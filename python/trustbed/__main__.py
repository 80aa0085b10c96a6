"""The program: ``trustbed`` and ``python -m trustbed``.

It has a process to itself, and spares it what libraries load without need.

The table library looks for pandas whenever a list becomes a column, and for numpy when it is
loaded: both take longer to load than most captures to judge. Neither is used here. Whoever imports
:mod:`trustbed` keeps both as they are.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from types import ModuleType

from trustbed.cli import main


class WithoutNumbers:
    """Finds numpy and pandas nowhere."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """As if it were not installed."""
        if name in ("numpy", "pandas"):
            raise ModuleNotFoundError(f"this program does without {name}", name=name)


def program() -> int:
    """Runs the command line in a process of its own."""
    sys.meta_path.insert(0, WithoutNumbers())
    # Judging makes rows by the thousand, and no cycles: those are looked for less often.
    gc.set_threshold(50_000)
    return main()


if __name__ == "__main__":
    sys.exit(program())
