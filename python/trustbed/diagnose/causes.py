"""The closed lists: why a transfer ran at its speed, and what may be done with the number.

Names and meanings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

Cause: TypeAlias = Literal[
    "insufficient",
    "driver_stall",
    "host_stall",
    "network_loss",
    "network_congestion",
    "bandwidth_limited",
    "window_limited",
    "receiver_limited",
    "host_scheduling",
    "sender_application_limited",
    "slow_start",
    "unexplained",
    "no_anomaly",
]
Verdict: TypeAlias = Literal["trust", "review", "discard", "not_judged"]

CAUSES: Mapping[Cause, str] = MappingProxyType(
    {
        "insufficient": "the transfer failed, or is too short to say anything",
        "driver_stall": "the sending host's network driver hung and was reset",
        "host_stall": "the whole sending host stopped for seconds",
        "network_loss": "lost packets slowed the sender down",
        "network_congestion": "packets waited in a queue on the path",
        "bandwidth_limited": "the transfer filled the link",
        "window_limited": "the receiver's advertised window and the delay set the speed",
        "receiver_limited": "the receiver closed its window: it did not keep up",
        "host_scheduling": "the sending machine held data back that it was allowed to send",
        "sender_application_limited": "the sending application gave its machine too little to send",
        "slow_start": "the transfer ended before the sender had found its speed",
        "unexplained": "slower than window, delay, loss and capacity allow, and nothing seen explains it",
        "no_anomaly": "what could be seen shows nothing unusual, but the throughput cannot be compared with anything",
    }
)

VERDICTS: Mapping[Verdict, str] = MappingProxyType(
    {
        "trust": "the number describes the network under test",
        "review": "a human must look before the number is used",
        "discard": "the testbed, not the network, was measured",
        "not_judged": "too short to say anything",
    }
)
