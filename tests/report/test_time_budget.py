"""The time budget as reports show it.

Its words, the band under the time–sequence graph, the exchanges, and one set of numbers: what
terminal, page, JSON and explanation say of a transfer is what the tables hold.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import trustbed
from tests.report.pages import lines_of, text_of
from trustbed.diagnose.time_budget import STATES, Shares
from trustbed.report import words
from trustbed.report.transfer import charts, html, phases, terminal
from trustbed.report.transfer.charts.sequence import BAND_PIXELS
from trustbed.report.transfer.model import Capture, Page

Make = Callable[..., dict[str, Any]]

RECORDINGS = Path(__file__).parents[2] / "recordings"
COMPARED = (
    "application-limited.sender",
    "random-loss.sender",
    "random-loss.receiver",
    "self-congested.receiver",
    "guest-quota.sender",
)


def shares(**known: float) -> Shares:
    return Shares(by_state={state: known.get(state, 0.0) for state in STATES})


def test_the_largest_shares_come_first_and_small_ones_are_left_out() -> None:
    spent = shares(path=0.58, peer=0.205, idle_sender=0.14, recovery=0.07, handshake=0.005)
    assert spent.spent(12.4 * 0.995) == (
        "of 12.4 s: path 58 %, waiting for the peer 20 %, sender idle 14 %, loss recovery 7 %"
    )


def test_a_time_that_is_unknown_is_not_divided() -> None:
    assert shares(path=1.0).spent(None) is None


def test_a_budget_with_an_unknown_share_is_none(transfer: Make) -> None:
    assert Shares.from_transfer(transfer()) is not None
    assert Shares.from_transfer(transfer(share_think=None)) is None
    assert Shares.from_transfer({}) is None


def phase(number: int, state: str, start: int, end: int, time: int) -> dict[str, Any]:
    return {"phase": number, "state": state, "start_ns": start, "end_ns": end, "time_ns": time}


def test_a_mixed_phase_is_divided_and_the_handshake_before_the_axis_left_out() -> None:
    second = 10**9
    band = phases.columns(
        [
            phase(1, "handshake", 0, second, second),
            phase(2, "path", second, 5 * second, 3 * second),
            phase(2, "recovery", second, 5 * second, second),
            phase(3, "peer", 5 * second, 7 * second, 2 * second),
        ],
        second,
    )
    assert band == {
        "t": [0.0, 0.0, 4.0],
        "end": [4.0, 4.0, 6.0],
        "state": ["path", "recovery", "peer"],
        "low": [0.0, 0.75, 0.0],
        "high": [0.75, 1.0, 1.0],
    }


def test_the_band_ends_with_the_graph_and_its_legend_names_what_occurs(series: Make) -> None:
    band = {
        "t": [0.0, 0.5],
        "end": [0.5, 9.0],
        "state": ["peer", "path"],
        "low": [0.0, 0.0],
        "high": [1.0, 0.5],
    }
    spec = charts.time_sequence({**series(), "phases": band})
    drawn = spec["datasets"]["phases"]
    assert [row["state"] for row in drawn] == ["waiting for the peer", "path"]
    assert drawn[-1]["end"] < 9.0
    assert drawn[0]["bottom"] - drawn[0]["top"] == BAND_PIXELS
    legend = next(part for part in spec["layer"] if part["data"]["name"] == "phases")
    assert legend["encoding"]["fill"]["scale"]["domain"] == ["path", "waiting for the peer"]


def exchange(number: int) -> dict[str, Any]:
    return {
        "exchange": number,
        "bytes": 2_000_000,
        "rate_bytes_per_second": 1e6,
        "peer_ns": None if number == 1 else 10**9,
        "think_ns": 50 * 10**6,
        "retransmitted": 0,
    }


def test_a_page_lists_twenty_exchanges_and_counts_the_others(
    transfer: Make, capture: Callable[..., Capture], page: Callable[..., Page]
) -> None:
    def told(count: int) -> str:
        made = capture(transfer(exchanges=count))
        rows = {"1.0": [exchange(number) for number in range(1, count + 1)]}
        return text_of(html.render(page(replace(made, exchanges=rows))))

    assert "Bytes Rate Waited for the peer Think time" not in told(1)
    assert "Bytes Rate Waited for the peer Think time" in told(2)
    assert told(23).count("2.00 MB 8.00 Mbit/s 1.00 s 50.0 ms 0") == 19
    assert "And 3 more" in told(23)
    assert not re.findall(r"And \d+ more", told(20))


@cache
def analysed(name: str) -> trustbed.Capture:
    return trustbed.analyze(RECORDINGS / f"{name}.pcap.gz", series=True)


@cache
def documented(name: str) -> dict[str, Any]:
    stream = io.StringIO()
    analysed(name).write_json(stream)
    document: dict[str, Any] = json.loads(stream.getvalue())
    return document


def main_row(name: str) -> dict[str, Any]:
    return max(documented(name)["transfers"], key=lambda row: row["unique_bytes"])


@cache
def page_of(name: str) -> str:
    return html.render(
        Page(captures=[analysed(name).for_page()], provenance=html.Provenance(version="0"))
    )


@pytest.mark.parametrize("name", COMPARED)
def test_shares_are_the_time_of_the_phases(name: str) -> None:
    row = main_row(name)
    table = analysed(name).phases
    spent: dict[str, int] = dict.fromkeys(STATES, 0)
    for transfer, state, time in zip(
        *(table.column(column).to_pylist() for column in ("transfer", "state", "time_ns")),
        strict=True,
    ):
        if transfer == row["transfer"]:
            spent[state] += time
    whole = sum(spent.values())
    assert {state: time / whole for state, time in spent.items()} == pytest.approx(row["shares"])
    assert sum(row["shares"].values()) == pytest.approx(1.0)
    budget = Shares.from_transfer(row)
    assert budget is not None
    assert budget.whole_seconds(row["duration_seconds"]) == pytest.approx(whole / 1e9, rel=1e-3)


@pytest.mark.parametrize("name", COMPARED)
def test_terminal_page_json_and_explanation_state_the_same_shares(name: str) -> None:
    row, capture = main_row(name), analysed(name)
    transfer = capture.transfer(row["transfer"])
    assert transfer.shares == row["shares"] == {s: row[f"share_{s}"] for s in STATES}
    budget = Shares.from_transfer(row)
    assert budget is not None
    spent = budget.spent(row["duration_seconds"])
    assert spent is not None
    printed = " ".join(terminal.render(capture.overview, repeated="x").split())
    explained = " ".join(transfer.explain().split())
    assert spent in printed
    assert spent in explained
    page = text_of(page_of(name))
    for state, share in row["shares"].items():
        if share >= 0.0005:
            assert f"{STATES[state]} {words.percent(share)}" in page


@pytest.mark.parametrize("name", COMPARED)
def test_the_tiles_of_a_page_are_the_numbers_of_the_tables(name: str) -> None:
    row, lines = main_row(name), lines_of(page_of(name)).splitlines()
    for term, shown in (
        ("Throughput", words.rate(row["throughput_bytes_per_second"])),
        ("Round-trip time", words.duration(row["rtt_path_seconds"])),
        ("Loss", words.percent(row["loss"])),
        ("Idle with open window", words.percent(row["idle_open_window_fraction"])),
    ):
        assert lines[lines.index(term) + 1].startswith(shown)
    assert f"{words.size(row['unique_bytes'])} in {words.duration(row['duration_seconds'])}." in (
        text_of(page_of(name))
    )


@pytest.mark.parametrize("name", COMPARED)
def test_no_sentence_speaks_of_a_loss_that_the_tile_denies(name: str) -> None:
    row = main_row(name)
    told = " ".join([*row["reasons"], row["headline"]])
    lost = re.findall(r"([\d.]+) % of the packets lost|loss(?: of)? ([\d.]+) %", told)
    shares_told = [float(share) for pair in lost for share in pair if share]
    assert all(words.percent(share / 100) == words.percent(row["loss"]) for share in shares_told)
    if row["loss"] == 0:
        assert "nothing was lost" in text_of(page_of(name))
    else:
        assert "Nothing was sent again" not in text_of(page_of(name))
        assert "nothing was lost" not in text_of(page_of(name)).split("Evidence")[0]


def test_losses_before_the_capture_count() -> None:
    row = main_row("random-loss.receiver")
    assert row["loss"] == row["loss_receiver"] > 0.001
