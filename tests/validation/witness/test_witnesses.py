"""What each witness said, from rows of tables, on the time of the transfer."""

from __future__ import annotations

from typing import Any

from validation.witness.witnesses import BY_NAME, CHEAP, SPIN, Seen, seen

S, MS = 1_000_000_000, 1_000_000
ORIGIN = 50 * S
SENDER, OTHER = 11, 12


def process(number: int, at: float, waited: float | None, state: str = "S") -> dict[str, Any]:
    waited_ns = None if waited is None else round(waited * S)
    return {
        "at_ns": ORIGIN + round(at * S),
        "interval_ns": S,
        "process": number,
        "state": state,
        "waited_ns": waited_ns,
        "ran_ns": 0,
    }


def machine(at: float, **more: float | None) -> dict[str, Any]:
    return {
        "at_ns": ORIGIN + round(at * S),
        "interval_ns": S,
        "steal_share": 0.01,
        "processor_some_share": 0.3,
        **more,
    }


def witness(at: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - a column
    known = {"naps_late_share": 0.2, "naps_late_most_ns": 70 * MS, "throttled_ns": None}
    return {"at_ns": ORIGIN + round(at * S), "interval_ns": S, **known, **more}


def spun(begin: float, end: float, share: float | None, gap: int | None = 5 * MS) -> dict[str, Any]:
    return {
        "from_ns": ORIGIN + round(begin * S),
        "until_ns": ORIGIN + round(end * S),
        "share": share,
        "longest_gap_ns": gap,
    }


def values(found: dict[str, list[Seen]], name: str) -> list[float]:
    return [one.value for one in found[name]]


def test_values_belong_to_their_intervals_since_the_workload_began() -> None:
    found = seen(
        {"machine": [machine(0.7), machine(1.7, steal_share=0.5)]},
        senders={SENDER},
        origin_ns=ORIGIN,
    )
    assert found["steal"] == [Seen(-300 * MS, 700 * MS, 0.01), Seen(700 * MS, 1700 * MS, 0.5)]
    assert values(found, "pressure") == [0.3, 0.3]


def test_of_several_processes_the_one_that_waited_most_speaks_and_strangers_do_not() -> None:
    rows = [
        process(SENDER, 1, 0.1),
        process(13, 1, 0.4),
        process(OTHER, 1, 0.9),
        process(SENDER, 2, 0.2),
    ]
    found = seen({"processes": rows}, senders={SENDER, 13}, origin_ns=ORIGIN)
    assert values(found, "queue") == [0.4, 0.2]


def test_a_stopped_process_missed_all_of_the_interval_although_it_waited_for_nothing() -> None:
    found = seen(
        {"processes": [process(SENDER, 1, 0.0, "T"), process(SENDER, 2, 0.3)]},
        senders={SENDER},
        origin_ns=ORIGIN,
    )
    assert values(found, "queue") == [0.0, 0.3]
    assert values(found, "missed") == [1.0, 0.3]


def test_what_was_counted_in_a_burst_is_no_more_than_all_of_the_time() -> None:
    found = seen({"processes": [process(SENDER, 1, 1.7)]}, senders={SENDER}, origin_ns=ORIGIN)
    assert values(found, "queue") == [1.0]


def test_a_host_without_a_quota_is_not_throttled() -> None:
    found = seen(
        {"witness": [witness(1), witness(2, throttled_ns=S // 4)]}, senders=set(), origin_ns=ORIGIN
    )
    assert values(found, "throttled") == [0.0, 0.25]
    assert values(found, "naps") == [0.2, 0.2]
    assert values(found, "naps longest") == [70.0, 70.0]


def test_what_was_not_told_is_left_out() -> None:
    nothing = witness(1, naps_late_share=None, naps_late_most_ns=None)
    found = seen(
        {"machine": [machine(1, steal_share=None)], "witness": [nothing]},
        senders=set(),
        origin_ns=ORIGIN,
    )
    assert set(found) == {"pressure", "throttled"}


def test_the_monitor_says_what_it_lost_in_the_seconds_that_it_watched() -> None:
    found = seen(
        {"spin": [spun(0, 0.4, 0.75), spun(0.4, 1.4, None, None), spun(1.4, 2.4, 1.0, None)]},
        senders=set(),
        origin_ns=ORIGIN,
    )
    assert found["spin"] == [Seen(0, 400 * MS, 0.25), Seen(1400 * MS, 2400 * MS, 0.0)]
    assert values(found, "spin longest") == [5.0, 0.0]


def test_names_are_unique_and_values_are_shown_in_their_unit() -> None:
    assert len(BY_NAME) == len(CHEAP) + len(SPIN)
    assert BY_NAME["naps"].shown(0.0123) == "1.23%"
    assert BY_NAME["naps longest"].shown(12.34) == "12.3 ms"
