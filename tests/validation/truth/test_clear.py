"""A transfer of every clear cause can be made: its fault is applied, its captures hold it.

What the rules say about such transfers is tested on recorded packets (tests/cases, recordings), so
that a busy machine cannot fail a rule.
"""

from __future__ import annotations

import pytest

from trustbed.testbed.netns.rootless import may_make_networks
from validation.truth.carry import FAILED, MADE, NOT_MADE, carry_out
from validation.truth.clear import CLEAR
from validation.truth.plan import Planned

OUTSIDE = ("cgroup", "emulation", "KVM", "kernel")
"""What a machine may lack and the project cannot install."""


@pytest.fixture(scope="module", autouse=True)
def _networks() -> None:
    if not may_make_networks():
        pytest.skip("networks cannot be made here: this needs root")


@pytest.mark.parametrize("planned", CLEAR, ids=lambda planned: planned.kind)
def test_a_clear_case_is_made_and_captured(planned: Planned) -> None:
    stored = carry_out(planned)
    if stored["outcome"] == NOT_MADE:
        if any(word in stored["reason"] for word in OUTSIDE):
            pytest.xfail(stored["reason"])
        pytest.skip(stored["reason"])
    if stored["outcome"] != MADE:
        assert stored["outcome"] != FAILED, stored["reason"]
        pytest.xfail(f"the machine was too busy to emulate a network: {stored['reason']}")
    assert all(fault["made"] for fault in stored["faults"])
    for point in ("sender", "receiver"):
        row = stored["captures"][point]["row"]
        assert row is not None, f"the capture of the {point} lacks the transfer"
        assert row["unique_bytes"] > 0
    assert stored["kernel"], "the sending kernel's account of the socket is missing"
    assert stored["samples"]["processes"], "the sender's processes were not sampled"
