"""What tracing costs is a finding above 5 %."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trustbed.diagnose.observer import observer_effect


def test_a_drop_of_twelve_percent_is_found_with_its_number() -> None:
    found = observer_effect("pages", [100.0, 100.0], [88.0])
    assert found is not None
    assert (found.code, found.scope, found.severity) == ("observer_effect", "pages", "warning")
    assert found.value == pytest.approx(0.12)
    assert found.message == "tracing cost pages 12 % of its rate"


@pytest.mark.parametrize(
    ("untraced", "traced"),
    [([100.0], [95.5]), ([100.0], [104.0]), ([], [1.0]), ([1.0], []), ([0.0], [0.0])],
)
def test_a_small_or_unknown_cost_is_none(untraced: list[float], traced: list[float]) -> None:
    assert observer_effect("pages", untraced, traced) is None


@pytest.mark.parametrize(
    ("name", "untraced", "traced"),
    [("physical_1G", 16_459.0, 14_420.0), ("virtio_1G", 14_373.0, 13_590.0)],
)
def test_the_published_cost_is_the_golden_one(name: str, untraced: float, traced: float) -> None:
    file = Path(__file__).parent.parent / "golden" / "compare.json"
    golden = json.loads(file.read_text(encoding="utf-8"))["computed"]
    found = observer_effect("pages", [untraced], [traced])
    assert found is not None
    assert found.value == pytest.approx(golden["instrumentation_drop_percent"][name] / 100)
