"""Campaigns that are read once for all tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.campaign_directories import make_campaign
from trustbed.campaign.results import read_json as read_model

Model = dict[str, Any]


@pytest.fixture(scope="session")
def four_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five pairs, 288 rounds a day.

    Alpha is bad in the morning, gamma always, zeta was away for seven hours.
    """
    return make_campaign(tmp_path_factory.mktemp("campaigns") / "four")


@pytest.fixture(scope="session")
def model(four_days: Path) -> Model:
    return read_model(four_days, timeline=True)
