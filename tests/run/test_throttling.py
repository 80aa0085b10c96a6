"""Throttled time is that of the group that was throttled longest, as a share of its own samples."""

from __future__ import annotations

import pytest

from trustbed.diagnose.host import processor_of
from trustbed.run.execution.indicators import _wakeups
from trustbed.run.samples import summary
from trustbed.run.throttling import most_throttled, throttled_share

SECOND = 1_000_000_000


def group(name: str, throttled: int | None, interval: int | None = SECOND) -> dict[str, object]:
    return {"cgroup": name, "interval_ns": interval, "throttled_ns": throttled}


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([], None),
        ([group("a", None)], None),
        ([group("a", 1, None)], None),
        ([group("a", 0)], 0.0),
        ([group("a", SECOND // 2), group("a", 0)], 0.25),
        ([group("a", SECOND // 2), group("a", None)], 0.5),  # unknown is not 0
        ([group("a", SECOND // 2), group("b", SECOND // 2)], 0.5),  # of two hosts: no sum
        ([group("a", SECOND), group("b", 0)], 1.0),  # the longest speaks for all
        ([group("a", 2 * SECOND)], 1.0),  # counted on two processors
    ],
)
def test_share_of_the_time(rows: list[dict[str, object]], share: float | None) -> None:
    assert throttled_share(rows) == share


def test_one_definition_for_all() -> None:
    """Two hosts whose groups are throttled for 30 % and 50 % of the time."""
    groups = [
        {"cgroup": "a", "throttled_ns": 3 * SECOND // 10, "throttled_periods": 9},
        {"cgroup": "b", "throttled_ns": SECOND // 2, "throttled_periods": 5},
    ]
    line = {"at_ns": 1, "interval_ns": SECOND, "cgroups": groups}
    assert summary([line])["throttled_share"] == 0.5
    assert (
        processor_of([], [{**one, "interval_ns": SECOND} for one in groups]).processor_missed == 0.5
    )
    (row,) = _wakeups(line)
    assert (row["throttled_ns"], row["throttled_periods"]) == (SECOND // 2, 5)
    assert most_throttled([]) == {}
