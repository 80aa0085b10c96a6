"""What is true of a transfer: by what was done and by what it cost."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from validation.truth.labels import Twins, label
from validation.truth.networks import Network

NETWORK = Network(
    family="office",
    rate_megabits=20,
    round_trip_ms=20,
    limit="window",
    congestion_control="reno",
    seconds=3,
    window_bytes=25_000,
)
BUILT = 9.65e6
"""Payload that a window of 25 000 bytes allows in 20 ms."""


def stored(
    kind: str, rate: float, network: Network = NETWORK, window: int | None = None
) -> dict[str, Any]:
    return {
        "kind": kind,
        "outcome": "made",
        "network": asdict(network),
        "captures": {
            "sender": {"row": {"throughput_bytes_per_second": rate / 8, "window_max_bytes": window}}
        },
    }


def twins(*rates: float) -> Twins:
    return Twins([stored("undisturbed-window", rate) for rate in rates])


def test_what_cost_nothing_is_healthy_and_its_cause_is_the_networks_own() -> None:
    found = label(stored("loss-random", 0.96 * BUILT), twins(BUILT))
    assert (found.standing, found.made) == ("healthy", "window_limited")
    assert found.wanted["capture"].causes == ("window_limited",)
    assert found.wanted["capture"].verdicts == ("trust",)
    assert found.cost == pytest.approx(0.04)


def test_a_cause_that_is_the_networks_own_may_be_named_though_it_cost_nothing() -> None:
    found = label(stored("cross-greedy", BUILT), twins(BUILT))
    assert found.made == "window_limited"
    assert found.wanted["capture"].causes == ("window_limited", "network_congestion")


def test_what_cost_a_little_has_two_right_answers() -> None:
    found = label(stored("loss-random", 0.9 * BUILT), twins(BUILT))
    assert found.standing == "slight"
    assert found.wanted["capture"].causes == ("window_limited", "network_loss")
    assert found.wanted["capture"].verdicts == ("trust", "review")


def test_what_cost_much_is_what_was_done() -> None:
    found = label(stored("freeze", 0.5 * BUILT), twins(BUILT))
    assert (found.standing, found.made) == ("disturbed", "host_scheduling")
    assert found.wanted["known"].causes == ("host_scheduling",)
    assert found.wanted["known"].verdicts == ("discard",)
    assert found.wanted["capture"].verdicts == ("review", "discard")


def test_the_twin_is_the_median_of_those_that_were_made() -> None:
    assert twins(BUILT, 0.98 * BUILT, 0.5 * BUILT).rate(NETWORK) == pytest.approx(0.98 * BUILT)


def test_without_a_twin_or_on_a_network_that_is_not_as_built_nothing_is_known() -> None:
    assert label(stored("freeze", BUILT), twins()).standing == "unclear"
    slow = twins(0.6 * BUILT)
    assert label(stored("freeze", 0.3 * BUILT), slow).standing == "unclear"
    assert label(stored("undisturbed-window", 0.6 * BUILT), slow).standing == "unclear"
    assert list(slow.unlike) == [NETWORK.name]


def test_what_stops_a_transfer_for_most_of_its_time_needs_no_twin() -> None:
    found = label(stored("nic-stall", BUILT), twins())
    assert (found.standing, found.made, found.cost) == ("disturbed", "driver_stall", None)


def test_a_transfer_that_was_not_made_is_no_twin() -> None:
    assert (
        Twins([{**stored("undisturbed-window", BUILT), "outcome": "invalid"}]).rate(NETWORK) is None
    )


def test_a_window_that_was_smaller_by_chance_is_no_cost_of_what_was_done() -> None:
    base = Twins([stored("undisturbed-window", BUILT, window=25_000)])
    half = stored("freeze", 0.5 * BUILT, window=12_500)
    assert label(half, base).standing == "healthy"
    reader = label({**half, "kind": "slow-reader"}, base)
    assert (reader.standing, reader.cost) == ("disturbed", pytest.approx(0.5)), (
        "a reader that is slow makes it smaller"
    )


def test_what_the_receiver_offers_is_what_the_network_gives() -> None:
    slow = stored("undisturbed-window", 0.5 * BUILT, window=12_500)
    assert label(slow, twins()).standing == "healthy"
    assert label(stored("undisturbed-window", BUILT, window=50_000), twins()).standing == "unclear"


def test_the_emulated_processor_of_a_guest_limits_sooner() -> None:
    guest = replace(NETWORK, guest="e1000")
    assert label(stored("undisturbed-window", 0.8 * BUILT, guest), twins()).standing == "unclear"
    assert label(stored("undisturbed-window", 0.8 * BUILT), twins()).standing == "healthy"


def test_a_guest_that_was_slow_shows_what_a_disturbance_took_but_not_that_it_took_nothing() -> None:
    guest = replace(NETWORK, guest="e1000")
    slow = Twins([stored("undisturbed-window", 0.7 * BUILT, guest)])
    assert label(stored("guest-quota", 0.3 * BUILT, guest), slow).standing == "disturbed"
    assert label(stored("guest-quota", 0.69 * BUILT, guest), slow).standing == "unclear"


def test_a_queue_that_drops_early_may_cost_more_than_a_deep_one() -> None:
    link = replace(NETWORK, limit="link", window_bytes=None)
    rate = 0.5 * 20e6
    deep = label(stored("undisturbed-link", rate, link), twins())
    shallow = label(stored("shallow-queue", rate, replace(link, queue_paths=0.1)), twins())
    assert (deep.standing, shallow.standing) == ("unclear", "healthy")
    assert shallow.made == "network_congestion"


def test_only_the_cause_that_was_made_is_accepted_where_machine_and_application_look_alike() -> (
    None
):
    found = label(stored("freeze", 0.5 * BUILT), twins(BUILT))
    assert found.wanted["capture"].causes == ("host_scheduling",)
    writer = label(stored("long-bursts", 0.5 * BUILT), twins(BUILT))
    assert writer.wanted["capture"].causes == ("sender_application_limited",)
    assert writer.wanted["capture"].verdicts == ("review",)


def test_the_verdict_that_is_right_may_depend_on_the_name() -> None:
    found = label(stored("own-qdisc", 0.5 * BUILT), twins(BUILT)).wanted["capture"]
    assert found.allowed("sender_rate_limited") == ("review",)
    assert found.allowed("bandwidth_limited") == ("trust",)
    assert found.allowed("host_scheduling") == ("trust", "review")
