"""Each reason for which only one of tcptrace and trustbed takes a round-trip time.

It holds where it should, and not elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.validation.talk import ISN, MSS, Talk
from validation import arrivals, connections, round_trips
from validation.case import History, SampleCase
from validation.compare import Comparison
from validation.reasons_samples import SAMPLES
from validation.records import contents, records

TWO_TAGS = struct.pack(">HHHH", 10, 0x8100, 20, 0x0800)
ONE_TAG = struct.pack(">HH", 10, 0x0800)


@dataclass(frozen=True)
class Example:
    """A talk in which only one tool takes the RTT sample from frame `sent` to frame `ack`.

    And one in which the same frames give it no reason.
    """

    reason: str
    by_tool: bool
    holds: Callable[[Talk], object]
    fails: Callable[[Talk], object]
    sent: int
    ack: int
    elsewhere: tuple[int, int] | None = None


def plain(talk: Talk) -> None:
    """Handshake, data, ACK (frames 4 and 5), more data, ACK, more data, ACK."""
    talk.hello()
    for turn in range(3):
        talk.say("a", 30 + 40 * turn, 100 * turn, length=100)
        talk.say("b", 50 + 40 * turn, 0, 100 * turn + 100)


def greeting_only(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, flags="FA", length=length)
    talk.say("b", 40, 0, length + 1)


def stamped(talk: Talk, *, after: float) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 30 + after, 0, 100)
    talk.say("a", 60, 100, length=100)
    talk.say("b", 80, 0, 200)


def closing(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 60, 100, flags=flags, length=0 if "F" in flags else 1)
    talk.say("b", 80, 0, 101)


def answered(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100, flags)


def beyond_reset(talk: Talk, *, reset: bool) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("b", 55, 0, 100, "RA" if reset else "A")
    talk.say("a", 60, 100, length=100)
    talk.say("b", 80, 0, 200)


def greeted_again(talk: Talk, *, flags: str) -> None:
    """After the handshake the server repeats its SYN-ACK (or only its ACK).

    Then its data is acknowledged.
    """
    talk.hello()
    talk.say("b", 30, -1 if "S" in flags else 0, 0, flags)
    talk.say("a", 31, 0)
    talk.say("b", 40, 0, length=100)
    talk.say("a", 60, 0, 100)


def late(talk: Talk, *, early_ack: int) -> None:
    """The peer acknowledges 300; then data up to 300 comes, and another ACK of 300."""
    talk.hello()
    talk.say("a", 30, 0, length=200)
    talk.say("b", 45, 0, early_ack)
    talk.say("a", 50, 200, length=100)
    talk.say("b", 60, 0, 300)


def hole(talk: Talk, *, missing: bool) -> None:
    """The segment from 100 on comes 400 ms after the one above it (or before it)."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    if not missing:
        talk.say("a", 30.5, 100, length=100)
    talk.say("a", 31, 200, length=100)
    talk.say("b", 50, 0, 100)
    if missing:
        talk.say("a", 430, 100, length=100)
    talk.say("b", 450, 0, 200)
    talk.say("b", 451, 0, 300)


def over_hole(talk: Talk, *, second: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, second, length=100)
    talk.say("b", 50, 0, second + 100)


