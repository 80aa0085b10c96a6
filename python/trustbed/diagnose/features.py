"""What the confidence of a diagnosis may depend on, beside its rule: margins, costs and the path.

Each feature is one number of a case. Where it is unknown it says nothing: ``None`` takes the mean
of what was seen.

Bias: ratios are logarithms, so that twice and half weigh alike; none is bounded here, because
:mod:`trustbed.diagnose.calibration` states nothing outside the range of what was tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from trustbed.diagnose.budget import Budget, is_known, use_of_path
from trustbed.diagnose.conditions import Case
from trustbed.findings.words import rate_words, seconds_words

Measured = Callable[[Case], float | None]


def _logarithm(value: float | None) -> float | None:
    return math.log10(value) if value is not None and value > 0 else None


def _largest(case: Case, place: int) -> float | None:
    """The largest shares of the budget, by place from 0."""
    if not is_known(case.evidence):
        return None
    shares = Budget.of(case.evidence)
    parts = (
        shares.peer,
        shares.sender,
        shares.receiver,
        shares.outage,
        shares.window,
        shares.path,
        shares.loss,
        shares.start,
        shares.buffer,
    )
    return sorted(parts, reverse=True)[place]


def _round_trips(case: Case) -> float | None:
    duration, base = case.evidence.duration_seconds, case.evidence.rtt_base_seconds
    return _logarithm(duration / base) if duration and base else None


def _silence(case: Case) -> float | None:
    return Budget.of(case.evidence).sender if is_known(case.evidence) else None


def _lost_time(case: Case) -> float | None:
    return Budget.of(case.evidence).loss if is_known(case.evidence) else None


FEATURES: Mapping[str, Measured] = MappingProxyType(
    {
        "largest share": lambda case: _largest(case, 0),
        "second share": lambda case: _largest(case, 1),
        "silence of the sender": _silence,
        "losses and marks": _lost_time,
        "use of the path": lambda case: use_of_path(case.evidence),
        "r": lambda case: case.numbers.ratio,
        "inflation": lambda case: _logarithm(case.numbers.rtt_inflation),
        "packets in flight": lambda case: _logarithm(case.numbers.packets_in_flight),
        "round trips": _round_trips,
        "RTT": lambda case: _logarithm(case.evidence.rtt_base_seconds),
        "silences": lambda case: _logarithm((case.evidence.idle_periods or 0.0) + 1),
        "processor missed": lambda case: case.evidence.processor_missed,
    }
)
"""The features, in the order of a model's weights."""

MOST_FEATURE = 4.0
"""Standard deviations from the mean beyond which a feature weighs no more."""


def features_of(case: Case) -> tuple[float | None, ...]:
    """The features of a case, in the order of :data:`FEATURES`."""
    return tuple(measured(case) for measured in FEATURES.values())


QUANTITIES: Mapping[str, tuple[Measured, Callable[[float], str]]] = MappingProxyType(
    {
        "RTT": (lambda case: case.evidence.rtt_base_seconds, seconds_words),
        "throughput": (lambda case: case.evidence.throughput_bytes_per_second, rate_words),
        "duration": (lambda case: case.evidence.duration_seconds, seconds_words),
    }
)
"""What bounds the networks and transfers that were tried, with the words for a value."""


def quantities_of(case: Case) -> dict[str, float]:
    """Those that are known, by name."""
    found = {name: measured(case) for name, (measured, _) in QUANTITIES.items()}
    return {name: value for name, value in found.items() if value is not None}
