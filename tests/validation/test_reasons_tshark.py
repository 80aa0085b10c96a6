"""Each reason for which tshark flags a frame otherwise.

It holds where its situation occurs, and not elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.validation.talk import DSS, ISN, Talk, sack
from validation import arrivals, connections, flags, tshark_rules
from validation.case import FlagCase, History
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
class Example:
    """A talk with a frame that tshark flags `observed` where trustbed's classes imply `expected`.

    And one in which the same frame (or `elsewhere`) gives the reason no hold.
    """

    reason: str
    holds: Callable[[Talk], object]
    fails: Callable[[Talk], object]
    frame: int
    expected: tuple[str, ...]
    observed: tuple[str, ...]
    elsewhere: int = 0
    end_to_end: bool = True


def three(talk: Talk, *, at: float = 30) -> None:
    """Three segments of 100 bytes, 0.1 ms apart (frames 4 to 6 after a handshake)."""
    for part in range(3):
        talk.say("a", at + part / 10, 100 * part, length=100)


def cut(talk: Talk, *, captured: int | None) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 300, 0, length=100, options=b"\x01" * 12, captured=captured)
    talk.say("b", 320, 0, 100)


def reset(talk: Talk, *, flags: str) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100, flags)
    talk.say("a", 60, 0, length=100)


def greeting(talk: Talk, *, again: bool) -> None:
    talk.say("a", 0, -1, None, "S")
    talk.say("a", 500, -1 if again else 0, None, "S" if again else "A")
    talk.say("b", 510, -1, 0, "SA")
    talk.say("a", 520, 0)


def resent(talk: Talk, *, after: float) -> None:
    """The first of three segments is sent again; nothing was acknowledged."""
    talk.hello()
    three(talk)
    talk.say("a", 30 + after, 0, length=100)
    talk.say("b", 30 + after + 30, 0, 300)


def asked_for(talk: Talk, *, times: int, wait: float = 1, sacked: int = 0) -> None:
    """The receiver repeats its ACK; the sender sends the first segment again."""
    talk.hello()
    talk.say("a", 28, 0, length=100)
    talk.say("b", 49, 0, 100)
    for part in range(3):
        talk.say("a", 50 + part / 10, 100 + 2_000 * part, length=2_000)
    for each in range(times):
        block = sack((B + 2_100, B + 2_100 + (each + 1) * sacked)) if sacked else b""
        talk.say("b", 90 + each / 10, 0, 100, options=block)
    talk.say("a", 91 + wait, 100, length=2_000)
    talk.say("b", 150, 0, 6_100)


def twice_there(talk: Talk, *, dsack: bool) -> None:
    """A retransmission that a DSACK declares unnecessary afterwards."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 400, 0, length=100)
    talk.say("b", 420, 0, 100)
    talk.say("b", 421, 0, 100, options=sack((B, B + 100)) if dsack else b"\x01" * 12)


def older_ack(talk: Talk, *, last: int) -> None:
    """The peer acknowledged 200, then `last`; then 100..200 is sent again."""
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 200)
    talk.say("b", 51, 0, last)
    talk.say("a", 300, 100, length=100)
    talk.say("b", 320, 0, 300)


def stray_reset_ack(talk: Talk, *, flags: str) -> None:
    """A RST outside the window (or a pure ACK) carries the last acknowledgement number."""
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 100)
    talk.say("b", 60, -5_000_0 if "R" in flags else 0, 300 if "R" in flags else 100, flags)
    talk.say("a", 300, 100, length=100)
    talk.say("b", 320, 0, 300)


def hole(talk: Talk, *, missing: bool) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 200 if missing else 100, length=100)
    talk.say("b", 50, 0, 300 if missing else 200)
    talk.say("a", 51, 100 if missing else 200, length=100)
    talk.say("b", 70, 0, 300)


def ahead(talk: Talk, *, seq: int) -> None:
    """A pure ACK with a sequence number beyond the data that follows."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 60, seq)
    talk.say("a", 400, 100, length=100)
    talk.say("b", 420, 0, 200)


def one_below(talk: Talk, *, start: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 400, start, length=200)
    talk.say("b", 420, 0, start + 200)


def told_why(talk: Talk, *, flags: str) -> None:
    """Text in a RST (or in a segment) whose numbers were used and acknowledged before."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 400, 0, flags=flags, length=18)
    talk.say("b", 420, 0, 100)


