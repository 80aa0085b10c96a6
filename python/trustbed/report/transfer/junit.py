"""A JUnit report: one test case per judged transfer, for the test pages of CI services.

What counts as a failure follows ``--fail-on``: with ``review`` both verdicts fail, with ``discard``
only that one does and a review is reported as skipped (a person must look), without it nothing
fails. Transfers too short to judge are counted in a property of the suite. The shape is the one
that Jenkins, GitLab and GitHub's reporters read (testsuites, testsuite, testcase, failure, skipped,
system-out).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from trustbed.report import words
from trustbed.report.printable import printable
from trustbed.report.records import Row

# Characters that XML 1.0 cannot carry, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(
    stream: TextIO,
    *,
    name: str,
    transfers: Iterable[Row],
    verdicts: Mapping[str, int],
    fail_on: str | None,
    started: str,
    properties: Mapping[str, object],
) -> None:
    """Writes the report.

    ``transfers`` are rows of the JSON contract and are consumed one at a time.
    """
    failing = _failing(fail_on)
    judged = sum(count for verdict, count in verdicts.items() if verdict != "not_judged")
    failures = sum(verdicts.get(verdict, 0) for verdict in failing)
    skipped = 0 if fail_on is None or "review" in failing else verdicts.get("review", 0)
    counts = f'tests="{judged}" failures="{failures}" errors="0" skipped="{skipped}"'
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="trustbed" {counts}>\n')
    stream.write(
        f"  <testsuite name={_attribute(name)} {counts} timestamp={_attribute(started)}>\n    "
        "<properties>\n"
    )
    for key, value in {**properties, "transfers_not_judged": verdicts.get("not_judged", 0)}.items():
        stream.write(f"      <property name={_attribute(key)} value={_attribute(str(value))}/>\n")
    stream.write("    </properties>\n")
    for row in transfers:
        if row["verdict"] != "not_judged":
            stream.write(_case(row, name, fail_on))
    stream.write("  </testsuite>\n</testsuites>\n")


def _failing(fail_on: str | None) -> tuple[str, ...]:
    return {None: (), "discard": ("discard",), "review": ("discard", "review")}[fail_on]


def _case(row: Row, suite: str, fail_on: str | None) -> str:
    label, seconds = (
        _attribute(f"{row['transfer']} {words.endpoints(row)}"),
        row.get("duration_seconds") or 0.0,
    )
    head = f'    <testcase name={label} classname={_attribute(suite)} time="{seconds:.6f}">'
    message = f"{row['verdict']}: {row['headline']}"
    detail = _text(
        "\n".join(
            [
                f"{message} ({row['cause']}, confidence {row['confidence']:.2f})",
                *row["reasons"],
                f"next: {row['next_step']}",
            ]
        )
    )
    if row["verdict"] in _failing(fail_on):
        body = (
            f"<failure message={_attribute(message)} "
            f"type={_attribute(row['cause'])}>{detail}</failure>"
        )
    elif fail_on is not None and row["verdict"] == "review":
        body = f"<skipped message={_attribute(message)}/><system-out>{detail}</system-out>"
    else:
        body = f"<system-out>{detail}</system-out>"
    return f"{head}{body}</testcase>\n"


def _text(text: str) -> str:
    return escape(_IMPOSSIBLE.sub("\ufffd", printable(text)))


def _attribute(text: str) -> str:
    return quoteattr(_IMPOSSIBLE.sub("\ufffd", printable(text)))
