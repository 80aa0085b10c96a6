"""What a study runs: the user's scenario beside every background, as scenarios of their own."""

from __future__ import annotations

import dataclasses
import re
import struct
import tomllib
from functools import partial
from pathlib import Path

import pytest

from trustbed import _core
from trustbed.cli import main
from trustbed.run.error import RunError
from trustbed.run.execution import ceiling
from trustbed.scenario import load
from trustbed.scenario.file import keys_of
from trustbed.scenario.toml_text import toml
from trustbed.sensitivity import kept
from trustbed.sensitivity.arrivals import write_capture
from trustbed.sensitivity.design import Options, planned
from trustbed.sensitivity.plan import SensitivityError, pasted

SCENARIO = """
name = "pages"
duration = "5s"
[hosts.client]
[hosts.server]
[link]
rate = "10Mbit/s"
delay = "10ms"
[workload.pages]
kind = "http"
host = "client"
to = "server"
object = "4KB"
"""

ESTIMATOR = SCENARIO.replace('"http"', '"pathload"').replace('object = "4KB"\n', "")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pages.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_the_suite_is_every_background_at_every_load_and_the_reverse(file: Path) -> None:
    found = planned(file, Options(loads=(0.3, 0.6)))
    labels = [one.label for one in found.treatments]
    assert labels[0] == "quiet"
    assert {"steady 30 %", "web 60 %", "heavy-tailed 60 % reverse"} <= set(labels)
    assert len(labels) == len(set(labels)) == 1 + 2 * 8 + 2
    assert len(found.suite.study.cells) == len(labels)
    assert len(found.alone.study.cells) == len(labels) - 1
    assert [band.first for band in found.bands] == [1, 3, 5, 7, 9]


def test_backgrounds_flow_with_the_data_of_the_application(file: Path) -> None:
    found = planned(file, Options(loads=(0.3,), backgrounds=("steady", "web")))
    quiet, steady, web, *back = (cell.scenario.backgrounds[0] for cell in found.suite.study.cells)
    assert quiet.silent
    assert (steady.source, steady.to, steady.rate) == ("server", "client", 3_000_000)
    assert web.beside == ("client", "server")  # users beside the client, who fetch
    assert (back[0].source, back[0].to) == ("client", "server")
    assert back[1].beside == ("server", "client")


def test_a_study_s_scenario_can_be_read_from_its_text(file: Path, tmp_path: Path) -> None:
    found = planned(file, Options(backgrounds=("steady", "poisson")))
    again = tmp_path / "again.toml"
    again.write_text(found.suite.study.text, encoding="utf-8")
    assert load(again).cells == found.suite.study.cells
    assert not [one for one in found.alone.study.first.workloads if one.kind == "http"]


def test_what_is_pasted_is_a_factor(file: Path, tmp_path: Path) -> None:
    found = planned(file, Options(backgrounds=("steady", "web")))
    chosen = (found.treatments[0], found.treatments[2])
    whole = tmp_path / "whole.toml"
    whole.write_text(SCENARIO + pasted(chosen, found.where, keys_of(found.study)), encoding="utf-8")
    cells = load(whole).cells
    assert [cell.scenario.backgrounds[0].model for cell in cells] == ["none", "users"]


def test_a_background_of_the_scenario_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    own = '[background.noise]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
    path.write_text(SCENARIO + own, encoding="utf-8")
    found = planned(path, Options(backgrounds=("steady", "poisson")))
    names = [one.name for one in found.suite.study.cells[1].scenario.backgrounds]
    assert names == ["noise", "noise-2"]
    assert [one.name for one in found.alone.study.first.backgrounds] == ["noise"]
    assert pasted(found.treatments[:2], found.where, keys_of(found.study)).startswith(
        "[background.noise-2]"
    )


def test_a_background_without_a_name_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    own = '[background]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
    path.write_text(SCENARIO + own, encoding="utf-8")
    found = planned(path, Options(backgrounds=("steady", "poisson")))
    names = [one.name for one in found.suite.study.cells[1].scenario.backgrounds]
    assert names == ["background", "noise"]
    pasted_text = pasted(found.treatments[:2], found.where, keys_of(found.study))
    path.write_text(SCENARIO + own + pasted_text, encoding="utf-8")
    assert [one.name for one in load(path).first.backgrounds] == ["background", "noise"]


