"""The report of a campaign as one self-contained HTML page.

Shows the model that ``trustbed report --json`` prints, and measures nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trustbed.report import campaign_words, words
from trustbed.report.html import campaign, campaign_definitions, campaign_figures
from trustbed.report.html.model import Input, Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file

Model = Mapping[str, Any]


def render(model: Model, about: Mapping[str, Any], *, text: str = "") -> str:
    """The page as a string; ``about`` says which version made it, with which command, and when; ``text`` is the campaign's file."""
    payload, told = Payload(), model["campaign"]
    sections = campaign.sections(model, payload)
    return fill(
        "campaign_page.html.j2",
        payload,
        title=told["name"],
        about=told["about"],
        summary=campaign_words.headline(model),
        standing=_standing(told),
        vitals=campaign.vitals(model),
        statements=campaign.statements(model),
        absences=[one for one in model["hosts"] if one["up"] is False],
        sections=sections,
        both_ends=campaign.both_ends(model),
        hours=campaign_figures.hours(model, payload),
        hours_words=campaign_words.hours(model["avoid"]),
        hosts=campaign.hosts(model),
        hosts_words=[
            *campaign_words.hosts(model["avoid"]),
            *campaign_words.absences(model["hosts"]),
        ],
        made=_made(told),
        text=text,
        definitions=campaign_definitions.DEFINITIONS,
        titles={
            definition.anchor: definition.term for definition in campaign_definitions.DEFINITIONS
        },
        moment=campaign_words.moment,
        provenance=Provenance(
            version=about["version"],
            command=about.get("command"),
            started=about.get("started"),
            inputs=[
                Input(
                    name=told["file"],
                    sha256=told["sha256"] or hashlib.sha256(text.encode()).hexdigest(),
                )
            ],
        ),
    )


def _standing(told: Mapping[str, Any]) -> str:
    state = campaign_words.state(told)
    began, last = (campaign_words.moment(told[name]) for name in ("began_ns", "last_ns"))
    return f"{state[0].upper()}{state[1:]}. Began {began}, last heard of {last}."


def _made(told: Mapping[str, Any]) -> str:
    windows = " and ".join(
        f"{words.buffer(size)} for {role}" for role, size in told["windows_bytes"].items()
    )
    more = (
        f", continued {words.counted(told['sessions'] - 1, 'time')}" if told["sessions"] > 1 else ""
    )
    return (
        f"Seed {told['seed']}, a round of every pair every {campaign_words.length(told['period_ns'])}, "
        f"{words.counted(told['pairs_at_once'], 'connection pair')} at once ({told['arrangement']}), sizes in {told['order']} order, "
        f"windows of {windows}{more}. Intervals are at {words.percent(told['confidence'])}."
    )


def write(path: Path, model: Model, about: Mapping[str, Any], *, text: str = "") -> None:
    """The page as a file, complete or not at all."""
    page = render(model, about, text=text)
    with whole_file(path) as stream:
        stream.write(page)
