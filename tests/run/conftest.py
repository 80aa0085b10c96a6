"""What tests need that carry something out."""

from __future__ import annotations

import pytest

from trustbed.testbed.netns.rootless import may_make_networks


@pytest.fixture(scope="session")
def networks() -> None:
    """Requires that networks can be created here."""
    if not may_make_networks():
        pytest.skip("networks cannot be created here: this needs root")