def test_users_beyond_the_reverse_direction_of_a_link_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "uneven.toml"
    uneven = 'rate = "10Mbit/s"\nup.rate = "1Mbit/s"\n'
    path.write_text(SCENARIO.replace('rate = "10Mbit/s"\n', uneven), encoding="utf-8")
    found = planned(path, Options(loads=(0.6,), backgrounds=("steady", "bulk", "web")))
    assert {one.name for one in found.treatments} == {"quiet", "steady", "bulk"}
    (said,) = [one for one in found.left_out if one.startswith("web 60 % was left out")]
    assert "the clients offer 1.03 Mbit/s in the mean" in said


def test_backgrounds_go_where_the_data_do(tmp_path: Path) -> None:
    path = tmp_path / "uneven.toml"
    uneven = 'rate = "10Mbit/s"\nup.rate = "1Mbit/s"\n'
    path.write_text(SCENARIO.replace('rate = "10Mbit/s"\n', uneven), encoding="utf-8")
    where = planned(path, Options(loads=(0.5,), backgrounds=("steady", "poisson"))).where
    assert (where.pipe, where.capacity, where.reverse_capacity) == ("link.down", 10e6, 1e6)


def test_a_link_that_no_data_cross_is_not_chosen(tmp_path: Path) -> None:
    path = tmp_path / "star.toml"
    text = """
duration = "5s"
[hosts.a]
[hosts.b]
[hosts.c]
[topology]
routers = ["r"]
[links.first]
between = ["a", "r"]
rate = "10Mbit/s"
[links.second]
between = ["r", "b"]
rate = "20Mbit/s"
[links.aside]
between = ["c", "r"]
rate = "1Mbit/s"
[workload.load]
kind = "bulk"
host = "a"
to = "b"
"""
    path.write_text(text, encoding="utf-8")
    where = planned(path, Options(backgrounds=("steady", "poisson"))).where
    assert (where.link, where.pipe, where.sender) == ("first", "first.up", "a")
    with pytest.raises(SensitivityError, match="is called aside"):
        planned(path, Options(link="aside"))


def test_the_ledger_of_a_study_has_packets(tmp_path: Path) -> None:
    path = tmp_path / "summary.toml"
    path.write_text(SCENARIO + '[emulator]\nledger = "summary"\n', encoding="utf-8")
    found = planned(path, Options(backgrounds=("steady", "poisson")))
    assert {cell.scenario.emulator.ledger for cell in found.suite.study.cells} == {"packets"}


def flood(packet_bytes: int, rate: float) -> ceiling.FloodRates:
    """What a machine sustains, in packets per second."""
    return ceiling.FloodRates(
        packet_bytes=packet_bytes,
        sent_packets_per_second=rate,
        forwarded_packets_per_second=rate,
    )


def test_what_surrogates_cannot_show_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ceiling, "measure", partial(flood, rate=400_000))
    path = tmp_path / "fast.toml"
    path.write_text(SCENARIO.replace("10Mbit/s", "400Mbit/s"), encoding="utf-8")
    found = planned(path, Options(backgrounds=("steady", "poisson")))
    assert found.bands == ()
    assert "no surrogates" in found.left_out[0]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (SCENARIO + '[factors]\n"link.rate" = ["1Mbit/s", "2Mbit/s"]\n', Options(), "has factors"),
        (SCENARIO.replace('rate = "10Mbit/s"\n', ""), Options(), "so nothing would queue"),
        (SCENARIO, Options(link="other"), "is called other"),
        (SCENARIO, Options(workload="films"), "no workload is called films"),
        (SCENARIO, Options(backgrounds=("steady",)), "one background"),
        (SCENARIO, Options(backgrounds=("stedy", "web")), "no background is called stedy"),
        (SCENARIO, Options(loads=(0.3, 1.2)), "leaves the application nothing"),
        (SCENARIO, Options(loads=(0.3, 0.3)), "not all different"),
        (SCENARIO, Options(loads=(0.301, 0.304)), "not all different"),
        (ESTIMATOR, Options(), "is an estimator"),
        (SCENARIO, Options(loads=(0.0,)), "is none"),
    ],
)
def test_what_cannot_be_studied_is_said(
    tmp_path: Path, text: str, options: Options, said: str
) -> None:
    path = tmp_path / "pages.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SensitivityError, match=said) as caught:
        planned(path, options)
    assert caught.value.hint


