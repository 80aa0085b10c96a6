"""The JUnit report: what fails follows ``--fail-on``, and the XML is always well formed."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from trustbed.report.transfer import junit


def row(number: int, verdict: str, **columns: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    return {
        "transfer": f"{number}.0",
        "src": "10.0.0.1",
        "src_port": 40_000,
        "dst": "2001:db8::1",
        "dst_port": 5201,
        "duration_seconds": 5.25,
        "verdict": verdict,
        "cause": "host_scheduling",
        "confidence": 0.9,
        "headline": "the sending host stalled",
        "reasons": ["43 % of what is allowed"],
        "next_step": "look at the sending host",
        **columns,
    }


ROWS = [
    row(1, "trust"),
    row(2, "not_judged"),
    row(3, "review"),
    row(4, "discard"),
    row(5, "not_judged"),
]
VERDICTS = {"trust": 1, "review": 1, "discard": 1, "not_judged": 2}


def report(fail_on: str | None, rows: list[dict[str, Any]] | None = None) -> ElementTree.Element:
    stream = io.StringIO()
    transfers = ROWS if rows is None else rows
    junit.write(
        stream,
        name='a "b".pcap',
        transfers=transfers,
        verdicts=VERDICTS,
        fail_on=fail_on,
        started="2026-01-01T00:00:00Z",
        properties={"command": "trustbed <x>"},
    )
    return ElementTree.fromstring(stream.getvalue())


@pytest.mark.parametrize(
    ("fail_on", "failed", "skipped"),
    [(None, [], []), ("discard", ["4.0"], ["3.0"]), ("review", ["3.0", "4.0"], [])],
)
def test_what_fails_follows_the_level(
    fail_on: str | None, failed: list[str], skipped: list[str]
) -> None:
    root = report(fail_on)
    cases = {case.attrib["name"].split()[0]: case for case in root.iter("testcase")}
    assert list(cases) == ["1.0", "3.0", "4.0"]
    assert [name for name, case in cases.items() if case.find("failure") is not None] == failed
    assert [name for name, case in cases.items() if case.find("skipped") is not None] == skipped
    for element in (root, root[0]):
        counts = {
            name: int(element.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
        }
        assert counts == {"tests": 3, "failures": len(failed), "errors": 0, "skipped": len(skipped)}


def test_a_case_carries_time_and_the_numbers_that_decided() -> None:
    case = next(
        case for case in report("discard").iter("testcase") if case.attrib["name"].startswith("4.0")
    )
    assert case.attrib["name"] == "4.0 10.0.0.1:40000 → [2001:db8::1]:5201"
    assert case.attrib["time"] == "5.250000"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {
        "message": "discard: the sending host stalled",
        "type": "host_scheduling",
    }
    assert failure.text is not None
    assert "43 % of what is allowed" in failure.text
    assert "next: look at the sending host" in failure.text


def test_transfers_too_short_are_counted_beside() -> None:
    properties = {
        element.attrib["name"]: element.attrib["value"] for element in report(None).iter("property")
    }
    assert properties == {"command": "trustbed <x>", "transfers_not_judged": "2"}


def test_words_that_xml_cannot_carry_do_no_harm() -> None:
    root = report("review", [row(1, "review", headline='<a & "b">\x00\ufffe', reasons=["]]>\x07"])])
    failure = next(root.iter("failure"))
    assert failure.attrib["message"] == 'review: <a & "b">\\x00\ufffd'
    assert failure.text is not None
    assert "]]>\\x07" in failure.text
