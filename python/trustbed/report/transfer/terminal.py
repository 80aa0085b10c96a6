"""The verdicts as text for a terminal.

At most 100 columns, the worst first, readable without colour.

Order: what was read; what is wrong with the capture, because it limits everything below; the judged
transfers with the numbers that decided; what was too short; what to do next. The same capture gives
the same text at the same width.
"""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.diagnose.time_budget import Shares
from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import INDENT, PLAIN, finding_lines, fitted, joined, wrapped
from trustbed.report.text import WIDEST as WIDEST
from trustbed.report.transfer.overview import Overview

LISTED = 20
"""At most so many transfers are listed."""
IN_FULL = 6
"""So many of them with every deciding number, the rest with the first one."""
FINDINGS = 6

_SEVERITIES = ("error", "warning", "info")
_AMOUNTS_TITLE = f"{'BYTES':>9}{'TIME':>12}{'THROUGHPUT':>14}"
_AMOUNTS = len(_AMOUNTS_TITLE)
_LEAST_ENDS = 45
"""From this width on long addresses are cut to fit their column.

In less they get a line of their own, above the name.
"""

_POINT_FROM = {
    "given": "as given",
    "handshake": "inferred from the handshake",
    "answers": "inferred from response times",
    "none": "assumed",
}


def render(
    overview: Overview, *, repeated: str, columns: int = WIDEST, paint: Paint = PLAIN
) -> str:
    """The whole summary, with a newline at its end.

    ``repeated`` are the options and captures that it came from, quoted for a shell.
    """
    width = fitted(columns)
    blocks = [
        list(_what_was_read(overview, width, paint)),
        list(_quality(overview, width, paint)),
        list(_transfers(overview, width, paint)),
        list(_what_would_settle(overview, width, paint)),
        list(_left_out(overview, width)),
        list(_next(overview, repeated, width, paint)),
    ]
    return joined(*blocks)


def _what_was_read(overview: Overview, width: int, paint: Paint) -> Iterator[str]:
    facts = overview.facts
    parts = []
    if facts.get("packets") is not None:
        parts.append(words.counted(facts["packets"], "packet"))
    first, last = facts.get("first_seconds"), facts.get("last_seconds")
    if first is not None and last is not None:
        parts.append(words.duration(last - first))
    parts.append(words.counted(overview.connections, "connection"))
    lines = wrapped(" · ".join([overview.name, *parts]), width)
    yield paint("strong", lines[0])
    yield from lines[1:]
    if overview.transfers and _is_uniform(overview):
        yield from wrapped(_capture_point(overview.transfers[0]), width)


def _is_uniform(overview: Overview) -> bool:
    return len({(row.get("at"), row.get("at_source")) for row in overview.transfers}) == 1


def _capture_point(row: Row) -> str:
    """Where the capture was taken, and how that is known."""
    point, source = row.get("at") or "unknown", row.get("at_source") or "none"
    if point == "unknown":
        return "where it was captured is unknown: judged as if beside the sender (set --at)"
    where = "between sender and receiver" if point == "middle" else f"beside the {point}"
    return f"captured {where} ({_POINT_FROM.get(source, source)})"


def _quality(overview: Overview, width: int, paint: Paint) -> Iterator[str]:
    about_all = [finding for finding in overview.findings if not _is_transfer(finding["scope"])]
    about_one = len(overview.findings) - len(about_all)
    if not about_all:
        if about_one:
            yield from wrapped(
                f"{words.counted(about_one, 'finding')} about single transfers (--json and "
                "--report show them)",
                width,
            )
        return
    yield paint("strong", "Capture quality")
    grave = sorted(
        (finding for finding in about_all if finding["severity"] != "info"),
        key=lambda finding: _SEVERITIES.index(finding["severity"]),
    )
    for finding in grave[:FINDINGS]:
        yield from finding_lines(finding, width, paint)
        yield from wrapped(finding["meaning"], width, first=" " * INDENT, rest=" " * INDENT)
    notes = [finding for finding in about_all if finding["severity"] == "info"]
    for finding in notes[:FINDINGS]:
        yield from finding_lines(finding, width, paint)
    left = max(0, len(grave) - FINDINGS) + max(0, len(notes) - FINDINGS)
    more = [
        f"{left} more" if left else "",
        f"{about_one} about single transfers" if about_one else "",
    ]
    if any(more):
        text = (
            f"… and {' and '.join(part for part in more if part)} (--json and --report show them)"
        )
        yield from wrapped(text, width, first=" " * INDENT, rest=" " * INDENT)


def _is_transfer(scope: str) -> bool:
    number, dot, side = scope.partition(".")
    return bool(dot) and number.isdecimal() and side in ("0", "1")


