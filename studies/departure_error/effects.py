"""What a disturbance did to a transfer, against its undisturbed twins of the same seed. Pure.

Twins are compared with each other in the same way, each with the median of the others: that is the
noise, and nothing counts as harm that is no larger than the largest deviation among a case's own
twins.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HARM = 0.05
"""Relative change of throughput or median round trip from which on a result is wrong."""
UNASKED_NS = 3_000_000
"""Largest departure error, beyond the injected stops, of a valid trial.

A larger one is the machine's doing: the trial is repeated.
"""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A transfer against the median of its twins. Relative changes are signed."""

    throughput: float
    rtt_p50: float
    rtt_p99: float
    retransmitted: float
    cause_changed: bool
    verdict_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The largest deviations among the twins of a case, with their causes and verdicts."""

    twins: int
    throughput: float
    rtt_p50: float
    rtt_p99: float
    causes: Mapping[str | None, int]
    verdicts: Mapping[str | None, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A transfer under a disturbance: how late its link was, and what that did to it."""

    seed: int
    case: str
    stop_ms: float | None
    every_ms: int | None
    late: Mapping[str, float]
    change: Change
    harmful: bool
    clean: bool


def is_clean(row: Row) -> bool:
    """Whether a trial shows nothing but what was done to the emulator."""
    return bool(row["unasked_max_ns"] <= UNASKED_NS)


def outcomes(rows: Sequence[Row]) -> tuple[list[Outcome], dict[tuple[int, str], Noise]]:
    """Every transfer of every trial, and the noise of every seed and case.

    Twins are included, as undisturbed transfers.
    """
    found: list[Outcome] = []
    noises: dict[tuple[int, str], Noise] = {}
    for seed, case in sorted({(row["seed"], case) for row in rows for case in row["cases"]}):
        of_case = [
            (row, row["cases"][case])
            for row in rows
            if row["seed"] == seed and case in row["cases"]
        ]
        twins = [each["got"] for row, each in of_case if row["stop_ms"] is None and is_clean(row)]
        if len(twins) < 3:
            continue  # nothing to compare with yet
        noise = noises[seed, case] = _noise(twins)
        for row, each in of_case:
            others = (
                twins
                if row["stop_ms"] is not None
                else [twin for twin in twins if twin is not each["got"]]
            )
            change = _change(each["got"], others)
            late = each["late"]
            clean = is_clean(row)
            harmful = _harmful(change, noise) and not (clean and row["stop_ms"] is None)
            found.append(
                Outcome(seed, case, row["stop_ms"], row["every_ms"], late, change, harmful, clean)
            )
    return found, noises


def _change(got: Row, twins: Sequence[Row]) -> Change:
    def relative(key: str) -> float:
        usual = statistics.median(twin[key] for twin in twins)
        return float(got[key] / usual - 1) if usual else 0.0

    return Change(
        throughput=relative("throughput"),
        rtt_p50=relative("rtt_p50_ns"),
        rtt_p99=relative("rtt_p99_ns"),
        retransmitted=float(
            got["retransmitted"] - statistics.median(twin["retransmitted"] for twin in twins)
        ),
        cause_changed=got["cause"] not in {twin["cause"] for twin in twins},
        verdict_changed=got["verdict"] not in {twin["verdict"] for twin in twins},
    )


def _noise(twins: Sequence[Row]) -> Noise:
    changes = [_change(twin, [other for other in twins if other is not twin]) for twin in twins]
    return Noise(
        twins=len(twins),
        throughput=max(abs(change.throughput) for change in changes),
        rtt_p50=max(abs(change.rtt_p50) for change in changes),
        rtt_p99=max(abs(change.rtt_p99) for change in changes),
        causes=_counted(twin["cause"] for twin in twins),
        verdicts=_counted(twin["verdict"] for twin in twins),
    )


def _counted(words: Iterable[str | None]) -> Mapping[str | None, int]:
    return Counter(words)


def _harmful(change: Change, noise: Noise) -> bool:
    return (
        abs(change.throughput) > max(HARM, noise.throughput)
        or abs(change.rtt_p50) > max(HARM, noise.rtt_p50)
        or change.cause_changed
    )
