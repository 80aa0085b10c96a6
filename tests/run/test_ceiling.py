"""What a scenario asks of the emulator, and that too much is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.run import ceiling
from trustbed.run.execute import RunError
from trustbed.scenario import Scenario, load

DUMBBELL = """
[topology]
shape = "dumbbell"
left = ["a", "b"]
right = ["c", "d"]
[hosts.a]
access = { rate = "1Gbit/s" }
[hosts.b]
[hosts.c]
[hosts.d]
[links.middle]
rate = "20Mbit/s"
down.rate = "5Mbit/s"
[workload.w]
kind = "bulk"
host = "a"
to = "c"
"""
FAST = """
[hosts.a]
[hosts.c]
[link]
rate = "RATE"
[workload.w]
kind = "bulk"
host = "a"
to = "c"
"""


def read(folder: Path, text: str) -> Scenario:
    (folder / "study.toml").write_text(text)
    return load(folder / "study.toml").first


def test_a_fast_access_link_in_front_of_a_slow_one_asks_for_little(tmp_path: Path) -> None:
    assert ceiling.demand(read(tmp_path, DUMBBELL)) == 20_000_000


def test_a_link_that_several_share_counts_once_and_each_direction_on_its_own(tmp_path: Path) -> None:
    more = '[background.n]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "b"\nto = "d"\ndirection = "both"\n'
    assert ceiling.demand(read(tmp_path, DUMBBELL + more)) == 25_000_000
    assert ceiling.demand(read(tmp_path, DUMBBELL + more.replace('"cbr"', '"none"'))) == 20_000_000


def test_downloads_count_in_the_direction_of_their_data(tmp_path: Path) -> None:
    pages = DUMBBELL.replace('kind = "bulk"', 'kind = "http"\nobject = "1MB"')
    assert ceiling.demand(read(tmp_path, pages)) == 5_000_000


def test_where_nothing_limits_nothing_is_asked_for(tmp_path: Path) -> None:
    assert ceiling.demand(read(tmp_path, FAST.replace('rate = "RATE"\n', ""))) == 0


def test_too_much_is_refused_with_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceiling, "measure", lambda: 2_500_000_000)
    assert ceiling.refuse_too_much([read(tmp_path, FAST.replace("RATE", "2Gbit/s"))]) == 2_500_000_000
    with pytest.raises(RunError, match=r"10\.00 Gbit/s together, and this machine emulates at most 2\.50 Gbit/s"):
        ceiling.refuse_too_much([read(tmp_path, FAST.replace("RATE", "10Gbit/s"))])


def test_modest_rates_are_not_worth_a_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ceiling, "measure")
    assert ceiling.refuse_too_much([read(tmp_path, FAST.replace("RATE", "500Mbit/s"))]) is None
