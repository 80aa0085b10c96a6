"""``trustbed explain``: why one transfer was judged as it was."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustbed.cli import FINE, arguments
from trustbed.cli.analyze import describe, read

if TYPE_CHECKING:
    from trustbed.capture import Capture


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(arguments.explain_parser(), words)
    arguments.check_explain(options)
    capture, _ = read(options)
    try:
        transfer = capture.transfer(options.transfer)
    except KeyError:
        raise arguments.Complaint(
            f"no transfer {options.transfer}, {capture.question.name}", _those_there(capture)
        ) from None
    if options.json:
        document = {
            "trustbed": describe(words, "explain"),
            "transfer": transfer.row,
            "explanation": transfer.explain().split("\n"),
        }
        json.dump(document, sys.stdout, ensure_ascii=False, allow_nan=False, indent=1)
        sys.stdout.write("\n")
        return FINE
    from trustbed.report import explanation, paint

    columns = (
        shutil.get_terminal_size((explanation.WIDEST, 24)).columns
        if sys.stdout.isatty()
        else explanation.WIDEST
    )
    painter = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
    sys.stdout.write(
        explanation.render(transfer.row, transfer.explain(), columns=columns, paint=painter)
    )
    return FINE


def _those_there(capture: Capture) -> str:
    names = [row["transfer"] for row in capture.overview.transfers[:5]]
    if not names:
        return "no transfer of this capture was long enough to judge"
    return f"its transfers are named in trustbed analyze, for example {', '.join(names)}"
