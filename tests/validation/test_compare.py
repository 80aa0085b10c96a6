"""Cuts, lengths, what only the tools see, and that a false number is never explained."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from tests.validation.conftest import Frames
from tests.validation.examples import Example, built, reasons, unexplained
from tests.validation.talk import ISN, Talk
from validation import arrivals
from validation.compare import Comparison
from validation.packets import sight
from validation.reasons_cut import CUTS
from validation.reasons_foreign import FOREIGN, NOTES
from validation.reasons_tshark import LENGTHS
from validation.records import Record

MINUTE = 60_000.0


def exchange(talk: Talk, at: float, start: int) -> None:
    """A segment and its ACK."""
    talk.data(at, start)
    talk.ack(at + 20, start + 100)


def silence(talk: Talk, minutes: float, *, again: bool = False) -> None:
    talk.hello()
    exchange(talk, 30, 0)
    exchange(talk, 30 + minutes * MINUTE, 0 if again else 100)


def closed(talk: Talk, *, then_ms: float) -> None:
    """Both FINs, and a repeated one some time later."""
    talk.hello()
    exchange(talk, 30, 0)
    talk.send("a", 60, 100, flags="FA")
    talk.send("b", 80, 0, 101, "FA")
    talk.send("a", 90, 101, 1)
    talk.send("b", 90 + then_ms, 0, 101, "FA")


def reopened(talk: Talk, *, answered: bool) -> None:
    """A SYN with another ISN after one without an answer (or with one: the second is stray)."""
    talk.send("a", 0, -1, None, "S")
    if answered:
        talk.send("b", 10, -1, 0, "SA")
        talk.send("a", 20, 0)
    talk.send("a", 1_000, 20_000, None, "S")
    talk.send("b", 1_010, -1, 20_001, "SA")


@dataclass(frozen=True)
class Cut(Example):
    tool: str


CUT_EXAMPLES = [
    Cut("idle_4_minutes", silence, {"minutes": 5}, {"minutes": 3}, "tcptrace"),
    Cut(
        "idle_4_minutes",
        silence,
        {"minutes": 5, "again": True},
        {"minutes": 3, "again": True},
        "tcptrace",
    ),
    Cut("late_packets", closed, {"then_ms": 11_000}, {"then_ms": 9_000}, "tcptrace"),
    Cut("late_packets", closed, {"then_ms": 11_000}, {"then_ms": 9_000}, "tshark"),
    Cut("new_syn", reopened, {"answered": False}, {"answered": True}, "tcptrace"),
    Cut("idle_10_minutes", silence, {"minutes": 11}, {"minutes": 9}, "tshark"),
    Cut("stray_syn", reopened, {"answered": True}, {"answered": False}, "tshark"),
]


@pytest.fixture(scope="module", autouse=True)
def _together(frames: Frames) -> None:
    """Asks tshark once for every example."""
    frames.ask(
        partial(example.talk, options)
        for example in CUT_EXAMPLES
        for options in (example.holds, example.fails)
    )


def test_every_cut_has_an_example() -> None:
    assert {example.reason for example in CUT_EXAMPLES} == {reason.name for reason in CUTS}


@pytest.mark.parametrize(
    "example", CUT_EXAMPLES, ids=lambda example: f"{example.tool}-{example.reason}"
)
def test_a_cut_is_explained_where_it_occurs_and_only_there(
    example: Cut, compared: Callable[..., Comparison]
) -> None:
    results = compared(example.talk(example.holds)).results()
    assert unexplained(results, example.tool) == []
    assert example.reason in reasons(results, example.tool)
    results = compared(example.talk(example.fails)).results()
    assert example.reason not in reasons(results, example.tool)


def beyond(talk: Talk, *, on_wire: int | None) -> None:
    """A segment whose frame is shorter than its IP header says, sent twice."""
    talk.hello()
    talk.data(30, 0, captured=74 if on_wire else None, on_wire=on_wire)
    talk.data(430, 100)
    talk.ack(450, 200)


def split_datagram(talk: Talk, *, split: bool) -> None:
    talk.hello()
    whole = talk.segment("a", 0, 0, "PA", 100, window=60_000)
    talk.frame(30, b"\x08\0" + talk.datagram("a", "b", whole[:80], fragment=0x2000 if split else 0))
    talk.frame(30.1, b"\x08\0" + talk.datagram("a", "b", whole[80:], fragment=10 if split else 0))


def after_reset(talk: Talk) -> None:
    talk.hello()
    exchange(talk, 30, 0)
    talk.send("a", 5_000, 99, length=1)
    talk.send("b", 5_010, 0, 100, "RA", length=20)
    talk.send("a", 5_020, 100, length=50)


def plain(talk: Talk) -> None:
    talk.hello()
    exchange(talk, 30, 0)


def test_lengths_that_tshark_takes_otherwise(
    compared: Callable[..., Comparison], frames: Frames
) -> None:
    assert {reason.name for reason in LENGTHS} == {
        "length_after_reset",
        "length_of_reset",
        "length_of_probe",
        "length_beyond_frame",
        "fragment",
    }
    builders = [
        partial(built, beyond, {"on_wire": 74}),
        partial(built, beyond, {"on_wire": None}),
        partial(built, split_datagram, {"split": True}),
        partial(built, after_reset, {}),
        partial(built, plain, {}),
    ]
    frames.ask(builders)
    beyond_frame, whole, fragments, reset, nothing = (
        compared(build()).results() for build in builders
    )
    assert unexplained(beyond_frame, "tshark") == []
    assert {"length_beyond_frame", "beyond_frame"} <= reasons(beyond_frame, "tshark")
    assert not {"length_beyond_frame", "beyond_frame"} & reasons(whole, "tshark")
    assert "fragment" in reasons(fragments, "tshark")
    assert unexplained(reset, "tshark") == []
    assert {"length_after_reset", "length_of_reset", "length_of_probe"} <= reasons(reset, "tshark")
    assert reasons(nothing, "tshark") == set()


def tunnelled(talk: Talk) -> None:
    """A handshake and data inside IP-in-IP."""
    for who, at, seq, ack, flags, length in (
        ("a", 0, -1, None, "S", 0),
        ("b", 10, -1, 0, "SA", 0),
        ("a", 20, 0, 0, "A", 100),
        ("b", 40, 0, 100, "A", 0),
    ):
        peer = "b" if who == "a" else "a"
        inner = talk.datagram(who, peer, talk.segment(who, seq, ack, flags, length, window=60_000))
        talk.frame(at, b"\x08\0" + talk.datagram(who, peer, inner, protocol=4))


def test_what_only_the_tools_see(compared: Callable[..., Comparison]) -> None:
    assert {reason.name for reason in FOREIGN} == {"in_tunnel", "impossible_header"}
    talk = Talk()
    tunnelled(talk)
    results = compared(talk).results()
    assert {result.state for result in results} == {"explained"}
    assert reasons(results, "trustbed") == {"in_tunnel"}
    inside = compared(talk, inner=True).results()
    assert {result.state for result in inside} == {"equal"}

    talk = Talk()
    talk.send("a", 0, -1, None, "S", data_offset=15)
    assert reasons(compared(talk).results(), "trustbed") == {"impossible_header"}


def test_notes_name_what_tshark_dissects_besides(compared: Callable[..., Comparison]) -> None:
    assert {reason.name for reason in NOTES} == {
        "quoted_by_icmp",
        "cut_below_header",
        "reassembled",
    }
    talk = Talk().hello()
    quote = talk.datagram("a", "b", talk.segment("a", 0, 0, "A", 0, window=9))[:40]
    talk.port += 1
    talk.frame(
        90,
        b"\x08\0" + talk.datagram("b", "a", struct.pack(">BBHI", 3, 1, 0, 0) + quote, protocol=1),
    )
    results = compared(talk).results()
    assert unexplained(results, "tshark") == []
    by_name = {reason.name: reason.holds for reason in NOTES}
    assert by_name["quoted_by_icmp"](["protocol:1"])
    assert not by_name["quoted_by_icmp"](["udp"])
    assert by_name["reassembled"](["later_fragment:10.0.0.1:10.0.0.2:6:7:40@80"])
    assert not by_name["reassembled"]([])
    assert by_name["cut_below_header"](["cut"])
    assert not by_name["cut_below_header"](["not_ip"])


@pytest.mark.parametrize(
    ("field", "amount"),
    [
        ("packets", 1),
        ("payload_bytes", 1),
        ("unique_bytes", -1),
        ("retransmitted_packets", 1),
        ("retransmitted_bytes", 100),
    ],
)
def test_a_false_total_is_never_explained(
    field: str, amount: int, compared: Callable[..., Comparison]
) -> None:
    """Even in a connection full of reasons.

    Repeated SYN and FIN, a keep-alive, data after a RST.
    """
    talk = Talk()
    talk.send("a", -500, -1, None, "S")
    talk.hello()
    exchange(talk, 30, 0)
    talk.send("a", 5_000, 99, length=1)
    talk.send("a", 5_100, 100, flags="FA")
    talk.send("a", 5_400, 100, flags="FA")
    talk.send("b", 5_420, 0, 101, "RA")
    talk.send("a", 5_430, 101, length=10)
    comparison = compared(talk)
    assert {result.state for result in comparison.results()} <= {"equal", "explained"}
    direction = comparison.report.directions[1]["10.0.0.1", 40_000]
    assert direction.transfer is not None
    if field in ("packets", "payload_bytes"):
        setattr(direction, field, getattr(direction, field) + amount)
    else:
        direction.transfer = direction.transfer | {field: direction.transfer[field] + amount}
    falsified = comparison.results()[0]
    assert falsified.state == "unexplained"
    assert {finding.field for finding in falsified.findings if finding.state == "unexplained"} == {
        field
    }


@pytest.mark.parametrize("field", ["rtt_samples", "rtt_mean_ns", "rtt_max_ns", "rtt_min_ns"])
def test_a_false_round_trip_is_never_explained(
    field: str, compared: Callable[..., Comparison]
) -> None:
    talk = Talk().hello()
    exchange(talk, 30, 0)
    exchange(talk, 70, 100)
    comparison = compared(talk)
    direction = comparison.report.directions[1]["10.0.0.1", 40_000]
    assert direction.transfer is not None
    direction.transfer = direction.transfer | {
        field: direction.transfer[field] + (1 if field == "rtt_samples" else 2_000)
    }
    assert {
        finding.state
        for finding in comparison.results()[0].findings
        if finding.field.startswith("rtt")
    } == {"equal", "unexplained"}


def test_a_false_class_is_never_explained(compared: Callable[..., Comparison]) -> None:
    """A retransmission that trustbed calls new is noticed although the sums are those of tshark."""
    talk = Talk().hello()
    talk.data(30, 0)
    talk.data(430, 0)
    talk.ack(450, 100)
    comparison = compared(talk)
    direction = comparison.report.directions[1]["10.0.0.1", 40_000]
    assert direction.transfer is not None
    direction.transfer = direction.transfer | {"retransmitted_timeout": 0, "retransmitted_fast": 1}
    states = {
        finding.field: finding.state
        for finding in comparison.results()[0].findings
        if finding.tool == "tshark"
    }
    assert states["retransmission"] == states["fast_retransmission"] == "unexplained"


def test_a_connection_that_trustbed_does_not_have_is_listed(
    compared: Callable[..., Comparison],
) -> None:
    comparison = compared(Talk().hello())
    comparison.report.directions.clear()
    assert {result.state for result in comparison.results()} == {"unexplained"}


def test_nothing_is_explained_where_a_model_misses_the_tool(
    compared: Callable[..., Comparison],
) -> None:
    comparison = compared(Talk().hello())
    comparison.wrong_pairs = {id(pair) for pair in comparison.pairs}
    details = [
        finding.detail
        for result in comparison.results()
        for finding in result.findings
        if finding.state == "unexplained"
    ]
    assert details == ["the model of tcptrace does not give what it printed"] * 2


def test_the_reader_takes_a_packet_apart() -> None:
    talk = Talk()
    talk.send("a", 0, 5, 7, "PA", 11, window=99, tags=struct.pack(">HH", 10, 0x0800), kind=0x8100)
    _, data, length = talk.records[0]
    (packet,) = sight(Record(1, 0, 1, length, data, 0)).packets
    assert (packet.source, packet.source_port, packet.destination, packet.destination_port) == (
        "10.0.0.1",
        40_000,
        "10.0.0.2",
        80,
    )
    assert (packet.seq, packet.ack, packet.payload, packet.window) == (
        ISN["a"] + 6,
        ISN["b"] + 8,
        11,
        99,
    )
    assert packet.wrapping == ("vlan",)
    assert packet.vlan == 10
    assert arrivals.BUFFER_NS == 10_000_000
