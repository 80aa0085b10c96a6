"""Each reason for which only one of tcptrace and trustbed takes a round-trip time.

It holds where it should, and not elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.validation.conftest import Frames
from tests.validation.examples import Example, history_of, reasons
from tests.validation.talk import MSS, Talk
from validation import round_trips
from validation.case import SampleCase
from validation.compare import Comparison
from validation.reasons_samples import SAMPLES

TWO_TAGS = struct.pack(">HHHH", 10, 0x8100, 20, 0x0800)
EXPLAINED = {"equal", "explained"}
ONE_TAG = struct.pack(">HH", 10, 0x0800)


@dataclass(frozen=True)
class SampleExample(Example):
    """Only one tool takes the RTT sample from frame `sent` to frame `ack`."""

    by_tool: bool
    sent: int
    ack: int
    elsewhere: tuple[int, int] | None = None


def plain(talk: Talk) -> None:
    """Handshake, data, ACK (frames 4 and 5), more data, ACK, more data, ACK."""
    talk.hello()
    for turn in range(3):
        talk.data(30 + 40 * turn, 100 * turn)
        talk.ack(50 + 40 * turn, 100 * turn + 100)


def handshake_and_fin(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.send("a", 30, 0, flags="FA", length=length)
    talk.ack(40, length + 1)


def stamped(talk: Talk, *, after: float) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(30 + after, 100)
    talk.data(60, 100)
    talk.ack(80, 200)


def closing(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("a", 60, 100, flags=flags, length=0 if "F" in flags else 1)
    talk.ack(80, 101)


def answered(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.send("b", 50, 0, 100, flags)


def beyond_reset(talk: Talk, *, reset: bool) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("b", 55, 0, 100, "RA" if reset else "A")
    talk.data(60, 100)
    talk.ack(80, 200)


def syn_ack_again(talk: Talk, *, flags: str) -> None:
    """After the handshake the server repeats its SYN-ACK (or only its ACK).

    Then its data is acknowledged.
    """
    talk.hello()
    talk.send("b", 30, -1 if "S" in flags else 0, 0, flags)
    talk.send("a", 31, 0)
    talk.send("b", 40, 0, length=100)
    talk.send("a", 60, 0, 100)


def late(talk: Talk, *, early_ack: int) -> None:
    """The peer acknowledges 300; then data up to 300 comes, and another ACK of 300."""
    talk.hello()
    talk.send("a", 30, 0, length=200)
    talk.ack(45, early_ack)
    talk.data(50, 200)
    talk.ack(60, 300)


def hole(talk: Talk, *, missing: bool) -> None:
    """The segment from 100 on comes 400 ms after the one above it (or before it)."""
    talk.hello()
    talk.data(30, 0)
    if not missing:
        talk.data(30.5, 100)
    talk.data(31, 200)
    talk.ack(50, 100)
    if missing:
        talk.data(430, 100)
    talk.ack(450, 200)
    talk.ack(451, 300)


def over_hole(talk: Talk, *, second: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.data(31, second)
    talk.ack(50, second + 100)


def repaired(talk: Talk, *, again: bool) -> None:
    """100..200 is sent, (sent again,) and 200..300 sent; one ACK covers both."""
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 100)
    talk.ack(50, 100)
    talk.data(350, 100 if again else 200)
    talk.data(351, 200 if again else 300)
    talk.ack(370, 300 if again else 400)


def filled(talk: Talk, *, old: bool) -> None:
    """One ACK covers a filled hole and a segment sent afterwards.

    The fill comes 400 ms late, or there is no hole at all.
    """
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 200 if old else 100)
    talk.ack(50, 100)
    talk.data(430, 100 if old else 200)
    talk.data(431, 300)
    talk.ack(450, 400)


def overlapping(talk: Talk, *, start: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.data(300, start)
    talk.ack(320, start + 100)


def hidden(talk: Talk, *, tags: bytes, kind: int) -> None:
    talk.hello()
    talk.data(30, 0, tags=tags, kind=kind)
    talk.data(300, 0)
    talk.ack(320, 100)


def stepping(talk: Talk, *, back: float, other: bool = False) -> None:
    """Between data and ACK the clock steps back, seen in this connection or in another one."""
    talk.hello(1_000)
    talk.data(1_030, 0)
    if other:
        talk.port += 1
    talk.send("a", 1_030 - back, 100, length=100 if other else 0)
    talk.port -= other
    talk.ack(1_050, 100)


def super_packet(talk: Talk, *, inside: int) -> None:
    talk.hello(options=MSS)
    talk.send("a", 30, 0, length=2_920)
    talk.ack(50, inside)
    talk.ack(51, 2_920)


def almost_closed(talk: Talk, *, ack: int) -> None:
    talk.hello()
    talk.data(30, 0, flags="FA")
    talk.ack(50, ack)


def below_since(talk: Talk, *, again: bool) -> None:
    """100..200 is sent.

    0..100, acknowledged in between, is sent again (or a pure ACK is); then 100..200 is
    acknowledged.
    """
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 100)
    talk.send("a", 300, 0 if again else 200, length=100 if again else 0)
    talk.ack(320, 100)
    talk.ack(321, 200)


def into_zero(talk: Talk, *, window: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(40, 100, window=window)
    talk.send("a", 500, 100, length=50)
    talk.ack(510, 150)


def probing(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.send("a", 300, 99, length=length)
    talk.ack(320, 100)


def at_quarter(talk: Talk, *, short: int) -> None:
    talk.isn["a"] = (1 << 30) - 101 + short
    plain(talk)


def tagged(talk: Talk, *, tags: bytes, kind: int) -> None:
    talk.hello()
    talk.data(30, 0, tags=tags, kind=kind)
    talk.ack(50, 100)


def swapped(talk: Talk, *, swap: bool) -> None:
    """The ACK is stamped after its data, but recorded before it."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(31, 100)
    if swap:
        talk.records[3:5] = talk.records[4], talk.records[3]


