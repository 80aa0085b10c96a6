"""What a capture teaches: pairs, think times, sides that speak at once; and what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.frames import ACK, SERVER, SYN, Frame, connection, pcap
from trustbed.traffic import Model, ModelError, extract
from trustbed.traffic.extraction import CLASSES, beside_usual
from trustbed.traffic.model import ClassRule


def handshake(start: float, **ends: Any) -> list[Frame]:  # noqa: ANN401 - of a frame
    return [
        Frame(ms=start, by_server=False, flags=SYN, sequence=0, acknowledges=0, **ends),
        Frame(ms=start + 30, by_server=True, flags=SYN | ACK, sequence=0, acknowledges=1, **ends),
        Frame(ms=start + 34, by_server=False, flags=ACK, sequence=1, acknowledges=1, **ends),
    ]


def test_pairs_and_think_times_are_the_golden_ones(learned: Model, golden: dict[str, Any]) -> None:
    expected = golden["connection_expect"]
    units = learned.units.to_pylist()
    assert [
        (unit["client_bytes"], unit["server_bytes"], unit["server_wait_ns"] / 1e6) for unit in units
    ] == [
        (
            one["request_bytes"],
            one["response_bytes"],
            pytest.approx(one["server_think_ms"], rel=1e-4),
        )
        for one in expected["exchanges"]
    ]
    assert units[0]["client_wait_ns"] is None
    assert units[1]["client_wait_ns"] / 1e6 == pytest.approx(1000.0, rel=1e-6)
    hosts = {row["side"]: row for row in learned.hosts.to_pylist()}
    assert hosts["client"]["latency_ns"] == pytest.approx(2e6)
    assert hosts["server"]["latency_ns"] == pytest.approx(15e6)
    (row,) = learned.connections.to_pylist()
    assert (row["class"], row["kind"], row["partial"]) == ("HTTP", "pairs", True)


def test_a_model_holds_no_address_no_payload_and_no_date(learned: Model, tmp_path: Path) -> None:
    data = learned.save(tmp_path / "golden.model").read_bytes()
    columns = {name for table in learned.tables.values() for name in table.column_names}
    assert not {name for name in columns if "address" in name or "port" in name}
    for trace in (SERVER.encode(), b"10.0.0.1", bytes([10, 9, 0, 1]), b"golden.pcap"):
        assert trace not in data
    # The capture is of 1970 (its clock begins at 10⁶ s); times of the model begin at 0.
    assert learned.connections["start_ns"].to_pylist() == [0]


def test_of_two_ports_the_well_known_one_is_the_servers(tmp_path: Path) -> None:
    # The answer was captured first.
    datagram = Frame(ms=0, by_server=True, is_datagram=True, payload=200, ports=(40_000, 53))
    frames = [datagram, replace(datagram, ms=5, by_server=False, payload=40)]
    model = extract(pcap(tmp_path / "dns.pcap", frames), workers=1)
    (row,) = model.connections.to_pylist()
    assert (row["class"], row["client_bytes"], row["server_bytes"]) == ("DNS", 40, 200)


def test_datagrams_that_a_host_put_together_are_several(tmp_path: Path) -> None:
    frames = [
        Frame(ms=ms, by_server=True, is_datagram=True, payload=27_000, ports=(40_000, 9000))
        for ms in (0, 10, 20)
    ]
    model = extract(pcap(tmp_path / "gro.pcap", frames), workers=1)
    (unit,) = model.units.to_pylist()
    assert unit["packets"] * 1472 >= 81_000
    assert unit["gap_ns"] * (unit["packets"] - 1) <= 20_000_000


def test_packets_of_other_protocols_are_counted(tmp_path: Path) -> None:
    frames = [
        *handshake(0),
        *(
            Frame(ms=40 + at, by_server=at > 0, flags=ACK, sequence=1, acknowledges=1, payload=9)
            for at in (0, 35)
        ),
        *(Frame(ms=90 + at, by_server=False, protocol=50, payload=64) for at in range(7)),
    ]
    model = extract(pcap(tmp_path / "esp.pcap", frames), workers=1)
    assert any(
        said.startswith("packets of neither TCP nor UDP") and said.endswith(": 7")
        for said in model.header.assumed
    )


def test_a_connection_has_its_own_round_trip_and_a_window_that_never_opened(tmp_path: Path) -> None:
    near, far = handshake(0), handshake(1000, ports=(40_001, 80))
    # The second one's server is 100 ms farther away, and fills its client's window.
    far[1:] = [replace(frame, ms=frame.ms + 100) for frame in far[1:]]
    for frames, ports, count in ((near, (40_000, 80), 10), (far, (40_001, 80), 60)):
        start = frames[-1].ms
        for ms, by_server, sequence, acknowledges, payload in [
            (1.0, False, 1, 1, 100),
            *((300.0 + number, True, 1 + 1400 * number, 101, 1400) for number in range(count)),
            (300.5 + count, False, 101, 1 + 1400 * count, 0),
        ]:
            frames.append(
                Frame(
                    ms=start + ms,
                    by_server=by_server,
                    flags=ACK,
                    sequence=sequence,
                    acknowledges=acknowledges,
                    payload=payload,
                    ports=ports,
                )
            )
    model = extract(pcap(tmp_path / "two.pcap", [*near, *far]), workers=1)
    rows = model.connections.to_pylist()
    assert [row["server_round_trip_ns"] for row in rows] == [30_000_000, 130_000_000]
    assert [row["client_round_trip_ns"] for row in rows] == [4_000_000, 4_000_000]
    # Ten packets are no windowful: whether the window would have opened is not known.
    assert [row["client_window_bytes"] for row in rows] == [None, 65_535]
    assert [row["server_window_bytes"] for row in rows] == [None, None]
    (server,) = [row for row in model.hosts.to_pylist() if row["side"] == "server"]
    assert server["latency_ns"] == 40_000_000


def data(ms: float, sequence: int, *, by_server: bool, payload: int, acknowledges: int) -> Frame:
    return Frame(
        ms=ms,
        by_server=by_server,
        flags=ACK,
        sequence=sequence,
        acknowledges=acknowledges,
        payload=payload,
    )


@pytest.mark.parametrize("answered", [True, False])
def test_what_nobody_answered_is_no_loss(answered: bool, tmp_path: Path) -> None:
    frames = handshake(0)
    # A request that is sent four times.
    times = (100, 400, 1000, 2200)
    frames += [data(ms, 1, by_server=False, payload=300, acknowledges=1) for ms in times]
    if answered:
        frames.append(data(2230, 1, by_server=True, payload=500, acknowledges=301))
    model = extract(pcap(tmp_path / "again.pcap", frames), workers=1)
    (server,) = [row for row in model.hosts.to_pylist() if row["side"] == "server"]
    assert server["from_loss"] == (pytest.approx(0.75) if answered else 0.0)


@pytest.mark.parametrize(("payload", "known"), [(60, False), (1000, True)])
def test_small_packets_are_no_packet_pairs(payload: int, known: bool, tmp_path: Path) -> None:
    # Without a handshake the usual packet is taken for a full one.
    frames = [data(0, 1, by_server=False, payload=10, acknowledges=1)]
    for number in range(9):
        first = 1 + number * payload
        frames.append(data(1000 + number, first, by_server=True, payload=payload, acknowledges=11))
    frames.append(data(1010, 11, by_server=False, payload=0, acknowledges=1 + 9 * payload))
    model = extract(pcap(tmp_path / "pairs.pcap", frames), workers=1)
    (server,) = [row for row in model.hosts.to_pylist() if row["side"] == "server"]
    assert (server["toward_bits_per_second"] is not None) is known


def spoken(tmp_path: Path, frames: list[Frame]) -> list[tuple[int, int, int | None, int | None]]:
    """What was learned to be said: request, response, and who waited how many ms."""
    units = extract(pcap(tmp_path / "spoken.pcap", frames), workers=1).units.to_pylist()
    return [
        (
            unit["client_bytes"],
            unit["server_bytes"],
            *(
                None if (wait := unit[f"{side}_wait_ns"]) is None else round(wait / 1e6)
                for side in ("client", "server")
            ),
        )
        for unit in units
    ]


def test_who_goes_on_after_a_silence_does_not_say_all_at_once(tmp_path: Path) -> None:
    frames = [*handshake(0), data(40, 1, by_server=False, payload=300, acknowledges=1)]
    for number in range(5):
        at, sequence = 80 + 1000 * number, 1 + 200 * number
        frames.append(data(at, sequence, by_server=True, payload=200, acknowledges=301))
        acknowledged = sequence + 200
        frames.append(data(at + 4, 301, by_server=False, payload=0, acknowledges=acknowledged))
    found = spoken(tmp_path, frames)
    assert [one[:2] for one in found] == [(300, 200)] + [(0, 200)] * 4
    assert {one[3] for one in found[1:]} == {983}


def test_a_packet_that_was_captured_twice_is_not_lost(tmp_path: Path) -> None:
    frames = [*handshake(0), data(40, 1, by_server=False, payload=100, acknowledges=1)]
    for number in range(40):
        one = data(80 + number, 1 + 1000 * number, by_server=True, payload=1000, acknowledges=101)
        frames += [one, replace(one, ms=one.ms + 0.005)] if number % 2 else [one]
    frames.append(data(125, 101, by_server=False, payload=0, acknowledges=40_001))
    model = extract(pcap(tmp_path / "twice.pcap", frames), workers=1)
    assert {row["from_loss"] or 0.0 for row in model.hosts.to_pylist()} == {0.0}
    assert [row["server_bytes"] for row in model.connections.to_pylist()] == [40_000]


def test_exchanges_beyond_those_that_are_kept_are_like_them(tmp_path: Path) -> None:
    frames, count = handshake(0), 6000
    for number in range(count):
        at, asked, told = 40 + 10 * number, 1 + 20 * number, 1 + 100 * number
        frames.append(data(at, asked, by_server=False, payload=20, acknowledges=told))
        frames.append(data(at + 5, told, by_server=True, payload=100, acknowledges=asked + 20))
    model = extract(pcap(tmp_path / "many.pcap", frames), workers=1)
    (row,) = model.connections.to_pylist()
    assert (row["client_bytes"], row["server_bytes"]) == (20 * count, 100 * count)
    assert any("4,096 exchanges" in one for one in model.header.assumed)


def test_sides_that_speak_at_once_are_two_streams(tmp_path: Path) -> None:
    frames = handshake(0)
    # Each sends before it has the other's data, twice, with a silence of a second between.
    for start in (50, 1200):
        done = start > 100
        mine, theirs = 1 + 100 * done, 1 + 700 * done
        frames += [
            Frame(
                ms=start,
                by_server=False,
                flags=ACK,
                sequence=mine,
                acknowledges=theirs,
                payload=100,
            ),
            Frame(
                ms=start + 1,
                by_server=True,
                flags=ACK,
                sequence=theirs,
                acknowledges=mine,
                payload=700,
            ),
            Frame(
                ms=start + 8,
                by_server=False,
                flags=ACK,
                sequence=mine + 100,
                acknowledges=theirs + 700,
            ),
            Frame(
                ms=start + 9,
                by_server=True,
                flags=ACK,
                sequence=theirs + 700,
                acknowledges=mine + 100,
            ),
        ]
    model = extract(pcap(tmp_path / "both.pcap", frames), workers=1)
    (row,) = model.connections.to_pylist()
    assert (row["kind"], row["client_bytes"], row["server_bytes"]) == ("streams", 200, 1400)
    units = model.units.to_pylist()
    assert [(unit["side"], unit["client_bytes"], unit["server_bytes"]) for unit in units] == [
        ("client", 100, None),
        ("client", 100, None),
        ("server", None, 700),
        ("server", None, 700),
    ]
    assert units[1]["client_wait_ns"] == pytest.approx(1150e6)
    assert model.header.counts["concurrent"] == 1


def test_one_direction_is_refused(tmp_path: Path, golden: dict[str, Any]) -> None:
    frames = [one for one in connection(golden["connection"]) if one.by_server]
    with pytest.raises(ModelError) as caught:
        extract(pcap(tmp_path / "half.pcap", frames), workers=1)
    assert "both directions" in caught.value.hint or "both directions" in caught.value.message


def flow(number: int) -> list[Frame]:
    """A UDP flow of both directions."""
    return [
        Frame(
            ms=number + 5 * by_server,
            by_server=by_server,
            is_datagram=True,
            payload=100,
            ports=(50_000 + number, 53),
        )
        for by_server in (False, True)
    ]


@pytest.mark.parametrize("flows", [0, 50])
def test_much_udp_does_not_hide_that_tcp_has_one_direction(
    tmp_path: Path, golden: dict[str, Any], flows: int
) -> None:
    whole = connection(golden["connection"])
    halves = [
        replace(one, ports=(port, 80))
        for port in (41_000, 42_000)
        for one in whole
        if one.by_server
    ]
    udp = [one for number in range(flows) for one in flow(number)]
    with pytest.raises(ModelError, match="2 of 3 TCP connections were seen in one") as caught:
        extract(pcap(tmp_path / "mixed.pcap", [*whole, *halves, *udp]), workers=1)
    assert "--inner" in caught.value.hint
    model = extract(pcap(tmp_path / "one.pcap", [*whole, *halves[: len(halves) // 2], *udp]))
    assert model.header.counts["one_sided"] == 1


def test_connections_without_data_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no connection with data") as caught:
        extract(pcap(tmp_path / "empty.pcap", handshake(0)), workers=1)
    assert "snap length" in caught.value.hint
    assert "--inner" in caught.value.hint
    assert "encrypts" in caught.value.hint


def test_connections_without_data_are_counted(tmp_path: Path, golden: dict[str, Any]) -> None:
    frames = [*connection(golden["connection"]), *handshake(0, ports=(41_000, 80))]
    said = extract(pcap(tmp_path / "some.pcap", frames), workers=1).header.assumed
    assert "1 of 2 connections (50.0%) carried no data and were left out" in said


def test_gaps_must_make_sense(tmp_path: Path, golden: dict[str, Any]) -> None:
    path = pcap(tmp_path / "one.pcap", connection(golden["connection"]))
    with pytest.raises(ValueError, match="the first below the second"):
        extract(path, session_gap=10, exchange_gap=30)


def test_what_the_capture_does_not_show_is_assumed_aloud(
    tmp_path: Path, golden: dict[str, Any]
) -> None:
    whole = pcap(tmp_path / "whole.pcap", connection(golden["connection"]))
    data, names = whole.read_bytes(), ("dropped_packets", "unread_packets", "damaged_places")
    assert [extract(whole).header.counts[name] for name in names] == [0, 0, 0]
    cut = tmp_path / "cut.pcap"
    # A record without a whole header of IP, and one that ends with the file.
    cut.write_bytes(data + data[24:32] + struct.pack("<II", 20, 60) + data[40:60] + data[24:50])
    found = extract(cut).header
    assert [found.counts[name] for name in names] == [0, 1, 1]
    assert found.assumed[-2].endswith("left out: 1")
    assert found.assumed[-1].endswith("what they held is not in it: 1")


def test_the_model_does_not_depend_on_the_number_of_workers(traces: Path) -> None:
    capture = traces / "aggregate" / "smallFlows.pcap"
    one, two = (extract(capture, workers=workers) for workers in (1, 3))
    assert one.header == two.header
    assert one.tables == two.tables
    assert one.profiles == two.profiles


def test_a_class_of_one_s_own_takes_its_ports_from_the_usual_ones() -> None:
    given = (ClassRule("API", 6, (8080, 9000)), ClassRule("DNS", 17, (5353,)))
    found = beside_usual(given)
    rules = {rule.name: rule for rule in found}
    assert found[:2] == given
    assert len(rules) == len(found) == len(CLASSES) + 1
    assert rules["HTTP"].ports == (80,)
    assert rules["TCP-OTHER"].ports == ()
    squid = beside_usual([ClassRule("PROXY", 6, (3128,))])
    assert "SQUID" not in {rule.name for rule in squid}


def test_a_real_capture_teaches_its_classes(traces: Path) -> None:
    model = extract(traces / "aggregate" / "smallFlows.pcap")
    counts = {name: 0 for name in ("HTTP", "HTTPS", "DNS")}
    for row in model.connections.to_pylist():
        if row["class"] in counts:
            counts[row["class"]] += 1
    assert counts == {"HTTP": 270, "HTTPS": 81, "DNS": 32}
    counted = model.header.counts
    assert counted["one_sided"] + counted["unanswered"] == 31
