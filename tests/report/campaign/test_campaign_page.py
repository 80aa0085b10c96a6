"""The page of a campaign.

Its contents and their order, that nothing in a campaign can break out of it, that weeks stay
small.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.campaign.runner.conftest import Leaping, PlayedHosts, PlayedRound, study_of
from tests.report.campaign_directories import BEGAN, FOUR_DAYS, HOUR, PAIRS, Story, make_campaign
from tests.report.pages import HOSTILE, charts_of, check_definitions, lines_of, text_of
from trustbed.campaign import SeenRound, timeline
from trustbed.campaign.judge import judge_round
from trustbed.campaign.model import CampaignModel
from trustbed.campaign.results import as_json, read_model
from trustbed.campaign.runner import CampaignDirectory
from trustbed.campaign.statistics.path import (
    DelaySummary,
    DirectionSummary,
    Ending,
    EstimatorSummary,
    PathSummary,
)
from trustbed.report.campaign import charts as charts
from trustbed.report.campaign import page as campaign_page
from trustbed.report.campaign import text as campaign_text
from trustbed.report.campaign import words as campaign_words

ABOUT = {
    "version": "0.1.0",
    "command": "trustbed report four --out report.html",
    "started": "2026-01-05T00:00:00Z",
}


@pytest.fixture(scope="module")
def page(model: CampaignModel) -> str:
    return campaign_page.render(model, ABOUT, text='name = "four hosts"\n')


def test_what_a_reader_sees(page: str, snapshot: SnapshotAssertion) -> None:
    assert lines_of(page) == snapshot


def test_what_the_network_gives_comes_before_what_to_avoid(page: str, model: CampaignModel) -> None:
    shown = text_of(page)
    bad = sum(pair.statement.discarded for pair in model.pairs)
    assert f"5 pairs of hosts, {bad} measured a host instead." in shown
    assert (
        shown.index("What the network gives")
        < shown.index("Which hours and hosts to avoid")
        < shown.index("alpha-beta: alpha → beta")
    )
    assert (
        shown.index("epsilon-zeta: epsilon → zeta")
        < shown.index("Two-point captures")
        < shown.index("How it was made")
    )
    network = model.pairs[0].statement.network
    assert f"{network.throughput_mean * 8 / 1e6:.1f} Mbit/s (" in shown
    assert f"from {network.rounds:,} rounds" in shown


def test_hours_and_hosts_to_avoid_are_named(page: str) -> None:
    section = re.search(r'<section id="avoid".*?</section>', page, flags=re.S)
    assert section is not None
    for disturbed in ("09:00 to 12:00 UTC", "gamma", "zeta"):
        assert disturbed in text_of(section[0])


def test_every_pair_has_its_charts_in_line(page: str) -> None:
    # Data, probes, stolen, busy, late wake-ups, idle with open window, pings, absences, causes;
    # and the hours.
    assert charts_of(page) == 5 * 9 + 1


def test_every_link_to_a_definition_finds_one(page: str) -> None:
    check_definitions(page, "campaign")


def test_the_table_of_both_ends_has_a_line_per_pair_and_role(page: str) -> None:
    section = re.search(r'<section id="ends".*?</section>', page, flags=re.S)
    assert section is not None
    assert len(re.findall(r'<th scope="row">', section[0])) == 10


def test_the_results_of_test_packets_and_estimators_are_described(
    model: CampaignModel, snapshot: SnapshotAssertion
) -> None:
    direction = DirectionSummary(
        lost_share=0.01,
        above_least_p50_mean_seconds=0.0012,
        above_least_p95_mean_seconds=0.0052,
        jitter_mean_seconds=0.004,
        jitter_max_seconds=0.004,
    )
    delay = DelaySummary(
        rounds=12,
        failed_rounds=1,
        clock_stepped_rounds=2,
        sent_probes=1200,
        answered_probes=1176,
        lost_share=0.02,
        round_trip_least_seconds=0.02,
        forward=direction,
        backward=direction,
    )
    pathload = EstimatorSummary(
        estimator="pathload",
        rounds=12,
        failed_rounds=1,
        estimates=7,
        low_mean_bits_per_second=4.1e6,
        high_mean_bits_per_second=4.4e6,
        low_min_bits_per_second=4.1e6,
        high_max_bits_per_second=4.4e6,
        at_least_rounds=2,
        at_least_mean_bits_per_second=1.2e9,
        at_most_rounds=1,
        at_most_mean_bits_per_second=1e4,
        endings=(
            Ending(ending="resolution", rounds=9, early=False),
            Ending(ending="time_limit", rounds=2, early=True),
        ),
        runs=100,
        runs_used=30,
    )
    nothing = replace(pathload, estimates=0, at_least_rounds=0, at_most_rounds=0)
    pathchirp = replace(nothing, estimator="pathchirp", endings=())
    first, *others = model.pairs
    first = replace(first, path=PathSummary(delay=delay, bandwidth=(pathload, pathchirp)))
    measured = replace(model, pairs=(first, *others))
    found = {
        "delay": campaign_words.delay(delay),
        "pathload": campaign_words.available(pathload),
        "pathchirp": campaign_words.available(pathchirp),
    }
    page = text_of(campaign_page.render(measured, ABOUT, text=""))
    text = re.sub(r"\s+", " ", campaign_text.render(measured, now_ns=BEGAN))
    for words in found.values():
        assert words in page
        assert words in text
    whole = replace(delay, failed_rounds=0, clock_stepped_rounds=0)
    silent = replace(direction, lost_share=None)
    unknown = DirectionSummary(
        lost_share=0.01,
        above_least_p50_mean_seconds=None,
        above_least_p95_mean_seconds=None,
        jitter_mean_seconds=None,
        jitter_max_seconds=None,
    )
    stepped = replace(
        whole,
        clock_stepped_rounds=12,
        round_trip_least_seconds=None,
        forward=unknown,
        backward=unknown,
    )
    unusable = (Ending(ending="unusable", rounds=12, early=True),)
    found |= {
        "none answered": campaign_words.delay(replace(whole, answered_probes=0)),
        "no loss by direction": campaign_words.delay(
            replace(whole, forward=silent, backward=silent)
        ),
        "all stepped": campaign_words.delay(stepped),
        "no delay": campaign_words.delay(replace(whole, failed_rounds=12)),
        "no estimate": campaign_words.available(replace(nothing, failed_rounds=12)),
        "none usable": campaign_words.available(
            replace(nothing, failed_rounds=0, endings=unusable)
        ),
        "only bounds": campaign_words.available(replace(pathchirp, at_least_rounds=2)),
    }
    assert found == snapshot


@pytest.mark.parametrize(
    ("more", "in_all", "expected"),
    [
        (
            5,
            5,
            "5 more rounds that may be used would give the configured interval (± 5 % at 95 "
            "%): that takes 25 min",
        ),
        (
            1,
            2,
            "(± 5 % at 95 %): that takes 2 more rounds, 10 min, if as many may be used as so far",
        ),
    ],
)
def test_the_rounds_still_needed_are_stated_with_their_duration(
    model: CampaignModel, more: int, in_all: int, expected: str
) -> None:
    campaign = replace(model.campaign, half_width=0.05, confidence=0.95, period_ns=300 * 10**9)
    statement = replace(model.pairs[0].statement, rounds_wanting=more, rounds_wanting_all=in_all)
    assert campaign_words.wanting(statement, campaign).endswith(expected)


def test_nothing_in_a_campaign_can_break_out(model: CampaignModel) -> None:
    changed = copy.deepcopy(as_json(model))
    changed["campaign"] |= {"name": HOSTILE, "about": HOSTILE, "file": HOSTILE}
    for pair in changed["pairs"]:
        pair |= {"pair": HOSTILE, "sender": HOSTILE, "receiver": HOSTILE, "flags": {HOSTILE: 1}}
        pair["causes"][0]["cause"] = HOSTILE
        pair["timeline"]["absent"]["kind"][0] = HOSTILE
        pair["aggregates"][0]["index"] = HOSTILE
    for one in changed["hosts"]:
        one |= {"host": HOSTILE, "why": HOSTILE, "up": False}
    made = campaign_page.render(
        msgspec.convert(changed, CampaignModel), {**ABOUT, "command": HOSTILE}, text=HOSTILE
    )
    assert "<script>alert" not in made
    assert "<img src=x" not in made
    assert made.count("</style>") == 1


def test_weeks_stay_small(model: CampaignModel, page: str) -> None:
    """Two weeks of 4032 rounds per pair, drawn as slices."""
    uses = ("trust", "trust", "review", "discard")
    rounds = [
        SeenRound(
            number=n,
            at_ns=BEGAN + n * HOUR // 12,
            use=uses[n % 4],
            data=1e6 + n,
            probe=1e5 + n,
            rtt_base=0.01,
        )
        for n in range(4032)
    ]
    pairs = [
        replace(
            pair,
            timeline=timeline(rounds[first:], (), from_ns=BEGAN, to_ns=BEGAN + 336 * HOUR),
        )
        for first, pair in enumerate(model.pairs)
    ]
    large = campaign_page.render(replace(model, pairs=tuple(pairs)), ABOUT)
    assert "A mark stands for the rounds of 1 h with" in text_of(large)
    assert len(large) < 2_500_000
    assert len(page) < 2_500_000


@pytest.mark.parametrize("columns", [60, 100])
def test_the_text_has_the_same_in_short(
    model: CampaignModel, columns: int, snapshot: SnapshotAssertion
) -> None:
    text = campaign_text.render(model, now_ns=BEGAN, columns=columns)
    assert text == snapshot
    prose = [line for line in text.splitlines() if not re.match(r"  (index|\d )", line)]
    assert all(len(line) <= columns for line in prose)


def test_a_single_day_allows_no_statement_about_hours(tmp_path: Path) -> None:
    model = read_model(
        make_campaign(tmp_path / "out", Story(pairs=PAIRS[:1], rounds=288, hours=FOUR_DAYS.hours)),
        timeline=True,
    )
    rounds = model.avoid.hours.rounds
    expected = (
        f"No statement about hours is possible yet: {rounds:,} rounds on 1 day. An hour counts "
        "from 12 rounds on 3 days on."
    )
    assert campaign_words.hours(model.avoid) == [expected]
    assert "No statement about hours is possible yet" in text_of(campaign_page.render(model, ABOUT))


def test_two_hosts_cannot_be_compared_with_others(tmp_path: Path) -> None:
    story = Story(pairs=[("alpha", "beta")], rounds=100, always={"alpha": 0.5}, finished=False)
    model = read_model(make_campaign(tmp_path / "out", story), timeline=True)
    shown = text_of(campaign_page.render(model, ABOUT))
    assert (
        "No statement about hosts is possible yet: two that only met each other cannot be "
        "compared with others."
    ) in shown
    assert re.search(
        r"Mbit/s\) per data connection from alpha to beta; \d+ of 100 rounds measured a "
        r"host instead\.",
        shown,
    )
    assert "A mark stands for" not in shown, "every round is a mark"


def test_a_campaign_without_discarded_rounds_says_so(tmp_path: Path) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=10)), timeline=True)
    assert campaign_words.headline(model) == (
        "50 rounds between 5 pairs of hosts: 49 may be used, 1 to be looked at."
    )
    assert "No hour is to be avoided so far: none of " in text_of(
        campaign_page.render(model, ABOUT)
    )


def test_a_handful_of_rounds_allows_no_statement_though_none_is_discarded(tmp_path: Path) -> None:
    avoid = read_model(make_campaign(tmp_path / "out", Story(rounds=2))).avoid
    assert avoid.hosts.rounds == 10
    assert campaign_words.hosts(avoid) == [
        "No statement about hosts is possible yet: 10 rounds, none of them to be discarded."
    ]
    assert campaign_words.hours(avoid)[0].startswith("No statement about hours is possible yet: ")


def test_a_campaign_without_captures_has_a_page(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=30, captured=0)), timeline=True)
    shown = lines_of(campaign_page.render(model, ABOUT))
    assert shown == snapshot
    assert "nan" not in shown.lower().split()


def test_a_campaign_that_has_just_begun_has_a_page(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    study = study_of(tmp_path, "a-b", count=3)
    directory = CampaignDirectory(tmp_path / "out")
    directory.begin(study, began_ns=BEGAN, about={"version": "1"})
    shown = lines_of(campaign_page.render(read_model(directory.path, timeline=True), ABOUT))
    assert shown == snapshot
    assert "0 of" not in shown


def test_a_campaign_that_was_played_has_a_page(tmp_path: Path) -> None:
    """As the runner leaves it.

    Rounds without captures that could be read, a host that was never there.
    """
    study = study_of(tmp_path, "a-b", "c-d", count=20, period='"100ms"', pings=0)
    options: dict[str, Any] = {
        "judge": judge_round,
        "about": {"version": "1"},
        "carrier": PlayedRound,
    }
    Leaping(
        study, CampaignDirectory(tmp_path / "out"), PlayedHosts(study, down=("d",)), **options
    ).carry_out()
    model = read_model(tmp_path / "out", timeline=True)
    assert set(model.pairs[1].timeline.absent["kind"]) == {"unreachable"}
    page = campaign_page.render(model, ABOUT)
    assert "d is unreachable since" in text_of(page)
    assert "d down" in page


def test_a_line_ends_where_rounds_are_missing() -> None:
    rounds = [
        SeenRound(number=n, at_ns=n * 10**9, rtt_base=0.1) for n in range(20) if not 5 <= n < 12
    ]
    spec = charts.evidence(
        timeline(rounds, (), from_ns=0, to_ns=20 * 10**9),
        {"round trip": "rtt_base_seconds"},
        title="pings",
        kind="seconds",
    )
    values = [row["value"] for row in spec["datasets"]["values"]]
    assert values == [0.1] * 5 + [None] + [0.1] * 8
