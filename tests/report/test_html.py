"""The page: what it says, in which order, and that it stays in one piece whatever is fed to it."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.report.pages import HOSTILE, lines_of, lines_that_differ, text_of
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.report import definitions
from trustbed.report.transfer import html
from trustbed.report.transfer.view import summary

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def story(side_by_side: html.Page) -> str:
    return html.render(side_by_side)


def test_the_page_asks_nobody_for_anything(story: str) -> None:
    markup = re.sub(r"<script\b.*?</script>", "", story, flags=re.S)
    addresses = re.findall(r"""(?:src|href|action|poster|data|srcset)\s*=\s*["']([^"']*)""", markup)
    assert addresses
    assert [
        address for address in addresses if not address.startswith("#") and address != "data:,"
    ] == []
    assert not re.findall(r"@import|url\(", markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', story)
    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe-eval" not in policy[1]


def test_the_policy_names_every_script_of_the_page_and_no_other(story: str) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", story, flags=re.S)
    assert len(scripts) == 2, "of charts, and of the page"
    hashes = {
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    }
    policy = re.search(r"script-src ([^;]*);", story)
    assert policy is not None
    assert set(policy[1].split()) == hashes


def test_the_same_page_is_the_same_text(side_by_side: html.Page, story: str) -> None:
    assert html.render(side_by_side) == story


def test_verdicts_come_first_then_the_captures_quality_then_the_evidence(story: str) -> None:
    places = [
        story.index(mark)
        for mark in (
            "<h1>",
            'id="verdicts"',
            'id="quality"',
            'class="transfer',
            'id="all"',
            'id="definitions"',
        )
    ]
    assert places == sorted(places)


def test_what_a_reader_sees(story: str, snapshot: SnapshotAssertion) -> None:
    assert lines_of(story) == snapshot


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([], "No transfer was long enough to judge."),
        (["trust"], "Limited by its window."),
        (["trust", "trust"], "Of 2 transfers, 2 may be used."),
        (
            ["discard", "review", "review"],
            "Of 3 transfers, 2 need a look first and 1 must not be used.",
        ),
    ],
)
def test_the_page_in_one_sentence(
    verdicts: list[str], said: str, page: Make, capture: Make, transfer: Make
) -> None:
    rows = [
        transfer(f"{number}.0", verdict=verdict) for number, verdict in enumerate(verdicts, start=1)
    ]
    one = capture(*rows, series={}) if rows else capture(transfer(), series={})
    if not rows:
        one = html.Capture(overview=replace(one.overview, transfers=(), verdicts={"not_judged": 4}))
    assert summary(page(one)) == said


def test_a_verdict_is_a_word_and_a_shape_and_not_only_a_colour(story: str) -> None:
    for verdict, word in (("trust", "Trust"), ("review", "Review"), ("discard", "Discard")):
        badge = re.search(rf'<span class="badge {verdict}">(.*?)</span>', story, flags=re.S)
        assert badge is not None
        assert f"#icon-{verdict}" in badge[1]
        assert word in badge[1]


def test_every_threshold_stands_beside_its_measured_value(story: str) -> None:
    said = text_of(story)
    assert f"counts from {THRESHOLDS.idle_open_window_fraction * 100:g} %" in said
    assert f"inflated from {THRESHOLDS.inflation:g} × base" in said
    assert f"decisive from {THRESHOLDS.loss_decisive * 100:g} %" in said


def test_a_capture_is_drawn_over_its_control(story: str) -> None:
    assert "silence: healthy" in story


def test_every_word_that_is_a_link_is_explained_on_the_page(story: str) -> None:
    linked = set(re.findall(r'href="#about-([\w-]+)"', story))
    explained = set(re.findall(r'id="about-([\w-]+)"', story))
    assert linked
    assert linked <= explained == definitions.titles("transfer").keys()


def test_links_inside_the_page_lead_somewhere(story: str) -> None:
    ids = set(re.findall(r'id="([\w-]+)"', story))
    assert {
        target for target in re.findall(r'href="#([\w-]+)"', story) if target not in ids
    } == set()


