"""Whether the machine stood still during a repetition, by what the repetition itself recorded.

What a test says of moments (a sender that is silent while it stands, an outage that loses packets)
is not shown by a repetition in which the whole machine was withheld in between: its emulator held
packets back, its sampler came late. Then, and only then, a test that fails is expected to. Many
short moments add up as one long does: where the run itself says that its emulator was too late to
be trusted, so do we.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

MOST_SECONDS = 0.05
"""Shorter than any moment that a test here looks at."""


def stood_seconds(repetition: Path) -> float:
    """By how much the emulator's packets or the samplers were late at most."""
    record = json.loads((repetition / "repetition.json").read_text(encoding="utf-8"))
    late = [(record["emulator"] or {}).get("departure_error", {}).get("max_ns") or 0]
    samples = repetition / "samples" / "machine.parquet"
    if samples.is_file():
        late += [
            value or 0
            for value in pyarrow.parquet.read_table(samples, columns=["late_ns"])
            .column("late_ns")
            .to_pylist()
        ]
    return max(late) / 1e9


def found_too_late(repetition: Path) -> str | None:
    """What the run says of an emulator that is not to be trusted."""
    findings = json.loads((repetition / "findings.json").read_text(encoding="utf-8"))["findings"]
    return next(
        (
            one["message"]
            for one in findings
            if one["code"] == "run_emulator_late" and one["severity"] == "error"
        ),
        None,
    )


@contextlib.contextmanager
def unless_it_stood(repetition: Path) -> Iterator[None]:
    """What is claimed in the block must hold, unless the machine demonstrably stood still."""
    try:
        yield
    except AssertionError as error:
        stood, late = stood_seconds(repetition), found_too_late(repetition)
        said = str(error).splitlines()[0] if str(error) else "it failed"
        if stood > MOST_SECONDS:
            pytest.xfail(f"the machine stood still for {stood:.3f} s: {said}")
        if late is not None:
            pytest.xfail(f"{late}: {said}")
        raise
