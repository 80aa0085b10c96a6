"""The published tables, as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.campaign.conftest import THREE
from trustbed.campaign import EC2, PLANETLAB, ROUND_OUTCOMES, TABLES, indices
from trustbed.scenario.campaign_model import TABLE_NAMES, Index, Rounds

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "campaign.md").read_text(encoding="utf-8")
# (index, probe in KB, data in MB), both binary.
PRINTED = {
    # Lee et al., Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed,
    # Table 2.
    "planetlab": [("1", 16, 8), ("2", 16, 16), ("3", 32, 16), ("4", 64, 16), ("5", 64, 32)],
    # Lee et al., Internet Traffic Characteristics of Virtual Machine on Amazon EC2, Table 1.
    "ec2": [
        ("I0", 16, 8),
        ("I1", 16, 16),
        ("I2", 32, 16),
        ("I3", 64, 16),
        ("I4", 64, 32),
        ("I5", 512, 8),
        ("I6", 512, 16),
        ("I7", 1024, 16),
        ("I8", 1024, 16),
        ("I9", 2048, 32),
    ],
}


@pytest.mark.parametrize("name", PRINTED)
def test_tables_are_as_printed(name: str) -> None:
    found = [
        (index.name, index.probe_bytes, index.data_bytes)
        for index in indices(Rounds(count=1, table=name))
    ]  # type: ignore[arg-type]
    assert found == [
        (index, probe * 1024, data * 1024 * 1024) for index, probe, data in PRINTED[name]
    ]


@pytest.mark.parametrize("name", PRINTED)
def test_the_page_on_campaigns_has_them(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`: (\d+), (\d+)", row) == [
        (index, str(probe), str(data)) for index, probe, data in PRINTED[name]
    ]


def test_the_page_on_campaigns_has_every_reason() -> None:
    assert [reason for reason in ROUND_OUTCOMES if f"| `{reason}` |" in PAGE] == [
        "overrun",
        "unreachable",
        "missed",
        "interrupted",
    ]


def test_what_was_measured_on_planetlab_begins_the_table_of_ec2() -> None:
    sizes = [(index.probe_bytes, index.data_bytes) for index in EC2]
    assert sizes[:5] == [(index.probe_bytes, index.data_bytes) for index in PLANETLAB]
    assert set(TABLES) == set(TABLE_NAMES) == {"bulk", *PRINTED}


def test_a_table_of_one_s_own_is_itself() -> None:
    assert indices(Rounds(count=1, table=THREE)) == THREE
    index = Index(name="1", probe_bytes=2, data_bytes=3)
    assert (index.size_of("probe"), index.size_of("data")) == (2, 3)
