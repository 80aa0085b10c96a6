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

from trustbed.diagnose.budget import is_known, use_of_path
from trustbed.diagnose.conditions import Case
from trustbed.findings.words import rate_words, seconds_words

FEATURES = (
    "largest share",
    "second share",
    "silence of the sender",
    "losses and marks",
    "use of the path",
    "r",
    "inflation",
    "packets in flight",
    "round trips",
    "RTT",
    "silences",
    "processor missed",
)
"""The features, in the order of a model's weights."""

MOST_FEATURE = 4.0
"""Standard deviations from the mean beyond which a feature weighs no more."""


def features_of(case: Case) -> tuple[float | None, ...]:
    """The features of a case, in the order of :data:`FEATURES`."""
    evidence, numbers = case.evidence, case.numbers
    duration, base = evidence.duration_seconds, evidence.rtt_base_seconds
    return (
        *_shares(case),
        use_of_path(evidence),
        numbers.ratio,
        _logarithm(numbers.rtt_inflation),
        _logarithm(numbers.packets_in_flight),
        _logarithm(duration / base) if duration and base else None,
        _logarithm(base),
        _logarithm((evidence.idle_periods or 0.0) + 1),
        evidence.processor_missed,
    )


def _shares(case: Case) -> tuple[float | None, float | None, float | None, float | None]:
    """The two largest shares of the budget, the sender's silences, and losses and marks."""
    if not is_known(case.evidence):
        return None, None, None, None
    budget = case.budget
    sender = budget.sender
    parts = (
        budget.peer,
        sender,
        budget.receiver,
        budget.outage,
        budget.window,
        budget.path,
        budget.loss,
        budget.start,
        budget.buffer,
    )
    first, second, *_ = sorted(parts, reverse=True)
    return first, second, sender, budget.loss


def _logarithm(value: float | None) -> float | None:
    return math.log10(value) if value is not None and value > 0 else None


QUANTITIES: Mapping[str, tuple[str, Callable[[float], str]]] = MappingProxyType(
    {
        "RTT": ("rtt_base_seconds", seconds_words),
        "throughput": ("throughput_bytes_per_second", rate_words),
        "duration": ("duration_seconds", seconds_words),
    }
)
"""What bounds the networks and transfers that were tried: fields, with the words for a value."""


def quantities_of(case: Case) -> dict[str, float]:
    """Those that are known, by name."""
    found = {name: getattr(case.evidence, field) for name, (field, _) in QUANTITIES.items()}
    return {name: value for name, value in found.items() if value is not None}
