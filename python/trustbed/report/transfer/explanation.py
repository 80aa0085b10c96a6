"""``trustbed explain`` as text.

The explanation's lines, headed by the transfer and folded to the width of the terminal.
"""

from __future__ import annotations

import re
import textwrap

from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import PLAIN, fitted
from trustbed.report.text import WIDEST as WIDEST

_MARK = re.compile(r"^ *(?:→ |– |[+-]\d\.\d\d |= )?")


def render(row: Row, explanation: str, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The explanation with a newline at its end."""
    width = fitted(columns)
    headline, *lines = explanation.split("\n")
    amounts = ", ".join(
        (
            words.size(row.get("unique_bytes")),
            words.duration(row.get("duration_seconds")),
            words.rate(row.get("throughput_bytes_per_second")),
        )
    )
    out = [*_folded(f"{words.endpoints(row)}  ({amounts})  transfer {row['transfer']}", width), ""]
    out += [
        paint(row["verdict"], line) for line in _folded(headline[:1].upper() + headline[1:], width)
    ]
    for line in lines:
        folded = _folded(line, width)
        out += (
            [paint("strong", text) for text in folded]
            if line and not line.startswith((" ", "cause "))
            else folded
        )
    return "\n".join(out) + "\n"


def _folded(line: str, width: int) -> list[str]:
    found = _MARK.match(line)
    hang = " " * (len(found.group()) if found else 0)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=hang + ("  " if hang else ""),
        drop_whitespace=True,
        break_on_hyphens=False,
    ) or [""]
