"""A comparison as JUnit: one test case per metric, for the test pages of CI services.

What fails follows ``--fail-on``; what was not compared is skipped, unless that fails too. A
candidate of which no metric was judged is an error of any check. The shape is that of
:mod:`trustbed.report.transfer.junit`; what the verdicts rest on is a property of each suite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import CandidateResult, Comparison, MetricResult
from trustbed.report.compare import verdicts
from trustbed.report.printable import printable

_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(stream: TextIO, found: Comparison, *, fail_on: str | None, started: str) -> None:
    """Writes the report: a suite per candidate and case."""
    every = [candidate for case in found.cases for candidate in case.candidates]
    basis = _attribute(f"{verdicts.basis(found)} {verdicts.PLUS_MINUS}")
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f'<testsuites name="trustbed compare" {_counts(every, fail_on)}>\n')
    for case in found.cases:
        for candidate in case.candidates:
            suite = verdicts.heading(case, candidate)
            stream.write(
                f"  <testsuite name={_attribute(suite)} {_counts([candidate], fail_on)} "
                f"timestamp={_attribute(started)}>\n"
                f'    <properties><property name="basis" value={basis}/></properties>\n'
            )
            why = _error(candidate, fail_on)
            if why is not None:
                stream.write(_nothing(why, suite))
            for one in candidate.metrics:
                stream.write(_case(one, suite, fail_on))
            stream.write("  </testsuite>\n")
    stream.write("</testsuites>\n")


def _counts(candidates: Sequence[CandidateResult], fail_on: str | None) -> str:
    metrics = [one for candidate in candidates for one in candidate.metrics]
    errors = sum(_error(one, fail_on) is not None for one in candidates)
    failures = sum(verdicts.fails(one, fail_on) for one in metrics)
    skipped = sum(_is_skipped(one, fail_on) for one in metrics)
    return (
        f'tests="{len(metrics) + errors}" failures="{failures}" errors="{errors}" '
        f'skipped="{skipped}"'
    )


def _error(candidate: CandidateResult, fail_on: str | None) -> str | None:
    """Why a check could not be made of a candidate; ``None`` if it could, or none was asked for."""
    return None if fail_on is None else verdicts.not_judged(candidate)


def _nothing(why: str, suite: str) -> str:
    return (
        f'    <testcase name="any metric judged" classname={_attribute(suite)} time="0">'
        f'<error message={_attribute(why)} type="not_compared"/></testcase>\n'
    )


def _is_skipped(one: MetricResult, fail_on: str | None) -> bool:
    return one.verdict == "not_compared" and not verdicts.fails(one, fail_on)


def _case(one: MetricResult, suite: str, fail_on: str | None) -> str:
    name = f"{LEVEL_TITLES[one.level]}: {words.titled(one)}"
    head = f'    <testcase name={_attribute(name)} classname={_attribute(suite)} time="0">'
    difference = one.note or words.percent(one.difference_percent)
    message = f"{words.outcome(one)}: {difference}"
    detail = escape(_IMPOSSIBLE.sub("\ufffd", printable(_detail(one, message))))
    if _is_skipped(one, fail_on):
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
