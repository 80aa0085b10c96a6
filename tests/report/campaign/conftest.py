"""Campaigns that are read once for all tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.campaign_directories import make_campaign
from trustbed.campaign_report import open_campaign

Model = dict[str, Any]


@pytest.fixture(scope="session")
def four_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five pairs, 288 rounds a day; alpha is bad in the morning, gamma always, zeta was away for seven hours."""
    return make_campaign(tmp_path_factory.mktemp("campaigns") / "four")


@pytest.fixture(scope="session")
def model(four_days: Path) -> Model:
    return open_campaign(four_days, timeline=True)
