"""Similar, overlapping, equivalent, different: against the published tables and by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.compare import student
from trustbed.compare.statistics import (
    Sample,
    difference_p,
    equivalence_p,
    holm,
    overlap,
    sample,
    similar,
    welch,
)
from trustbed.workload.intervals import student as whole_degrees

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "compare.json").read_text(encoding="utf-8")
)
PAPER, COMPUTED = GOLDEN["from_paper"], GOLDEN["computed"]
TABLES = {
    "I": "table_I_requests_per_s_1Gbps",
    "II": "table_II_requests_per_s_10Gbps",
    "IV": "table_IV_reads_1Gbps",
    "V": "table_V_reads_10Gbps",
    "VI_sd_not_ci": "table_VI_packets_per_request_with_sd",
    "VII": "table_VII_jitter_ms",
}
CELLS = [
    (table, cell) for table, judgements in COMPUTED["judgements"].items() for cell in judgements
]


def _published(table: str, cell: str) -> list[tuple[float, float | None]]:
    """The physical testbed's mean and half-width, then the candidate's."""
    size, testbed = cell.split("/")
    row = PAPER[TABLES[table]][size]
    chosen = [row[0], row[PAPER["columns"].index(testbed)]]
    return [(one[0], one[1]) if isinstance(one, list) else (one, None) for one in chosen]


@pytest.mark.parametrize(("table", "cell"), CELLS)
def test_every_cell_of_the_published_tables_is_judged_as_there(table: str, cell: str) -> None:
    wanted = COMPUTED["judgements"][table][cell]
    (reference, half), (candidate, other_half) = _published(table, cell)
    difference = 100 * (candidate - reference) / reference
    assert difference == pytest.approx(wanted["difference_percent"], rel=1e-9, abs=1e-9)
    assert similar(reference, candidate) is wanted["similar_10"]
    assert overlap(reference, half, candidate, other_half) is wanted["intervals_overlap"]


def test_all_six_tables_are_judged() -> None:
    assert len(CELLS) == 36


def test_the_interval_of_ten_values_is_the_golden_one() -> None:
    wanted = COMPUTED["ci_of_ten"]
    found = sample(wanted["x"])
    assert found is not None
    assert found.mean == pytest.approx(wanted["mean"], rel=1e-9)
    assert found.sd == pytest.approx(wanted["sd"], rel=1e-9)
    assert found.half_width_normal == pytest.approx(wanted["half_normal"], rel=1e-9)
    assert found.half_width == pytest.approx(wanted["half_t"], rel=1e-7)


def test_nothing_but_zero_is_similar_to_zero() -> None:
    assert similar(0.0, 0.0)
    assert not similar(0.0, 1e-9)


def test_the_distribution_agrees_with_the_finite_sum_for_whole_degrees() -> None:
    for degrees in (1, 2, 3, 9, 18, 40, 200):
        assert student.quantile(0.975, degrees) == pytest.approx(whole_degrees(degrees), rel=1e-10)


@pytest.mark.parametrize(
    ("t", "degrees", "tail"),
    # Cauchy (one degree) and two degrees have closed forms.
    [
        (1.0, 1, 0.25),
        (math.sqrt(3), 1, 1 / 6),
        (2.0, 2, 0.5 - 1 / math.sqrt(6)),
        (0.0, 7.3, 0.5),
    ],
)
def test_tails_with_closed_forms(t: float, degrees: float, tail: float) -> None:
    assert student.upper_tail(t, degrees) == pytest.approx(tail, rel=1e-12)


@given(st.floats(0.001, 0.999), st.floats(1, 500))
def test_a_quantile_is_the_inverse_of_the_tail(share: float, degrees: float) -> None:
    assert student.upper_tail(student.quantile(share, degrees), degrees) == pytest.approx(
        1 - share, rel=1e-6
    )


def test_welch_by_hand() -> None:
    # 4/10 + 9/10 = 1.3; (0.4² + 0.9²)/9 of it squared.
    found = welch(Sample(100.0, 2.0, 10), Sample(103.0, 3.0, 10))
    assert found is not None
    assert found.difference == pytest.approx(3.0)
    assert found.error == pytest.approx(math.sqrt(1.3))
    assert found.degrees == pytest.approx(1.69 / ((0.16 + 0.81) / 9))


def test_a_small_and_certain_difference_is_different_and_equivalent() -> None:
    found = welch(Sample(100.0, 0.5, 10), Sample(105.0, 0.5, 10))
    assert found is not None
    assert difference_p(found, 1.0) < 1e-6
    assert equivalence_p(found, 10.0) < 1e-6


def test_a_difference_below_the_resolution_is_none() -> None:
    found = welch(Sample(100.0, 0.001, 10), Sample(100.9, 0.001, 10))
    assert found is not None
    assert difference_p(found, 1.0) == 1.0
    assert difference_p(found, 0.5) < 1e-6


def test_noise_is_neither_different_nor_equivalent() -> None:
    found = welch(Sample(100.0, 30.0, 10), Sample(108.0, 30.0, 10))
    assert found is not None
    assert difference_p(found, 1.0) > 0.05
    assert equivalence_p(found, 10.0) > 0.05


def test_values_that_do_not_vary_leave_no_doubt() -> None:
    same = welch(Sample(5.0, 0.0, 10), Sample(5.0, 0.0, 10))
    other = welch(Sample(5.0, 0.0, 10), Sample(5.3, 0.0, 10))
    assert same is not None
    assert other is not None
    assert difference_p(same, 0.05) == 1.0
    assert equivalence_p(same, 0.5) == 0.0
    assert difference_p(other, 0.05) == 0.0
    assert equivalence_p(other, 0.5) == 0.0
    assert equivalence_p(other, 0.2) == 1.0


def test_one_value_has_no_spread_and_no_test() -> None:
    assert welch(Sample(1.0, None, 1), Sample(1.0, 0.1, 10)) is None
    assert overlap(1.0, None, 2.0, 0.5) is None
    assert sample([]) is None


def test_holm_by_hand() -> None:
    # Holm 1979: the smallest times 4, the next times 3, …, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrected_p_values_keep_their_order_and_never_fall(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    ordered = [adjusted[index] for index in order]
    assert ordered == sorted(ordered)
