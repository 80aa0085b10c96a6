"""Transfers of ns-3's TCP on simulated paths: made, and judged at three capture points."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Final

from validation.external.answers import POINTS, about, answers
from validation.external.ns3.kinds import KINDS
from validation.external.ns3.make import Maker, write_truth
from validation.external.ns3.nets import FAR_SEEDS, PLAIN_SEEDS
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
    planned_ones = list(plan)
    missing = [one for one in planned_ones if maker.truth(*one) is None]
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
    found = (maker.truth(*one) for one in planned())
    write_truth(maker.directory / "truth.jsonl", (truth for truth in found if truth))
    return failed


def _made(maker: Maker, one: tuple[str, int]) -> bool:
    return maker.make(*one) is not None


def cases(maker: Maker, plan: Iterable[tuple[str, int]], workers: int) -> Iterator[Case]:
    """The product's answers about every transfer that was made, three of each."""
    truths = [truth for one in plan if (truth := maker.truth(*one)) is not None]
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
