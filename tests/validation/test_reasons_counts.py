"""Each reason for which tcptrace counts a packet otherwise.

It explains where its situation occurs, and not where it does not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.validation.talk import Talk
from validation import arrivals, connections, counts
from validation.case import History, PacketCase
from validation.compare import Comparison
from validation.reasons_counts import COUNTS
from validation.records import contents, records

MPLS = struct.pack(">I", (100 << 12) | 0x100 | 64)
TWO_TAGS = struct.pack(">HHHH", 10, 0x8100, 20, 0x0800)
ONE_TAG = struct.pack(">HH", 10, 0x0800)


@dataclass(frozen=True)
class Example:
    """A talk whose frame `frame` makes tcptrace differ by `delta`.

    And one in which the same frame cannot.
    """

    reason: str
    holds: Callable[[Talk], object]
    fails: Callable[[Talk], object]
    frame: int
    delta: dict[str, int]


def said(talk: Talk, *, length: int = 100, **how: object) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=length, **how)  # type: ignore[arg-type]
    talk.say("b", 50, 0, length)


def repeated(talk: Talk, *, flags: str, seq: int, again: int) -> None:
    """Data, an ACK, and a packet that is sent twice."""
    said(talk)
    talk.say("a", 60, seq, flags=flags)
    talk.say("a", 90, again, flags=flags)


def data_over_fin(talk: Talk, *, at: int) -> None:
    said(talk)
    talk.say("a", 60, 100, flags="FA")
    talk.say("a", 90, at, length=10)


def with_syn_again(talk: Talk, *, flags: str) -> None:
    talk.say("a", 0, -1, None, "S")
    talk.say("a", 100, -1, None, flags)
    talk.say("b", 110, -1, 0, "SA")
    talk.say("a", 120, 0)
    talk.say("a", 130, 0, length=10)


def after_reset(talk: Talk, *, reset: bool) -> None:
    said(talk)
    talk.say("b", 60, 0, 100, "RA" if reset else "A")
    talk.say("a", 70, 100, length=50)


def told_why(talk: Talk, *, flags: str) -> None:
    """Text in a RST, or in a segment."""
    said(talk)
    talk.say("a", 60, 100, flags=flags, length=18)


def below_highest(talk: Talk, *, seq: int) -> None:
    said(talk)
    talk.say("a", 5_000, seq, length=1)
    talk.say("b", 5_010, 0, 100)


def into_window(talk: Talk, *, window: int, length: int) -> None:
    """The receiver's last word is its window; then comes data."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 40, 0, 100, window=window)
    talk.say("a", 500, 100, length=length)
    talk.say("b", 510, 0, 100 if length == 1 else 100 + length)


def without_window(talk: Talk, *, flags: str) -> None:
    """The receiver's last packet has no ACK."""
    talk.hello()
    talk.say("b", 25, 0, 0, flags, length=10)
    talk.say("a", 30, 0, 10, length=100)


def fragments(talk: Talk, *, split: bool) -> None:
    talk.hello()
    whole = talk.segment("a", 0, 0, "PA", 100, window=60_000)
    if split:
        head = talk.datagram("a", "b", whole[:80], fragment=0x2000)
        talk.frame(30, b"\x08\0" + head)
        tail = talk.datagram("a", "b", whole[80:], fragment=10)
        talk.frame(30.1, b"\x08\0" + tail)
    else:
        talk.frame(30, b"\x08\0" + talk.datagram("a", "b", whole))
        talk.frame(
            30.1,
            b"\x08\0" + talk.datagram("a", "b", talk.segment("a", 100, 0, "A", 0, window=60_000)),
        )
    talk.say("b", 50, 0, 100)


def first_hidden(talk: Talk, *, tags: bytes, kind: int) -> None:
    """The first copy of the data under tags, the second without."""
    talk.hello()
    talk.say("a", 30, 0, length=100, tags=tags, kind=kind)
    talk.say("a", 300, 0, length=100)
    talk.say("b", 320, 0, 100)