def test_a_plan_beyond_its_budget_is_shown_and_refused(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sensitivity", str(file), "--dry-run", "--no-color"]
    words += ["--loads", "0.6", "--backgrounds", "steady,heavy-tailed"]
    assert main([*words, "--budget", "5min"]) == 1
    shown = capsys.readouterr()
    assert "heavy-tailed 60 % reverse" in shown.out
    found = re.search(r"give --budget (\d+min)", shown.err)
    assert found is not None
    assert main([*words, "--budget", found[1]]) == 0


def test_composed_text_keeps_every_value(file: Path) -> None:
    keys = {
        "a": True,
        "text": 'quotes " and \\ and ü and \x7f',
        "table one": {"list": [1, 2.5, "x"], "inner": {"rows": [{"k": 1}, {"k": [False]}]}},
        "empty": {},
    }
    assert tomllib.loads(toml(keys)) == keys
    assert tomllib.loads(toml(keys_of(load(file)))) == keys_of(load(file))
    with pytest.raises(TypeError, match="TOML has no NoneType"):
        toml({"a": None})


def test_a_series_comes_back_from_its_capture(tmp_path: Path) -> None:
    series = [0.0, 30.0, 1250.0, 3100.0, 0.0, 1520.0, 46.0]
    path = tmp_path / "series.pcap"
    written = write_capture(path, series)
    assert _core.arrivals([str(path)], basis="ip", filter="udp").packets == written
    text, place, sent = path.read_bytes(), 24, [0] * len(series)
    while place < len(text):
        seconds, micro, stored, whole = struct.unpack_from("<IIII", text, place)
        assert (seconds, micro % 1000) == (0, 0)
        assert 46 <= whole - 14 <= 1500
        sent[micro // 1000] += whole - 14
        place += 16 + stored
    behind = [sum(series[: n + 1]) - sum(sent[: n + 1]) for n in range(len(series))]
    # Up to a packet is sent before its time, so that playback begins with the series.
    assert sent[0] == 46
    assert all(-46 <= one < 46 for one in behind)


def test_a_study_goes_on_under_the_ceiling_of_its_first_call(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([400_000, 400_000, 1000, 1000])  # the machine is busy when it is measured again

    def measure(packet_bytes: int) -> ceiling.FloodRates:
        return flood(packet_bytes, next(rates))

    monkeypatch.setattr(ceiling, "measure", measure)
    file.write_text(SCENARIO.replace("10Mbit/s", "1Gbit/s"), encoding="utf-8")
    asked = Options(loads=(0.3,), backgrounds=("steady", "poisson"))
    first = planned(file, asked)
    assert first.ceiling is not None
    assert first.ceiling.full.sent_packets_per_second == 400_000
    kept.Kept(12.0, "steady 30 %", first.ceiling).write(tmp_path)
    earlier = kept.read(tmp_path)
    assert earlier == kept.Kept(12.0, "steady 30 %", first.ceiling)
    again = planned(file, asked, earlier.ceiling)
    assert again.treatments == first.treatments
    assert next(rates) == 1000, "nothing was measured again"
    with pytest.raises(RunError, match="this machine emulates at most"):
        planned(file, asked, replaced(first.ceiling, 1000))


def replaced(known: ceiling.Ceiling, rate: float) -> ceiling.Ceiling:
    """The ceiling of a machine that sustains so many packets per second."""
    full, small = (
        dataclasses.replace(one, sent_packets_per_second=rate, forwarded_packets_per_second=rate)
        for one in (known.full, known.small)
    )
    return ceiling.Ceiling(full=full, small=small)


def test_what_an_older_study_kept_is_read(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"seconds": 3.5, "base": null}', encoding="utf-8")
    assert kept.read(tmp_path) == kept.Kept(3.5)
    (tmp_path / "study.json").write_text("{", encoding="utf-8")
    with pytest.raises(SensitivityError, match="is damaged"):
        kept.read(tmp_path)
