"""Kinds of simulated transfers, and what is true of each.

A kind draws a path and the one thing that limits the transfer on it, and states the accepted
answers and how the simulation's own account must look for them to be true. A draw whose limit had
no effect is no transfer of that kind and is drawn again. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from validation.external.ns3 import host_kinds, path_kinds
from validation.external.ns3.nets import Draft, Net

KINDS: Final[Mapping[str, Callable[[Net], Draft]]] = {
    each.__name__: each
    for each in (
        host_kinds.window_limited,
        host_kinds.delayed_acks,
        host_kinds.send_buffer,
        path_kinds.deep_queue,
        path_kinds.shallow_queue,
        path_kinds.codel,
        path_kinds.red,
        path_kinds.fq_codel,
        path_kinds.ecn,
        path_kinds.random_loss,
        path_kinds.bursty_loss,
        path_kinds.cross_udp,
        path_kinds.cross_tcp,
        path_kinds.joining,
        path_kinds.reverse,
        path_kinds.rate_change,
        path_kinds.route_change,
        host_kinds.app_pauses,
        host_kinds.paced_writes,
        host_kinds.slow_reader,
        path_kinds.outage,
        host_kinds.short,
        host_kinds.requests,
        host_kinds.server_think,
        host_kinds.sender_interface,
        path_kinds.policer,
        path_kinds.shaper,
        path_kinds.reordering,
    )
}
