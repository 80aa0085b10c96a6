"""The page of a run.

Its text, that every term is explained, that nothing in a run can break out of it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

import trustbed
from tests.report.pages import HOSTILE, charts_of, check_definitions, lines_of, text_of
from tests.report.run.conftest import with_cells, with_workload
from tests.report.run_directories import make_run
from trustbed.report.html.payload import Payload
from trustbed.report.run import charts as charts
from trustbed.report.run import page as run_page
from trustbed.report.run.model import read_model
from trustbed.report.run.records import (
    Bandwidth,
    CellResults,
    Estimate,
    MeanAndDeviation,
    RunModel,
    Slowdown,
    WorkloadResult,
)
from trustbed.report.transfer import notebook

ABOUT = {
    "version": "0.1.0",
    "command": "trustbed report study --out report.html",
    "started": "2026-01-01T00:00:00Z",
}


@pytest.fixture(scope="module")
def page(model: RunModel) -> str:
    return run_page.render(model, ABOUT, scenario="name = 'study'\n")


def test_what_a_reader_sees(page: str, snapshot: SnapshotAssertion) -> None:
    assert lines_of(page) == snapshot


def test_it_says_what_came_out_first(page: str) -> None:
    text = text_of(page)
    assert (
        text.index("What fetch experienced")
        < text.index("The link’s queue beside the application")
        < text.index("Which repetitions may be used")
    )


def test_every_cell_is_a_line_with_its_interval(page: str) -> None:
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page, flags=re.S)
    times = {name: cells for name, cells in rows if "<small>616" in cells.replace("\u00a0", " ")}
    assert list(times) == ["poisson, 6.6Mbit/s", "cbr, 6.6Mbit/s"]
    assert "none (baseline)" in dict(rows)


def test_the_discarded_repetition_is_named_with_its_reason(page: str) -> None:
    text = text_of(page)
    assert re.search(r"discard rep-020 poisson, 3\.3Mbit/s", text)
    assert (
        text.count("left late by 9.00 µs (p50), 2.40 ms (p99), 3.00 ms (most)") == 2
    )  # its finding, and the table of all


def test_every_link_to_a_definition_finds_one(page: str) -> None:
    check_definitions(page, "run")


def test_the_charts_are_those_that_there_is_data_for(page: str) -> None:
    # Slowdown, against the factor, distribution; loss against the factor; seven cells over time,
    # two charts each.
    assert charts_of(page) == 3 + 1 + 2 * 7
    assert page.count("How to read it.") == 3 + 1 + 1


def test_it_stays_small(page: str) -> None:
    assert len(page.encode()) < 1_500_000


def test_nothing_in_a_run_can_break_out(model: RunModel) -> None:
    def hostile(cell: CellResults) -> CellResults:
        named = with_workload(cell, lambda one: replace(one, name=HOSTILE))
        sources = [replace(one, name=HOSTILE) for one in cell.backgrounds]
        return replace(named, label=HOSTILE, levels={HOSTILE: HOSTILE}, backgrounds=sources)

    queues = []
    for one in model.queues:
        first, *others = one.shown.applications
        shown = replace(one.shown, applications=[replace(first, name=HOSTILE), *others])
        queues.append(replace(one, label=HOSTILE, shown=shown))
    changed = replace(
        with_cells(model, hostile),
        run=replace(model.run, name=HOSTILE, about=HOSTILE, file=HOSTILE),
        repetitions=[replace(one, why=HOSTILE, label=HOSTILE) for one in model.repetitions],
        queues=queues,
    )
    rendered = run_page.render(changed, {**ABOUT, "command": HOSTILE}, scenario=HOSTILE)
    assert "<script>alert" not in rendered
    assert "<img src=x" not in rendered
    assert rendered.count("</style>") == 1


@pytest.mark.parametrize("leave_out", [7, 6, 3])
def test_a_run_that_is_half_done_has_a_page(tmp_path: Path, leave_out: int) -> None:
    found = read_model(make_run(tmp_path / "run", repetitions=1, leave_out=leave_out).path)
    text = text_of(run_page.render(found, ABOUT))
    assert f"{7 - leave_out} of 7" in text
    assert "nan" not in text.lower().split()


def test_a_run_that_was_not_judged_has_a_page_without_results(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    found = read_model(make_run(tmp_path / "run", repetitions=1, judged=False).path)
    assert lines_of(run_page.render(found, ABOUT)) == snapshot


def test_more_lines_than_colours_are_counted(model: RunModel) -> None:
    more = [
        replace(
            model.cells[-1],
            number=number,
            label=f"cell {number}",
            levels={"background.cross.model": f"m{number}"},
        )
        for number in (7, 8)
    ]
    changed = replace(model, cells=[*model.cells, *more])
    section = run_page.sections(changed, Payload())[0]
    captions = {figure.title: figure.caption for figure in section.figures}
    assert captions["Distribution of the response times"].endswith(
        "2 more cells are in the table and not drawn."
    )


def test_the_deepest_queue_stays_in_its_chart(model: RunModel) -> None:
    spec = charts.queue(model.queues[0].shown)
    assert max(row["most"] for row in spec["datasets"]["slices"]) == 20
    assert sum(row["lost"] for row in spec["datasets"]["lost"]) == 4


def test_a_slowdown_of_rates_has_their_words(model: RunModel) -> None:
    of_the_mean = [Slowdown(share=None, ratio=2.9, low=None, high=None, basis=None)]
    changed = with_cells(
        model,
        lambda cell: with_workload(
            cell, lambda one: replace(one, measure="throughput", slowdown=of_the_mean)
        ),
    )
    payload = Payload()
    section = run_page.sections(changed, payload)[0]
    found = next(one for one in section.figures if "against no background" in one.title)
    assert found.caption.startswith("Most: 2.90 × (")
    assert "requests" not in (found.reading or "")


def test_a_slowdown_without_interval_is_a_mark_without_a_bar() -> None:
    points = [Slowdown(share=None, ratio=2.0, low=None, high=None, basis=None)]
    row = charts.slowdown([("cell", points)])["datasets"]["points"][0]
    assert (row["word"], row["low"], row["high"]) == ("mean", 2.0, 2.0)


def test_cells_that_are_compared_with_nothing_get_a_chart_of_their_values(model: RunModel) -> None:
    changed = with_cells(
        model,
        lambda cell: replace(
            with_workload(cell, lambda one: replace(one, slowdown=[])),
            baseline=None,
            levels={"link.loss": f"kind {cell.number}"},
        ),
    )
    section = run_page.sections(replace(changed, factors=[]), Payload())[0]
    assert [figure.title for figure in section.figures] == [
        "Median response time, cell by cell",
        "Distribution of the response times",
    ]
    assert section.figures[0].caption == "From 408 ms to 1.20 s."


def test_a_notebook_shows_the_cells(model: RunModel) -> None:
    shown = notebook.run(model)
    assert "2.94 ×" in shown
    assert shown.count("<tr>") == 8


def test_the_library_opens_a_run(study: Path, tmp_path: Path) -> None:
    run = trustbed.open_run(study)
    assert [cell["label"] for cell in run.cells][:2] == ["none", "poisson, 3.3Mbit/s"]
    assert run.repetitions[-1]["use"] == "discard"
    table = run.table("fetch.requests", 0)
    assert table is not None
    assert table.num_rows == 5
    run.report(tmp_path / "report.html")
    assert "[factors]" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 to be discarded" in repr(run)
    assert "<table>" in run._repr_html_()


def test_an_estimator_has_its_error_its_bounds_and_what_was_available(model: RunModel) -> None:
    def mean(value: float | None, sd: float | None = None) -> MeanAndDeviation:
        return MeanAndDeviation(mean=value, sd=sd, count=3)

    found = Bandwidth(
        error=mean(-3.0, 2.5),
        low=mean(12.5e6, 0.5e6),
        high=mean(14.3e6),
        estimate=mean(None),
        available=mean(14e6),
    )
    cell = replace(model.cells[0], counted=4, planned=4)
    workload = WorkloadResult(
        name="w",
        kind="pathload",
        measure="estimation_error",
        mean=Estimate(value=-3.0, low=-9.2, high=3.2, basis="repetitions"),
        bandwidth=found,
    )
    (table,) = run_page.results([(cell, workload)], [cell])
    (line,) = table.lines
    shown = dict(zip([title for title, _ in table.columns], line.cells, strict=True))
    assert {title: one.text for title, one in shown.items() if title != "Repetitions"} == {
        "Error": "-3.0 %",
        "SD": "2.5 %",
        "Low": "12.5 Mbit/s",
        "High": "14.3 Mbit/s",
        "Estimate": "–",
        "Available": "14.0 Mbit/s",
    }
    assert shown["Error"].beside == "-9.2 % to +3.2 %"
    assert shown["Low"].beside == "± 500 kbit/s"
    assert (shown["Repetitions"].text, shown["SD"].beside) == ("4", "of 3 estimates")
