"""A campaign that is made and read once for all tests, whichever of their processes needs it."""

from __future__ import annotations

import fcntl
import os
import pickle

import pytest

from tests.report.campaign_directories import make_campaign
from trustbed.campaign.model import CampaignModel
from trustbed.campaign.results import read_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> CampaignModel:
    """Of four days of five pairs, 288 rounds a day.

    Alpha is bad in the morning, gamma always, zeta was away for seven hours.
    """
    own = tmp_path_factory.getbasetemp()
    # The directories of the processes that share the tests lie in one.
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    kept = shared / "four-days.pickle"
    with (shared / "four-days.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            model = read_model(make_campaign(shared / "four-days"), timeline=True)
            kept.write_bytes(pickle.dumps(model))
    found: CampaignModel = pickle.loads(kept.read_bytes())
    return found