HIDDEN = {"packets": -1, "payload_bytes": -100, "unique_bytes": -100}
AGAIN = {"retransmitted_packets": 1, "retransmitted_bytes": 1}
EXAMPLES = [
    Example("under_labels", lambda t: said(t, tags=MPLS, kind=0x8847), said, 4, HIDDEN),
    Example(
        "under_two_tags",
        lambda t: said(t, tags=TWO_TAGS, kind=0x88A8),
        lambda t: said(t, tags=ONE_TAG, kind=0x8100),
        4,
        HIDDEN,
    ),
    Example("no_ip_length", lambda t: said(t, zero_length=True), said, 4, HIDDEN),
    Example(
        "later_fragment",
        lambda t: fragments(t, split=True),
        lambda t: fragments(t, split=False),
        5,
        {"packets": -1, "payload_bytes": -40},
    ),
    Example(
        "after_reset",
        lambda t: after_reset(t, reset=True),
        lambda t: after_reset(t, reset=False),
        7,
        {"payload_bytes": 50, "unique_bytes": 50},
    ),
    Example(
        "reset_text",
        lambda t: told_why(t, flags="RA"),
        lambda t: told_why(t, flags="A"),
        6,
        {"payload_bytes": 18, "unique_bytes": 18},
    ),
    Example(
        "keep_alive",
        lambda t: below_highest(t, seq=99),
        lambda t: below_highest(t, seq=98),
        6,
        {"payload_bytes": 1, **AGAIN},
    ),
    Example(
        "window_probe",
        lambda t: into_window(t, window=0, length=1),
        lambda t: into_window(t, window=1, length=1),
        6,
        {"payload_bytes": 1},
    ),
    Example(
        "closed_window",
        lambda t: into_window(t, window=0, length=50),
        lambda t: into_window(t, window=1, length=50),
        6,
        {"unique_bytes": -50},
    ),
    Example(
        "peer_without_window",
        lambda t: without_window(t, flags="P"),
        lambda t: without_window(t, flags="PA"),
        5,
        {"unique_bytes": -100},
    ),
    Example(
        "syn_again",
        lambda t: with_syn_again(t, flags="S"),
        lambda t: with_syn_again(t, flags="A"),
        2,
        AGAIN,
    ),
    Example(
        "fin_again",
        lambda t: repeated(t, flags="FA", seq=100, again=100),
        lambda t: repeated(t, flags="A", seq=100, again=100),
        7,
        AGAIN,
    ),
    Example(
        "data_on_fin",
        lambda t: data_over_fin(t, at=100),
        lambda t: data_over_fin(t, at=101),
        7,
        {**AGAIN, "unique_bytes": -1},
    ),
    Example(
        "seen_unopened",
        lambda t: first_hidden(t, tags=TWO_TAGS, kind=0x88A8),
        lambda t: first_hidden(t, tags=ONE_TAG, kind=0x8100),
        5,
        {"unique_bytes": 100, "retransmitted_packets": -1, "retransmitted_bytes": -100},
    ),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


def case_of(path: Path, frame: int) -> PacketCase:
    found = connections.cut(arrivals.read(records(contents(path))).arrivals)
    history = next(History.of(c) for c in found if any(p.frame == frame for p in c.packets))
    return PacketCase(history.packet(frame), history)


def test_every_reason_has_an_example() -> None:
    assert sorted(example.reason for example in EXAMPLES) == sorted(
        reason.name for reason in COUNTS
    )


@named
def test_it_explains_where_the_situation_occurs(
    example: Example, compared: Callable[..., Comparison]
) -> None:
    talk = Talk()
    example.holds(talk)
    results = compared(talk).results()
    findings = [
        finding for result in results for finding in result.findings if finding.tool == "tcptrace"
    ]
    assert [finding for finding in findings if finding.state == "unexplained"] == []
    assert f"tcptrace.{example.reason}" in {
        reason for result in results for reason in result.reasons
    }


@named
def test_it_bounds_the_difference(example: Example, tmp_path: Path) -> None:
    talk = Talk()
    example.holds(talk)
    case = case_of(talk.write(tmp_path / "holds.pcap"), example.frame)
    delta = dict.fromkeys(counts.FIELDS, 0) | example.delta
    used, left = counts.explain(case, delta)
    assert example.reason in {name for name, _ in used}
    assert left == set()
    for field in counts.FIELDS:
        too_much = delta | {field: 5_000}
        assert field in counts.explain(case, too_much)[1], f"{example.reason} explains any {field}"


@named
def test_it_explains_nothing_elsewhere(example: Example, tmp_path: Path) -> None:
    talk = Talk()
    example.fails(talk)
    case = case_of(talk.write(tmp_path / "fails.pcap"), example.frame)
    used, left = counts.explain(case, dict.fromkeys(counts.FIELDS, 0) | example.delta)
    assert example.reason not in {name for name, _ in used}
    assert left != set()
