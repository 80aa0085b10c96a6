"""Each reason for which tcptrace counts a packet otherwise.

It explains where its situation occurs, and not where it does not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.validation.conftest import Frames
from tests.validation.examples import Example, history_of, reasons, unexplained
from tests.validation.talk import Talk
from validation import counts
from validation.case import PacketCase
from validation.compare import Comparison
from validation.reasons_counts import COUNTS

MPLS = struct.pack(">I", (100 << 12) | 0x100 | 64)
TWO_TAGS = struct.pack(">HHHH", 10, 0x8100, 20, 0x0800)
ONE_TAG = struct.pack(">HH", 10, 0x0800)


@dataclass(frozen=True)
class CountExample(Example):
    """Frame `frame` makes tcptrace differ by `delta`; with `fails` it cannot."""

    frame: int
    delta: dict[str, int]


def one_segment(talk: Talk, *, length: int = 100, **how: object) -> None:
    talk.hello()
    talk.send("a", 30, 0, length=length, **how)  # type: ignore[arg-type]
    talk.ack(50, length)


def repeated(talk: Talk, *, flags: str, seq: int, again: int) -> None:
    """Data, an ACK, and a packet that is sent twice."""
    one_segment(talk)
    talk.send("a", 60, seq, flags=flags)
    talk.send("a", 90, again, flags=flags)


def data_over_fin(talk: Talk, *, at: int) -> None:
    one_segment(talk)
    talk.send("a", 60, 100, flags="FA")
    talk.send("a", 90, at, length=10)


def with_syn_again(talk: Talk, *, flags: str) -> None:
    talk.send("a", 0, -1, None, "S")
    talk.send("a", 100, -1, None, flags)
    talk.send("b", 110, -1, 0, "SA")
    talk.send("a", 120, 0)
    talk.send("a", 130, 0, length=10)


def after_reset(talk: Talk, *, reset: bool) -> None:
    one_segment(talk)
    talk.send("b", 60, 0, 100, "RA" if reset else "A")
    talk.send("a", 70, 100, length=50)


def text_in(talk: Talk, *, flags: str) -> None:
    """Text in a RST, or in a segment."""
    one_segment(talk)
    talk.send("a", 60, 100, flags=flags, length=18)


def below_highest(talk: Talk, *, seq: int) -> None:
    one_segment(talk)
    talk.send("a", 5_000, seq, length=1)
    talk.ack(5_010, 100)


def into_window(talk: Talk, *, window: int, length: int) -> None:
    """The last ACK carries the window; then comes data."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(40, 100, window=window)
    talk.send("a", 500, 100, length=length)
    talk.ack(510, 100 if length == 1 else 100 + length)


def without_window(talk: Talk, *, flags: str) -> None:
    """The receiver's last packet has no ACK."""
    talk.hello()
    talk.send("b", 25, 0, 0, flags, length=10)
    talk.send("a", 30, 0, 10, length=100)


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
    talk.ack(50, 100)


def first_hidden(talk: Talk, *, tags: bytes, kind: int) -> None:
    """The first copy of the data under tags, the second without."""
    talk.hello()
    talk.data(30, 0, tags=tags, kind=kind)
    talk.data(300, 0)
    talk.ack(320, 100)


HIDDEN = {"packets": -1, "payload_bytes": -100, "unique_bytes": -100}
AGAIN = {"retransmitted_packets": 1, "retransmitted_bytes": 1}
EXAMPLES = [
    CountExample("under_labels", one_segment, {"tags": MPLS, "kind": 0x8847}, {}, 4, HIDDEN),
    CountExample(
        "under_two_tags",
        one_segment,
        {"tags": TWO_TAGS, "kind": 0x88A8},
        {"tags": ONE_TAG, "kind": 0x8100},
        4,
        HIDDEN,
    ),
    CountExample("no_ip_length", one_segment, {"zero_length": True}, {}, 4, HIDDEN),
    CountExample(
        "later_fragment",
        fragments,
        {"split": True},
        {"split": False},
        5,
        {"packets": -1, "payload_bytes": -40, "unique_bytes": -40},
    ),
    CountExample(
        "after_reset",
        after_reset,
        {"reset": True},
        {"reset": False},
        7,
        {"payload_bytes": 50, "unique_bytes": 50},
    ),
    CountExample(
        "reset_text",
        text_in,
        {"flags": "RA"},
        {"flags": "A"},
        6,
        {"payload_bytes": 18, "unique_bytes": 18},
    ),
    CountExample(
        "keep_alive", below_highest, {"seq": 99}, {"seq": 98}, 6, {"payload_bytes": 1, **AGAIN}
    ),
    CountExample(
        "window_probe",
        into_window,
        {"window": 0, "length": 1},
        {"window": 1, "length": 1},
        6,
        {"payload_bytes": 1},
    ),
    CountExample(
        "closed_window",
        into_window,
        {"window": 0, "length": 50},
        {"window": 1, "length": 50},
        6,
        {"unique_bytes": -50},
    ),
    CountExample(
        "peer_without_window",
        without_window,
        {"flags": "P"},
        {"flags": "PA"},
        5,
        {"unique_bytes": -100},
    ),
    CountExample("syn_again", with_syn_again, {"flags": "S"}, {"flags": "A"}, 2, AGAIN),
    CountExample(
        "fin_again",
        repeated,
        {"flags": "FA", "seq": 100, "again": 100},
        {"flags": "A", "seq": 100, "again": 100},
        7,
        AGAIN,
    ),
    CountExample(
        "data_on_fin", data_over_fin, {"at": 100}, {"at": 101}, 7, {**AGAIN, "unique_bytes": -1}
    ),
    CountExample(
        "seen_unopened",
        first_hidden,
        {"tags": TWO_TAGS, "kind": 0x88A8},
        {"tags": ONE_TAG, "kind": 0x8100},
        5,
        {"unique_bytes": 100, "retransmitted_packets": -1, "retransmitted_bytes": -100},
    ),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


@pytest.fixture(scope="module", autouse=True)
def _together(frames: Frames) -> None:
    """Asks tshark once for every example."""
    frames.ask(partial(example.talk, example.holds) for example in EXAMPLES)


def case_of(path: Path, frame: int) -> PacketCase:
    history = history_of(path, frame)
    return PacketCase(history.packet(frame), history)


def test_every_reason_has_an_example() -> None:
    assert sorted(example.reason for example in EXAMPLES) == sorted(
        reason.name for reason in COUNTS
    )


@named
def test_it_explains_where_the_situation_occurs(
    example: CountExample, compared: Callable[..., Comparison]
) -> None:
    results = compared(example.talk(example.holds)).results()
    assert unexplained(results, "tcptrace") == []
    assert example.reason in reasons(results, "tcptrace")


@named
def test_it_bounds_the_difference_and_explains_nothing_elsewhere(
    example: CountExample, tmp_path: Path
) -> None:
    delta = dict.fromkeys(counts.FIELDS, 0) | example.delta
    case = case_of(example.talk(example.holds).write(tmp_path / "holds.pcap"), example.frame)
    used, left = counts.explain(case, delta)
    assert example.reason in {name for name, _ in used}
    assert left == set()
    for field in counts.FIELDS:
        too_much = delta | {field: 5_000}
        assert field in counts.explain(case, too_much)[1], f"{example.reason} explains any {field}"
    case = case_of(example.talk(example.fails).write(tmp_path / "fails.pcap"), example.frame)
    used, left = counts.explain(case, delta)
    assert example.reason not in {name for name, _ in used}
    assert left != set()
