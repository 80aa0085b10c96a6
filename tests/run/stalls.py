"""Whether the machine stalled during a repetition, by what the repetition itself recorded.

Tests of exact moments (a sender that is silent while it is stopped, an outage that loses packets)
prove nothing if the whole machine was stalled meanwhile: the emulator sent packets late, and the
sampler was late. Then, and only then, such a test is expected to fail. Many short stalls add up
like a long one: where the run itself finds that its emulator was too late to be trusted, so do the
tests.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

MOST_SECONDS = 0.05
"""Shorter than any interval that a test here depends on."""


def stalled_seconds(repetition: Path) -> float:
    """The largest departure error of the emulator, or delay of a sampler."""
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
    """The finding of the run that its emulator was too late to be trusted, if any."""
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
def unless_stalled(repetition: Path) -> Iterator[None]:
    """The assertions of the block must hold, unless the machine demonstrably stalled."""
    try:
        yield
    except AssertionError as error:
        stalled, late = stalled_seconds(repetition), found_too_late(repetition)
        message = str(error).splitlines()[0] if str(error) else "it failed"
        if stalled > MOST_SECONDS:
            pytest.xfail(f"the machine stalled for {stalled:.3f} s: {message}")
        if late is not None:
            pytest.xfail(f"{late}: {message}")
        raise
