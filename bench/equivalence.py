"""Known differences between two testbeds: found at the right level, and only there?

Repetitions are drawn, so the truth is known. Means and spreads are those that ten repetitions of
`ab` with 500-byte objects had in the published study (*Virtually the Same*, Tables I, IV, VI, VII):
requests/s ±0.7 % (its 95 % half-width 74.3 of 14,420 is a standard deviation of 104), reads per
request without a published spread (3 % here), packets per request 5.00 with a standard deviation of
0.08, jitter 0.26 ms with a half-width of 0.03 (a standard deviation of 0.042). Metrics of a level
go together as they do in a capture: packets of both directions and their total share one deviate.
The judgement is the product's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench import ablation
from bench.speed import Target
from trustbed.compare.judge import CaseValues, Rules, Values, judge
from trustbed.compare.model import LEVELS, Level

REPETITIONS = 10
TRIES = 200
"""Of each made difference, and of equal testbeds."""
RULES = Rules(forecast=False)

Drawn = dict[str, float]


def _with_requests(drawn: Drawn) -> None:
    drawn["requests_per_second"] *= 0.88
    drawn["response_median_seconds"] /= 0.88


def _with_read(drawn: Drawn) -> None:
    drawn["reads"] += 1
    drawn["system_calls"] += 1


def _with_packets(drawn: Drawn) -> None:
    for key in drawn:
        if key.startswith("packets"):
            drawn[key] *= 1.05


def _with_jitter(drawn: Drawn) -> None:
    drawn["jitter_seconds"] += 0.002


MADE: Mapping[str, tuple[Level, Callable[[Drawn], None]]] = {
    "12 % fewer requests": ("application", _with_requests),
    "one more read per request": ("system_calls", _with_read),
    "5 % more packets": ("network", _with_packets),
    "2 ms more jitter": ("delay", _with_jitter),
}
"""Made differences, the level at which each is, and what it does to a repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Of so many tries: how often the right level was different, and no other was."""

    tries: int
    right: int
    elsewhere: int

    @property
    def share(self) -> float:
        """The share of tries in which only the right level was different."""
        return self.right / self.tries


def repetition(chosen: random.Random) -> Drawn:
    """One repetition of a testbed."""
    rate = 14_420 * (1 + chosen.gauss(0, 0.0072))
    reads = 1.34 * (1 + chosen.gauss(0, 0.03))
    calls = 11.0 * (1 + chosen.gauss(0, 0.01)) + reads
    shared = chosen.gauss(0, 0.016)
    to_server, from_server = (
        5.0 * (1 + shared + chosen.gauss(0, 0.002)),
        5.0 * (1 + shared + chosen.gauss(0, 0.002)),
    )
    packets = {"to_server": to_server, "from_server": from_server}
    return {
        "requests_per_second": rate,
        "response_median_seconds": 10 / rate * (1 + chosen.gauss(0, 0.004)),
        "system_calls": calls,
        "reads": reads,
        "context_switches": 1.1 * (1 + chosen.gauss(0, 0.05)),
        "block_io": max(0.0, chosen.gauss(0.002, 0.001)),
        "sent_bytes": 780.0 * (1 + abs(chosen.gauss(0, 0.0005))),
        **{f"packets_{name}_wire": count for name, count in packets.items()},
        **{f"packets_{name}_captured": count for name, count in packets.items()},
        "packets_wire": to_server + from_server,
        "packets_captured": to_server + from_server,
        "retransmissions": max(0.0, chosen.gauss(0.0004, 0.0004)),
        "jitter_seconds": abs(chosen.gauss(0.00026, 0.000042)),
    }


def different_levels(seed: str, change: Callable[[Drawn], None] | None) -> set[Level]:
    """The levels that one comparison of ten repetitions each calls different."""
    chosen = random.Random(seed)
    sides: list[dict[str, list[float]]] = [{}, {}]
    for side, values in enumerate(sides):
        for _ in range(REPETITIONS):
            drawn = repetition(chosen)
            if side and change is not None:
                change(drawn)
            for key, value in drawn.items():
                values.setdefault(key, []).append(value)
    reference, candidate = (
        Values(testbed=name, metrics=values) for name, values in zip(("a", "b"), sides, strict=True)
    )
    cases, _ = judge([CaseValues(label="", reference=reference, candidates=[candidate])], RULES)
    levels = cases[0].candidates[0].levels
    return {one.level for one in levels if one.verdict == "different"}


def same(tries: int = TRIES) -> int:
    """In how many comparisons of a testbed with itself any level was called different."""
    return sum(bool(different_levels(f"same {number}", None)) for number in range(tries))


def known(tries: int = TRIES) -> dict[str, Found]:
    """Of each made difference: where it was found."""
    found = {}
    for name, (level, change) in MADE.items():
        seen = [different_levels(f"{name} {number}", change) for number in range(tries)]
        found[name] = Found(
            tries=tries,
            right=sum(one == {level} for one in seen),
            elsewhere=sum(bool(one - {level}) for one in seen),
        )
    return found


def lines(equal: int, found: Mapping[str, Found], tries: int = TRIES) -> list[str]:
    """What was measured, a line each."""
    right, made = ablation.named()
    said = [f"{equal} of {tries} comparisons of a testbed with itself were called different"]
    said += [
        f"{name}: {one.right} of {one.tries} at its level ({LEVEL_OF[name]}) only, "
        f"{one.elsewhere} elsewhere too"
        for name, one in found.items()
    ]
    said.append(f"{right} of {made} changed settings were named by the ablation")
    return said


LEVEL_OF = {
    name: LEVELS[LEVELS.index(level)].replace("_", " ") for name, (level, _) in MADE.items()
}


def targets(equal: int, found: Mapping[str, Found], tries: int = TRIES) -> list[Target]:
    """The figures beside what they should be."""
    right, _ = ablation.named()
    return [
        Target(what="equivalence: changed settings named, of ten", value=right, lower=9),
        Target(
            what="equivalence: A against A called different",
            value=100 * equal / tries,
            limit=5,
            unit="%",
        ),
        *(
            Target(
                what=f"equivalence: {name} found at its level only",
                value=100 * one.share,
                lower=95,
                unit="%",
            )
            for name, one in found.items()
        ),
    ]