def acked_unseen(talk: Talk, *, ack: int) -> None:
    """The peer acknowledges beyond what was seen; then comes data above that."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, ack)
    talk.say("a", 60, ack, length=100)
    talk.say("b", 80, 0, ack + 100)


def mptcp(talk: Talk, *, options: bytes) -> None:
    """An ACK that repeats another, with or without an MPTCP option."""
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 100, options=b"\x01" * len(options))
    talk.say("b", 51, 0, 100, options=options)


def idle_ack(talk: Talk, *, outstanding: bool) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    if outstanding:
        talk.say("a", 51, 100, length=100)
    talk.say("b", 60, 0, 100)


def sack_and_window(talk: Talk, *, window: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 49, 0, 100, window=60_000)
    talk.say("a", 50, 200, length=100)
    talk.say("b", 70, 0, 100, window=window, options=sack((B + 200, B + 300)))


def numbered(talk: Talk, *, seq: int) -> None:
    """A duplicate ACK whose own sequence number is not the next one."""
    talk.hello()
    talk.say("b", 25, 0, length=100)
    talk.say("a", 26, 0, 100)
    talk.say("a", 30, 0, 100, length=100)
    talk.say("a", 31, 100, 100, length=100)
    talk.say("b", 50, 100, 100)
    talk.say("b", 51, seq, 100)


def lower_between(talk: Talk, *, between: int) -> None:
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 100)
    talk.say("b", 51, 0, between)
    talk.say("b", 52, 0, 100)


def answers_probe(talk: Talk, *, probe: int) -> None:
    """An ACK repeats another after the peer's keep-alive (or other packet), with data in flight."""
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 100)
    talk.say("a", 2_000, probe, length=1 if probe == 299 else 0)
    talk.say("b", 2_020, 0, 100)


def zero_again(talk: Talk, *, window: int) -> None:
    talk.hello()
    three(talk)
    talk.say("b", 50, 0, 100, window=window)
    talk.say("b", 51, 0, 100, window=window)


def gap(talk: Talk, *, length: int) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 60, 200, length=length)


def running(talk: Talk, *, before: int) -> None:
    """Without a handshake: a pure ACK, then data from further on."""
    talk.say("a", 0, 0, 0, length=before)
    talk.say("a", 10, 500, 0, length=100)
    talk.say("b", 30, 0, 600)


def first_word(talk: Talk, *, known: bool) -> None:
    """The sender's first packet, its SYN apart, lies above what the SYN-ACK acknowledged."""
    if known:
        talk.say("a", 0, -1, None, "S")
    talk.say("b", 1, -1, 0, "SA")
    talk.say("a", 30, 500, 0, length=100)


def shown_before(talk: Talk, *, shown: bool) -> None:
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, 100)
    talk.say("a", 55, 200 if shown else 100)
    talk.say("a", 60, 200, length=100)


def unheard(talk: Talk, *, heard: bool) -> None:
    """ACKs of a peer of which nothing was seen (or one packet)."""
    if heard:
        talk.say("a", 0, 0, 0)
    talk.say("b", 1, 0, 0)
    talk.say("b", 10, 0, 1_000)


def told_before(talk: Talk, *, first: int) -> None:
    """One ACK tells of missing bytes.

    The next acknowledges more missing bytes below what was seen.
    """
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 200, length=100)
    talk.say("a", 32, 400, length=100)
    talk.say("b", 50, 0, first)
    talk.say("b", 51, 0, 500)


def muted(talk: Talk, *, first: int) -> None:
    """Two ACKs, one after the other, the second (or both) beyond everything that was seen."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("b", 50, 0, first)
    talk.say("b", 60, 0, 600)


def behind(talk: Talk, *, second: int) -> None:
    """Two segments that overlap (or just meet), then an ACK of both."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 30.5, second, length=250 - second)
    talk.say("b", 50, 0, 250)


def shuffled(talk: Talk, *, swap: bool) -> None:
    """Two segments and an ACK; the records of the segments may be swapped, not their stamps."""
    talk.hello()
    talk.say("a", 30, 0, length=100)
    talk.say("a", 31, 100, length=100)
    if swap:
        talk.records[3:5] = talk.records[4], talk.records[3]
    talk.say("b", 50, 0, 200)


