"""What a campaign's directory comes to.

What was done to its hosts is what is found, and weeks fit into memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.report.campaign_directories import BEGAN, HOUR, Story, make_campaign
from trustbed.campaign.results import read_json as read_model

Model = dict[str, Any]


def test_what_was_done_to_hosts_is_what_is_to_be_avoided(model: Model) -> None:
    avoid = model["avoid"]
    assert [(one["from"], one["to"]) for one in avoid["hours"]["avoid"]] == [(9, 12)]
    assert [group["parts"][0] for group in avoid["hosts"]["avoid"]] == [
        {"host": "gamma", "role": "sender"},
        {"host": "alpha", "role": "sender"},
    ]
    assert [
        [(one["from"], one["to"]) for one in group["hours"]] for group in avoid["hosts"]["avoid"]
    ] == [[], [(9, 12)]]


def test_rounds_that_measured_a_host_are_counted_with_their_reason(model: Model) -> None:
    pair = next(pair for pair in model["pairs"] if pair["pair"] == "gamma-delta")
    assert (
        pair["statement"]["discarded"]
        == pair["uses"]["discard"]
        == pair["statement"]["why"][0]["rounds"]
        > 200
    )
    assert pair["statement"]["why"][0]["cause"] == "host_scheduling"
    assert pair["statement"]["rounds_wanting"] == pair["statement"]["rounds_wanting_all"] == 0


def test_a_host_that_was_away_is_told_with_what_it_cost(model: Model) -> None:
    zeta = next(one for one in model["hosts"] if one["host"] == "zeta")
    assert zeta["down"] == [[BEGAN + 30 * HOUR, BEGAN + 37 * HOUR]]
    assert (zeta["down_seconds"], zeta["lost_rounds"]) == (7 * 3600, 84)
    absent = model["pairs"][-1]["timeline"]["absent"]
    place = absent["kind"].index("unreachable")
    assert (absent["rounds"][place], absent["to_ns"][place] - absent["from_ns"][place]) == (
        84,
        7 * HOUR,
    )


def test_the_timeline_is_for_who_asks(four_days: Path, model: Model) -> None:
    assert all("timeline" not in pair for pair in read_model(four_days)["pairs"])
    for pair in model["pairs"]:
        assert sum(pair["timeline"]["throughput"]["rounds"]) == pair["judged"]
        assert pair["timeline"]["slice_ns"] == HOUR // 4


def test_it_is_plain_json(model: Model) -> None:
    assert json.loads(json.dumps(model, allow_nan=False)) == json.loads(json.dumps(model))


def test_a_campaign_without_captures_measures_and_judges_nothing(tmp_path: Path) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=20, captured=0)))
    assert model["avoid"]["hosts"]["rounds"] == 0
    assert all(
        pair["two_point"] == [] and pair["statement"]["network"]["rounds"]
        for pair in model["pairs"]
    )


def test_many_rounds_need_little_memory(tmp_path: Path) -> None:
    """Two days of five pairs, in a process of their own.

    Per round less than a tenth of what its file takes.
    """
    directory = make_campaign(tmp_path / "out", Story(rounds=2 * 288))
    code = """
        import re, sys
        from pathlib import Path
        from trustbed.campaign.results import read_json as read_model
        def most(): return int(
            re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
        before = most()
        model = read_model(sys.argv[1], timeline=True)
        print(sum(pair["judged"] for pair in model["pairs"]), most() - before)
    """
    words = [sys.executable, "-c", textwrap.dedent(code), str(directory)]
    ended = subprocess.run(
        words,
        timeout=PATIENCE,
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    found = re.search(r"(\d+) (\d+)$", ended.stdout)
    assert found is not None
    rounds, kilobytes = int(found[1]), int(found[2])
    assert rounds > 2800
    assert kilobytes < 8 * rounds, "kilobytes per round"
