"""A transfer as a scenario of `trustbed run`.

The undisturbed network first, then the disturbance, then TOML.

The captures are taken beside both hosts and, where the scenario language can, at the router between
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from validation.truth.networks import PACKET_BYTES, PAYLOAD_BYTES, Network

CLIENT, SERVER, OTHER, ROUTER = "client", "server", "other", "middle"
TRANSFER = "transfer"
SNAP_BYTES = 96
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")

Values = dict[str, Any]


def undisturbed(network: Network, *, seed: int, middle: bool) -> Values:
    """The scenario of an undisturbed transfer."""
    near, far = (network.near_share / 2, (1 - network.near_share) / 2)
    links = {
        "near": {"between": [CLIENT, ROUTER], "delay": _milliseconds(network.round_trip_ms * near)},
        "far": {"between": [ROUTER, SERVER], "delay": _milliseconds(network.round_trip_ms * far)},
    }
    links[network.narrow] |= {
        "rate": f"{network.rate_megabits:g}Mbit/s",
        "queue": f"{network.queue_packets}p",
    }
    return {
        "name": TRANSFER,
        "seed": seed,
        "duration": f"{network.seconds:g}s",
        "warm_up": "0s",
        "hosts": {CLIENT: {"guest": network.guest} if network.guest else {}, SERVER: {}},
        "topology": {"shape": "graph", "routers": [ROUTER]},
        "links": links,
        "workload": {TRANSFER: _transfer(network)},
        "capture": {"points": [CLIENT, SERVER, *([ROUTER] if middle else [])], "snap": SNAP_BYTES},
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


def toml(values: Mapping[str, Any]) -> str:
    """A scenario as text: tables in brackets, everything below the second level in one line."""
    lines = [
        f"{key} = {_value(value)}" for key, value in values.items() if not isinstance(value, dict)
    ]
    for key, value in values.items():
        if isinstance(value, dict):
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