EXAMPLES = [
    Example(
        "header_cut",
        lambda t: cut(t, captured=60),
        lambda t: cut(t, captured=None),
        5,
        (RETRANSMISSION,),
        NOTHING,
    ),
    Example(
        "after_reset",
        lambda t: reset(t, flags="RA"),
        lambda t: reset(t, flags="A"),
        6,
        NOTHING,
        (SPURIOUS,),
    ),
    Example(
        "number_again",
        lambda t: greeting(t, again=True),
        lambda t: greeting(t, again=False),
        2,
        NOTHING,
        (RETRANSMISSION,),
    ),
    Example(
        "soon_after_highest",
        lambda t: resent(t, after=5),
        lambda t: resent(t, after=500),
        7,
        (RETRANSMISSION,),
        (OUT_OF_ORDER,),
    ),
    Example(
        "two_duplicates",
        lambda t: asked_for(t, times=2),
        lambda t: asked_for(t, times=1),
        11,
        (RETRANSMISSION,),
        (FAST,),
        10,
    ),
    Example(
        "no_fresh_duplicates",
        lambda t: asked_for(t, times=3, wait=50),
        lambda t: asked_for(t, times=3),
        12,
        (FAST,),
        (RETRANSMISSION,),
    ),
    Example(
        "reported_by_sack",
        lambda t: twice_there(t, dsack=True),
        lambda t: twice_there(t, dsack=False),
        5,
        (SPURIOUS,),
        (RETRANSMISSION,),
    ),
    Example(
        "lower_ack_last",
        lambda t: older_ack(t, last=100),
        lambda t: older_ack(t, last=200),
        9,
        (SPURIOUS,),
        (RETRANSMISSION,),
    ),
    Example(
        "ack_of_reset",
        lambda t: stray_reset_ack(t, flags="RA"),
        lambda t: stray_reset_ack(t, flags="A"),
        9,
        (RETRANSMISSION,),
        (SPURIOUS,),
    ),
    Example(
        "hole_fill",
        lambda t: hole(t, missing=True),
        lambda t: hole(t, missing=False),
        7,
        (RETRANSMISSION,),
        (SPURIOUS,),
    ),
    Example(
        "number_ahead",
        lambda t: ahead(t, seq=300),
        lambda t: ahead(t, seq=100),
        7,
        NOTHING,
        (RETRANSMISSION,),
    ),
    Example(
        "one_below_highest",
        lambda t: one_below(t, start=99),
        lambda t: one_below(t, start=98),
        5,
        (RETRANSMISSION,),
        NOTHING,
    ),
    Example(
        "reset_text",
        lambda t: told_why(t, flags="RA"),
        lambda t: told_why(t, flags="A"),
        6,
        NOTHING,
        (SPURIOUS,),
    ),
    Example(
        "acknowledged_unseen",
        lambda t: acked_unseen(t, ack=300),
        lambda t: acked_unseen(t, ack=100),
        6,
        NOTHING,
        (LOST,),
    ),
    Example(
        "multipath",
        lambda t: mptcp(t, options=DSS),
        lambda t: mptcp(t, options=b"\x01" * 8),
        8,
        (DUPLICATE,),
        NOTHING,
        end_to_end=False,
    ),
    Example(
        "nothing_outstanding",
        lambda t: idle_ack(t, outstanding=False),
        lambda t: idle_ack(t, outstanding=True),
        6,
        NOTHING,
        (DUPLICATE,),
        7,
    ),
    Example(
        "window_changed",
        lambda t: sack_and_window(t, window=59_000),
        lambda t: sack_and_window(t, window=60_000),
        7,
        (DUPLICATE,),
        NOTHING,
    ),
    Example(
        "other_number",
        lambda t: numbered(t, seq=0),
        lambda t: numbered(t, seq=100),
        9,
        (DUPLICATE,),
        NOTHING,
    ),
    Example(
        "other_ack_between",
        lambda t: lower_between(t, between=0),
        lambda t: lower_between(t, between=100),
        9,
        (DUPLICATE,),
        NOTHING,
    ),
    Example(
        "probe_answered",
        lambda t: answers_probe(t, probe=299),
        lambda t: answers_probe(t, probe=300),
        9,
        (DUPLICATE,),
        NOTHING,
    ),
    Example(
        "window_zero",
        lambda t: zero_again(t, window=0),
        lambda t: zero_again(t, window=9),
        8,
        (DUPLICATE, ZERO),
        (ZERO,),
    ),
    Example(
        "empty_packet_ahead",
        lambda t: gap(t, length=0),
        lambda t: gap(t, length=1),
        6,
        NOTHING,
        (LOST,),
    ),
    Example(
        "running_before",
        lambda t: running(t, before=0),
        lambda t: running(t, before=10),
        2,
        NOTHING,
        (LOST,),
    ),
    Example(
        "first_of_sender",
        lambda t: first_word(t, known=False),
        lambda t: first_word(t, known=True),
        2,
        (LOST,),
        NOTHING,
        3,
    ),
    Example(
        "number_ahead_before",
        lambda t: shown_before(t, shown=True),
        lambda t: shown_before(t, shown=False),
        7,
        (LOST,),
        NOTHING,
    ),
    Example(
        "peer_unseen",
        lambda t: unheard(t, heard=False),
        lambda t: unheard(t, heard=True),
        2,
        (ACK_LOST,),
        NOTHING,
        3,
    ),
    Example(
        "mark_ahead",
        lambda t: told_before(t, first=300),
        lambda t: told_before(t, first=100),
        8,
        (ACK_LOST,),
        NOTHING,
    ),
    Example(
        "mark_muted",
        lambda t: muted(t, first=300),
        lambda t: muted(t, first=100),
        6,
        (ACK_LOST,),
        NOTHING,
    ),
    Example(
        "mark_behind",
        lambda t: behind(t, second=50),
        lambda t: behind(t, second=100),
        6,
        NOTHING,
        (ACK_LOST,),
    ),
    Example(
        "unordered",
        lambda t: shuffled(t, swap=True),
        lambda t: shuffled(t, swap=False),
        5,
        NOTHING,
        (RETRANSMISSION,),
    ),
]
named = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.reason)