def test_every_chart_says_in_words_what_it_shows(story: str) -> None:
    labels = re.findall(
        r'<div role="img" aria-label="([^"]+)"><div class="plot" data-chart="\d+" '
        r'aria-hidden="true">',
        story,
    )
    assert len(labels) == story.count('class="plot"') >= 3 * (7 + 3)
    assert all(re.search(r"\d|over the whole transfer", label) for label in labels)


def test_findings_about_one_transfer_stand_with_it(
    page: Make, capture: Make, snapshot: SnapshotAssertion
) -> None:
    finding = {
        "code": "x",
        "severity": "warning",
        "scope": "capture",
        "message": "about the capture",
        "value": 0.25,
        "threshold": 0.1,
        "unit": "share",
        "evidence": "record 7",
        "meaning": "matters",
        "next_step": "do it",
    }
    about_others = [
        {**finding, "scope": "1.0", "message": "about the transfer"},
        {**finding, "scope": "10.0.0.1", "message": "about the host"},
    ]
    findings = [finding, *about_others]
    text = html.render(page(capture(findings=findings)))
    quality, section = text.index('id="quality"'), text.index('class="transfer')
    assert quality < text.index("about the capture") < section
    assert quality < text.index("about the host") < section
    assert section < text.index("about the transfer")
    assert lines_that_differ(text, html.render(page())) == snapshot


def test_what_was_not_measured_is_said_with_its_reason(
    page: Make, capture: Make, snapshot: SnapshotAssertion
) -> None:
    skips = [
        {"reason": "bad_header", "records": 3, "first_index": 8},
        {"reason": "from_the_future", "records": 1, "first_index": 9},
    ]
    skipped = html.render(page(capture(skips=skips)))
    assert lines_that_differ(skipped, html.render(page())) == snapshot


def test_unknown_drops_are_not_called_none(
    page: Make, capture: Make, snapshot: SnapshotAssertion
) -> None:
    counted = {
        "files": [
            {
                "name": "a",
                "interfaces": [{"dropped": 0, "os_dropped": None}, {"dropped": 4, "os_dropped": 1}],
            }
        ]
    }
    unknown, known = html.render(page(capture())), html.render(page(capture(facts=counted)))
    assert lines_that_differ(known, unknown) == snapshot


def test_ambiguity_and_what_would_settle_it_are_named(
    page: Make, capture: Make, transfer: Make, snapshot: SnapshotAssertion
) -> None:
    other = {
        "cause": "sender_application_limited",
        "hint": "it ran out of data",
        "settled_by": "the CPU share",
        "indeterminate": False,
    }
    ambiguous = html.render(page(capture(transfer(alternatives=[other]))))
    assert lines_that_differ(ambiguous, html.render(page())) == snapshot
    neither = html.render(page(capture(transfer(alternatives=[{**other, "indeterminate": True}]))))
    assert "It ran out of data. The packets favour neither." in neither


def test_an_estimate_is_called_one_and_replaces_nothing(
    page: Make, capture: Make, transfer: Make
) -> None:
    said = (
        "measured 9.60 Mbit/s; without the stalls about 22.1 Mbit/s (20.3 Mbit/s to 24.3 Mbit/s), "
        "an estimate"
    )
    drawn = html.render(
        page(capture(transfer(throughput_bytes_per_second=1.2e6, without_stalls=said)))
    )
    assert f"Without the stalls . M{said[1:]}." in text_of(drawn)
    assert 'href="#about-estimate"' in drawn
    assert "9.60 Mbit/s" in text_of(drawn).replace(said[1:], "")
    assert "Without the stalls ." not in text_of(
        html.render(page(capture(transfer(without_stalls=None))))
    )


def test_a_transfer_of_which_little_is_known_says_so(
    page: Make, capture: Make, transfer: Make, snapshot: SnapshotAssertion
) -> None:
    kept = (
        "transfer",
        "src",
        "src_port",
        "dst",
        "dst_port",
        "packets",
        "cause",
        "confidence",
        "verdict",
        "unique_bytes",
    )
    full = transfer(verdict="review", cause="no_anomaly")
    row = {name: value if name in kept else None for name, value in full.items()}
    said = lines_of(html.render(page(capture(row, series={}))))
    assert said == snapshot
    assert not re.search(r"\b(None|nan|inf)\b", said)


