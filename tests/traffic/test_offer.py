"""What the generator draws from, and the variants of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest

from trustbed.traffic import Model, ModelError, vary
from trustbed.traffic.model import SECOND
from trustbed.traffic.offer import LEAST_PAST_NS, load_of, offer
from trustbed.traffic.recipe import NAMED, named, variant


def only(model: Model, **options: Any) -> Any:  # noqa: ANN401 - JSON
    (found,) = offer(model, **options).classes
    return found


def test_sessions_come_as_often_as_they_did(small: Model) -> None:
    found = only(small)
    assert sum(found["session_gap_ns"]) == 10 * SECOND
    assert len(found["session_gap_ns"]) == len(found["clients"]) == 80
    assert sum(only(small, sessions=4.0)["session_gap_ns"]) == pytest.approx(2.5 * SECOND, abs=80)


def test_what_is_drawn_independently_is_what_was_there(small: Model) -> None:
    found = only(small)
    assert sum(found["pairs"]) == len(found["request_bytes"]) == small.units.num_rows
    assert set(found["response_bytes"]) == {6000}
    assert len(found["user_think_ns"]) == sum(found["pairs"]) - len(found["pairs"])
    assert found["whole"] == []


def test_coupled_connections_are_whole(small: Model) -> None:
    found = only(small, draw="connections")
    assert found["pairs"] == []
    assert len(found["whole"]) == small.connections.num_rows
    first = found["whole"][0]["pairs"]
    assert first[0] == [200, 6000, 0, SECOND // 100]
    assert all(pair == [200, 6000, SECOND // 20, SECOND // 100] for pair in first[1:])


def test_whole_sessions_keep_their_order_where_they_are_replayed(small: Model) -> None:
    found = only(small, draw="replay")
    assert found["in_order"]
    assert len(found["sessions"]) == 80
    assert len(found["session_gap_ns"]) == 80
    assert sum(found["session_gap_ns"]) == 10 * SECOND
    starts = sorted(
        {row["session"]: row["start_ns"] for row in small.connections.to_pylist()}.values()
    )
    assert found["first_session_ns"] == starts[0]
    assert found["session_gap_ns"][:2] == [starts[1] - starts[0], starts[2] - starts[1]]
    (exchange,) = found["sessions"][0]["exchanges"]
    assert exchange["connections"][0]["content"]["pairs"][0][:2] == [200, 6000]
    shuffled = only(small, draw="sessions")
    assert not shuffled["in_order"]
    assert sum(shuffled["session_gap_ns"]) == 10 * SECOND


def test_hosts_have_their_own_links_and_of_too_many_a_sample_is_taken(small: Model) -> None:
    found = offer(small)
    assert (len(found.clients), len(found.servers)) == (9, 4)
    assert {one.latency_ns for one in found.clients} == {4_000_000}
    assert {one.from_rate for one in found.clients} == {20_000_000}
    assert {one.toward_rate for one in found.servers} == {None}
    few = offer(small, most_hosts=3)
    assert (len(few.clients), len(few.servers)) == (3, 3)
    assert max(few.classes[0]["clients"]) <= 2
    assert max(few.classes[0]["servers"]) <= 2


def test_a_server_at_several_distances_is_several(small: Model) -> None:
    rows = small.connections.to_pylist()
    busiest = max({row["server"] for row in rows}, key=[row["server"] for row in rows].count)
    own = [number for number, row in enumerate(rows) if row["server"] == busiest]
    for number in own:
        # Usually 20 ms; 21 ms is no other place, and 90 ms is one.
        rows[number]["server_round_trip_ns"] = 90_000_000 if number in own[:2] else 21_000_000
        rows[number]["client_window_bytes"] = 17_520
    table = pa.Table.from_pylist(rows, schema=small.connections.schema)
    varied = dataclasses.replace(small, connections=table)
    before, found = offer(small, draw="replay"), offer(varied, draw="replay")
    assert found.servers[:-1] == before.servers
    assert found.servers[-1].latency_ns == 45_000_000
    assert found.servers[-1].toward_rate is None
    placed = [
        connection
        for session in found.classes[0]["sessions"]
        for exchange in session["exchanges"]
        for connection in exchange["connections"]
    ]
    assert [one["server"] for one in placed].count(len(before.servers)) == 2
    windows = [one["content"]["window_bytes"] for one in placed]
    assert sorted(windows) == [[0, 0]] * (len(rows) - len(own)) + [[17_520, 0]] * len(own)
    assert offer(varied.with_steps(*named("HB"))).servers[-1].latency_ns == 1_000_000


def test_losses_stay_with_the_connections_that_had_them(small: Model) -> None:
    rows = small.connections.to_pylist()
    first = rows[0]["server"]
    own = [row for row in rows if row["server"] == first]
    for number, row in enumerate(own):
        row.update(server_toward_loss=0.0, server_from_loss=0.2 if number < 2 else 0.0)
    hosts = small.hosts.to_pylist()
    hosts[first].update(toward_loss=0.0, from_loss=0.4 / len(own))
    lossy = dataclasses.replace(
        small,
        connections=pa.Table.from_pylist(rows, schema=small.connections.schema),
        hosts=pa.Table.from_pylist(hosts, schema=small.hosts.schema),
    )
    found = offer(lossy, draw="connections")
    assert [one.from_loss for one in found.servers] == [0.0] * 4 + [0.2]
    # Drawn one by one, what is said would meet what another connection lost.
    apart = offer(lossy)
    assert sorted(one.from_loss for one in apart.servers) == [0.0, 0.0, 0.0, 0.4 / len(own)]
    # Those of one place alone have what their host has, whatever the connections say.
    mean = offer(dataclasses.replace(small, hosts=pa.Table.from_pylist(hosts, small.hosts.schema)))
    assert sum(one.from_loss for one in mean.servers) == pytest.approx(0.4 / len(own))
    assert found.classes[0]["servers"].count(4) == 2


@pytest.mark.parametrize(("lost", "generated"), [(0.25, 0.25), (0.7, 0.0)])
def test_a_host_that_fell_silent_is_no_link_that_loses(
    small: Model, lost: float, generated: float
) -> None:
    hosts = [{**row, "from_loss": lost} for row in small.hosts.to_pylist()]
    found = offer(dataclasses.replace(small, hosts=pa.Table.from_pylist(hosts, small.hosts.schema)))
    assert {one.from_loss for one in found.servers} == {generated}


def test_a_link_carries_no_less_than_it_was_seen_to_carry(small: Model) -> None:
    hosts = small.hosts.to_pylist()
    for row in hosts:
        # Nothing is learned of the second server: it has one of the others' links.
        pairs, most = {9: (2e6, 9e6), 11: (8e6, 5e6)}.get(row["host"], (None, None))
        row.update(toward_bits_per_second=pairs, toward_carried_bits_per_second=most)
    carried = dataclasses.replace(small, hosts=pa.Table.from_pylist(hosts, small.hosts.schema))
    rates = [one.toward_rate for one in offer(carried).servers]
    assert (rates[0], rates[2]) == (9_000_000, 8_000_000)
    assert {rates[1], rates[3]} <= {9_000_000, 8_000_000}
    # What it was seen to carry is known without any packet pair, and of too few it is nobody's.
    hosts = small.hosts.to_pylist()
    for row in hosts:
        row.update(toward_bits_per_second=None, toward_carried_bits_per_second=None)
    hosts[9].update(toward_carried_bits_per_second=3e6)
    many = [{**row, "host": len(hosts) + place} for place, row in enumerate(hosts[10:] * 3)]
    alone = pa.Table.from_pylist([*hosts, *many], small.hosts.schema)
    rates = [one.toward_rate for one in offer(dataclasses.replace(small, hosts=alone)).servers]
    assert rates == [3_000_000] + [None] * (len(rates) - 1)


def test_users_were_there_for_as_long_as_their_longest_session_and_gap(small: Model) -> None:
    assert offer(small).past_ns == LEAST_PAST_NS
    (gaps,) = [one["session_gap_ns"] for one in offer(small, sessions=1e-4).classes]
    assert offer(small, sessions=1e-4).past_ns >= max(gaps)
    # However rare, a gap fits into the generator's clock.
    (gaps,) = [one["session_gap_ns"] for one in offer(small, sessions=1e-12).classes]
    assert max(gaps) < 2**62


def test_the_variants_of_the_study(small: Model) -> None:
    found = {name: only(small.with_steps(*steps)) for name, steps in NAMED.items()}
    assert set(found["RSP2"]["response_bytes"]) == {12_000}
    assert set(found["RSP4"]["response_bytes"]) == {24_000}
    assert set(found["Traffic1"]["user_think_ns"]) == {0}
    burst = offer(small.with_steps(*named("hb")))
    assert {one.latency_ns for one in (*burst.clients, *burst.servers)} == {1_000_000}
    slow = offer(small.with_steps(*named("Traffic2")))
    rates = {
        rate for one in (*slow.clients, *slow.servers) for rate in (one.toward_rate, one.from_rate)
    }
    assert rates == {2_000_000}


def test_factors_multiply_and_of_absolute_values_the_last_counts(small: Model) -> None:
    varied = vary(vary(small, sessions=2, rtt_ms=10), sessions=3, rtt=2, think=0)
    found = variant(varied)
    assert (found.sessions, found.rtt_ms, found.rtt, found.think) == (6, 20, 1, 0)
    assert load_of(varied).server == pytest.approx(6 * load_of(small).server)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"colour": 2}, "no colour"), ({"sessions": 0}, "impossible"), ({"rtt": -1}, "impossible")],
)
def test_changes_that_cannot_be_are_refused(
    small: Model, changes: dict[str, float], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        vary(small, **changes)


def test_an_unknown_variant_names_those_that_there_are() -> None:
    with pytest.raises(ModelError, match="RSP3") as caught:
        named("RSP3")
    assert caught.value.hint == "there are: RSP2, RSP4, HB, Traffic1, Traffic2"
