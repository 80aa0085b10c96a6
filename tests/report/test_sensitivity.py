"""A sensitivity study in the terminal and on its page."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from tests.report.pages import charts_of, check_definitions, text_of
from tests.report.sensitivity_study import study
from trustbed.report.sensitivity import charts, page, text
from trustbed.sensitivity.model import Ratio, Said

ABOUT = {"version": "0", "command": "trustbed sensitivity pages.toml", "started": None}


@pytest.mark.parametrize("columns", [60, 80, 100, 300])
def test_the_answers_come_first_and_no_line_is_wider_than_asked(columns: int) -> None:
    shown = text.render(study(), columns=columns)
    assert max(len(line) for line in shown.splitlines()) <= columns
    order = [shown.index(question) for _, question in text.QUESTIONS]
    assert order == sorted(order)
    assert order[-1] < shown.index("Beside each background") < shown.index("What to do")


def test_figures_have_their_intervals() -> None:
    shown = text.render(study(), columns=300)
    assert "5.50 × (4.95–6.05)" in shown
    assert re.search(r"64 to 128 ms +1\.60 × \(1\.57–1\.63\) +matters", shown)


def test_an_interval_of_too_few_rounds_says_nothing_and_hides_nothing() -> None:
    whole = study()
    wide = Ratio(value=5.0, low=1e-6, high=1e7)
    most = max(one.slowdown.value for one in whole.treatments if one.slowdown is not None)
    treatments = [*whole.treatments[:-1], replace(whole.treatments[-1], slowdown=wide)]
    found = replace(whole, treatments=tuple(treatments))
    assert "5.00 × (open)" in text.render(found, columns=300)
    low, high = charts.slowdowns(found)["layer"][-1]["encoding"]["x"]["scale"]["domain"]
    assert 0.01 < low < 1 < most < high < 100 * most


def test_the_page_has_every_chart_and_explains_its_words() -> None:
    rendered = page.render(study(), ABOUT)
    assert charts_of(rendered) == 4
    check_definitions(rendered, "sensitivity")
    words = text_of(rendered)
    assert "Background matters: bulk 60 % makes it 5.50 times." in words.replace("\u00a0", " ")
    assert "<of>" not in rendered


def test_the_headline_is_what_is_certain() -> None:
    sure, rest = "Background matters: 1.32 times (1.08 to 1.60).", "It is certain of no single one."
    said = Said(answer="yes", sentence=f"{sure} {rest}")
    shown = text_of(page.render(replace(study(), matters=said), ABOUT))
    assert shown.count(sure) == 2
    assert shown.count(rest) == 1


def test_a_time_scale_that_was_seen_may_matter_too_little() -> None:
    whole = study()
    little = Ratio(value=0.99, low=0.985, high=0.995)
    unseen = Ratio(value=0.99, low=0.97, high=1.01)
    bands = [replace(whole.bands[0], effect=one, matters=False) for one in (little, unseen)]
    words = text_of(page.render(replace(whole, bands=tuple(bands)), ABOUT))
    assert "below 2 %" in words.replace("\u00a0", " ")
    assert "not seen" in words


def test_a_study_without_surrogates_has_a_page() -> None:
    less = replace(
        study(),
        bands=(),
        octaves=(),
        base=None,
        scales=Said(answer="unknown", sentence="No surrogates were tried."),
        paste="",
        caveats=(),
    )
    rendered = page.render(less, ABOUT)
    assert charts_of(rendered) == 2
    assert "No surrogates were tried." in text_of(rendered)
    assert "Time scales" not in text.render(less).replace("time scales?", "")
