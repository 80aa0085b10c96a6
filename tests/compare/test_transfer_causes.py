"""What transfers were limited by, beside what is compared."""

from __future__ import annotations

from trustbed.compare.judge import CaseValues, Values
from trustbed.compare.transfer_causes import differences


def test_a_cause_that_one_testbed_has_alone_is_named() -> None:
    usual = [("window_limited", "trust")]
    case = CaseValues(
        label="1MB",
        reference=Values(testbed="host", metrics={}, causes=usual * 40),
        candidates=[
            Values(
                testbed="guest",
                metrics={},
                causes=[*usual * 28, *[("host_scheduling", "discard")] * 12],
            ),
            Values(
                testbed="other",
                metrics={},
                causes=[*usual * 39, ("host_scheduling", "discard")],
            ),
            Values(testbed="traced", metrics={}),
        ],
    )
    assert list(differences(case)) == [
        "transfers (1MB): the sending host stalled (discard) in 12 of 40 of guest, in 0 of 40 of "
        "host"
    ]
