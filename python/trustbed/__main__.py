"""The program: ``trustbed`` and ``python -m trustbed``.

It has a process to itself, and spares it what libraries load without need.

The table library looks for pandas whenever a list becomes a column, and for numpy when it is
loaded: both take longer to load than most captures to judge. Neither is used here, but for numpy by
``trustbed ui``. Whoever imports :mod:`trustbed` keeps both as they are.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from types import ModuleType

from trustbed.cli import main


class WithoutNumbers:
    """Finds these modules nowhere."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """As if it were not installed."""
        if name in self._names:
            raise ModuleNotFoundError(f"this program does without {name}", name=name)


def program() -> int:
    """Runs the command line in a process of its own."""
    numbers = () if sys.argv[1:2] == ["ui"] else ("numpy",)
    sys.meta_path.insert(0, WithoutNumbers(*numbers, "pandas"))
    # Judging makes rows by the thousand, and no cycles: those are looked for less often.
    gc.set_threshold(50_000)
    return main()


if __name__ == "__main__":
    sys.exit(program())
