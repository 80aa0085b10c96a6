"""Packets and bytes against tcptrace.

Every packet that the two count otherwise must have its reasons.
"""

from collections import defaultdict
from dataclasses import dataclass

from validation import tcptrace_rules
from validation.case import History, PacketCase
from validation.finding import Finding, equal, explained, unexplained
from validation.packets import Packet
from validation.reasons_counts import COUNTS
from validation.stream import Stream
from validation.trustbed_side import Direction

FIELDS = (
    "packets",
    "payload_bytes",
    "unique_bytes",
    "retransmitted_packets",
    "retransmitted_bytes",
)
Effect = dict[str, int]


@dataclass(frozen=True, slots=True)
class Tool:
    """A direction as tcptrace has it (`sides`.

    Of all its connections that hold packets of the direction).

    Where it cuts connections otherwise, `alone` is what it would report for trustbed's connection
    by itself, and `cut` the reasons for cutting otherwise. Else `alone` is the same as `sides`.
    """

    sides: list[tcptrace_rules.Side]
    alone: list[tcptrace_rules.Side]
    cut: tuple[str, ...] = ()


def effect(stream: Stream, packet: Packet, history: History) -> Effect:
    """What a packet adds to the totals of its direction by trustbed's definitions."""
    found = dict.fromkeys(FIELDS, 0)
    found["packets"] = 1
    outcome = stream.outcomes.get(packet.frame)
    if outcome is None:
        continues = (
            packet.fragment
            and packet.flags == 0
            and packet.frame not in history.connection.after_reset
        )
        found["payload_bytes"] = packet.payload if continues else 0
        return found
    data = outcome.kind not in ("keep_alive", "window_probe")
    found["payload_bytes"] = packet.payload if data else 0
    found["unique_bytes"] = outcome.fresh
    if outcome.kind == "retransmission":
        found["retransmitted_packets"], found["retransmitted_bytes"] = 1, outcome.overlap
    return found


def tool_effects(sides: list[tcptrace_rules.Side], packets: list[Packet]) -> dict[int, Effect]:
    """What each packet adds to the totals of its direction by tcptrace's rules."""
    counted = {frame for side in sides for frame in side.frames}
    found: dict[int, Effect] = {}
    for packet in packets:
        one = found[packet.frame] = dict.fromkeys(FIELDS, 0)
        if packet.frame not in counted:
            continue
        one["packets"], one["payload_bytes"] = 1, max(0, tcptrace_rules.payload(packet))
        for taken in (side.effects[packet.frame] for side in sides if packet.frame in side.effects):
            one["unique_bytes"] = taken.unique_bytes
            one["retransmitted_packets"] = int(taken.retransmitted_bytes > 0)
            one["retransmitted_bytes"] = taken.retransmitted_bytes
    return found


def compare(history: History, stream: Stream, direction: Direction, tool: Tool) -> list[Finding]:
    """One finding per field."""
    packets = [history.packet(frame) for frame in stream.frames]
    mine = {packet.frame: effect(stream, packet, history) for packet in packets}
    actual, alone = tool_effects(tool.sides, packets), tool_effects(tool.alone, packets)
    reasons, open_fields = _explain(history, packets, mine, alone)
    disagreement = segments_differ(stream, direction)
    found = []
    for name in FIELDS:
        our, oracle = _ours(direction, name), sum(one[name] for one in mine.values())
        their, cut_alike = (
            sum(one[name] for one in actual.values()),
            sum(one[name] for one in alone.values()),
        )
        if our == their:
            found.append(equal("tcptrace", name))
        elif our != oracle or disagreement:
            why = disagreement or f"the oracle has {oracle}"
            found.append(unexplained("tcptrace", name, f"trustbed {our}, tcptrace {their}; {why}"))
        elif open_fields[name]:
            found.append(
                unexplained(
                    "tcptrace",
                    name,
                    f"trustbed {our}, tcptrace {their}; {'; '.join(open_fields[name][:3])}",
                )
            )
        else:
            cut = set(tool.cut) if their != cut_alike else set()
            found.append(explained("tcptrace", name, reasons[name] | cut))
    return found


def _ours(direction: Direction, name: str) -> int:
    if name in ("packets", "payload_bytes"):
        return int(getattr(direction, name))
    return int((direction.transfer or {}).get(name, 0))


def _explain(
    history: History, packets: list[Packet], mine: dict[int, Effect], theirs: dict[int, Effect]
) -> tuple[dict[str, set[str]], dict[str, list[str]]]:
    """By field: the reasons that explain its differences, and the packets that nothing explains."""
    reasons: dict[str, set[str]] = defaultdict(set)
    bare: dict[str, list[str]] = defaultdict(list)
    for packet in packets:
        delta = {name: theirs[packet.frame][name] - mine[packet.frame][name] for name in FIELDS}
        if not any(delta.values()):
            continue
        used, left = explain(PacketCase(packet, history), delta)
        for name in FIELDS:
            if name in left:
                bare[name].append(f"frame {packet.frame}: {delta[name]:+d}")
            elif delta[name]:
                reasons[name] |= {reason for reason, fields in used if name in fields}
    return reasons, bare


def explain(case: PacketCase, delta: Effect) -> tuple[list[tuple[str, set[str]]], set[str]]:
    """Reasons for a packet's difference, and the fields outside all their bounds.

    Each reason comes with the fields that it bounds.
    """
    low, high = dict.fromkeys(delta, 0), dict.fromkeys(delta, 0)
    used: list[tuple[str, set[str]]] = []
    for reason in COUNTS:
        if all(low[name] <= delta[name] <= high[name] for name in delta):
            break
        if reason.holds(case):
            bounds = reason.bounds(case)
            used.append((reason.name, set(bounds)))
            for name, (least, most) in bounds.items():
                low[name] += least
                high[name] += most
    return used, {name for name in delta if not low[name] <= delta[name] <= high[name]}


def segments_differ(stream: Stream, direction: Direction) -> str:
    """Where trustbed's table of segments differs from the oracle, packet by packet.

    "" if they agree.
    """
    mine = {
        frame: (
            outcome.start,
            outcome.packet.payload,
            outcome.overlap if outcome.kind == "retransmission" else 0,
            outcome.kind,
        )
        for frame, outcome in stream.outcomes.items()
        if outcome.kind not in ("keep_alive", "window_probe", "fragment")
    }
    ours = {
        frame: (row["offset"], row["length"], row["overlap"], row["class"])
        for frame, row in direction.segments.items()
    }
    for frame in sorted(mine.keys() | ours.keys()):
        if mine.get(frame) != ours.get(frame):
            return f"segment {frame}: trustbed {ours.get(frame)}, oracle {mine.get(frame)}"
    return ""
