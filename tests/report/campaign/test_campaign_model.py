"""The results of a campaign's directory.

The disturbances of its hosts are found, and weeks fit into memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.patience import PATIENCE
from tests.report.campaign_directories import BEGAN, HOUR, Story, make_campaign
from trustbed.campaign.model import CampaignModel
from trustbed.campaign.results import as_json, read_model
from trustbed.campaign.statistics.avoidance import HostPart


def test_the_hosts_that_were_disturbed_are_those_to_avoid(model: CampaignModel) -> None:
    avoid = model.avoid
    assert [(one.first, one.to) for one in avoid.hours.avoid] == [(9, 12)]
    assert [group.parts[0] for group in avoid.hosts.avoid] == [
        HostPart("gamma", "sender"),
        HostPart("alpha", "sender"),
    ]
    assert [[(one.first, one.to) for one in group.hours] for group in avoid.hosts.avoid] == [
        [],
        [(9, 12)],
    ]


def test_rounds_that_measured_a_host_are_counted_with_their_reason(model: CampaignModel) -> None:
    pair = next(pair for pair in model.pairs if pair.pair == "gamma-delta")
    assert pair.statement.discarded == pair.uses["discard"] == pair.statement.why[0].rounds > 200
    assert pair.statement.why[0].cause == "host_scheduling"
    assert pair.statement.rounds_wanting == pair.statement.rounds_wanting_all == 0


def test_the_downtime_of_a_host_is_listed_with_the_rounds_that_it_cost(
    model: CampaignModel,
) -> None:
    zeta = next(one for one in model.hosts if one.host == "zeta")
    assert zeta.down == ((BEGAN + 30 * HOUR, BEGAN + 37 * HOUR),)
    assert (zeta.down_seconds, zeta.lost_rounds) == (7 * 3600, 84)
    absent = model.pairs[-1].timeline.absent
    index = absent["kind"].index("unreachable")
    assert (absent["rounds"][index], absent["to_ns"][index] - absent["from_ns"][index]) == (
        84,
        7 * HOUR,
    )


def test_the_timeline_is_there_only_on_request(tmp_path: Path, model: CampaignModel) -> None:
    unasked = as_json(read_model(make_campaign(tmp_path / "out", Story(rounds=20))))
    assert all("timeline" not in pair for pair in unasked["pairs"])
    for pair in model.pairs:
        assert sum(pair.timeline.throughput["rounds"]) == pair.judged
        assert pair.timeline.slice_ns == HOUR // 4


def test_it_is_plain_json(model: CampaignModel) -> None:
    assert json.loads(json.dumps(as_json(model), allow_nan=False)) == as_json(model)


def test_a_campaign_without_captures_measures_and_judges_nothing(tmp_path: Path) -> None:
    model = read_model(make_campaign(tmp_path / "out", Story(rounds=20, captured=0)))
    assert model.avoid.hosts.rounds == 0
    assert all(pair.two_point == () and pair.statement.network.rounds for pair in model.pairs)


def test_many_rounds_need_little_memory(tmp_path: Path) -> None:
    """A day of five pairs, in a process of their own.

    Per round less than a tenth of what its file takes.
    """
    directory = make_campaign(tmp_path / "out", Story(rounds=288))
    code = """
        import re, sys
        from pathlib import Path
        from trustbed.campaign.results import read_model
        def most(): return int(
            re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
        before = most()
        model = read_model(sys.argv[1], timeline=True)
        print(sum(pair.judged for pair in model.pairs), most() - before)
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
    assert rounds > 1400
    assert kilobytes < 8 * rounds, "kilobytes per round"
