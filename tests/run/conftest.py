"""What tests need that carry something out."""

from __future__ import annotations

import pytest

from trustbed.agent import client as agent
from trustbed.testbed.netns.rootless import may_make_networks


@pytest.fixture(scope="session")
def networks() -> None:
    """Networks can be made right here, and there is an agent to put into them."""
    if not may_make_networks():
        pytest.skip("networks cannot be made here: this needs root")
    try:
        agent.binary()
    except agent.AgentError as error:
        pytest.skip(error.message)
