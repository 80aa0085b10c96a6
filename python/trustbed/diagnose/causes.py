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
    "policed",
    "shaped",
    "reordering",
    "route_change",
    "outage",
    "send_buffer_limited",
    "acknowledgements_delayed",
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
        "receiver_limited": "the receiver closed its window or let it shrink: it did not keep up",
        "host_scheduling": "the sending machine held data back that it was allowed to send",
        "sender_application_limited": "the sending application gave its machine too little to send",
        "slow_start": "the transfer ended before the sender had found its speed",
        "policed": "a token bucket on the path dropped what exceeded its rate",
        "shaped": "a token bucket on the path let a burst pass and delayed what exceeded its rate afterwards",
        "reordering": "packets overtook one another, and the sender took them for lost",
        "route_change": "the delay of the path changed for good: two paths were measured, one after the other",
        "outage": "nothing came back for a good part of the transfer, however often the sender asked",
        "send_buffer_limited": "the sender's own buffer and the delay set the speed",
        "acknowledgements_delayed": "the receiver's acknowledgements waited for a timer",
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
