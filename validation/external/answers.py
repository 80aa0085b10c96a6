"""The product's answers about the transfers of one capture.

A capture is analysed alone, with its capture point given, as a user who knows where it was taken
would do it. Nothing else about it is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import trustbed

Point: TypeAlias = Literal["sender", "middle", "receiver"]
POINTS: tuple[Point, ...] = ("sender", "middle", "receiver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said about one transfer.

    ``sender`` and ``receiver`` are address and port; ``others`` are the other causes that the
    packets allow, where the answer is a set.
    """

    sender: str
    receiver: str
    bytes: int
    cause: str
    others: tuple[str, ...]
    verdict: str
    confidence: float | None
    exchanges_lossy: int | None = None
    exchanges_bucket_empty: int | None = None
    """Exchanges that lost packets, and those whose losses an empty bucket explains."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every cause that the answer names."""
        return (self.cause, *self.others)


def answers(capture: Path, at: Point) -> list[Answer]:
    """The answers about every transfer of a capture."""
    found = trustbed.analyze(capture, at=at, workers=1)
    return [_answer(row) for row in found.rows()]


def about(said: Iterable[Answer], sender: str) -> Answer | None:
    """The answer about the transfer of this sender: the one with most bytes."""
    own = [answer for answer in said if answer.sender == sender]
    return max(own, key=lambda answer: answer.bytes, default=None)


def _answer(row: dict[str, Any]) -> Answer:
    return Answer(
        sender=f"{row['src']}:{row['src_port']}",
        receiver=f"{row['dst']}:{row['dst_port']}",
        bytes=row["unique_bytes"],
        cause=row["cause"],
        others=tuple(
            other["cause"] for other in row["alternatives"] if other["cause"] != row["cause"]
        ),
        verdict=row["verdict"],
        confidence=row["confidence"],
        exchanges_lossy=row["exchanges_lossy"],
        exchanges_bucket_empty=row["exchanges_bucket_empty"],
    )
