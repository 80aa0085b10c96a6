"""``trustbed burst --report``: the burstiness of one capture, or of several compared, as one self-contained HTML page.

Shows the models that ``trustbed burst --json`` prints, and measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.report import words
from trustbed.report.burst_words import headline
from trustbed.report.charts.burst_axes import Stream, whole_names
from trustbed.report.html.burst import COLUMNS, compared, row, section
from trustbed.report.html.burst_definitions import DEFINITIONS
from trustbed.report.html.model import Input, Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file


def render(models: Sequence[Stream], about: Mapping[str, Any]) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` says: version, command, started."""
    payload, called = Payload(), whole_names(models)
    several = len(models) > 1
    figures = compared(models, payload) if several else []
    bursts = [
        section(
            model,
            payload,
            anchor=f"burst-{number}",
            title=name if several else "How bursty is the traffic?",
        )
        for number, (model, name) in enumerate(zip(models, called, strict=True), start=1)
    ]
    return fill(
        "burst_page.html.j2",
        payload,
        title=", ".join(called[:3]) + (f" and {len(called) - 3} more" if len(called) > 3 else ""),
        summary=summary(models),
        bursts=bursts,
        columns=COLUMNS,
        rows=[row(name, model) for name, model in zip(called, models, strict=True)],
        figures=figures,
        definitions=DEFINITIONS,
        provenance=_provenance(models, about),
    )


def summary(models: Sequence[Stream]) -> str:
    """The page in one sentence."""
    if len(models) == 1:
        return headline(models[0])
    known = [
        (value, name)
        for name, model in zip(whole_names(models), models, strict=True)
        if (value := (model.get("summary") or {}).get("max_q_mean_bytes")) is not None
    ]
    if len(known) < 2:
        return f"{words.counted(len(models), 'capture')}, and too few packets to compare them."
    (least, calm), (most, wild) = min(known), max(known)
    if least == most:
        return f"{words.counted(len(models), 'capture')}, equally bursty: {words.buffer(most)} on average."
    return f"Burstiness is between {words.buffer(least)} ({calm}) and {words.buffer(most)} ({wild}) on average."


def _provenance(models: Sequence[Stream], about: Mapping[str, Any]) -> Provenance:
    files = [file for model in models for file in (model.get("capture") or {}).get("files") or ()]
    inputs = [
        Input(name=file.get("name") or "standard input", size_bytes=file.get("bytes"))
        for file in files
    ]
    return Provenance(
        version=about["version"],
        command=about.get("command"),
        started=about.get("started"),
        inputs=inputs,
    )


def write(path: Path, models: Sequence[Stream], about: Mapping[str, Any]) -> None:
    """The page as a file, complete or not at all."""
    text = render(models, about)
    with whole_file(path) as stream:
        stream.write(text)
