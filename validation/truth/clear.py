"""One transfer of every cause that is as clear as it can be made, far from every border.

Every test run makes them, to check that faults are applied and captured; what the rules answer for
such transfers is tested on recorded packets (tests/cases).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validation.truth.disturbances import DISTURBANCES
from validation.truth.networks import Limit, Network
from validation.truth.plan import Planned

_BY_KIND = {one.kind: one for one in DISTURBANCES}


def _network(limit: Limit, **more: Any) -> Network:  # noqa: ANN401 - fields of a network
    """20 Mbit/s and 20 ms: 50 000 bytes fit into the path."""
    values: Mapping[str, Any] = {
        "family": "wireless",
        "rate_megabits": 20,
        "round_trip_ms": 20,
        "limit": limit,
        "congestion_control": "cubic",
        "seconds": 2.0,
    }
    return Network(**{**values, **more})


_WINDOW = _network("window", window_bytes=24_576)
_LONG = _network("window", window_bytes=24_576, seconds=3.0)
_LINK = _network("link")
_SMALL = _network("window", window_bytes=24_576, send_buffer_bytes=24_576)
_GUEST = _network("window", window_bytes=24_576, guest="virtio-net", seconds=4.0)


def _planned(kind: str, network: Network, **dose: Any) -> Planned:  # noqa: ANN401 - keys of a dose
    return Planned(
        name=f"clear.{kind}",
        seed=7,
        network=network,
        disturbance=_BY_KIND.get(kind),
        dose=tuple(dose.items()),
    )


CLEAR: tuple[Planned, ...] = (
    _planned("undisturbed-window", _WINDOW),
    _planned("undisturbed-link", _LINK),
    _planned("loss-random", _LINK, loss="2%"),
    _planned("cross-greedy", _LINK, flows=4),
    _planned("policer", _LINK, share=0.4, burst_seconds=0.03),
    _planned("shaper-burst", _LINK, share=0.3, burst_share=0.4),
    _planned("reordering", _LINK, share="5%", trips=1.2),
    _planned("route-change", _WINDOW, trips=4.0),
    _planned("outage", _LONG, lasts="2s"),
    _planned("freeze", _SMALL, stopped="300ms", every="400ms"),
    _planned("slow-reader", _WINDOW, share=0.1),
    _planned("bursty-writer", _LINK, share=0.3, trips=5.0),
    _planned("guest-freeze", _GUEST, stopped="35ms", every="50ms"),
)
"""Every clear case. None has a twin: what it costs is beyond doubt."""
