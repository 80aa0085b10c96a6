"""A transfer as a scenario of `trustbed run`.

The undisturbed network first, then the disturbance, then TOML.

The captures are taken beside both hosts, within a guest, and, where the scenario language can, at
the router between the hosts.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.truth.networks import PACKET_BYTES, PAYLOAD_BYTES, Network

CLIENT, SERVER, OTHER, ROUTER = "client", "server", "other", "middle"
TRANSFER = "transfer"
FILES = "files"
"""Key of a scenario's values below which its rate traces are, by name; not part of its text.

Each is a list of (seconds, Mbit/s from then on), which ends with its length and 0.
"""
PROGRAMS = Path(__file__).with_name("programs")
"""Programs that scenarios start; a text names them as ``PROGRAMS/NAME``."""
INSIDE = "-inside"
SNAP_BYTES = 96
_OPPORTUNITY_BYTES = 1504
_MOST_JITTER = 0.9
"""Of the delay of the link that has it."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")

Values = dict[str, Any]


def undisturbed(network: Network, *, seed: int, middle: bool) -> Values:
    """The scenario of an undisturbed transfer."""
    near, far = (network.near_share / 2, (1 - network.near_share) / 2)
    links: Values = {
        "near": {"between": [CLIENT, ROUTER], "delay": _milliseconds(network.round_trip_ms * near)},
        "far": {"between": [ROUTER, SERVER], "delay": _milliseconds(network.round_trip_ms * far)},
    }
    links[network.narrow] |= {
        "rate": f"{network.rate_megabits:g}Mbit/s",
        "queue": network.queue,
    }
    if network.jitter_ms:
        # Within the delay: a packet cannot arrive before it was sent.
        spread = min(network.jitter_ms, network.round_trip_ms * max(near, far) * _MOST_JITTER)
        links["far" if far >= near else "near"]["jitter"] = {
            "distribution": "uniform",
            "spread": _milliseconds(spread),
            "keep_order": True,
        }
    guest = {"guest": network.guest} if network.guest else {}
    ends = (
        {CLIENT: guest, SERVER: {}}
        if network.guest_end == "sender"
        else {CLIENT: {}, SERVER: guest}
    )
    inside = [f"{host}{INSIDE}" for host, keys in ends.items() if keys]
    return {
        "name": TRANSFER,
        "seed": seed,
        "duration": f"{network.seconds:g}s",
        "warm_up": "0s",
        "hosts": ends,
        "topology": {"shape": "graph", "routers": [ROUTER]},
        "links": links,
        "workload": {TRANSFER: _transfer(network)},
        "capture": {
            "points": [CLIENT, SERVER, *([ROUTER] if middle else []), *inside],
            "snap": SNAP_BYTES,
        },
        "samples": {"sockets": "10ms"},
        "emulator": {"ledger": "summary"},
    }


def _transfer(network: Network) -> Values:
    """Only the configured socket options.

    The kernel's own sizes are what most programs have.
    """
    options: Values = {
        "kind": "bulk",
        "host": CLIENT,
        "to": SERVER,
        "congestion_control": network.congestion_control,
    }
    if network.window_bytes is not None:
        options["window_clamp" if network.clamped else "receive_buffer"] = (
            f"{network.window_bytes}B"
        )
    if network.send_buffer_bytes is not None:
        options["send_buffer"] = f"{network.send_buffer_bytes}B"
    if network.transfer_bytes is not None:
        options["bytes"] = f"{network.transfer_bytes}B"
    return options


def _milliseconds(value: float) -> str:
    return f"{value:g}ms"


def payload_megabits(network: Network) -> float:
    """What an undisturbed transfer should deliver."""
    return network.expected_megabits * PAYLOAD_BYTES / PACKET_BYTES


def rate_trace(steps: Sequence[tuple[float, float]]) -> str:
    """A rate trace in mahimahi's format: a line per opportunity, in whole milliseconds."""
    lines: list[int] = []
    time_ms = 0.0
    for (_, megabits), (border, _) in itertools.pairwise(steps):
        while time_ms < border * 1e3:
            lines.append(int(time_ms))
            time_ms += _OPPORTUNITY_BYTES * 8 / megabits / 1e3
    return "\n".join(str(line) for line in lines) + "\n"


def toml(values: Mapping[str, Any]) -> str:
    """A scenario as text: tables in brackets, everything below the second level in one line."""
    lines = [
        f"{key} = {_value(value)}" for key, value in values.items() if not isinstance(value, dict)
    ]
    for key, value in values.items():
        if isinstance(value, dict) and key != FILES:
            lines += ["", *_table(key, value)]
    return "\n".join(lines) + "\n"


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    if values and all(isinstance(value, dict) for value in values.values()):
        return [
            line for key, value in values.items() for line in (f"[{name}.{key}]", *_lines(value))
        ]
    return [f"[{name}]", *_lines(values)]


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in values.items()]


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
            + " }"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value)
