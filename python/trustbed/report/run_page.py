"""The report of a run as one self-contained HTML page.

Shows the model that ``trustbed report --json`` prints, and measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trustbed.report import run_words, words
from trustbed.report.html import run, run_definitions, run_figures
from trustbed.report.html.model import Input, Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file

Model = Mapping[str, Any]


def render(model: Model, about: Mapping[str, Any], *, scenario: str = "") -> str:
    """The page as a string; ``about`` says which version made it, with which command, and when; ``scenario`` is the scenario's text."""
    payload, told = Payload(), model["run"]
    sections = run.sections(model, payload)
    losses = run_figures.losses(model, payload)
    queues, unusable = run.queues(model, payload), run.unusable(model)
    return fill(
        "run_page.html.j2",
        payload,
        title=told["name"] or told["folder"],
        about=told["about"],
        summary=run_words.headline(model),
        standing=" ".join(
            part for part in (run_words.assurance(model), run_words.standing(model)) if part
        ),
        complete=told["complete"],
        vitals=run.vitals(model),
        sections=sections,
        backgrounds=run.backgrounds(model),
        losses=losses,
        queues=queues,
        applied=any(pair.above is not None for pair in queues),
        queues_left_out=len(model["cells"]) - len(queues),
        unusable=unusable,
        unusable_left_out=sum(one["use"] != "missing" for one in run_words.unusable(model))
        - len(unusable),
        gathered=run_words.gathered(model["repetitions"]),
        repetitions=run.repetitions(model),
        pipes=run.pipes(model),
        made=_made(told),
        host=_host(model["host"]),
        scenario=scenario,
        file=told["file"] or "scenario.toml",
        definitions=run_definitions.DEFINITIONS,
        titles={definition.anchor: definition.term for definition in run_definitions.DEFINITIONS},
        provenance=_provenance(told, about),
    )


def _made(told: Mapping[str, Any]) -> str:
    sessions = told["sessions"]
    began = (
        f", begun on {sessions[0]['started']}" if sessions and sessions[0].get("started") else ""
    )
    more = f", continued {words.counted(len(sessions) - 1, 'time')}" if len(sessions) > 1 else ""
    return f"Seed {told['seed']}{began}{more}. The same scenario with the same seed carries out the same cells in the same order."


def _host(host: Mapping[str, Any]) -> str:
    """What is known of the machine, in one line: what decides how well it can emulate, and nothing that only it is called."""
    kernel = re.match(r"\d+\.\d+", str(host.get("kernel") or ""))
    cores, memory, load = (
        host.get("processors_allowed"),
        host.get("memory_bytes"),
        host.get("load_1min"),
    )
    parts = [
        f"{host.get('system') or 'kernel'} {kernel[0]}" if kernel else "",
        str(host.get("processor") or ""),
        words.counted(cores, "processor") if cores else "",
        f"{words.size(memory)} of memory" if memory else "",
        f"clock {host['clock_source']}" if host.get("clock_source") else "",
        f"load {load:.1f} at the beginning" if isinstance(load, float) else "",
    ]
    return " · ".join(part for part in parts if part)


def _provenance(told: Mapping[str, Any], about: Mapping[str, Any]) -> Provenance:
    inputs = [Input(name=told["file"] or "scenario.toml", sha256=told["sha256"])]
    inputs += [
        Input(name=one["file"], size_bytes=one.get("bytes"), sha256=one.get("sha256"))
        for one in told["inputs"]
    ]
    return Provenance(
        version=about["version"],
        command=about.get("command"),
        started=about.get("started"),
        inputs=inputs,
    )


def write(path: Path, model: Model, about: Mapping[str, Any], *, scenario: str = "") -> None:
    """The page as a file, complete or not at all."""
    text = render(model, about, scenario=scenario)
    with whole_file(path) as stream:
        stream.write(text)
