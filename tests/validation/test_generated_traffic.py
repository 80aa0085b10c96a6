"""How generated traffic is held against what it should be."""

from __future__ import annotations

import pytest

from trustbed.traffic.summary import summarise
from validation.traffic import known
from validation.traffic.compare import Line, kolmogorov_smirnov, passed, table


def test_the_distance_of_two_samples_is_the_largest_between_their_distributions() -> None:
    assert kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert kolmogorov_smirnov([1, 2, 3, 4], [5, 6]) == 1
    assert kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 9, 9]) == 0.5
    assert kolmogorov_smirnov([], [1]) is None


def test_a_line_passes_within_its_tolerance_or_its_limit() -> None:
    lines = [
        Line(group="a", name="rate", expected=100, found=109, tolerance=0.1),
        Line(group="a", name="rate", expected=100, found=111, tolerance=0.1),
        Line(group="a", name="energy", expected=20, found=20.4, tolerance=0, floor=0.5),
        Line(group="a", name="energy", expected=20, found=19.4, tolerance=0, floor=0.5),
        Line(group="a", name="nothing", expected=None, found=1, tolerance=0.1),
    ]
    assert [line.passes for line in lines] == [True, False, True, False, None]
    assert passed(lines) == (2, 4)
    shown = table(lines)
    assert shown.count("**misses**") == 2
    assert "| +9.0% | 10% | passes |" in shown
    assert "| +0.4 | 0.5 | passes |" in shown


def test_a_model_is_like_itself_and_not_like_another() -> None:
    one = summarise(known.model())
    same = known.distributions(one, one)
    good, every = passed(same)
    assert good == every > 40
    assert {line.group for line in same} == {"HTTP", "SSH"}
    other = [line for line in known.distributions(one, _swapped()) if line.passes is False]
    assert len(other) > 20


def _swapped():  # type: ignore[no-untyped-def] # noqa: ANN202 a summary
    """The same with its two classes exchanged."""
    import dataclasses

    found = summarise(known.model())
    first, second = found.classes
    names = (second.name, first.name)
    classes = [
        dataclasses.replace(one, name=name)
        for one, name in zip((first, second), names, strict=True)
    ]
    return dataclasses.replace(found, classes=classes)


def test_the_quantiles_of_a_distribution_are_interpolated() -> None:
    (http, _) = summarise(known.model()).classes
    pairs = next(one for one in http.distributions if one.name == "pairs")
    assert pairs.quantile(0.0) == 1
    assert pairs.quantile(1.0) == 5
    assert pairs.quantile(0.5) == pytest.approx(3, abs=1)
