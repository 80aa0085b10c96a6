"""Each reason for which tshark flags a frame otherwise.

It holds where its situation occurs, and not elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.validation.conftest import Frames
from tests.validation.examples import Example, history_of, reasons, unexplained
from tests.validation.talk import DSS, ISN, Talk, sack
from validation import arrivals, flags, tshark_rules
from validation.case import FlagCase
from validation.compare import Comparison
from validation.reasons_tshark import REASONS
from validation.records import contents, records

RETRANSMISSION, FAST, SPURIOUS, OUT_OF_ORDER = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
)
DUPLICATE, LOST, ACK_LOST, ZERO = "duplicate_ack", "lost_segment", "ack_lost_segment", "zero_window"
B = ISN["a"] + 1
NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlagExample(Example):
    """tshark flags `frame` `observed` where trustbed's classes imply `expected`.

    Without the reason the frame is the same or `elsewhere`.
    """

    frame: int
    expected: tuple[str, ...]
    observed: tuple[str, ...]
    elsewhere: int = 0
    end_to_end: bool = True


def three(talk: Talk, *, at: float = 30) -> None:
    """Three segments of 100 bytes, 0.1 ms apart (frames 4 to 6 after a handshake)."""
    for part in range(3):
        talk.data(at + part / 10, 100 * part)


def cut(talk: Talk, *, captured: int | None) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.data(300, 0, options=b"\x01" * 12, captured=captured)
    talk.ack(320, 100)


def reset(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.send("b", 50, 0, 100, flags)
    talk.data(60, 0)


def syn_only(talk: Talk, *, again: bool) -> None:
    talk.send("a", 0, -1, None, "S")
    talk.send("a", 500, -1 if again else 0, None, "S" if again else "A")
    talk.send("b", 510, -1, 0, "SA")
    talk.send("a", 520, 0)


def resent(talk: Talk, *, after: float) -> None:
    """The first of three segments is sent again; nothing was acknowledged."""
    talk.hello()
    three(talk)
    talk.data(30 + after, 0)
    talk.ack(30 + after + 30, 300)


def requested(talk: Talk, *, times: int, wait: float = 1, sacked: int = 0) -> None:
    """The receiver repeats its ACK; the sender sends the first segment again."""
    talk.hello()
    talk.data(28, 0)
    talk.ack(49, 100)
    for part in range(3):
        talk.send("a", 50 + part / 10, 100 + 2_000 * part, length=2_000)
    for each in range(times):
        block = sack((B + 2_100, B + 2_100 + (each + 1) * sacked)) if sacked else b""
        talk.ack(90 + each / 10, 100, options=block)
    talk.send("a", 91 + wait, 100, length=2_000)
    talk.ack(150, 6_100)


def twice_there(talk: Talk, *, dsack: bool) -> None:
    """A retransmission that a DSACK declares unnecessary afterwards."""
    talk.hello()
    talk.data(30, 0)
    talk.data(400, 0)
    talk.ack(420, 100)
    talk.ack(421, 100, options=sack((B, B + 100)) if dsack else b"\x01" * 12)


def older_ack(talk: Talk, *, last: int) -> None:
    """The peer acknowledged 200, then `last`; then 100..200 is sent again."""
    talk.hello()
    three(talk)
    talk.ack(50, 200)
    talk.ack(51, last)
    talk.data(300, 100)
    talk.ack(320, 300)


def stray_reset_ack(talk: Talk, *, flags: str) -> None:
    """A RST outside the window (or a pure ACK) carries the last acknowledgement number."""
    talk.hello()
    three(talk)
    talk.ack(50, 100)
    talk.send("b", 60, -5_000_0 if "R" in flags else 0, 300 if "R" in flags else 100, flags)
    talk.data(300, 100)
    talk.ack(320, 300)


def hole(talk: Talk, *, missing: bool) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 200 if missing else 100)
    talk.ack(50, 300 if missing else 200)
    talk.data(51, 100 if missing else 200)
    talk.ack(70, 300)


def ahead(talk: Talk, *, seq: int) -> None:
    """A pure ACK with a sequence number beyond the data that follows."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("a", 60, seq)
    talk.data(400, 100)
    talk.ack(420, 200)


