"""The start errors of a model's users count from the measured time on."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from trustbed.run.generated_starts import measured

SECOND = 10**9


def starts(directory: Path, given: list[tuple[int, int]]) -> None:
    """The generator's rows: when something was due, and when it began."""
    columns = [
        {"name": name, "type": "i64", "unit": "ns", "meaning": name}
        for name in ("due_ns", "begun_ns")
    ]
    header = {"columns": columns, "byte_order": "little", "record_bytes": 16}
    body = b"".join(struct.pack("<qq", *one) for one in given)
    (directory / "web.generated.rows").write_bytes(json.dumps(header).encode() + b"\n" + body)


def record(**rows: object) -> dict[str, Any]:
    late = {"packets": 300, "over_1ms_share": 0.3, "max_ns": 9_000_000, "generator_late": True}
    send = {"start_error": late, "rows": {"rows_left_out": 0, "error": None} | rows}
    return {"backgrounds": [{"background": "web", "send": send}, {"background": "cbr"}]}


def found(directory: Path, given: dict[str, Any]) -> dict[str, Any]:
    users, other = measured(given, directory, SECOND)["backgrounds"]
    assert other == {"background": "cbr"}
    late: dict[str, Any] = users["send"]["start_error"]
    return late


def test_users_who_were_there_before_do_not_count(tmp_path: Path) -> None:
    before = [(number, number + 5_000_000) for number in range(100)]
    after = [(SECOND + number, SECOND + number + 10_000) for number in range(199)]
    starts(tmp_path, [*before, *after, (2 * SECOND, 2 * SECOND + 3_000_000)])
    late = found(tmp_path, record())
    assert (late["packets"], late["over_1ms_packets"]) == (200, 1)
    assert late["over_1ms_share"] == pytest.approx(0.005)
    assert late["max_ns"] == 3_000_000
    assert late["generator_late"] is False


def test_late_starts_within_the_measured_time_count(tmp_path: Path) -> None:
    starts(tmp_path, [(SECOND + n, SECOND + n + 2_000_000 * (n % 10 == 0)) for n in range(100)])
    late = found(tmp_path, record())
    assert late["over_1ms_share"] == pytest.approx(0.1)
    assert late["generator_late"] is True


def test_rows_of_something_else_change_nothing(tmp_path: Path) -> None:
    starts(tmp_path, [(SECOND, SECOND)] * 10)
    file = tmp_path / "web.generated.rows"
    file.write_bytes(file.read_bytes().replace(b'"due_ns"', b'"new_ns"', 1))
    assert measured(record(), tmp_path, SECOND) == record()


@pytest.mark.parametrize("rows", [{"rows_left_out": 5}, {"error": "no space"}])
def test_rows_that_are_not_complete_change_nothing(tmp_path: Path, rows: dict[str, Any]) -> None:
    starts(tmp_path, [(SECOND, SECOND)])
    assert found(tmp_path, record(**rows))["packets"] == 300


def test_without_rows_the_generators_own_numbers_stand(tmp_path: Path) -> None:
    assert found(tmp_path, record())["generator_late"] is True
    starts(tmp_path, [(5, 5)])  # all before the measured time
    assert found(tmp_path, record())["packets"] == 300
    (tmp_path / "web.generated.rows").write_bytes(b"damaged")
    assert found(tmp_path, record())["packets"] == 300
