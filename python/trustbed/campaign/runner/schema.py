"""JSON Schemas of a campaign's files and of its agents' answers, made from the types.

``python -m trustbed.campaign.runner.schema`` writes them to ``schema.json`` beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from trustbed.campaign import answers, records
from trustbed.campaign.runner import journal
from trustbed.campaign.runner.directory import Manifest

FILE = Path(__file__).with_name("schema.json")
TYPES = (
    Manifest,
    records.RoundRecord,
    records.JudgedRound,
    journal.Line,
    answers.Pinged,
    answers.Opened,
    answers.Started,
    answers.Sent,
    answers.Received,
    answers.Reflected,
    answers.Probed,
    answers.Estimated,
)


def _answer(form: type) -> dict[str, str]:
    """An answer is stored whole; the fields that are read have a schema of their own."""
    return {"type": "object"}


def text() -> str:
    """The schemas as one JSON document: ``types`` and the ``$defs`` that they refer to."""
    types, definitions = msgspec.json.schema_components(TYPES, schema_hook=_answer)
    document = {"types": list(types), "$defs": definitions}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