def repaired(talk: Talk, *, again: bool) -> None:
    """100..200 is sent, (sent again,) and 200..300 sent; one ACK covers both."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 100, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 350, 100 if again else 200, length=100)
    talk.say("a", 351, 200 if again else 300, length=100)
    talk.say("b", 370, 0, 300 if again else 400)


def filled(talk: Talk, *, old: bool) -> None:
    """One ACK covers a filled hole and a segment sent afterwards.

    The fill comes 400 ms late, or there is no hole at all.
    """
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 200 if old else 100, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 430, 100 if old else 200, length=100)
    talk.say("a", 431, 300, length=100)
    talk.say("b", 450, 0, 400)


def overlapping(talk: Talk, *, start: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 300, start, length=100)
    talk.say("b", 320, 0, start + 100)


def hidden(talk: Talk, *, tags: bytes, kind: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100, tags=tags, kind=kind)
    talk.say("a", 300, 0, length=100)
    talk.say("b", 320, 0, 100)


def stepping(talk: Talk, *, back: float, other: bool = False) -> None:
    """Between data and ACK the clock steps back, seen in this connection or in another one."""
    talk.hello(1_000)
    talk.say("a", 1_030, 0, length=100)
    if other:
        talk.port += 1
    talk.say("a", 1_030 - back, 100, length=100 if other else 0)
    talk.port -= other
    talk.say("b", 1_050, 0, 100)


def super_packet(talk: Talk, *, inside: int) -> None:
    talk.hello(options=MSS)
    talk.say("a", 30, 0, length=2_920)
    talk.say("b", 50, 0, inside)
    talk.say("b", 51, 0, 2_920)


def almost_closed(talk: Talk, *, ack: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, flags="FA", length=100)
    talk.say("b", 50, 0, ack)


def below_since(talk: Talk, *, again: bool) -> None:
    """100..200 is sent.

    0..100, acknowledged in between, is sent again (or a pure ACK is); then 100..200 is
    acknowledged.
    """
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 100, length=100)
    talk.say("a", 300, 0 if again else 200, length=100 if again else 0)
    talk.say("b", 320, 0, 100)
    talk.say("b", 321, 0, 200)


def into_zero(talk: Talk, *, window: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 40, 0, 100, window=window)
    talk.say("a", 500, 100, length=50)
    talk.say("b", 510, 0, 150)


def probing(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 300, 99, length=length)
    talk.say("b", 320, 0, 100)


def at_quarter(talk: Talk, *, short: int) -> None:
    talk.isn["a"] = (1 << 30) - 101 + short
    plain(talk)


def tagged(talk: Talk, *, tags: bytes, kind: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100, tags=tags, kind=kind)
    talk.say("b", 50, 0, 100)


def swapped(talk: Talk, *, swap: bool) -> None:
    """The ACK is stamped after its data, but recorded before it."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 31, 0, 100)
    if swap:
        talk.records[3:5] = talk.records[4], talk.records[3]


