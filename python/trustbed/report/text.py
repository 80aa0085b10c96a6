"""Text for a terminal: its width, wrapped lines, blocks and tables.

At most 100 columns and readable without colour. The same input gives the same text at the same
width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from trustbed.report.paint import Paint
from trustbed.report.records import Row

WIDEST = 100
NARROWEST = 60
INDENT = 9
"""Width of the column that holds a severity or a verdict."""
PLAIN = Paint()


def fitted(columns: int) -> int:
    """The width of the text on a terminal of so many columns."""
    return max(NARROWEST, min(columns, WIDEST))


def joined(*blocks: Iterable[str]) -> str:
    """Blocks of lines with an empty line between them; empty blocks are left out."""
    held = ["\n".join(block) for block in blocks]
    return "\n\n".join(block for block in held if block) + "\n"


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The lines of a paragraph, at least one; long words stay whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def marked(
    role: str, mark: str, text: str, width: int, paint: Paint, indent: int = INDENT
) -> Iterator[str]:
    """A paragraph beside a mark (a severity, a verdict), which has the colour of its role."""
    first, *rest = wrapped(text, width, f"{mark:<{indent}}", " " * indent)
    yield paint(role, first[:indent]) + first[indent:]
    yield from rest


def finding_lines(found: Row, width: int, paint: Paint, beside: str = "") -> Iterator[str]:
    """The message of a finding beside its severity."""
    return marked(found["severity"], found["severity"], found["message"] + beside, width, paint)


def indented(text: str, width: int) -> list[str]:
    """A paragraph below that of a finding."""
    return wrapped(text, width, " " * INDENT, " " * INDENT)


def cut(name: str, width: int) -> str:
    """A name in at most so many characters."""
    return name if len(name) <= width else name[: width - 1] + "…"


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    paint: Paint = PLAIN,
    *,
    width: int | None = None,
    left: int = 1,
    margin: str = "",
) -> Iterator[str]:
    """Columns as wide as they must be, the first ``left`` of them left-aligned.

    The last ones are left out where they do not fit into ``width``.
    """
    sizes = [max(len(row[index]) for row in (head, *rows)) for index in range(len(head))]
    room = None if width is None else width - len(margin)
    while room is not None and len(sizes) > 2 and sum(sizes) + 2 * (len(sizes) - 1) > room:
        sizes.pop()

    def line(cells: Sequence[str]) -> str:
        padded = [
            f"{cell:<{size}}" if index < left else f"{cell:>{size}}"
            for index, (cell, size) in enumerate(zip(cells, sizes, strict=False))
        ]
        return (margin + "  ".join(padded)).rstrip()

    yield paint("faint", line(head))
    for row in rows:
        yield line(row)
