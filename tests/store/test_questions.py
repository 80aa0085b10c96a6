"""What a store says of hosts and hours, of causes over time, and of the runs of a paper."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.report.campaign_directories import Story, make_campaign
from tests.report.run_directories import make_run
from tests.store.stores import BEGAN, DAY, HOUR, Sent, store_transfers
from trustbed.report.store import page, text, words
from trustbed.store.directories import _seen_once, add
from trustbed.store.errors import StoreError
from trustbed.store.questions import causes, hosts, papers
from trustbed.store.questions.change_points import (
    FEWEST,
    Block,
    change_at,
    changes,
    merged,
)
from trustbed.store.store import Store, open_store

# Hosts and hours.


def test_the_host_and_the_hours_that_do_badly_are_named(lab_store: Store) -> None:
    found = hosts.ask(lab_store, testbed="lab")
    assert (found.transfers, found.discarded, found.measurements) == (1440, 120, 320)
    (group,) = found.hosts.avoid
    assert [(one.host, one.role) for one in group.parts] == [
        ("gamma", "sender"),
        ("alpha", "receiver"),
    ]
    assert (group.discarded, group.rounds, group.others.discarded) == (40, 160, 0)
    assert [(one.first, one.to) for one in found.hours.avoid] == [(3, 4), (6, 7)]
    assert words.hosts_headline(found) == (
        "Avoid gamma; avoid 03:00 to 04:00 UTC and 06:00 to 07:00 UTC."
    )
    assert "40 of 160 measurements (25 %; 19 % to 32 %)" in " ".join(text.hosts(found).split())


def test_transfers_of_one_capture_and_hour_are_one_measurement(disk: str) -> None:
    here = open_store(disk)
    sent = [Sent("a", "b", BEGAN + n, "host_scheduling" if n < 3 else "x") for n in range(9)]
    sent += [Sent("a", "b", BEGAN + n, "bandwidth_limited") for n in range(4)]
    sent += [Sent("a", "b", BEGAN + HOUR, "host_scheduling"), Sent("a", "c", BEGAN)]
    store_transfers(here, "one.pcap", sent)
    found = hosts.ask(open_store(disk))
    assert (found.transfers, found.discarded) == (9, 4)
    # 3 of 7 are fewer than half; the one of the next hour is all of its own.
    assert (found.measurements, found.pairs) == (3, 2)
    assert {one.hour: (one.rounds, one.discarded) for one in found.hours.hours if one.rounds} == {
        0: (2, 0),
        1: (1, 1),
    }
    assert not found.hosts.enough
    assert "No statement about hosts is possible yet" in text.hosts(found)


def test_rounds_of_campaigns_are_measurements(lab_store: Store) -> None:
    found = hosts.ask(lab_store, testbed="wan")
    assert (found.transfers, found.rounds, found.measurements) == (0, 100, 100)
    assert [group.parts[0].host for group in found.hosts.avoid] == ["beta"]


def test_an_empty_store_has_no_answer(disk: str) -> None:
    here = open_store(disk)
    assert "Nothing that could be judged" in text.hosts(hosts.ask(here))
    assert "Nothing that could be judged" in text.causes(causes.ask(here))
    assert "No such run" in text.papers(papers.ask(here))


def test_equal_addresses_of_two_testbeds_are_two_hosts(disk: str) -> None:
    for testbed, cause, count in (("lab", "host_scheduling", 12), ("cloud", "x", 40)):
        for number in range(count):
            sent = [
                Sent(
                    "10.0.0.1",
                    "10.0.0.2",
                    BEGAN + number * HOUR,
                    cause.replace("x", "bandwidth_limited"),
                )
            ]
            store_transfers(open_store(disk), f"{testbed}{number}", sent, testbed=testbed)
    found = hosts.ask(open_store(disk))
    assert found.pairs == 2
    (group,) = found.hosts.avoid
    assert group.parts[0].host == "lab: 10.0.0.1"
    assert hosts.ask(open_store(disk), testbed="lab").pairs == 1


def test_only_the_pairs_with_the_most_measurements_are_compared(
    disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "MOST_PAIRS", 2)
    here = open_store(disk)
    sent = [Sent(host, "x", BEGAN + n * HOUR) for host, n in (("a", 0), ("b", 0), ("b", 1))]
    store_transfers(here, "one.pcap", [*sent, Sent("c", "x", BEGAN), Sent("c", "x", BEGAN + HOUR)])
    found = hosts.ask(open_store(disk))
    assert (found.pairs, found.pairs_left_out) == (3, 1)
    assert "Not compared: 1 pair of hosts with the fewest measurements." in text.hosts(found)
    assert {one.host for one in found.hosts.parts} == {"b", "c", "x"}


# Causes over time.


def test_a_cause_whose_share_rose_is_named_with_its_date(lab_store: Store) -> None:
    found = causes.ask(lab_store, testbed="lab")
    by_name = {one.cause: one for one in found.causes}
    (change,) = by_name["network_congestion"].changes
    assert date(change.at_ns) == "2026-01-11"
    assert change.at_low_ns <= change.at_ns <= change.at_high_ns
    assert (change.before, round(change.after, 6)) == (0.0, round(1 / 3, 6))
    assert by_name["host_scheduling"].changes == ()
    assert (by_name["host_scheduling"].verdict, found.transfers) == ("discard", 1440)
    assert sum(day.with_cause for day in by_name["network_congestion"].days) == 240
    assert "queued on the path" in words.causes_headline(found)
    assert "from 0 % (0 % to 0 %) to 33 %" in " ".join(text.causes(found).split())


def test_a_given_date_is_compared_and_not_looked_for(lab_store: Store) -> None:
    found = causes.ask(lab_store, cause="network_congestion", since_ns=BEGAN + 15 * DAY)
    ((change,),) = (one.changes for one in found.causes)
    assert (change.p, change.at_ns) == (0.002, BEGAN + 15 * DAY)
    assert found.causes[0].changed
    assert change.before == pytest.approx(5 * 8 * 3 / (15 * 8 * 9))
    assert change.difference.low > 0
    assert "Since 2026-01-16 00:00 UTC" in text.causes(found)
    early = causes.ask(lab_store, cause="network_congestion", since_ns=BEGAN - DAY)
    assert early.causes[0].changes == ()
    assert "Fewer than 8 captures before or since that date" in text.causes(early)


def test_many_causes_are_held_to_a_given_date_together() -> None:
    told = 0
    for seed in range(20):
        chance = random.Random(seed)
        for one in range(12):
            blocks = [Block(at, 20, chance.randint(0, 4)) for at in range(60)]
            found = change_at(blocks, 30, tests=12, seed=seed * 12 + one)
            assert found is not None
            told += found.p * 12 <= 0.05
    assert told <= 3  # of 240, where 12 would be below 0.05


def test_nothing_is_said_of_a_date_since_which_there_are_too_few(lab_store: Store) -> None:
    late = causes.ask(lab_store, since_ns=BEGAN + 20 * DAY - HOUR)
    assert words.causes_headline(late) == (
        "There are too few captures to say whether a cause changed its share."
    )


def test_captures_before_a_date_are_not_joined_to_those_since(disk: str) -> None:
    store = open_store(disk)
    since = BEGAN + 50 * DAY
    for number in range(600):
        at = BEGAN + number * 2 * HOUR if number < 588 else since + (number - 588) * HOUR
        cause = "bandwidth_limited" if at < since else "network_congestion"
        store_transfers(store, f"c{number:04}", [Sent("a", "b", at, cause)], wide=False)
    found = causes.ask(open_store(disk), cause="network_congestion", since_ns=since)
    ((change,),) = (one.changes for one in found.causes)
    assert (change.before, change.after) == (0.0, 1.0)


def test_transfers_without_a_time_are_in_no_history(disk: str) -> None:
    store_transfers(open_store(disk), "one", [Sent("a", "b", None)], wide=False)
    nothing = causes.ask(open_store(disk))
    assert (nothing.transfers, nothing.first_ns) == (0, None)
    store_transfers(open_store(disk), "two", [Sent("a", "b", BEGAN)], wide=False)
    found = open_store(disk)
    assert causes.ask(found).transfers == 1
    assert hosts.ask(found).transfers == 2


def test_a_cause_that_no_transfer_has_is_an_error(lab_store: Store) -> None:
    with pytest.raises(StoreError, match="no judged transfer has the cause shaped") as refused:
        causes.ask(lab_store, cause="shaped")
    assert "bandwidth_limited" in refused.value.hint


def date(moment_ns: int) -> str:
    return datetime.datetime.fromtimestamp(moment_ns / 1e9, datetime.UTC).strftime("%Y-%m-%d")


def drawn(chance: random.Random, shares: list[float], of: int = 20) -> list[Block]:
    """A block an hour, whose transfers have the property with its share."""
    return [
        Block(number * HOUR, of, sum(chance.random() < share for _ in range(of)))
        for number, share in enumerate(shares)
    ]


def test_an_even_share_has_no_change_but_by_chance() -> None:
    chance = random.Random(7)
    series = [drawn(chance, [0.2] * 60) for _ in range(60)]
    found = sum(bool(changes(blocks, seed=n)) for n, blocks in enumerate(series))
    # At 5 % each, more than 8 of 60 happen once in a hundred times (binomial).
    assert found <= 8


def test_captures_that_differ_from_each_other_are_no_change() -> None:
    """All or nothing of each capture: 400 transfers, and 40 decisions."""
    chance = random.Random(7)
    series = [[Block(n * HOUR, 10, 10 * chance.randrange(2)) for n in range(40)] for _ in range(40)]
    found = sum(bool(changes(blocks, seed=n)) for n, blocks in enumerate(series))
    assert found <= 6  # binomial, as above


def test_intervals_hold_the_moment_and_the_difference() -> None:
    chance = random.Random(7)
    held = apart = 0
    for seed in range(20):
        blocks = drawn(chance, [0.1] * 40 + [0.4] * 40)
        (one,) = changes(blocks, seed=seed)[:1]
        held += one.at_low_ns <= 40 * HOUR <= one.at_high_ns
        apart += one.difference.low <= 0.3 <= one.difference.high
    # 95 % each: fewer than 16 of 20 would happen three times in a thousand.
    assert held >= 16
    assert apart >= 16


def test_two_changes_are_found_in_order() -> None:
    blocks = drawn(random.Random(7), [0.1] * 30 + [0.6] * 30 + [0.2] * 30)
    found = changes(blocks)
    assert [round(one.at_ns / HOUR) for one in found] == pytest.approx([30, 60], abs=2)
    assert found[0].after == found[1].before


def test_too_few_blocks_have_no_change() -> None:
    blocks = [Block(n, 10, 10 * (n >= FEWEST)) for n in range(2 * FEWEST)]
    assert [one.at_ns for one in changes(blocks)] == [FEWEST]
    assert changes(blocks[1:]) == []
    assert change_at(blocks[1:], FEWEST) is None
    assert change_at(blocks, FEWEST) is not None


def test_neighbours_are_merged_and_nothing_is_lost() -> None:
    blocks = [Block(n, n % 3, n % 2) for n in range(1000)]
    found = merged(list(reversed(blocks)), 64)
    assert len(found) == 64
    assert sum(one.of for one in found) == sum(one.of for one in blocks)
    assert sum(one.hits for one in found) == sum(one.hits for one in blocks)
    assert [one.at_ns for one in found] == sorted(one.at_ns for one in found)
    assert merged(blocks, 1000) == blocks


# Runs of a paper.


def test_a_run_whose_cell_lost_repetitions_would_not_survive(lab_store: Store) -> None:
    found = papers.ask(lab_store, paper="imc")
    (one,) = found.runs
    assert (one.standing, one.repetitions, one.cells) == ("discard", 21, 7)
    assert one.uses == {"discard": 1, "trust": 20}
    assert [(cell.repetitions, cell.usable) for cell in one.weak] == [(3, 2)]
    assert "left late" in one.reasons[0].why
    assert papers.ask(lab_store, paper="other").runs == ()
    assert papers.ask(lab_store, fewest=2).runs[0].standing == "review"
    shown = text.papers(found)
    assert "1 of 1 run would not survive review: study." in shown
    assert "1 of 7 cells keep fewer than 3 usable repetitions" in shown


def test_a_run_that_has_grown_counts_once(disk: str, tmp_path: Path) -> None:
    store = open_store(disk)
    make_run(tmp_path / "part", leave_out=4)
    assert add(store, tmp_path / "part", paper="imc").stored
    assert not add(store, tmp_path / "part", paper="imc").stored
    incomplete = papers.ask(open_store(disk)).runs[0]
    assert (incomplete.repetitions, incomplete.incomplete) == (21, 4)
    assert "4 repetitions not complete." in text.papers(papers.ask(open_store(disk)))
    # The same run, later: it began at the same moment with the same file and seed.
    make_run(tmp_path / "whole")
    assert add(store, tmp_path / "whole", paper="imc").stored
    (whole,) = papers.ask(open_store(disk)).runs
    assert (whole.repetitions, whole.incomplete) == (21, 0)


def test_a_transfer_seen_at_two_points_of_a_run_is_one_measurement() -> None:
    rows = [
        ("rep-000/server", "receiver", 1),
        ("rep-000/client", "sender", 1),
        ("rep-000/server", "sender", 2),
        ("rep-000/client", "receiver", 2),
        ("rep-001/server", "receiver", 1),
        ("rep-001/server", "receiver", 1),
    ]
    table = pa.table(
        {
            "source": [source for source, *_ in rows],
            "at": [at for _, at, _ in rows],
            "src": ["a"] * 6,
            "src_port": [port for *_, port in rows],
            "dst": ["b"] * 6,
            "dst_port": [80] * 6,
        }
    )
    kept = _seen_once(table).select(["source", "src_port"]).to_pylist()
    assert [(one["source"], one["src_port"]) for one in kept] == [
        ("rep-000/client", 1),
        ("rep-000/server", 2),
        ("rep-001/server", 1),
        ("rep-001/server", 1),
    ]


def test_a_campaign_that_has_grown_counts_once(disk: str, tmp_path: Path) -> None:
    store = open_store(disk)
    directory = make_campaign(tmp_path / "paths", Story(rounds=10))
    assert add(store, directory).stored
    last = sorted((directory / "rounds" / "alpha-beta").iterdir())[-1]
    (last / "judged.json").unlink()
    assert add(store, directory).stored
    assert open_store(disk).campaigns.rows == 49
    assert len(open_store(disk).manifests) == 2


def test_runs_of_one_name_and_day_are_bars_of_their_own() -> None:
    assert page._distinct(["a 1", "b 1", "a 1"]) == ["a 1 (1)", "b 1", "a 1 (2)"]
