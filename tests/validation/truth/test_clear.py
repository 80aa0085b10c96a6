"""A transfer of every clear cause, made and judged: the verdict is the one that is wanted."""

from __future__ import annotations

import json

import pytest

from trustbed import agent
from trustbed.diagnose import THRESHOLDS
from trustbed.testbed.rootless import may_make_networks
from validation.truth.carry import FAILED, MADE, NOT_MADE, carry_out
from validation.truth.clear import CLEAR
from validation.truth.judged import judge
from validation.truth.kinds import KINDS
from validation.truth.plan import Planned

OUTSIDE = ("cgroup", "emulation", "KVM", "kernel")
"""What a machine may lack and the project cannot install."""


@pytest.fixture(scope="module", autouse=True)
def _networks() -> None:
    if not may_make_networks():
        pytest.skip("networks cannot be made here: this needs root")
    try:
        agent.binary()
    except agent.AgentError as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("planned", CLEAR, ids=lambda planned: planned.kind)
def test_a_clear_case_is_judged_as_wanted(planned: Planned) -> None:
    """Where the first is judged otherwise, two more are made, and both have to be right: what a busy machine bends is no rule's fault."""
    first = _wrong(planned)
    if first:
        again = [wrong for wrong in (_wrong(planned), _wrong(planned)) if wrong]
        assert not again, "\n\n".join([first, *again])


def _wrong(planned: Planned) -> str:
    """What is wrong about the answer to one transfer, with all its numbers; empty where it is as wanted."""
    kept = carry_out(planned)
    if kept["outcome"] == NOT_MADE:
        if any(word in kept["reason"] for word in OUTSIDE):
            pytest.xfail(kept["reason"])
        pytest.skip(kept["reason"])
    if kept["outcome"] != MADE:
        assert kept["outcome"] != FAILED, kept["reason"]
        pytest.xfail(f"the machine was too busy to emulate a network: {kept['reason']}")
    answer = judge(kept, "sender", known=True)
    assert answer is not None
    wanted = KINDS[planned.kind].known
    missed = answer.evidence["processor_missed"] or 0.0
    if (
        answer.cause == "host_scheduling"
        and answer.cause not in wanted.causes
        and missed >= THRESHOLDS.processor_missed
    ):
        pytest.xfail(
            f"the machine was too busy for a clear case: it kept the sender from its processor for {missed:.0%} of the time"
        )
    if answer.cause in wanted.causes and answer.verdict in wanted.verdicts:
        return ""
    return f"{planned.kind}: {answer.cause} ({answer.rule}), {answer.verdict}; wanted {wanted}\n{json.dumps(answer.evidence, default=str)}"
