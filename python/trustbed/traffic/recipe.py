"""Variants of a model: the steps that stand in its file, and what they come to together.

The names of the study's variants (Vishwanath and Vahdat, USENIX ATC 2008, section 3.3) are among
the ones that :func:`named` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trustbed.traffic.model import Model, ModelError, Step

CHANGES: Mapping[str, str] = {
    "sessions": "number of sessions × value",
    "responses": "bytes of responses × value",
    "requests": "bytes of requests × value",
    "think": "user think times, of pairs and of exchanges, × value",
    "rtt": "round trips × value",
    "rtt_ms": "every round trip in ms, half of it on each side's access link",
    "access_rate": "rate of all access links in bit/s",
}
"""What a step can change."""

_MOST_FACTOR = 1e6
"""By how much a step can multiply or divide."""

NAMED: Mapping[str, tuple[Step, ...]] = {
    "RSP2": (Step("responses", 2.0),),
    "RSP4": (Step("responses", 4.0),),
    "HB": (Step("rtt_ms", 4.0),),
    "Traffic1": (Step("think", 0.0),),
    "Traffic2": (Step("access_rate", 2e6),),
}
"""The variants of the study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What all steps of a model come to."""

    sessions: float = 1.0
    responses: float = 1.0
    requests: float = 1.0
    think: float = 1.0
    rtt: float = 1.0
    rtt_ms: float | None = None
    access_rate: float | None = None


def named(name: str) -> tuple[Step, ...]:
    """The steps of a variant of the study.

    Raises:
        ModelError: There is none of that name.
    """
    for known, steps in NAMED.items():
        if known.lower() == name.lower():
            return steps
    raise ModelError(f"no variant is called {name}", f"there are: {', '.join(NAMED)}")


def vary(model: Model, **changes: float) -> Model:
    """The model with further steps.

    Raises:
        ModelError: An unknown change, or a value that cannot be.
    """
    steps = tuple(Step(change, float(value)) for change, value in changes.items())
    for step in steps:
        check(step)
    return model.with_steps(*steps)


def check(step: Step) -> None:
    """Refuses what cannot be.

    Raises:
        ModelError: An unknown change, or a value that cannot be.
    """
    if step.change not in CHANGES:
        raise ModelError(
            f"a model has no {step.change} to change", f"there are: {', '.join(CHANGES)}"
        )
    least_is_allowed = step.change in ("think", "rtt", "rtt_ms")
    most = 1e15 if step.change in ("rtt_ms", "access_rate") else _MOST_FACTOR
    least = 0.0 if step.change in ("rtt_ms", "access_rate") else 1 / _MOST_FACTOR
    fits = (step.value == 0 and least_is_allowed) or (
        least <= step.value <= most and step.value > 0
    )
    if not fits:
        raise ModelError(
            f"{step.change} of {step.value:g} is impossible",
            f"{CHANGES[step.change]}: {'0 or more' if least_is_allowed else 'above 0'}"
            f"{f', {least:g} to {most:g}' if least else ''}",
        )


def variant(model: Model) -> Variant:
    """What the steps of a model come to: factors multiply, of absolute values the last counts.

    Raises:
        ModelError: A step that cannot be (the file was written by another program).
    """
    found: dict[str, float | None] = {}
    for step in model.header.recipe:
        check(step)
        if step.change == "rtt":
            before = found.get("rtt_ms")
            if before is not None:
                found["rtt_ms"] = before * step.value
                continue
        if step.change == "rtt_ms":
            found.pop("rtt", None)
        if step.change in ("rtt_ms", "access_rate"):
            found[step.change] = step.value
        else:
            before = found.get(step.change)
            found[step.change] = step.value if before is None else before * step.value
    return Variant(**found)  # type: ignore[arg-type] # floats but for the two absolute ones
