"""How far a run is.

A line with the last transfer, what is left, and the outcomes of both halves of the families.

On a terminal the line replaces itself; elsewhere one in twenty is written, and every failure.
Counts include what earlier runs left in the directory. The time left is that of a calm machine,
stretched by how much longer than that the transfers so far took.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from validation.truth.families import HALVES, Half
from validation.truth.labels import network_of
from validation.truth.plan import Planned

_EVERY = 20
_MINUTE = 60.0
_ALWAYS = ("made", "invalid", "failed")


class Progress:
    """First :meth:`on_settled`, then :meth:`on_made` per transfer, :meth:`ends` at the end."""

    def __init__(
        self, missing: Iterable[Planned], *, minutes: float | None, stream: TextIO | None = None
    ) -> None:
        self._expected = {one.name: one.seconds for one in missing}
        self._left_seconds = self._whole_seconds = sum(self._expected.values())
        self._made = 0
        self._minutes = minutes
        self._outcomes: Counter[tuple[Half, str]] = Counter()
        self._is_waiting = False
        self._stream = stream or sys.stderr

    def on_settled(self, *, half: Half, outcome: str) -> None:
        """A transfer that was there before."""
        self._outcomes[half, outcome] += 1

    def on_made(self, stored: Mapping[str, Any], *, passed: float) -> None:
        """A transfer more, so many seconds after the beginning."""
        self._made += 1
        self._is_waiting = False
        self._left_seconds -= self._expected[stored["name"]]
        self._outcomes[network_of(stored).half, stored["outcome"]] += 1
        if (
            self._is_terminal
            or self._made % _EVERY == 0
            or self._made == len(self._expected)
            or stored["outcome"] == "failed"
        ):
            self._write(self.line(stored, passed=passed))

    def on_waiting(self, lost: float, left_seconds: float) -> None:
        """The machine is taken by others.

        0 seconds are left to wait when the last of them has passed.
        """
        if not left_seconds:
            self._write(
                f"others took {lost:.0%} of the machine at last; the time for waiting is "
                f"used up: going on, whatever they take"
            )
        elif self._is_terminal or not self._is_waiting:
            self._write(
                f"others take {lost:.0%} of the machine: waiting, {left_seconds:.0f} s more at most"
            )
        self._is_waiting = True

    def ends(self) -> None:
        """Leaves the line of a terminal."""
        if self._is_terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def line(self, stored: Mapping[str, Any], *, passed: float) -> str:
        """The line about a transfer."""
        is_made = stored["outcome"] == "made"
        came = (
            f"{stored['payload_bits_per_second'] / 1e6:.2f} Mbit/s"
            if is_made
            else f"{stored['outcome']}: {stored['reason']}"
        )
        left = (
            f"{passed / self._made:.1f} s each, about {self._left(passed) / _MINUTE:.0f} min left"
        )
        share = f"{self._made}/{len(self._expected)}"
        return f"{share}  {left}  {self._counts()}  {stored['name']}  {came}"

    def _left(self, passed: float) -> float:
        passed_seconds = self._whole_seconds - self._left_seconds
        left = (
            self._left_seconds * passed / passed_seconds if passed_seconds else self._left_seconds
        )
        return (
            left if self._minutes is None else min(left, max(0.0, self._minutes * _MINUTE - passed))
        )

    def _counts(self) -> str:
        return "  ".join(f"{half}: {self._of(half)}" for half in HALVES)

    def _of(self, half: Half) -> str:
        others = sorted(
            {outcome for theirs, outcome in self._outcomes if theirs == half} - set(_ALWAYS)
        )
        return ", ".join(
            f"{self._outcomes[half, outcome]} {outcome}" for outcome in (*_ALWAYS, *others)
        )

    @property
    def _is_terminal(self) -> bool:
        return self._stream.isatty()

    def _write(self, line: str) -> None:
        if self._is_terminal:
            self._stream.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()