def case_of(path: Path, example: Example, frame: int) -> FlagCase:
    capture = arrivals.read(records(contents(path)))
    history = next(
        History.of(c)
        for c in connections.cut(capture.arrivals)
        if any(p.frame == frame for p in c.packets)
    )
    situation = tshark_rules.analyse(capture.packets).situations[frame]
    return FlagCase(
        history.packet(frame),
        frozenset(example.expected),
        frozenset(example.observed),
        situation,
        history,
    )


def test_every_reason_has_an_example() -> None:
    assert sorted(example.reason for example in EXAMPLES) == sorted(
        reason.name for reason in REASONS
    )


@named
def test_it_explains_where_the_situation_occurs(
    example: Example, compared: Callable[..., Comparison]
) -> None:
    if not example.end_to_end:
        return
    talk = Talk(isn=dict(ISN))
    example.holds(talk)
    comparison = compared(talk)
    results = comparison.results()
    findings = [
        finding for result in results for finding in result.findings if finding.tool == "tshark"
    ]
    assert [finding for finding in findings if finding.state == "unexplained"] == []
    assert comparison.tools.tshark is not None
    assert flags.named_once(comparison.tools.tshark[example.frame]) == frozenset(example.observed)
    assert f"tshark.{example.reason}" in {reason for result in results for reason in result.reasons}


@named
def test_it_names_the_frame(example: Example, tmp_path: Path) -> None:
    talk = Talk(isn=dict(ISN))
    example.holds(talk)
    case = case_of(talk.write(tmp_path / "holds.pcap"), example, example.frame)
    used, left = flags.explain(case)
    assert example.reason in {name for name, _ in used}
    assert left == frozenset()


@named
def test_it_does_not_hold_elsewhere(example: Example, tmp_path: Path) -> None:
    talk = Talk(isn=dict(ISN))
    example.fails(talk)
    case = case_of(talk.write(tmp_path / "fails.pcap"), example, example.elsewhere or example.frame)
    assert not next(reason for reason in REASONS if reason.name == example.reason).holds(case)
    assert flags.explain(case)[1] != frozenset()


def test_a_reason_explains_no_flag_that_it_does_not_name(tmp_path: Path) -> None:
    for example in EXAMPLES:
        reason = next(reason for reason in REASONS if reason.name == example.reason)
        assert set(example.observed) - set(example.expected) <= reason.adds
        assert set(example.expected) - set(example.observed) <= reason.drops
