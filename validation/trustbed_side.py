"""trustbed's tables for a capture, by connection and direction."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Endpoint = tuple[str, int]


class UnreadableError(Exception):
    """trustbed refuses this capture; the message gives the reason."""


@dataclass(slots=True)
class Direction:
    """One direction of a connection.

    The transfer's numbers are None where the direction carries no payload.
    """

    packets: int
    payload_bytes: int
    transfer: dict[str, Any] | None = None
    segments: dict[int, dict[str, Any]] = field(default_factory=dict)
    rtt_ns: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """Directions by the connection's number and the sending endpoint."""

    directions: dict[int, dict[Endpoint, Direction]]


def version() -> str:
    """What trustbed calls itself."""
    import trustbed

    return f"trustbed {trustbed.__version__}"


def run(path: Path, *, inner: bool = False) -> Report:
    """Analyses a capture with every sample stored.

    Raises:
        UnreadableError: trustbed cannot read it at all.
    """
    import trustbed

    try:
        capture = trustbed.analyze(path, samples=True, inner=inner, workers=1)
        return assemble(
            capture.connections.to_pylist(),
            capture.transfers.to_pylist(),
            capture.segments.to_pylist(),
            capture.rtt.to_pylist(),
        )
    except trustbed.CaptureError as error:
        raise UnreadableError(str(error).removeprefix(f"{path}: ")) from error


def assemble(
    connections: list[dict[str, Any]],
    transfers: list[dict[str, Any]],
    segments: list[dict[str, Any]],
    rtt: list[dict[str, Any]],
) -> Report:
    """Puts rows of the tables (as trustbed documents them) together by direction."""
    directions: dict[int, dict[Endpoint, Direction]] = {}
    for row in connections:
        if row["protocol"] == "tcp":
            directions[row["connection"]] = {
                (row[side], row[f"{side}_port"]): Direction(
                    row[f"packets_{side}"], row[f"payload_bytes_{side}"]
                )
                for side in ("initiator", "responder")
            }
    by_name: dict[str, Direction] = {}
    for row in transfers:
        direction = directions[row["connection"]][row["src"], row["src_port"]]
        direction.transfer = row
        by_name[row["transfer"]] = direction
    for row in segments:
        by_name[row["transfer"]].segments[row["index"]] = row
    samples: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in rtt:
        if row["kind"] != "timestamp":
            samples[row["transfer"]].append((row["index"], row["rtt_ns"], row["kind"]))
    for name, found in samples.items():
        by_name[name].rtt_ns = found
    return Report(directions)
