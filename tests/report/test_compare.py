"""A comparison in the terminal, as Markdown, as JUnit and on its page."""

from __future__ import annotations

import io
import re
from html import unescape
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from tests.report.compare_testbeds import comparison
from tests.report.pages import HOSTILE, check_definitions, text_of
from trustbed.compare.judge import CaseValues, Rules, Values, judge
from trustbed.compare.model import MetricResult
from trustbed.report.compare import junit, markdown, page, text, verdicts
from trustbed.report.compare.bars import REACH, WIDTH, bar_of

ABOUT = {"version": "0", "command": "trustbed compare metal.run e1000.run", "started": None}


@pytest.mark.parametrize("columns", [60, 80, 100, 300])
def test_levels_come_before_metrics_and_no_line_is_wider_than_asked(columns: int) -> None:
    shown = text.render(comparison(), columns=columns)
    assert max(len(line) for line in shown.splitlines()) <= columns
    assert shown.startswith("Different at application")
    order = [
        "<e1000> against metal, 500B",
        "METRIC",
        "virtio against metal, 500B",
        "Repetitions of each testbed that would settle",
        "What usually causes",
        "What closes the gap of <e1000>",
        "Left out",
        "Not compared\n",
        "Keep in mind",
    ]
    found = [shown.index(word) for word in order]
    assert found == sorted(found)


def test_a_metric_has_its_signed_difference_and_three_judgements() -> None:
    shown = text.render(comparison(), columns=300)
    row = next(line for line in shown.splitlines() if line.startswith("requests completed"))
    assert re.fullmatch(
        r"requests completed +14,\d+ /s +6\d{3} /s +−5\d\.\d % +different +no +no +no +10", row
    )
    small = next(line for line in shown.splitlines() if line.startswith("packets/request, wire"))
    assert re.search(r"\+\d\.\d % +different +yes +no +yes", small)


def test_the_calls_that_differ_are_named_wherever_their_number_differs_for_certain() -> None:
    reads = {"host": [3.0, 3.01, 2.99], "container": [1.0, 1.01, 0.99]}
    values = [
        Values(
            testbed=name,
            metrics={"reads": counts},
            per={"reads": "request"},
            calls={"": [{"read": one, "write": 20.0} for one in counts]},
        )
        for name, counts in reads.items()
    ]
    case = CaseValues(label="", reference=values[0], candidates=values[1:])
    cases, _ = judge([case], Rules())
    found = replace(comparison(), cases=cases)
    sentence = "Calls that differ most, per request: read 1 instead of 3."
    assert sentence in " ".join(text.render(found).split())
    assert sentence in text_of(page.render(found, ABOUT))
    assert sentence in markdown.render(found)
    equal = CaseValues(label="", reference=values[0], candidates=values[:1])
    cases, _ = judge([equal], Rules())
    assert "Calls that differ" not in text.render(replace(comparison(), cases=cases))


def test_there_is_no_single_score() -> None:
    shown = text.render(comparison())
    for level in ("Application", "System calls", "Network", "Delay"):
        assert re.search(rf"^{level} ", shown, re.MULTILINE)
    assert "score" not in shown


def test_markdown_has_a_table_of_levels_and_no_live_markup() -> None:
    shown = markdown.render(comparison())
    assert "| Level | \\<e1000\\>, 500B | virtio, 500B |" in shown
    assert "<e1000>" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("| Network")]
    assert rows == ["| Network | ❌ different | ❔ open |"]
    assert shown.count("<details>") == shown.count("</details>") == 3
    # In a block of HTML a backslash would show.
    assert "<summary>&lt;e1000&gt; against metal, 500B: every metric</summary>" in shown


@pytest.mark.parametrize("fail_on", [None, "beyond", "different", "open"])
def test_junit_fails_what_was_asked_for(fail_on: str | None) -> None:
    stream = io.StringIO()
    found = comparison()
    junit.write(stream, found, fail_on=fail_on, started="2026-01-01T00:00:00Z")
    root = ElementTree.fromstring(stream.getvalue())
    failing = [one for _, _, one in found.metrics() if verdicts.fails(one, fail_on)]
    assert len(root.findall(".//failure")) == len(failing) == int(root.attrib["failures"])
    assert len(root.findall(".//testcase")) == len(found.metrics())
    # The jitter that only the reference has: not compared, so not certainly equivalent.
    assert len(root.findall(".//skipped")) == (0 if fail_on == "open" else 1)
    assert [suite.attrib["name"] for suite in root.findall("testsuite")] == [
        "<e1000> against metal, 500B",
        "virtio against metal, 500B",
    ]


