"""A campaign of simulated hosts, as the bench has a thousand of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import controller
from tests.campaign.runner.conftest import judged_here, row_of
from tests.testbed.simulated import simulated
from trustbed.campaign import api
from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.scenario import campaign as campaigns

__all__ = ["judged_here"]

ROUNDS = """
[rounds]
count = 2
period = "1s"
pings = 2
ping_interval = "20ms"
pairs_at_once = 1
table = [{ probe = "1KiB", data = "2KiB" }]
"""


def test_simulated_hosts_carry_out_rounds(
    tmp_path: Path, judged_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    rows = {"connections": [row_of(0, role, 1024, 5e5) for role in ("probe", "data")]}
    watched = {f"{one}.{what}": {} for one in ("sender", "receiver") for what in ("samples",)}
    record = {
        "ping": {"from": "10.0.0.1", "round_trips_ns": [10_000_000], "interface": "left"},
        "sent": rows,
        "received": rows,
        "watched": watched,
    }
    with simulated(tmp_path, 4, record) as text:
        pairs = "".join(
            f'[[pairs]]\nsender = "h{one}"\nreceiver = "h{one + 1}"\n' for one in (0, 2)
        )
        file = tmp_path / "study.toml"
        file.write_text(text + pairs + ROUNDS + "[recording]\ncapture = false\n")
        directory = CampaignDirectory(tmp_path / "out")
        api.measure(campaigns.load(file), directory, about={"version": "1"})
    rounds = list(directory.rounds())
    assert {one.pair for one in rounds} == {"h0-h1", "h2-h3"}
    assert {one.record().outcome for one in rounds} == {"complete"}
    assert all(one.record().watched for one in rounds)
    assert all(one.is_judged for one in rounds)


def test_what_a_campaign_cost_is_held_against_the_limits() -> None:
    found = controller.Controlled(
        hosts=1000,
        connect_seconds=30.0,
        seconds=180.0,
        rounds=1500,
        complete=1400,
        skipped={},
        controller_seconds=60.0,
        judging_seconds=90.0,
        peak_bytes=500_000_000,
        late_seconds=(0.01, 2.5),
    )
    held = {target.what.rpartition(": ")[2]: target.holds for target in controller.targets(found)}
    assert held == {
        "CPU": True,
        "CPU with judging": True,
        "memory": True,
        "latest round": False,
        "rounds skipped": True,
    }
    assert any("40 ms of CPU a round" in line for line in controller.lines(found))
