"""Burstiness on the pages.

What is said, for one capture and for several, and that it stays in one piece whatever is fed to it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.report import burst_reference as reference
from tests.report.pages import HOSTILE, lines_of, lines_that_differ, text_of
from trustbed.report import definitions
from trustbed.report.burst import captions as burst_captions
from trustbed.report.burst import charts as charts
from trustbed.report.burst import page as burst
from trustbed.report.burst import words as burst_words
from trustbed.report.html.payload import Payload
from trustbed.report.transfer import html, notebook

Make = Callable[..., Any]
Model = dict[str, Any]

ABOUT = {
    "version": "0.1.0",
    "command": "trustbed burst timer.pcap --report report.html",
    "started": "2026-01-01T00:00:00Z",
}


@pytest.fixture(scope="module")
def one(bursty: Model) -> str:
    return burst.render([bursty], ABOUT)


@pytest.fixture(scope="module")
def compared(bursty: Model, paced: Model) -> str:
    return burst.render([bursty, paced], ABOUT)


def test_the_headline_says_how_deep_a_buffer_must_be_and_what_a_smaller_one_loses(
    bursty: Model,
) -> None:
    found = burst_words.buffering(bursty)
    assert found is not None
    assert found.rate_bits_per_second == pytest.approx(2 * bursty["mean_rate_bits_per_second"])
    rows = [
        row
        for row in bursty["delay"]
        if row["rate_bits_per_second"] == pytest.approx(found.rate_bits_per_second)
    ]
    assert found.enough_bytes == pytest.approx(rows[0]["buffer_needed_bytes"])
    assert found.small_bytes is not None
    assert found.loss is not None
    assert found.small_bytes < found.enough_bytes
    assert 0 < found.loss < 1


def test_what_a_reader_sees(one: str, snapshot: SnapshotAssertion) -> None:
    assert lines_of(one) == snapshot


def test_what_a_reader_sees_of_several_captures(compared: str, snapshot: SnapshotAssertion) -> None:
    assert lines_of(compared) == snapshot


def test_a_link_that_was_swept_is_the_one_of_the_headline(bursty: Model) -> None:
    rate = bursty["queue"][0]["rate_bits_per_second"]
    for asked in (
        {"rate_bits_per_second": rate},
        {"rate_bits_per_second": None, "link_rate_bits_per_second": rate},
    ):
        found = burst_words.buffering({**bursty, **asked})
        assert found is not None
        assert found.rate_bits_per_second == rate


def test_paced_traffic_loses_nothing_in_the_smallest_buffer(
    paced: Model, snapshot: SnapshotAssertion
) -> None:
    assert burst_words.headline(paced) == snapshot


def test_without_queues_nothing_is_claimed(bursty: Model, snapshot: SnapshotAssertion) -> None:
    bare = {**bursty, "queue": [], "delay": [], "sigma": []}
    few = {**bare, "mean_rate_bits_per_second": None}
    assert [burst_words.headline(bare), burst_words.headline(few)] == snapshot
    assert burst_words.pacing(bare) == ""


def test_what_was_not_asked_for_has_no_heading(bursty: Model) -> None:
    bare = {
        **bursty,
        "windows": [],
        "summary": None,
        "queue": [],
        "delay": [],
        "sigma": [],
        "energy": None,
        "logscale": None,
        "rates": None,
    }
    text = burst.render([bare], ABOUT)
    assert "virtual bottleneck" not in text_of(text)
    assert text.count('class="plot"') == 1


def test_what_was_not_asked_for_is_not_said_to_be_missing(bursty: Model, paced: Model) -> None:
    bare = [
        {name: part for name, part in model.items() if name != "summary"}
        for model in (bursty, paced)
    ]
    said = text_of(burst.render(bare, ABOUT))
    assert "2 captures, whose buffers were not measured." in said
    assert "too few packets" not in said


def test_the_papers_four_columns_stand_in_the_table_with_units(one: str, bursty: Model) -> None:
    summary = bursty["summary"]
    columns = f"{summary['max_q_max_bytes'] / 1000:.1f} kB"
    assert columns == "46.5 kB"
    (line,) = (
        line for line in lines_of(one).splitlines() if line.startswith(f"All {summary['windows']} ")
    )
    assert columns in line


def test_averages_over_windows_with_packets_are_given_where_they_differ(bursty: Model) -> None:
    silent = {**bursty["summary"], "windows": 40}
    rows = burst.averages({**bursty, "summary": silent})
    assert [row.over for row in rows] == [
        "All 40 windows",
        f"The {bursty['summary']['active_windows']} with packets",
    ]
    assert burst.averages({**bursty, "summary": {**silent, "windows": 0}}) == []


@pytest.mark.parametrize(
    "mode", ["static", "dynamic-same", "dynamic-previous", "dynamic-same-carry"]
)
def test_every_mode_is_said(mode: str, bursty: Model, snapshot: SnapshotAssertion) -> None:
    assert burst_words.bottleneck({**bursty, "mode": mode}) == snapshot


@pytest.mark.parametrize("asked", [{}, {"basis": "wire"}, {"offload": "as-captured"}], ids=str)
def test_how_the_traffic_was_taken_is_said(
    asked: dict[str, str], bursty: Model, snapshot: SnapshotAssertion
) -> None:
    assert burst_words.notes({**bursty, **asked}) == snapshot


def test_every_chart_has_its_numbers_and_how_it_is_read(one: str) -> None:
    labels = re.findall(
        r'<div role="img" aria-label="([^"]+)"><div class="plot" data-chart="\d+" '
        r'aria-hidden="true">',
        one,
    )
    assert len(labels) == len(charts.CHARTS)
    assert all(re.search(r"\d", label) for label in labels)
    assert one.count("How to read it.") == len(charts.CHARTS)
    assert set(burst.TITLES) == set(burst.DEFINITIONS) == set(charts.CHARTS)
    assert set(burst_captions.COMPARED) == set(burst.COMPARED)


def test_the_hurst_parameter_is_not_given_where_the_line_does_not_fit(
    uneven: Model, snapshot: SnapshotAssertion
) -> None:
    fit = {
        **uneven["logscale"]["fit"],
        "alpha": 0.66,
        "hurst": 0.83,
        "hurst_low": 0.78,
        "hurst_high": 0.89,
        "rejected": False,
    }

    def said(**changed: object) -> str:
        return burst_captions.hurst(
            {**uneven, "logscale": {**uneven["logscale"], "fit": {**fit, **changed}}}
        )

    without = [
        said(rejected=True),
        said(alpha=1.2, hurst=None, nonstationary=True),
        burst_captions.hurst({**uneven, "logscale": {"octaves": [], "fit": None}}),
    ]
    assert "0.83 (0.78 to 0.89)" in said()
    assert not any("0.83" in caption for caption in without)
    assert [said(), *without] == snapshot


def test_several_captures_stand_in_one_table_and_in_the_same_pictures(compared: str) -> None:
    assert compared.count('class="plot"') == len(burst.COMPARED) + 2 * len(charts.CHARTS)
    assert re.search(r'<th scope="row">paced</th><td data-value="\d+">6,400</td>', compared)


def test_streams_of_one_capture_are_compared_as_well(
    bursty: Model, paced: Model, one: str, snapshot: SnapshotAssertion
) -> None:
    streams = [{**bursty, "name": "in"}, {**paced, "name": "out"}]
    text = burst.render([{**bursty, "streams": streams, "streams_left_out": 3}], ABOUT)
    assert lines_that_differ(text, one) == snapshot
    assert text.count('class="plot"') == len(charts.CHARTS) + len(burst.COMPARED)


def test_more_streams_than_colours_are_not_drawn_and_counted(paced: Model) -> None:
    figures = burst.compared([{**paced, "name": str(number)} for number in range(9)], Payload())
    assert all(figure.caption.endswith("2 more streams are not drawn.") for figure in figures)


def test_every_word_that_is_a_link_is_explained(one: str, compared: str) -> None:
    for text in (one, compared):
        linked = set(re.findall(r'href="#about-([\w-]+)"', text))
        assert linked <= {definition.anchor for definition in definitions.of("burst")}
    assert (
        not {definition.anchor for definition in definitions.of("burst")}
        & definitions.titles("transfer").keys()
    )


@pytest.mark.parametrize(
    "packets",
    [[], [(0, 100)], [(5, 100), (5, 100)], [(0, 60), (10_000_000, 0), (20_000_000, 1500)]],
)
def test_hardly_any_packets_make_a_page(packets: list[tuple[int, int]]) -> None:
    model = (
        reference.model(packets)
        if packets
        else {"name": "all packets", "packets": 0, "bytes": 0, "windows": [], "streams": []}
    )
    said = text_of(burst.render([model], ABOUT))
    assert not re.search(r"\b(None|nan|inf)\b", said)
    assert "What the words mean" in said
    if not packets:
        assert "There are no packets to measure." in said


def test_what_is_unknown_is_left_out(bursty: Model) -> None:
    dark = {
        **bursty,
        "first": None,
        "first_seconds": None,
        "mean_rate_bits_per_second": None,
        "duration_seconds": None,
        "summary": dict.fromkeys(bursty["summary"]),
        "sigma": [],
        "delay": [],
        "energy": None,
        "logscale": None,
        "rates": None,
        "gaps": None,
        "trains": None,
        "capture": None,
    }
    said = text_of(burst.render([dark, bursty], ABOUT))
    assert not re.search(r"\b(None|nan|inf)\b", said)


def test_what_strangers_put_into_a_capture_stays_text(bursty: Model) -> None:
    finding = dict.fromkeys(("code", "message", "evidence", "meaning", "next_step"), HOSTILE) | {
        "severity": "warning",
        "value": None,
    }
    file = {"name": HOSTILE, "bytes": 3}
    model = {
        **bursty,
        "capture": {"files": [file]},
        "findings": [finding],
        "streams": [{**bursty, "name": HOSTILE}] * 2,
    }
    text = burst.render([model, model], {**ABOUT, "command": HOSTILE})
    assert "<script>alert" not in text
    assert "<img" not in re.sub(r"<script\b.*?</script>", "", text, flags=re.S)
    assert text.count("<script") == text.count("</script>") == 3


def test_a_finding_needs_no_more_than_its_message(bursty: Model) -> None:
    finding = {"code": "steps", "severity": "warning", "message": "the clock ran backwards"}
    assert "the clock ran backwards" in text_of(
        burst.render([{**bursty, "findings": [finding]}], ABOUT)
    )


def test_the_page_is_small_and_the_same_every_time(one: str, bursty: Model) -> None:
    assert len(one.encode()) < 1_400_000
    assert burst.render([bursty], ABOUT) == one


def test_a_page_is_written_whole_or_not_at_all(
    tmp_path: Path, bursty: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    burst.write(tmp_path / "report.html", [bursty], ABOUT)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")

    def fail(*_: object) -> str:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(sys.modules["trustbed.report.burst.page"], "render", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        burst.write(tmp_path / "other.html", [bursty], ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_report_shows_a_captures_burstiness_after_its_transfers(
    page: Make, capture: Make, bursty: Model
) -> None:
    text = html.render(page(capture(burst=bursty)))
    places = [
        text.index(mark)
        for mark in (
            'class="transfer',
            '<section class="burst"',
            'id="all"',
            'id="about-burstiness"',
        )
    ]
    assert places == sorted(places)
    assert '<details class="fold">' not in text
    linked = set(re.findall(r'href="#about-([\w-]+)"', text))
    assert linked <= set(re.findall(r'id="about-([\w-]+)"', text))


def test_several_captures_have_theirs_folded(
    page: Make, capture: Make, bursty: Model, paced: Model
) -> None:
    text = html.render(page(capture(name="a", burst=bursty), capture(name="b", burst=paced)))
    assert text.count('<details class="fold">') == 2
    order = ['id="transfer-1"', 'id="burst-1"', 'id="transfer-2"', 'id="burst-2"']
    places = [text.index(mark) for mark in order]
    assert places == sorted(places)
    assert "a: how bursty is the traffic? A buffer of 46.0 kB" in text_of(text)


def test_a_report_that_was_not_asked_about_burstiness_is_silent_about_it(
    page: Make, capture: Make
) -> None:
    text = html.render(page(capture()))
    assert "bursty" not in text_of(text)
    assert 'id="about-burstiness"' not in text


def test_what_the_report_says_about_the_capture_is_not_said_twice(
    page: Make, capture: Make, bursty: Model
) -> None:
    told = {
        "code": "coarse_timestamps",
        "severity": "warning",
        "scope": "capture",
        "message": "ticks of a clock",
        "value": None,
        "threshold": None,
        "unit": "",
        "evidence": "",
        "meaning": "",
        "next_step": "",
    }
    own = {**told, "code": "burst_silence", "message": "a long silence"}
    text = html.render(page(capture(findings=[told], burst={**bursty, "findings": [told, own]})))
    assert text.count("ticks of a clock") == 1
    assert text.count("a long silence") == 1


def test_standard_input_can_not_be_measured_a_second_time(page: Make, capture: Make) -> None:
    said = text_of(html.render(page(capture(without_burst=burst.NOT_AGAIN))))
    assert (
        "How bursty is the traffic? Not measured: what came from standard input or a pipe cannot "
        "be read a second time."
    ) in said


def test_many_captures_stay_within_five_megabytes(
    page: Make, capture: Make, bursty: Model, uneven: Model
) -> None:
    row, start = uneven["windows"][0], uneven["first_seconds"]

    def long(number: int) -> Model:
        rows = [
            {
                **row,
                "start_seconds": start + 0.1 * place,
                "max_q_bytes": 0.37 * (place * number % 9973),
            }
            for place in range(36_000)
        ]
        points = [[0.001 * place, 1e3 * (place * number % 99_991)] for place in range(4000)]
        return {
            **uneven,
            "duration_seconds": 3600.0,
            "windows": rows,
            "rates": {**uneven["rates"], "points": points},
        }

    captures = [capture(name=str(number), burst=long(number)) for number in range(1, 13)]
    assert len(html.render(page(*captures)).encode()) < 5_000_000


def test_crowded_transfers_leave_room_for_burstiness(
    page: Make, crowded: Make, uneven: Model
) -> None:
    text = html.render(page(crowded(burst=uneven)))
    assert text.count("How to read it.") == len(charts.CHARTS)
    assert len(text.encode()) < 5_000_000


def test_a_notebook_shows_the_table(bursty: Model) -> None:
    shown = notebook.burstiness({**bursty, "capture": {"files": [{"name": HOSTILE}]}})
    assert "<script>" not in shown
    assert "46.5 kB" in shown
    assert "would have passed this traffic unharmed" in text_of(shown)
    assert "There are no packets." in notebook.burstiness({"name": "all packets", "packets": 0})