def _transfers(overview: Overview, width: int, paint: Paint) -> Iterator[str]:
    """Addresses before the name: a reader knows them, and the name only from here."""
    listed = overview.transfers[:LISTED]
    if not listed:
        return
    name_width = max(8, *(len(row["transfer"]) for row in listed))
    room = width - INDENT - name_width - 2 - _AMOUNTS
    beside = room >= _LEAST_ENDS or max(len(words.endpoints(row, None)) for row in listed) <= room
    uniform = _is_uniform(overview)
    gap = "  " if beside else "\n" + " " * (INDENT + room + 2)

    def lines(verdict: str, ends: str, name: str, amounts: str) -> list[str]:
        head = f"{verdict:<{INDENT}}{ends:<{room if beside else 0}}"
        return f"{head}{gap}{name:<{name_width}}{amounts}".split("\n")

    for line in lines("VERDICT", "FROM → TO", "TRANSFER", _AMOUNTS_TITLE):
        yield paint("faint", line)
    for index, row in enumerate(listed):
        if index and index < IN_FULL:
            yield ""
        verdict, ends = row["verdict"], words.endpoints(row, room if beside else width - INDENT)
        first, *rest = lines(verdict, ends, row["transfer"], _amounts(row))
        yield paint(verdict, first[:INDENT]) + first[INDENT:]
        yield from rest
        yield from _why(row, width, paint, in_full=index < IN_FULL, uniform=uniform)
    left = overview.judged - len(listed)
    if left > 0:
        yield f"… and {words.counted(left, 'transfer')} more (--json has them all)"


def _amounts(row: Row) -> str:
    size, time = words.size(row.get("unique_bytes")), words.duration(row.get("duration_seconds"))
    return f"{size:>9}{time:>12}{words.rate(row.get('throughput_bytes_per_second')):>14}"


def _why(row: Row, width: int, paint: Paint, *, in_full: bool, uniform: bool) -> Iterator[str]:
    margin = " " * INDENT
    headline = row["headline"][:1].upper() + row["headline"][1:]
    cause = f"{' or '.join(row['causes'])}, confidence {row['confidence']:.2f}" + (
        "" if uniform else f"; {_capture_point(row)}"
    )
    lines = wrapped(f"{headline} ({cause})", width, first=margin, rest=margin)
    yield from "\n".join(lines).replace(headline, paint("strong", headline), 1).split("\n")
    shares = Shares.from_transfer(row)
    if shares is not None and (spent := shares.spent(row.get("duration_seconds"))):
        yield from wrapped(spent, width, first=margin, rest=f"{margin}  ")
    shown = row["reasons"] if in_full else row["reasons"][:1]
    left = len(row["reasons"]) - len(shown)
    for number, reason in enumerate(shown, start=1):
        more = (
            f" (and {words.counted(left, 'more reason')})" if left and number == len(shown) else ""
        )
        yield from wrapped(reason + more, width, first=f"{margin}· ", rest=f"{margin}  ")
    if in_full:
        if row.get("without_stalls"):
            yield from wrapped(
                row["without_stalls"], width, first=f"{margin}≈ ", rest=f"{margin}  "
            )
        for other in row.get("alternatives") or ():
            yield from wrapped(
                f"or {other['cause']}: {other['hint']}",
                width,
                first=f"{margin}? ",
                rest=f"{margin}  ",
            )


def _what_would_settle(overview: Overview, width: int, paint: Paint) -> Iterator[str]:
    """What distinguishes the two readings of a transfer: once for all transfers that it settles."""
    open_questions: dict[str, list[str]] = {}
    for row in overview.transfers[:IN_FULL]:
        for other in row.get("alternatives") or ():
            open_questions.setdefault(other["settled_by"], []).append(row["transfer"])
    if open_questions:
        yield paint("strong", "To settle what the packets leave open (?)")
    for settled_by, transfers in open_questions.items():
        yield from wrapped(
            f"{', '.join(dict.fromkeys(transfers))}: {settled_by}",
            width,
            first=" " * INDENT,
            rest=" " * (INDENT + 2),
        )


def _left_out(overview: Overview, width: int) -> Iterator[str]:
    if overview.not_judged:
        count = words.counted(overview.not_judged, "transfer")
        yield from wrapped(
            f"{count} too short to judge (fewer than 10 round trips, or less than 64 kB delivered)",
            width,
        )
    elif not overview.judged:
        yield "No TCP transfer in this capture: there is nothing to judge."


def _next(overview: Overview, repeated: str, width: int, paint: Paint) -> Iterator[str]:
    if not overview.transfers:
        return
    steps = [
        f"trustbed explain {repeated} {overview.transfers[0]['transfer']}",
        f"trustbed analyze {repeated} --report report.html",
    ]
    message = ["the rule that decided, number by number", "the same with charts, for the browser"]
    column = max(len(step) for step in steps) + 2
    fits = len("Next: ") + column + max(len(meaning) for meaning in message) <= width
    for head, step, meaning in zip(("Next: ", "      "), steps, message, strict=True):
        yield paint("faint", head) + (f"{step:<{column}}{meaning}" if fits else step)
