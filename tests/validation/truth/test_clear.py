"""A transfer of every clear cause, made and judged: the verdict is the one that is wanted."""

from __future__ import annotations

import pytest

from trustbed import agent
from trustbed.diagnose.causes import CAUSES
from trustbed.testbed.rootless import may_make_networks
from validation.truth.carry import FAILED, MADE, NOT_MADE, carry_out
from validation.truth.clear import CLEAR
from validation.truth.judged import judge
from validation.truth.kinds import KINDS
from validation.truth.plan import Planned

OUTSIDE = ("cgroup", "emulation", "KVM", "kernel")
"""What a machine may lack and the project cannot install."""

MISTAKES = {
    "outage": "two seconds without an answer are called loss: no rule asks how long nothing came back",
    "slow-reader": "a reader that is slow but steady looks like a slow link: no rule asks whether its window is full because it shrank",
    "bursty-writer": "pauses of five round trips leave the kernel busy for most of the time: called a starved host",
}
"""What the rules get wrong, and why. A rule that gets it right fails its test here, until its line is removed."""


@pytest.fixture(scope="module", autouse=True)
def _networks() -> None:
    if not may_make_networks():
        pytest.skip("networks cannot be made here: this needs root")
    try:
        agent.binary()
    except agent.AgentError as error:
        pytest.skip(error.message)


def _marked(planned: Planned) -> object:
    why = MISTAKES.get(planned.kind)
    marks = [pytest.mark.xfail(reason=why, strict=True, raises=AssertionError)] if why else []
    return pytest.param(planned, id=planned.kind, marks=marks)


@pytest.mark.parametrize("planned", [_marked(one) for one in CLEAR])
def test_a_clear_case_is_judged_as_wanted(planned: Planned) -> None:
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
    if not set(wanted.causes) & set(CAUSES):
        pytest.xfail(f"no rule knows {wanted.causes[0]}; said was {answer.cause}")
    assert answer.cause in wanted.causes, answer
    assert answer.verdict in wanted.verdicts, answer
