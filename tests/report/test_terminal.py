"""The terminal summary.

Fits its width, worst first, the same without colour, nothing left out silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.report.paint import Paint
from trustbed.report.printable import printable_screen
from trustbed.report.transfer import terminal
from trustbed.report.transfer.overview import Overview

SETTLED = (
    "the CPU share of the sending host, or --workload bulk if the sender had data waiting all the "
    "time"
)
Row = dict[str, Any]


def transfer(number: int, verdict: str = "trust", **columns: Any) -> Row:  # noqa: ANN401 - any column
    return {
        "transfer": f"{number}.0",
        "src": "10.0.0.1",
        "src_port": 40_000 + number,
        "dst": "10.0.0.2",
        "dst_port": 5201,
        "at": "sender",
        "at_source": "handshake",
        "unique_bytes": 11_400_000,
        "duration_seconds": 5.01,
        "throughput_bytes_per_second": 2_275_000.0,
        "verdict": verdict,
        "cause": "host_scheduling",
        "causes": ["host_scheduling"],
        "confidence": 0.9,
        "headline": "the sending host stalled — do not use",
        "reasons": [
            "13.1 Mbit/s where window and delay allow 30.3 Mbit/s (43 %)",
            "idle with an open window for 80 % of the time",
            "no packet lost",
        ],
        "alternatives": [],
        **columns,
    }


def finding(
    severity: str, message: str = "12 packets dropped while capturing", scope: str = "capture"
) -> Row:
    return {
        "code": "x",
        "severity": severity,
        "scope": scope,
        "message": message,
        "meaning": f"What {severity} means.",
        "next_step": "look",
    }


def overview(
    transfers: Iterable[Row] = (),
    *,
    verdicts: dict[str, int] | None = None,
    **parts: Any,  # noqa: ANN401
) -> Overview:
    listed = list(transfers)
    counts = {
        verdict: sum(row["verdict"] == verdict for row in listed)
        for verdict in ("discard", "review", "trust")
    }
    facts = {"packets": 11_804, "first_seconds": 1_700_000_000.0, "last_seconds": 1_700_000_006.02}
    given = {
        "name": "server.pcap",
        "facts": facts,
        "findings": [],
        "skips": [],
        "connections": 2,
        **parts,
    }
    return Overview(transfers=listed, verdicts=counts if verdicts is None else verdicts, **given)


def render(
    what: Overview,
    *,
    repeated: str = "server.pcap",
    columns: int = terminal.WIDEST,
    paint: Paint | None = None,
) -> str:
    return terminal.render(what, repeated=repeated, columns=columns, paint=paint or Paint())


WIDE = overview(
    [
        transfer(
            number,
            verdict,
            src="2001:db8:85a3:1234:5678:8a2e:370:7334",
            dst="2001:db8:ffff:ffff:ffff:ffff:ffff:fffe",
            alternatives=[
                {
                    "cause": "sender_application_limited",
                    "hint": "window full 42 % of the time " * 3,
                    "settled_by": SETTLED,
                }
            ],
        )
        for number, verdict in enumerate(
            ["discard"] * 3 + ["review"] * 10 + ["trust"] * 20, start=123_456
        )
    ],
    findings=[
        finding("error", "a long story " * 12),
        finding("info"),
        finding("warning"),
        finding("info", scope="123456.0"),
    ],
    name="a-capture-with-a-name-that-goes"
    + 6 * "-on-and"
    + "-on-until-it-ends-at-some-point.pcapng.gz",
)


@pytest.mark.parametrize("columns", [60, 80, 100, 250])
def test_no_line_is_wider_than_the_terminal_or_100_columns(columns: int) -> None:
    for line in render(WIDE, columns=columns).splitlines():
        if not line.startswith(
            ("Next:", "      trustbed", "a-capture-with")
        ):  # commands and names are not broken
            assert len(line) <= min(columns, 100), line


@pytest.mark.parametrize("columns", [80, 100])
def test_colour_adds_nothing_but_colour(columns: int) -> None:
    painted = printable_screen(render(WIDE, columns=columns, paint=Paint(on=True)))
    assert "\x1b[1;31mdiscard" in painted
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == render(WIDE, columns=columns)


def test_an_estimate_stands_below_what_was_measured(snapshot: SnapshotAssertion) -> None:
    said = (
        "measured 18.2 Mbit/s; without the stalls about 30.1 Mbit/s (27.7 Mbit/s to 33.2 Mbit/s), "
        "an estimate"
    )
    lines = render(overview([transfer(1, "discard", without_stalls=said)])).splitlines()
    at = lines.index("         · no packet lost")
    assert lines[at + 1 : at + 3] == [
        (
            "         ≈ measured 18.2 Mbit/s; without the stalls about 30.1 Mbit/s (27.7 Mbit/s "
            "to 33.2 Mbit/s),"
        ),
        "           an estimate",
    ]
    assert next(line for line in lines if line.startswith("discard")) == snapshot


def test_that_there_is_no_estimate_is_said_with_the_reason() -> None:
    why = (
        "no estimate of what the network would have given: no validated transfer stalled like "
        "this one"
    )
    assert why in " ".join(render(overview([transfer(1, "discard", without_stalls=why)])).split())


def test_one_transfer_in_full(snapshot: SnapshotAssertion) -> None:
    lines = render(overview([transfer(1, "discard")])).splitlines()
    assert lines == snapshot


def test_capture_quality_comes_before_the_verdicts_and_the_gravest_first(
    snapshot: SnapshotAssertion,
) -> None:
    findings = [
        finding("info", "a note"),
        finding("warning", "a doubt"),
        finding("error", "a hole"),
        finding("info", "about one", scope="1.0"),
    ]
    text = render(overview([transfer(1)], findings=findings))
    assert (
        text.index("a hole") < text.index("a doubt") < text.index("a note") < text.index("VERDICT")
    )
    assert text == snapshot
    assert "What info means." not in text
    assert "about one" not in text


def test_many_findings_are_counted() -> None:
    text = render(
        overview(findings=[finding("warning", f"doubt {number}") for number in range(20)])
    )
    assert text.count("doubt ") == terminal.FINDINGS
    assert f"{20 - terminal.FINDINGS} more" in text


def test_many_transfers_are_counted(snapshot: SnapshotAssertion) -> None:
    text = render(
        overview(
            [transfer(number) for number in range(1, 51)],
            verdicts={"trust": 731, "not_judged": 12_345},
        )
    )
    assert text.count("\ntrust ") == terminal.LISTED
    # The last transfer in full and the first in short, then what follows the last.
    assert text[text.index(":40006") : text.index(":40008")] == snapshot
    assert text[text.index(":40020") :] == snapshot


def test_a_set_names_both_causes() -> None:
    both = ["host_scheduling", "sender_application_limited"]
    text = render(overview([transfer(1, "review", causes=both, confidence=0.75)]))
    assert "(host_scheduling or sender_application_limited, confidence 0.75)" in " ".join(
        text.split()
    )


def test_what_would_settle_an_open_question_is_said_once_for_all() -> None:
    other = {"cause": "sender_application_limited", "hint": "no clear lean", "settled_by": SETTLED}
    text = render(
        overview(
            [transfer(1, alternatives=[other]), transfer(2, alternatives=[other]), transfer(3)]
        )
    )
    assert text.count("? or sender_application_limited: no clear lean") == 2
    assert text.count("1.0, 2.0: the CPU share of the sending host") == 1


def test_transfers_captured_at_different_places_each_say_where(snapshot: SnapshotAssertion) -> None:
    text = render(
        overview(
            [
                transfer(1),
                transfer(2, at="unknown", at_source="none"),
                transfer(3, at="middle", at_source="given"),
            ]
        )
    )
    folded = " ".join(text.split())
    assert folded == snapshot


def test_unknown_numbers_are_question_marks() -> None:
    text = render(
        overview(
            [
                transfer(
                    1, unique_bytes=None, duration_seconds=None, throughput_bytes_per_second=None
                )
            ]
        )
    )
    row = next(line for line in text.splitlines() if line.startswith("trust"))
    assert row.split()[-3:] == ["?", "?", "?"]


def test_a_capture_without_transfers_says_so(snapshot: SnapshotAssertion) -> None:
    assert render(overview()) == snapshot


def test_the_next_steps_ask_the_same_of_the_same_captures() -> None:
    lines = render(overview([transfer(1)]), repeated="--workload bulk 'my file.pcap'").splitlines()
    assert lines[-2].startswith("Next: trustbed explain --workload bulk 'my file.pcap' 1.0")
    assert lines[-1].startswith(
        "      trustbed analyze --workload bulk 'my file.pcap' --report report.html"
    )
