"""Media streams and videos in a run's reports: jitter, video rate, and what players showed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report.pages import check_definitions, text_of
from tests.report.run.conftest import with_cells, with_workload
from trustbed.report.run import page as run_page
from trustbed.report.run import playouts
from trustbed.report.run import text as run_text
from trustbed.report.run import words as run_words
from trustbed.report.run.records import (
    CellResults,
    Estimate,
    PlayoutResult,
    RunModel,
    Slowdown,
)

ABOUT = {"version": "0.1.0", "command": "trustbed report study", "started": "2026-01-01T00:00:00Z"}
STREAM = PlayoutResult(
    start_up_seconds=0.52,
    stalls=1.5,
    stall_seconds=0.25,
    rebuffer_ratio=0.004,
    lost_frames_share=0.021,
    late_parts_share=0.003,
    adequate_share=0.95,
)
VIDEO = PlayoutResult(
    start_up_seconds=0.3,
    stalls=0.0,
    stall_seconds=0.0,
    rebuffer_ratio=0.0,
    switches=4.0,
    missing_chunks=0.0,
)


def playing(model: RunModel, measure: str, played: PlayoutResult, value: float) -> RunModel:
    """The model with every workload a player; every cell is three times worse than the baseline."""

    def cell(one: CellResults) -> CellResults:
        ratio = 1.0 if one.is_baseline else 3.0
        worse = value * ratio if measure == "jitter" else value / ratio
        changed: dict[str, Any] = {
            "measure": measure,
            "median": None,
            "mean": Estimate(value=worse),
            "cdf": [],
            "increase": None,
            "playout": played,
            "flags": [],
            "slowdown": [Slowdown(share=None, ratio=ratio, low=None, high=None, basis=None)],
        }
        return with_workload(one, lambda workload: replace(workload, **changed))

    return with_cells(model, cell)


@pytest.fixture(params=["jitter", "video_rate"])
def played(request: pytest.FixtureRequest, model: RunModel) -> RunModel:
    if request.param == "jitter":
        return playing(model, "jitter", STREAM, 0.002)
    return playing(model, "video_rate", VIDEO, 3e6)


def test_the_text_word_for_word(played: RunModel, snapshot: SnapshotAssertion) -> None:
    found = run_text.render(played, "study")
    assert found.split("Background\n")[0] == snapshot
    assert max(map(len, found.splitlines())) <= 100


def test_the_page_has_the_playout_and_explains_it(played: RunModel) -> None:
    page = run_page.render(played, ABOUT)
    text = text_of(page)
    check_definitions(page, "run")
    is_stream = played.cells[0].workloads[0].measure == "jitter"
    for word in ("Playout", "Start-up", "520 ms" if is_stream else "300 ms"):
        assert word in text


def test_the_headline_says_what_got_worse(model: RunModel) -> None:
    media = run_words.headline(playing(model, "jitter", STREAM, 0.002))
    video = run_words.headline(playing(model, "video_rate", VIDEO, 3e6))
    assert media.startswith("Background traffic makes the jitter of fetch up to 3.00 times as larg")
    assert video.startswith("Background traffic makes the video rate of fetch up to 3.00 times lo")


def test_a_result_that_is_compared_with_nothing_is_named(model: RunModel) -> None:
    found = playing(model, "video_rate", VIDEO, 3e6)
    alone = with_cells(
        found, lambda cell: with_workload(cell, lambda one: replace(one, slowdown=[]))
    )
    assert run_words.headline(alone).startswith("The video rate of fetch is between 1.00 Mbit/s")


def test_only_what_is_known_has_a_column() -> None:
    assert playouts.columns([STREAM]) == [
        "Start-up",
        "Stalls",
        "Stalled",
        "Rebuffer ratio",
        "Lost frames",
        "Late parts",
        "Rate kept",
    ]
    titles = playouts.columns([VIDEO])
    assert titles[-2:] == ["Switches", "Chunks missing"]
    assert [text for text, _ in playouts.texts(VIDEO, titles)] == [
        "300 ms",
        "0",
        "0 s",
        "0 %",
        "4",
        "0",
    ]


def test_what_only_some_repetitions_have_is_the_mean_of_those() -> None:
    found = playouts.of_repetitions(
        [
            {"start_up_ns": 10**9, "stalls": 1, "lost_frames": 1, "frames": 10},
            {"start_up_ns": None, "stalls": None, "lost_frames": 10, "frames": 10},
        ]
    )
    assert found is not None
    assert (found.start_up_seconds, found.stalls) == (1.0, 1.0)
    assert found.lost_frames_share == pytest.approx(0.55)
    assert found.switches is None
    assert playouts.of_repetitions([]) is None
