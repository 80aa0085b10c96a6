"""A comparison as JUnit: one test case per metric, for the test pages of CI services.

What fails follows ``--fail-on``; what was not compared is skipped. The shape is that of
:mod:`trustbed.report.transfer.junit`.
"""

from __future__ import annotations

import re
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import Comparison, MetricResult
from trustbed.report.compare import verdicts
from trustbed.report.printable import printable

_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(stream: TextIO, found: Comparison, *, fail_on: str | None, started: str) -> None:
    """Writes the report: a suite per candidate and case."""
    every = [one for _, _, one in found.metrics()]
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f'<testsuites name="trustbed compare" {_counts(every, fail_on)}>\n')
    for case in found.cases:
        for candidate in case.candidates:
            suite = verdicts.heading(case, candidate)
            stream.write(
                f"  <testsuite name={_attribute(suite)} {_counts(candidate.metrics, fail_on)} "
                f"timestamp={_attribute(started)}>\n"
            )
            for one in candidate.metrics:
                stream.write(_case(one, suite, fail_on))
            stream.write("  </testsuite>\n")
    stream.write("</testsuites>\n")


def _counts(metrics: list[MetricResult] | tuple[MetricResult, ...], fail_on: str | None) -> str:
    failures = sum(verdicts.fails(one, fail_on) for one in metrics)
    skipped = sum(one.verdict == "not_compared" for one in metrics)
    return f'tests="{len(metrics)}" failures="{failures}" errors="0" skipped="{skipped}"'


def _case(one: MetricResult, suite: str, fail_on: str | None) -> str:
    name = f"{LEVEL_TITLES[one.level]}: {words.titled(one)}"
    head = f'    <testcase name={_attribute(name)} classname={_attribute(suite)} time="0">'
    message = f"{words.outcome(one)}: {words.percent(one.difference_percent)}"
    detail = escape(_IMPOSSIBLE.sub("\ufffd", printable(_detail(one, message))))
    if one.verdict == "not_compared":
        body = f"<skipped message={_attribute(one.note or 'not compared')}/>"
    elif verdicts.fails(one, fail_on):
        body = f'<failure message={_attribute(message)} type="{one.verdict}">{detail}</failure>'
    else:
        body = f"<system-out>{detail}</system-out>"
    return f"{head}{body}</testcase>\n"


def _detail(one: MetricResult, message: str) -> str:
    lines = [
        message,
        f"reference {verdicts.both(one, 'reference')}, candidate "
        f"{verdicts.both(one, 'candidate')}, 95 % {words.interval(one) or 'unknown'}",
        f"similar {words.yes(one.similar)}, overlap {words.yes(one.overlap)}, equivalent "
        f"{words.yes(one.equivalent)}, n {verdicts.counts(one)}",
    ]
    needed = words.needed(one)
    return "\n".join([*lines, *([f"repetitions that would settle it: {needed}"] if needed else [])])


def _attribute(text: str) -> str:
    return quoteattr(_IMPOSSIBLE.sub("\ufffd", printable(text)))