def one_below(talk: Talk, *, start: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.send("a", 400, start, length=200)
    talk.ack(420, start + 200)


def text_in(talk: Talk, *, flags: str) -> None:
    """Text in a RST (or in a segment) whose numbers were used and acknowledged before."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("a", 400, 0, flags=flags, length=18)
    talk.ack(420, 100)


def acked_unseen(talk: Talk, *, ack: int) -> None:
    """The peer acknowledges beyond what was seen; then comes data above that."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, ack)
    talk.data(60, ack)
    talk.ack(80, ack + 100)


def mptcp(talk: Talk, *, options: bytes) -> None:
    """An ACK that repeats another, with or without an MPTCP option."""
    talk.hello()
    three(talk)
    talk.ack(50, 100, options=b"\x01" * len(options))
    talk.ack(51, 100, options=options)


def idle_ack(talk: Talk, *, outstanding: bool) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    if outstanding:
        talk.data(51, 100)
    talk.ack(60, 100)


def sack_and_window(talk: Talk, *, window: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(49, 100, window=60_000)
    talk.data(50, 200)
    talk.ack(70, 100, window=window, options=sack((B + 200, B + 300)))


def numbered(talk: Talk, *, seq: int) -> None:
    """A duplicate ACK whose own sequence number is not the next one."""
    talk.hello()
    talk.send("b", 25, 0, length=100)
    talk.send("a", 26, 0, 100)
    talk.send("a", 30, 0, 100, length=100)
    talk.send("a", 31, 100, 100, length=100)
    talk.send("b", 50, 100, 100)
    talk.send("b", 51, seq, 100)


def lower_between(talk: Talk, *, between: int) -> None:
    talk.hello()
    three(talk)
    talk.ack(50, 100)
    talk.ack(51, between)
    talk.ack(52, 100)


def answers_probe(talk: Talk, *, probe: int) -> None:
    """An ACK repeats another after the peer's keep-alive (or other packet), with data in flight."""
    talk.hello()
    three(talk)
    talk.ack(50, 100)
    talk.send("a", 2_000, probe, length=1 if probe == 299 else 0)
    talk.ack(2_020, 100)


def zero_again(talk: Talk, *, window: int) -> None:
    talk.hello()
    three(talk)
    talk.ack(50, 100, window=window)
    talk.ack(51, 100, window=window)


def gap(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("a", 60, 200, length=length)


def running(talk: Talk, *, before: int) -> None:
    """Without a handshake: a pure ACK, then data from further on."""
    talk.send("a", 0, 0, 0, length=before)
    talk.send("a", 10, 500, 0, length=100)
    talk.ack(30, 600)


def first_packet(talk: Talk, *, known: bool) -> None:
    """The sender's first packet, its SYN apart, lies above what the SYN-ACK acknowledged."""
    if known:
        talk.send("a", 0, -1, None, "S")
    talk.send("b", 1, -1, 0, "SA")
    talk.send("a", 30, 500, 0, length=100)


def shown_before(talk: Talk, *, shown: bool) -> None:
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    talk.send("a", 55, 200 if shown else 100)
    talk.data(60, 200)


def one_sided(talk: Talk, *, both: bool) -> None:
    """ACKs of a peer of which nothing was seen (or one packet)."""
    if both:
        talk.send("a", 0, 0, 0)
    talk.ack(1, 0)
    talk.ack(10, 1_000)


def hole_before(talk: Talk, *, first: int) -> None:
    """One ACK acknowledges missing bytes.

    The next acknowledges more of them, below what was seen.
    """
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 200)
    talk.data(32, 400)
    talk.ack(50, first)
    talk.ack(51, 500)


def ack_beyond(talk: Talk, *, first: int) -> None:
    """Two ACKs, one after the other, the second (or both) beyond everything that was seen."""
    talk.hello()
    talk.data(30, 0)
    talk.ack(50, first)
    talk.ack(60, 600)


def behind(talk: Talk, *, second: int) -> None:
    """Two segments that overlap (or just meet), then an ACK of both."""
    talk.hello()
    talk.data(30, 0)
    talk.send("a", 30.5, second, length=250 - second)
    talk.ack(50, 250)


def shuffled(talk: Talk, *, swap: bool) -> None:
    """Two segments and an ACK; the records of the segments may be swapped, not their stamps."""
    talk.hello()
    talk.data(30, 0)
    talk.data(31, 100)
    if swap:
        talk.records[3:5] = talk.records[4], talk.records[3]
    talk.ack(50, 200)


EXAMPLES = [
    FlagExample(
        "header_cut", cut, {"captured": 60}, {"captured": None}, 5, (RETRANSMISSION,), NOTHING
    ),
    FlagExample("after_reset", reset, {"flags": "RA"}, {"flags": "A"}, 6, NOTHING, (SPURIOUS,)),
    FlagExample(
        "number_again", syn_only, {"again": True}, {"again": False}, 2, NOTHING, (RETRANSMISSION,)
    ),
    FlagExample(
        "soon_after_highest",
        resent,
        {"after": 5},
        {"after": 500},
        7,
        (RETRANSMISSION,),
        (OUT_OF_ORDER,),
    ),
    FlagExample(
        "two_duplicates", requested, {"times": 2}, {"times": 1}, 11, (RETRANSMISSION,), (FAST,), 10
    ),
    FlagExample(
        "no_fresh_duplicates",
        requested,
        {"times": 3, "wait": 50},
        {"times": 3},
        12,
        (FAST,),
        (RETRANSMISSION,),
    ),
    FlagExample(
        "reported_by_sack",
        twice_there,
        {"dsack": True},
        {"dsack": False},
        5,
        (SPURIOUS,),
        (RETRANSMISSION,),
    ),
    FlagExample(
        "lower_ack_last", older_ack, {"last": 100}, {"last": 200}, 9, (SPURIOUS,), (RETRANSMISSION,)
    ),
    FlagExample(
        "ack_of_reset",
        stray_reset_ack,
        {"flags": "RA"},
        {"flags": "A"},
        9,
        (RETRANSMISSION,),
        (SPURIOUS,),
    ),
    FlagExample(
        "hole_fill", hole, {"missing": True}, {"missing": False}, 7, (RETRANSMISSION,), (SPURIOUS,)
    ),
    FlagExample("number_ahead", ahead, {"seq": 300}, {"seq": 100}, 7, NOTHING, (RETRANSMISSION,)),
    FlagExample(
        "one_below_highest", one_below, {"start": 99}, {"start": 98}, 5, (RETRANSMISSION,), NOTHING
    ),
    FlagExample("reset_text", text_in, {"flags": "RA"}, {"flags": "A"}, 6, NOTHING, (SPURIOUS,)),
    FlagExample(
        "acknowledged_unseen", acked_unseen, {"ack": 300}, {"ack": 100}, 6, NOTHING, (LOST,)
    ),
    FlagExample(
        "multipath",
        mptcp,
        {"options": DSS},
        {"options": b"\x01" * 8},
        8,
        (DUPLICATE,),
        NOTHING,
        end_to_end=False,
    ),
    FlagExample(
        "nothing_outstanding",
        idle_ack,
        {"outstanding": False},
        {"outstanding": True},
        6,
        NOTHING,
        (DUPLICATE,),
        7,
    ),
    FlagExample(
        "window_changed",
        sack_and_window,
        {"window": 59_000},
        {"window": 60_000},
        7,
        (DUPLICATE,),
        NOTHING,
    ),
    FlagExample("other_number", numbered, {"seq": 0}, {"seq": 100}, 9, (DUPLICATE,), NOTHING),
    FlagExample(
        "other_ack_between",
        lower_between,
        {"between": 0},
        {"between": 100},
        9,
        (DUPLICATE,),
        NOTHING,
    ),
    FlagExample(
        "probe_answered", answers_probe, {"probe": 299}, {"probe": 300}, 9, (DUPLICATE,), NOTHING
    ),
    FlagExample(
        "window_zero", zero_again, {"window": 0}, {"window": 9}, 8, (DUPLICATE, ZERO), (ZERO,)
    ),
    FlagExample("empty_packet_ahead", gap, {"length": 0}, {"length": 1}, 6, NOTHING, (LOST,)),
    FlagExample("running_before", running, {"before": 0}, {"before": 10}, 2, NOTHING, (LOST,)),
    FlagExample(
        "first_of_sender", first_packet, {"known": False}, {"known": True}, 2, (LOST,), NOTHING, 3
    ),
    FlagExample(
        "number_ahead_before", shown_before, {"shown": True}, {"shown": False}, 7, (LOST,), NOTHING
    ),
    FlagExample(
        "peer_unseen", one_sided, {"both": False}, {"both": True}, 2, (ACK_LOST,), NOTHING, 3
    ),
    FlagExample("mark_ahead", hole_before, {"first": 300}, {"first": 100}, 8, (ACK_LOST,), NOTHING),
    FlagExample("mark_muted", ack_beyond, {"first": 300}, {"first": 100}, 6, (ACK_LOST,), NOTHING),
    FlagExample("mark_behind", behind, {"second": 50}, {"second": 100}, 6, NOTHING, (ACK_LOST,)),
    FlagExample(
        "unordered", shuffled, {"swap": True}, {"swap": False}, 5, NOTHING, (RETRANSMISSION,)
    ),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


@pytest.fixture(scope="module", autouse=True)
def _together(frames: Frames) -> None:
    """Asks tshark once for every example."""
    frames.ask(partial(example.talk, example.holds) for example in EXAMPLES)


def case_of(path: Path, example: FlagExample, frame: int) -> FlagCase:
    history = history_of(path, frame)
    packets = arrivals.read(records(contents(path))).packets
    return FlagCase(
        history.packet(frame),
        frozenset(example.expected),
        frozenset(example.observed),
        tshark_rules.analyse(packets).situations[frame],
        history,
    )


def test_every_reason_has_an_example_and_explains_no_other_flag() -> None:
    by_name = {reason.name: reason for reason in REASONS}
    assert sorted(example.reason for example in EXAMPLES) == sorted(by_name)
    for example in EXAMPLES:
        reason = by_name[example.reason]
        assert set(example.observed) - set(example.expected) <= reason.adds
        assert set(example.expected) - set(example.observed) <= reason.drops


@named
def test_it_explains_where_the_situation_occurs(
    example: FlagExample, compared: Callable[..., Comparison]
) -> None:
    if not example.end_to_end:
        return
    comparison = compared(example.talk(example.holds))
    results = comparison.results()
    assert unexplained(results, "tshark") == []
    assert comparison.tools.tshark is not None
    assert flags.named_once(comparison.tools.tshark[example.frame]) == frozenset(example.observed)
    assert example.reason in reasons(results, "tshark")


@named
def test_it_names_the_frame_and_does_not_hold_elsewhere(
    example: FlagExample, tmp_path: Path
) -> None:
    path = example.talk(example.holds).write(tmp_path / "holds.pcap")
    used, left = flags.explain(case_of(path, example, example.frame))
    assert example.reason in {name for name, _ in used}
    assert left == frozenset()
    path = example.talk(example.fails).write(tmp_path / "fails.pcap")
    case = case_of(path, example, example.elsewhere or example.frame)
    assert not next(reason for reason in REASONS if reason.name == example.reason).holds(case)
    assert flags.explain(case)[1] != frozenset()