EXAMPLES = [
    SampleExample("no_payload", handshake_and_fin, {"length": 0}, {"length": 10}, True, 1, 2),
    SampleExample("not_positive", stamped, {"after": 0}, {"after": 0.001}, True, 4, 5),
    SampleExample("fin", closing, {"flags": "FA"}, {"flags": "PA"}, True, 6, 7),
    SampleExample("answer_is_reset", answered, {"flags": "RA"}, {"flags": "A"}, True, 4, 5),
    SampleExample("after_reset", beyond_reset, {"reset": True}, {"reset": False}, True, 7, 8),
    SampleExample("handshake_again", syn_ack_again, {"flags": "SA"}, {"flags": "A"}, True, 2, 3),
    SampleExample("late_segment", late, {"early_ack": 300}, {"early_ack": 200}, True, 6, 7),
    SampleExample("hole_fill", hole, {"missing": True}, {"missing": False}, True, 7, 8, (5, 8)),
    SampleExample("hole_acknowledged", over_hole, {"second": 200}, {"second": 100}, True, 5, 6),
    SampleExample("older_retransmission", repaired, {"again": True}, {"again": False}, True, 8, 9),
    SampleExample("covers_fill", filled, {"old": True}, {"old": False}, True, 8, 9),
    SampleExample("partly_again", overlapping, {"start": 50}, {"start": 100}, True, 5, 6),
    SampleExample(
        "seen_unopened",
        hidden,
        {"tags": TWO_TAGS, "kind": 0x88A8},
        {"tags": ONE_TAG, "kind": 0x8100},
        True,
        5,
        6,
    ),
    SampleExample("clock_step", stepping, {"back": 500}, {"back": -5}, True, 4, 6),
    SampleExample(
        "steps_elsewhere",
        stepping,
        {"back": 500, "other": True},
        {"back": -5, "other": True},
        True,
        4,
        6,
    ),
    SampleExample("ack_inside", super_packet, {"inside": 1_460}, {"inside": 0}, False, 4, 5),
    SampleExample("ack_below_fin", almost_closed, {"ack": 100}, {"ack": 101}, False, 4, 5),
    SampleExample("sent_below_since", below_since, {"again": True}, {"again": False}, False, 5, 8),
    SampleExample("not_recorded", into_zero, {"window": 0}, {"window": 1}, False, 6, 7),
    SampleExample("keep_alive_between", probing, {"length": 1}, {"length": 0}, False, 4, 6),
    SampleExample("quadrant_edge", at_quarter, {"short": 0}, {"short": 1}, False, 4, 5),
    SampleExample(
        "unopened",
        tagged,
        {"tags": TWO_TAGS, "kind": 0x88A8},
        {"tags": ONE_TAG, "kind": 0x8100},
        False,
        4,
        5,
    ),
    SampleExample("unordered", swapped, {"swap": True}, {"swap": False}, False, 5, 4, (4, 5)),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


@pytest.fixture(scope="module", autouse=True)
def _together(frames: Frames) -> None:
    """Asks tshark once for every example."""
    frames.ask(partial(example.talk, example.holds) for example in EXAMPLES)


def case_of(path: Path, example: SampleExample, *, sent: int, ack: int) -> SampleCase:
    history = history_of(path, sent)
    return SampleCase(history.packet(sent), history.packet(ack), example.by_tool, history)


def test_every_reason_has_an_example() -> None:
    assert sorted(example.reason for example in EXAMPLES) == sorted(
        reason.name for reason in SAMPLES
    )


def test_a_plain_transfer_needs_no_reason_but_the_fin_s(
    compared: Callable[..., Comparison],
) -> None:
    talk = Talk()
    plain(talk)
    states = {
        (finding.field, finding.state)
        for result in compared(talk).results()
        for finding in result.findings
        if "rtt" in finding.field
    }
    sender = compared(talk).results()[0]
    assert sender.source == ("10.0.0.1", 40_000)
    assert {finding.state for finding in sender.findings} == {"equal"}
    assert ("rtt_samples", "unexplained") not in states


@named
def test_it_explains_where_the_situation_occurs(
    example: SampleExample, compared: Callable[..., Comparison]
) -> None:
    results = compared(example.talk(example.holds)).results()
    assert {finding.state for result in results for finding in result.findings} <= EXPLAINED
    assert example.reason in reasons(results, "tcptrace")


@named
def test_it_names_the_sample_and_does_not_hold_elsewhere(
    example: SampleExample, tmp_path: Path
) -> None:
    holds = next(reason for reason in SAMPLES if reason.name == example.reason).holds
    path = example.talk(example.holds).write(tmp_path / "holds.pcap")
    case = case_of(path, example, sent=example.sent, ack=example.ack)
    assert holds(case)
    assert round_trips.explain(case) != ""
    path = example.talk(example.fails).write(tmp_path / "fails.pcap")
    sent, ack = example.elsewhere or (example.sent, example.ack)
    case = case_of(path, example, sent=sent, ack=ack)
    assert not holds(case)
    assert round_trips.explain(case) == ""
