"""The page of a campaign.

What it says and in which order, that nothing in a campaign can break out of it, that weeks stay
small.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.campaign.runner.conftest import PlayedHosts, PlayedRound, study_of
from tests.report.campaign_directories import BEGAN, FOUR_DAYS, HOUR, Story, make_campaign
from tests.report.pages import HOSTILE, charts_of, check_definitions, text_of
from trustbed.campaign import SeenRound, timeline
from trustbed.campaign.judge import judge_round
from trustbed.campaign.results import read_json as read_model
from trustbed.campaign.runner import CampaignDirectory, Runner
from trustbed.report.campaign import charts as charts
from trustbed.report.campaign import page as campaign_page
from trustbed.report.campaign import text as campaign_text
from trustbed.report.campaign import words as campaign_words

Model = dict[str, Any]

ABOUT = {
    "version": "0.1.0",
    "command": "trustbed report four --out report.html",
    "started": "2026-01-05T00:00:00Z",
}


@pytest.fixture(scope="module")
def page(model: Model) -> str:
    return campaign_page.render(model, ABOUT, text='name = "four hosts"\n')


def test_it_says_first_what_the_network_gives_then_what_to_avoid(page: str, model: Model) -> None:
    said = text_of(page)
    bad = sum(pair["statement"]["discarded"] for pair in model["pairs"])
    assert f"5 pairs of hosts, {bad} measured a host instead." in said
    assert (
        said.index("What the network gives")
        < said.index("Which hours and hosts to avoid")
        < said.index("alpha-beta: alpha → beta")
    )
    assert (
        said.index("epsilon-zeta: epsilon → zeta")
        < said.index("Two-point captures")
        < said.index("How it was made")
    )
    assert re.search(
        r"19\.\d Mbit/s \(1[89]\.\d Mbit/s to 19\.\d Mbit/s\) per data connection, from "
        r"1,0\d\d rounds",
        said,
    )
    assert "measured a host instead, and must not be used: the sending host stalled (" in said
    assert "The configured interval (± 5 % at 95 %) is reached." in said


def test_hours_and_hosts_to_avoid_are_named(page: str) -> None:
    said = text_of(page)
    assert "Avoid 09:00 to 12:00 UTC: " in said
    assert "Avoid gamma as sender (or delta as receiver: no other host met them): " in said
    assert "it is worst from 09:00 to 12:00 UTC." in said
    assert "zeta was down once, for 7 h: 84 rounds did not take place." in said


def test_every_pair_has_its_charts_in_line(page: str) -> None:
    # Data, probes, stolen, busy, late wake-ups, idle with open window, pings, absences, causes;
    # and the hours.
    assert charts_of(page) == 5 * 9 + 1
    assert "Nothing is known of: throttled." in text_of(page)
    assert "A mark stands for the rounds of 15 min with the same verdict" in text_of(page)


def test_every_link_to_a_definition_finds_one(page: str) -> None:
    check_definitions(page, "campaign")


def test_the_table_of_both_ends_has_a_line_per_pair_and_role(page: str) -> None:
    section = re.search(r'<section id="ends".*?</section>', page, flags=re.S)
    assert section is not None
    assert len(re.findall(r'<th scope="row">', section[0])) == 10


def test_what_was_asked_of_the_path_is_told_in_words(model: Model) -> None:
    way = {"lost_share": 0.01, "above_least_p50_mean_seconds": 0.0012, "jitter_mean_seconds": 0.004}
    asked_for = {
        "rounds": 12,
        "failed_rounds": 1,
        "clock_stepped_rounds": 2,
        "sent_probes": 1200,
        "answered_probes": 1176,
    }
    delay = {
        **asked_for,
        "lost_share": 0.02,
        "round_trip_least_seconds": 0.02,
        "forward": way,
        "backward": way,
    }
    interval = {
        "estimates": 7,
        "low_mean_bits_per_second": 4.1e6,
        "high_mean_bits_per_second": 4.4e6,
        "runs": 100,
        "runs_used": 30,
    }
    bounds = {
        "at_least_rounds": 2,
        "at_least_mean_bits_per_second": 1.2e9,
        "at_most_rounds": 1,
        "at_most_mean_bits_per_second": 1e4,
    }
    endings = [
        {"ending": "resolution", "rounds": 9, "early": False},
        {"ending": "time_limit", "rounds": 2, "early": True},
    ]
    known = {"rounds": 12, "failed_rounds": 1, **interval, **bounds, "endings": endings}
    nothing = {**known, "estimates": 0, "at_least_rounds": 0, "at_most_rounds": 0}
    bandwidth = [
        {**known, "estimator": "pathload"},
        {**nothing, "estimator": "pathchirp", "endings": []},
    ]
    asked = copy.deepcopy(model)
    asked["pairs"][0]["path"] = {"delay": delay, "bandwidth": bandwidth}
    told = [
        "round trip 20.0 ms at least; there 1.20 ms above the least, jitter 4.00 ms, 1 % lost, "
        "back 1.20 ms above the least, jitter 4.00 ms, 1 % lost; 1,200 test packets in 12 rounds; "
        "the measurement failed in 1; a clock was stepped in 2, which have no delays",
        "4.10 Mbit/s to 4.40 Mbit/s by pathload, mean of 7 of 12 rounds; at least 1.20 Gbit/s, "
        "mean of 2; at most 10.0 kbit/s, mean of 1; nothing found in 1; ended early because its "
        "time was over (2); 30 of 100 runs could be used; the measurement failed in 1",
        "pathchirp found nothing in 11 of 12 rounds; 30 of 100 runs could be used; the "
        "measurement failed in 1",
    ]
    page = text_of(campaign_page.render(asked, ABOUT, text=""))
    text = re.sub(r"\s+", " ", campaign_text.render(asked, now_ns=BEGAN))
    for words in told:
        assert words in page
        assert words in text
    whole = {**delay, "failed_rounds": 0, "clock_stepped_rounds": 0}
    assert (
        campaign_words.delay({**whole, "answered_probes": 0})
        == "of 1,200 test packets none came back in 12 rounds"
    )
    silent = {**way, "lost_share": None}
    assert campaign_words.delay({**whole, "forward": silent, "backward": silent}).endswith(
        "1,200 test packets in 12 rounds, 2 % of them lost"
    )
    unknown = dict.fromkeys(way) | {"lost_share": 0.01}
    assert campaign_words.delay(
        {
            **whole,
            "clock_stepped_rounds": 12,
            "round_trip_least_seconds": None,
            "forward": unknown,
            "backward": unknown,
        }
    ) == (
        "there 1 % lost, back 1 % lost; 1,200 test packets in 12 rounds; "
        "a clock was stepped in 12, which have no delays"
    )
    assert (
        campaign_words.delay({**whole, "failed_rounds": 12})
        == "the measurement failed in 12 rounds"
    )
    assert (
        campaign_words.available({**nothing, "estimator": "pathload", "failed_rounds": 12})
        == "pathload failed in 12 rounds"
    )
    unusable = [{"ending": "unusable", "rounds": 12, "early": True}]
    assert campaign_words.available(
        {**nothing, "estimator": "pathload", "failed_rounds": 0, "endings": unusable}
    ) == (
        "pathload found nothing in 12 rounds; ended early because fewer than half of its streams "
        "could be used (12)"
    )
    assert campaign_words.available(
        {**nothing, **bounds, "at_most_rounds": 0, "estimator": "pathchirp", "endings": []}
    ).startswith("at least 1.20 Gbit/s by pathchirp, mean of 2 of 12 rounds; nothing found in 9; ")


@pytest.mark.parametrize(
    ("more", "in_all", "told"),
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
def test_more_rounds_are_told_with_what_they_take(more: int, in_all: int, told: str) -> None:
    campaign = {"half_width": 0.05, "confidence": 0.95, "period_ns": 300 * 10**9}
    pair = {"statement": {"rounds_wanting": more, "rounds_wanting_all": in_all}}
    assert campaign_words.wanting(pair, campaign).endswith(told)


def test_nothing_in_a_campaign_can_break_out(model: Model) -> None:
    changed = copy.deepcopy(model)
    changed["campaign"] |= {"name": HOSTILE, "about": HOSTILE, "file": HOSTILE}
    for pair in changed["pairs"]:
        pair |= {"pair": HOSTILE, "sender": HOSTILE, "receiver": HOSTILE, "flags": {HOSTILE: 1}}
        pair["causes"][0]["cause"] = HOSTILE
        pair["timeline"]["absent"]["kind"][0] = HOSTILE
        pair["aggregates"][0]["index"] = HOSTILE
    for one in changed["hosts"]:
        one |= {"host": HOSTILE, "why": HOSTILE, "up": False}
    made = campaign_page.render(changed, {**ABOUT, "command": HOSTILE}, text=HOSTILE)
    assert "<script>alert" not in made
    assert "<img src=x" not in made
    assert made.count("</style>") == 1


def test_weeks_stay_small(model: Model, page: str) -> None:
    """Two weeks of 4032 rounds per pair, drawn as slices."""
    changed = copy.deepcopy(model)
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
    for place, pair in enumerate(changed["pairs"]):
        pair["timeline"] = msgspec.to_builtins(
            timeline(rounds[place:], (), from_ns=BEGAN, to_ns=BEGAN + 336 * HOUR)
        )
    large = campaign_page.render(changed, ABOUT)
    assert "A mark stands for the rounds of 1 h with" in text_of(large)
    assert len(large) < 2_500_000
    assert len(page) < 2_500_000


@pytest.mark.parametrize("columns", [60, 100])
def test_the_text_says_the_same_in_short(model: Model, columns: int) -> None:
    text = campaign_text.render(model, now_ns=BEGAN, columns=columns)
    joined = " ".join(text.split())
    assert "Avoid 09:00 to 12:00 UTC: " in joined
    assert "Avoid gamma as sender (or delta as receiver: no other host met them): " in joined
    assert "frames lost between the hosts" in joined
    prose = [line for line in text.splitlines() if not re.match(r"  (index|\d )", line)]
    assert all(len(line) <= columns for line in prose)


def test_a_single_day_says_that_nothing_can_be_said_of_hours(tmp_path: Path) -> None:
    model = read_model(
        make_campaign(tmp_path / "out", Story(rounds=288, hours=FOUR_DAYS.hours)), timeline=True
    )
    rounds = model["avoid"]["hours"]["rounds"]
    said = (
        f"No statement about hours is possible yet: {rounds:,} rounds on 1 day. An hour counts "
        "from 12 rounds on 3 days on."
    )
    assert campaign_words.hours(model["avoid"]) == [said]
    assert "No statement about hours is possible yet" in text_of(campaign_page.render(model, ABOUT))


def test_two_hosts_only_have_nobody_to_be_compared_with(tmp_path: Path) -> None:
    story = Story(pairs=[("alpha", "beta")], rounds=100, always={"alpha": 0.5}, finished=False)
    model = read_model(make_campaign(tmp_path / "out", story), timeline=True)
    said = text_of(campaign_page.render(model, ABOUT))
    assert (
        "No statement about hosts is possible yet: two that only met each other cannot be "
        "compared with others."
    ) in said
    assert re.search(
        r"Mbit/s\) per data connection from alpha to beta; \d+ of 100 rounds measured a "
        r"host instead\.",
        said,
    )
    assert "A mark stands for" not in said, "every round is a mark"


def test_no_round_discarded_is_said(tmp_path: Path) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=10)), timeline=True)
    assert campaign_words.headline(model).startswith("All ")
    assert "No hour is to be avoided so far: none of " in text_of(
        campaign_page.render(model, ABOUT)
    )


def test_a_handful_of_rounds_says_nothing_though_none_is_discarded(tmp_path: Path) -> None:
    avoid = read_model(make_campaign(tmp_path / "out", Story(rounds=2)))["avoid"]
    assert avoid["hosts"]["rounds"] == 10
    assert campaign_words.hosts(avoid) == [
        "No statement about hosts is possible yet: 10 rounds, none of them to be discarded."
    ]
    assert campaign_words.hours(avoid)[0].startswith("No statement about hours is possible yet: ")


def test_a_campaign_without_captures_has_a_page(tmp_path: Path) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=30, captured=0)), timeline=True)
    said = text_of(campaign_page.render(model, ABOUT))
    assert "no capture shows whether they measured the network." in said
    assert "No statement about hours is possible: no round was judged." in said
    assert "Nothing is known of: throttled, idle with open window." in said
    assert "nan" not in said.lower().split()


def test_a_campaign_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=3)
    directory = CampaignDirectory(tmp_path / "out")
    directory.begin(study, began_ns=BEGAN, about={"version": "1"})
    said = text_of(campaign_page.render(read_model(directory.path, timeline=True), ABOUT))
    assert "No round has been judged yet." in said
    assert "0 of" not in said


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
    Runner(
        study, CampaignDirectory(tmp_path / "out"), PlayedHosts(study, down=("d",)), **options
    ).carry_out()
    model = read_model(tmp_path / "out", timeline=True)
    # A machine that stood still for a period has missed a round besides.
    assert "unreachable" in model["pairs"][1]["timeline"]["absent"]["kind"]
    page = campaign_page.render(model, ABOUT)
    assert "d is unreachable since" in text_of(page)
    assert "d down" in page


def test_a_line_ends_where_rounds_are_missing() -> None:
    rounds = [
        SeenRound(number=n, at_ns=n * 10**9, rtt_base=0.1) for n in range(20) if not 5 <= n < 12
    ]
    spec = charts.evidence(
        msgspec.to_builtins(timeline(rounds, (), from_ns=0, to_ns=20 * 10**9)),
        {"round trip": "rtt_base_seconds"},
        title="pings",
        kind="seconds",
    )
    values = [row["value"] for row in spec["datasets"]["values"]]
    assert values == [0.1] * 5 + [None] + [0.1] * 8
