"""``trustbed burst --report``.

The burstiness of one capture, or of several compared, as one self-contained HTML page.

Shows the models that ``trustbed burst --json`` prints, and measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trustbed.report import definitions, words
from trustbed.report.burst.chart_axes import Stream, whole_names
from trustbed.report.burst.html import COLUMNS, compared, row, section
from trustbed.report.burst.words import headline
from trustbed.report.html.elements import Provenance, inputs
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Row


def render(models: Sequence[Stream], about: Row) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` says.

    Version, command, started.
    """
    payload, called = Payload(), whole_names(models)
    files = [file for model in models for file in (model.get("capture") or {}).get("files") or ()]
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
        definitions=definitions.of("burst"),
        provenance=Provenance.of(about, inputs(files)),
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
        return (
            f"{words.counted(len(models), 'capture')}, equally bursty: {words.size(most)} on "
            "average."
        )
    return (
        f"Burstiness is between {words.size(least)} ({calm}) and {words.size(most)} ({wild}) "
        "on average."
    )


def write(path: Path, models: Sequence[Stream], about: Row) -> None:
    """The page as a file, complete or not at all."""
    text = render(models, about)
    with whole_file(path) as stream:
        stream.write(text)