def test_what_the_place_of_the_capture_hides_is_not_drawn(
    page: Make, capture: Make, transfer: Make, snapshot: SnapshotAssertion
) -> None:
    row = transfer(
        at="receiver",
        spacing_source="estimated",
        rtt_source="timestamp_echo",
        rtt_mean_seconds=0.000004,
    )
    text = html.render(page(capture(row)))
    drawn = re.findall(r"<h4>(.*?) <a", text)
    assert drawn == ["Time–sequence graph", "Throughput"]
    assert lines_that_differ(text, html.render(page())) == snapshot
    assert "4.00 µs" not in text_of(text), "the mean of what the receiver took"


def test_what_strangers_put_into_a_capture_stays_text(
    page: Make, capture: Make, transfer: Make, series: Make
) -> None:
    finding = dict.fromkeys(
        ("code", "message", "evidence", "meaning", "next_step", "unit"), HOSTILE
    )
    finding |= {"severity": "error", "scope": "capture", "value": 1.0, "threshold": None}
    row = transfer(
        src=HOSTILE, headline=HOSTILE, reasons=[HOSTILE], next_step=HOSTILE, verdict_flags=[HOSTILE]
    )
    one = capture(
        row,
        name=HOSTILE,
        findings=[finding],
        story=HOSTILE,
        skips=[{"reason": HOSTILE, "records": 1}],
        series={"1.0": series()},
    )
    control = capture(transfer(), name=HOSTILE + "2", beside=HOSTILE)
    text = html.render(page(one, control, title=HOSTILE, introduction=HOSTILE))
    assert "<script>alert" not in text
    assert "<img" not in re.sub(r"<script\b.*?</script>", "", text, flags=re.S)
    assert text.count("<script") == text.count("</script>") == 3
    assert text.count("</style>") == 1


def test_a_page_without_charts_carries_no_vega(page: Make, capture: Make) -> None:
    with_charts, without = html.render(page()), html.render(page(capture(series={})))
    assert len(with_charts) > 800_000
    assert len(without) < 60_000
    assert "payload" not in re.findall(r'id="([\w-]+)"', without)


def test_charts_are_few_enough_and_thin_enough_for_five_megabytes(
    page: Make, capture: Make, transfer: Make, series: Make
) -> None:
    rows = [transfer(f"{number}.0", unique_bytes=10**9 - number) for number in range(1, 60)]
    crowded = series(duration=12.0)
    crowded["rtt"]["seconds"][1234] = 7.654321
    assert len(crowded["rtt"]["t"]) > 20_000
    drawn = dict.fromkeys((row["transfer"] for row in rows[: html.CHARTED]), series(duration=0.2))
    text = html.render(page(capture(*rows, series=drawn | {"1.0": crowded})))
    assert len(text.encode()) < 5_000_000
    assert "7.65432" in text
    assert text.count('<section class="transfer') == html.CHARTED
    assert text.count("<tr>") >= 59


def test_different_crowded_series_fit_as_well(page: Make, crowded: Make) -> None:
    text = html.render(page(crowded()))
    assert 3_000_000 < len(text.encode()) < 5_000_000
    assert "too large" not in text


def test_transfers_beyond_the_table_are_counted(page: Make, capture: Make, transfer: Make) -> None:
    one = capture(transfer(), series={})
    many = html.Capture(overview=replace(one.overview, verdicts={"trust": 1201}), name="many")
    assert "1,200 further transfers are not listed" in text_of(html.render(page(many)))


def test_nothing_is_left_under_the_name_of_a_page_that_could_not_be_made(
    tmp_path: Path, page: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: html.Page) -> str:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(sys.modules["trustbed.report.transfer.html"], "render", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        html.write(tmp_path / "report.html", page())
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_written_whole(tmp_path: Path, page: Make, capture: Make) -> None:
    html.write(tmp_path / "report.html", page(capture(series={})))
    assert (tmp_path / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert len(list(tmp_path.iterdir())) == 1