EXAMPLES = [
    Example(
        "no_payload",
        True,
        lambda t: greeting_only(t, length=0),
        lambda t: greeting_only(t, length=10),
        1,
        2,
    ),
    Example(
        "not_positive", True, lambda t: stamped(t, after=0), lambda t: stamped(t, after=0.001), 4, 5
    ),
    Example("fin", True, lambda t: closing(t, flags="FA"), lambda t: closing(t, flags="PA"), 6, 7),
    Example(
        "answer_is_reset",
        True,
        lambda t: answered(t, flags="RA"),
        lambda t: answered(t, flags="A"),
        4,
        5,
    ),
    Example(
        "after_reset",
        True,
        lambda t: beyond_reset(t, reset=True),
        lambda t: beyond_reset(t, reset=False),
        7,
        8,
    ),
    Example(
        "handshake_again",
        True,
        lambda t: greeted_again(t, flags="SA"),
        lambda t: greeted_again(t, flags="A"),
        2,
        3,
    ),
    Example(
        "late_segment",
        True,
        lambda t: late(t, early_ack=300),
        lambda t: late(t, early_ack=200),
        6,
        7,
    ),
    Example(
        "hole_fill",
        True,
        lambda t: hole(t, missing=True),
        lambda t: hole(t, missing=False),
        7,
        8,
        (5, 8),
    ),
    Example(
        "hole_acknowledged",
        True,
        lambda t: over_hole(t, second=200),
        lambda t: over_hole(t, second=100),
        5,
        6,
    ),
    Example(
        "older_retransmission",
        True,
        lambda t: repaired(t, again=True),
        lambda t: repaired(t, again=False),
        8,
        9,
    ),
    Example(
        "covers_fill", True, lambda t: filled(t, old=True), lambda t: filled(t, old=False), 8, 9
    ),
    Example(
        "partly_again",
        True,
        lambda t: overlapping(t, start=50),
        lambda t: overlapping(t, start=100),
        5,
        6,
    ),
    Example(
        "seen_unopened",
        True,
        lambda t: hidden(t, tags=TWO_TAGS, kind=0x88A8),
        lambda t: hidden(t, tags=ONE_TAG, kind=0x8100),
        5,
        6,
    ),
    Example(
        "clock_step", True, lambda t: stepping(t, back=500), lambda t: stepping(t, back=-5), 4, 6
    ),
    Example(
        "steps_elsewhere",
        True,
        lambda t: stepping(t, back=500, other=True),
        lambda t: stepping(t, back=-5, other=True),
        4,
        6,
    ),
    Example(
        "ack_inside",
        False,
        lambda t: super_packet(t, inside=1_460),
        lambda t: super_packet(t, inside=0),
        4,
        5,
    ),
    Example(
        "ack_below_fin",
        False,
        lambda t: almost_closed(t, ack=100),
        lambda t: almost_closed(t, ack=101),
        4,
        5,
    ),
    Example(
        "sent_below_since",
        False,
        lambda t: below_since(t, again=True),
        lambda t: below_since(t, again=False),
        5,
        8,
    ),
    Example(
        "not_recorded",
        False,
        lambda t: into_zero(t, window=0),
        lambda t: into_zero(t, window=1),
        6,
        7,
    ),
    Example(
        "keep_alive_between",
        False,
        lambda t: probing(t, length=1),
        lambda t: probing(t, length=0),
        4,
        6,
    ),
    Example(
        "quadrant_edge",
        False,
        lambda t: at_quarter(t, short=0),
        lambda t: at_quarter(t, short=1),
        4,
        5,
    ),
    Example(
        "unopened",
        False,
        lambda t: tagged(t, tags=TWO_TAGS, kind=0x88A8),
        lambda t: tagged(t, tags=ONE_TAG, kind=0x8100),
        4,
        5,
    ),
    Example(
        "unordered",
        False,
        lambda t: swapped(t, swap=True),
        lambda t: swapped(t, swap=False),
        5,
        4,
        (4, 5),
    ),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


def case_of(path: Path, example: Example, *, sent: int, ack: int) -> SampleCase:
    found = connections.cut(arrivals.read(records(contents(path))).arrivals)
    history = next(History.of(c) for c in found if any(p.frame == sent for p in c.packets))
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
    example: Example, compared: Callable[..., Comparison]
) -> None:
    talk = Talk(isn=dict(ISN))
    example.holds(talk)
    results = compared(talk).results()
    assert [
        finding
        for result in results
        for finding in result.findings
        if finding.state == "unexplained"
    ] == []
    assert f"tcptrace.{example.reason}" in {
        reason for result in results for reason in result.reasons
    }


@named
def test_it_names_the_sample(example: Example, tmp_path: Path) -> None:
    talk = Talk(isn=dict(ISN))
    example.holds(talk)
    case = case_of(talk.write(tmp_path / "holds.pcap"), example, sent=example.sent, ack=example.ack)
    assert next(reason for reason in SAMPLES if reason.name == example.reason).holds(case)
    assert round_trips.explain(case) != ""


@named
def test_it_does_not_hold_elsewhere(example: Example, tmp_path: Path) -> None:
    talk = Talk(isn=dict(ISN))
    example.fails(talk)
    sent, ack = example.elsewhere or (example.sent, example.ack)
    case = case_of(talk.write(tmp_path / "fails.pcap"), example, sent=sent, ack=ack)
    assert not next(reason for reason in SAMPLES if reason.name == example.reason).holds(case)
    assert round_trips.explain(case) == ""
