"""Errors in a scenario: the file, the line, the key, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from trustbed.errors import TrustbedError


class ScenarioError(TrustbedError):
    """A scenario that cannot be run.

    ``message`` names the position and the problem, ``hint`` the remedy.
    """

    def __init__(
        self,
        message: str,
        hint: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str = "",
    ) -> None:
        where = [str(file)] if file is not None else []
        where += [f"line {line}"] if line is not None else []
        where += [key] if key else []
        super().__init__(f"{', '.join(where)}: {message}" if where else message, hint)
        self.file = file
        self.line = line
        self.key = key


def nearest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion: the nearest known word, or all of them if none is near."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    return otherwise or (f"known here: {', '.join(names)}" if names else "there is none yet")


def misspelt(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one stands for.

    One letter in six may differ, or the order of letters.
    """
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.8)
    return near[0] if near else next((name for name in names if sorted(name) == sorted(word)), None)