@pytest.mark.parametrize("fail_on", [None, "beyond", "open"])
def test_junit_has_an_error_where_nothing_was_judged(fail_on: str | None) -> None:
    found = comparison()
    case = found.cases[0]
    idle = [replace(one, verdict="not_compared", note="too few") for one in
            case.candidates[1].metrics]  # fmt: skip
    candidates = (case.candidates[0], replace(case.candidates[1], metrics=tuple(idle)))
    found = replace(found, cases=(replace(case, candidates=candidates),))
    stream = io.StringIO()
    junit.write(stream, found, fail_on=fail_on, started="2026-01-01T00:00:00Z")
    root = ElementTree.fromstring(stream.getvalue())
    errors = root.findall(".//error")
    assert len(errors) == int(root.attrib["errors"]) == (fail_on is not None)
    assert [one.attrib["message"] for one in errors] == ["too few"] * len(errors)
    assert len(root.findall(".//testcase")) == int(root.attrib["tests"])
    skipped = int(root.attrib["skipped"])
    assert len(root.findall(".//skipped")) == skipped == (0 if fail_on == "open" else len(idle))


def test_what_stands_behind_a_mean_is_said_once() -> None:
    found = comparison()
    stream = io.StringIO()
    junit.write(stream, found, fail_on=None, started="2026-01-01T00:00:00Z")
    suites = ElementTree.fromstring(stream.getvalue()).findall("testsuite")
    said = "±: half of the mean's 95 % interval (Student's t)."
    bases = [one.find("properties/property[@name='basis']") for one in suites]
    assert all(one is not None and one.attrib["value"].endswith(said) for one in bases)
    assert markdown.render(found).count(said) == 1
    assert unescape(page.render(found, ABOUT)).replace("\xa0", " ").count(said) == 1
    assert "±" not in text.render(found)


def test_what_fails_grows_with_the_level() -> None:
    metrics = [one for _, _, one in comparison().metrics()]
    counts = [sum(verdicts.fails(one, level) for one in metrics)
              for level in (None, "beyond", "different", "open")]  # fmt: skip
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[1] < counts[2] < counts[3]


def test_the_page_has_a_bar_per_difference_and_explains_its_words() -> None:
    found = comparison()
    rendered = page.render(found, ABOUT)
    known = sum(one.difference_percent is not None for _, _, one in found.metrics())
    assert rendered.count('<svg class="difference"') == known
    check_definitions(rendered, "compare")
    words = text_of(rendered)
    assert "What closes the gap of &lt;e1000&gt;" in words
    assert "Not compared: virtio: a clock was not steady." in words
    assert "read → epoll_wait" in words
    assert rendered.count('<figure class="calls">') == 1
    assert "<epoll_wait>" not in rendered
    assert "<e1000>" not in rendered


def test_names_of_others_stay_text_on_the_page() -> None:
    found = replace(comparison(HOSTILE), title=HOSTILE, caveats=(HOSTILE,))
    rendered = page.render(found, ABOUT)
    assert "<img" not in rendered
    assert "alert('x')</script>" not in rendered


def _metric(reference: float, candidate: float) -> MetricResult:
    values = [Values(testbed=name, metrics={"reads": [mean] * 5})
              for name, mean in (("a", reference), ("b", candidate))]  # fmt: skip
    case = CaseValues(label="", reference=values[0], candidates=[values[1]])
    return judge([case], Rules())[0][0].candidates[0].metrics[0]


def test_a_bar_lies_where_its_difference_is() -> None:
    same, more, far = (bar_of(_metric(100, value), "") for value in (100, 110, 200))
    assert same is not None
    assert more is not None
    assert far is not None
    assert same.mean == WIDTH / 2
    assert more.mean == pytest.approx(more.band_high)
    assert more.band_high == pytest.approx(WIDTH / 2 * (1 + 1 / REACH))
    assert (far.mean, far.beyond) == (WIDTH, 1)
    assert bar_of(_metric(0, 1), "") is None
