"""Transfers of ns-3's TCP on simulated paths: made, and judged at three capture points."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from validation.external.answers import POINTS, about, answers
from validation.external.ns3.kinds import FAR_SEEDS, KINDS, PLAIN_SEEDS
from validation.external.ns3.make import Maker
from validation.external.score import Case

PART: Final = "ns3"
SEEDS: Final = tuple(
    first + number for number in range(1, 7) for first in (0, FAR_SEEDS, PLAIN_SEEDS)
)
"""A third of them of each family of networks."""


def planned(kinds: Sequence[str] | None = None) -> list[tuple[str, int]]:
    """Kinds and seeds of all transfers; one of each kind before the second of any."""
    chosen = [kind for kind in KINDS if kinds is None or kind in kinds]
    return [(kind, seed) for seed in SEEDS for kind in chosen]


def make(maker: Maker, plan: Iterable[tuple[str, int]], workers: int) -> int:
    """Makes what is not there; the number of transfers of which no draw came true.

    Raises:
        MissingError: The simulation cannot be built here.
    """
    missing = [one for one in plan if maker.truth(f"{one[0]}-{one[1]}") is None]
    if not missing:
        return 0
    maker.program()
    failed = 0
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for number, made in enumerate(pool.map(partial(_made, maker), missing), 1):
            failed += not made
            if sys.stderr.isatty():
                print(f"\r{number} of {len(missing)} simulated", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return failed


def _made(maker: Maker, one: tuple[str, int]) -> bool:
    return maker.make(*one) is not None


def cases(maker: Maker, plan: Iterable[tuple[str, int]], workers: int) -> Iterator[Case]:
    """The product's answers about every transfer that was made, three of each."""
    names = [f"{kind}-{seed}" for kind, seed in plan]
    truths = [truth for name in names if (truth := maker.truth(name)) is not None]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for found in pool.map(partial(_judged, maker), truths):
            yield from found


def _judged(maker: Maker, truth: Mapping[str, Any]) -> list[Case]:
    found = []
    for point in POINTS:
        elsewhere = "_elsewhere" if point != "sender" and "causes_elsewhere" in truth else ""
        said = about(answers(maker.file(truth["name"], point), point), truth["sender"])
        found.append(
            Case.of(
                said,
                part=PART,
                name=truth["name"],
                kind=truth["kind"],
                family=truth["family"],
                point=point,
                accepted=truth[f"causes{elsewhere}"],
                verdicts=truth[f"verdicts{elsewhere}"],
            )
        )
    return found


def holds_any(directory: Path) -> bool:
    """Whether some transfer was made before."""
    return next(Maker(directory).all(), None) is not None
