"""Lengths and flags against tshark.

Every frame that the two see otherwise must have its reasons.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from validation import tshark, tshark_rules
from validation.case import FlagCase, History, LengthCase
from validation.counts import effect
from validation.finding import Finding, equal, explained, unexplained
from validation.packets import Packet
from validation.reasons_tshark import LENGTHS, REASONS
from validation.stream import Stream
from validation.trustbed_side import Direction

KINDS = {
    ("retransmission", "spurious"): "spurious_retransmission",
    ("retransmission", "fast"): "fast_retransmission",
    ("retransmission", "timeout"): "retransmission",
    ("fill", "reordered"): "out_of_order",
    ("fill", "lost_upstream"): "retransmission",
}
Flags = frozenset[str]


@dataclass(frozen=True, slots=True)
class Tool:
    """The flags by tshark, and by the model of its rules.

    Of the capture as it is, and under conditions that take a difference away.

    `alone`: of trustbed's connection by itself, where tshark cuts otherwise for the reasons `cut`
    (else as it is). `believing`: if it took the lengths in IP headers where frames are shorter.
    """

    frames: dict[int, tshark.Frame]
    analysis: tshark_rules.Analysis
    alone: tshark_rules.Analysis
    believing: tshark_rules.Analysis
    cut: tuple[str, ...] = ()


def compare(
    history: History, stream: Stream, peer: Stream, direction: Direction, tool: Tool
) -> list[Finding]:
    """Findings for packets, payload and every flag."""
    lengths = [
        _lengths(name, history, stream, direction, tool) for name in ("packets", "payload_bytes")
    ]
    wrong = totals_differ(stream, peer, direction)
    expected = expected_flags(stream, peer)
    reasons: dict[str, set[str]] = defaultdict(set)
    bare: dict[str, list[str]] = defaultdict(list)
    for frame in stream.frames:
        if frame in tool.frames and frame in tool.analysis.situations:
            observed, wanted = named_once(tool.frames[frame]), frozenset(expected.get(frame, ()))
            if observed != wanted:
                _frame(history, history.packet(frame), wanted, observed, tool, reasons, bare)
    return [*lengths, *(_finding(flag, wrong, reasons[flag], bare[flag]) for flag in tshark.FLAGS)]


def _finding(flag: str, wrong: dict[str, str], reasons: set[str], bare: list[str]) -> Finding:
    if flag in wrong:
        return unexplained("tshark", flag, wrong[flag])
    if bare:
        return unexplained("tshark", flag, "; ".join(bare[:3]))
    return explained("tshark", flag, reasons) if reasons else equal("tshark", flag)


def _frame(
    history: History,
    packet: Packet,
    wanted: Flags,
    observed: Flags,
    tool: Tool,
    reasons: dict[str, set[str]],
    bare: dict[str, list[str]],
) -> None:
    """Notes the reasons for a frame's flags, or that there are none."""
    used, left = explain_frame(history, packet, wanted, observed, tool)
    for flag in left:
        bare[flag].append(
            f"frame {packet.frame}: trustbed {sorted(wanted) or 'none'}, tshark "
            f"{sorted(observed) or 'none'}"
        )
    for name, touched in used:
        for flag in touched - left:
            reasons[flag].add(name)


def explain_frame(
    history: History, packet: Packet, wanted: Flags, observed: Flags, tool: Tool
) -> tuple[list[tuple[str, Flags]], Flags]:
    """Reasons (with the flags they touch) for a frame's difference, and the unexplained flags.

    First the two conditions are taken away, one after the other: what they change is theirs. The
    rest goes to the reasons.
    """
    frame, used = packet.frame, []
    situation = tool.analysis.situations[frame]
    if tshark_rules.printed(packet, situation) != observed and not packet.multipath:
        return [], observed ^ wanted
    now = observed
    steps = ((tool.alone, tool.cut), (tool.believing, ("beyond_frame",)))
    for analysis, names in steps:
        if analysis is not tool.analysis and frame in analysis.situations:
            situation = analysis.situations[frame]
            after = tshark_rules.printed(packet, situation)
            used += [(name, now ^ after) for name in names if now != after]
            now = after
    reasons, left = explain(FlagCase(packet, wanted, now, situation, history))
    return used + reasons, left


def explain(case: FlagCase) -> tuple[list[tuple[str, Flags]], Flags]:
    """Named reasons (with the flags they touch), and the flags that stay unexplained."""
    adds, drops = case.observed - case.expected, case.expected - case.observed
    used: list[tuple[str, Flags]] = []
    for reason in REASONS:
        touched = (adds & reason.adds) | (drops & reason.drops)
        if touched and reason.holds(case):
            used.append((reason.name, touched))
            adds, drops = adds - reason.adds, drops - reason.drops
    return used, adds | drops


def named_once(frame: tshark.Frame) -> Flags:
    """One name per frame: fast and spurious retransmissions are marked as retransmissions, too."""
    if frame.flags & {"fast_retransmission", "spurious_retransmission"}:
        return frame.flags - {"retransmission"}
    return frame.flags


def expected_flags(stream: Stream, peer: Stream) -> dict[int, set[str]]:
    """The flags that trustbed's classes require, by frame of this direction."""
    expected: dict[int, set[str]] = defaultdict(set)
    for frame, outcome in stream.outcomes.items():
        if flag := KINDS.get((outcome.kind, outcome.cause)):
            expected[frame].add(flag)
    named: Iterable[tuple[str, list[int]]] = (
        ("duplicate_ack", peer.duplicate_acks),
        ("zero_window", stream.zero_windows),
        ("keep_alive", stream.keep_alives),
        ("zero_window_probe", stream.window_probes),
        ("lost_segment", stream.openers),
        ("ack_lost_segment", peer.unseen_acks),
    )
    for flag, frames in named:
        for frame in frames:
            expected[frame].add(flag)
    return expected


def totals_differ(stream: Stream, peer: Stream, direction: Direction) -> dict[str, str]:
    """Flags for which trustbed's own totals are not those of the oracle."""
    transfer = direction.transfer
    if transfer is None:
        return {}
    causes = stream.causes
    late = causes.get("lost_upstream", 0)
    pairs = {
        "spurious_retransmission": (transfer["retransmitted_spurious"], causes.get("spurious", 0)),
        "fast_retransmission": (transfer["retransmitted_fast"], causes.get("fast", 0)),
        "retransmission": (
            transfer["retransmitted_timeout"] + transfer["filled_lost_upstream"],
            causes.get("timeout", 0) + late,
        ),
        "out_of_order": (transfer["filled_reordered"], causes.get("reordered", 0)),
        "keep_alive": (transfer["keep_alives"], len(stream.keep_alives)),
        "zero_window_probe": (transfer["window_probes"], len(stream.window_probes)),
        "duplicate_ack": (transfer["duplicate_acks"], len(stream.duplicate_acks)),
        "ack_lost_segment": (transfer["acked_unseen_bytes"] > 0, stream.unseen_at_end > 0),
    }
    return {
        flag: f"trustbed {ours}, the oracle {mine}"
        for flag, (ours, mine) in pairs.items()
        if ours != mine
    }


def _lengths(
    name: str, history: History, stream: Stream, direction: Direction, tool: Tool
) -> Finding:
    """Packets, or payload bytes: frame by frame where the sums differ."""
    theirs = {frame: _length(name, tool.frames.get(frame)) for frame in stream.frames}
    ours = getattr(direction, name)
    if sum(theirs.values()) == ours:
        return equal("tshark", name)
    mine = {frame: effect(stream, history.packet(frame), history)[name] for frame in stream.frames}
    if sum(mine.values()) != ours:
        return unexplained("tshark", name, f"trustbed {ours}, the oracle {sum(mine.values())}")
    names: set[str] = set()
    for frame in (frame for frame in stream.frames if theirs[frame] != mine[frame]):
        case = LengthCase(history.packet(frame), name, theirs[frame] - mine[frame], history)
        reason = next((reason.name for reason in LENGTHS if reason.holds(case)), "")
        if not reason:
            return unexplained("tshark", name, f"frame {frame}: {case.delta:+d}")
        names.add(reason)
    return explained("tshark", name, names)


def _length(name: str, frame: tshark.Frame | None) -> int:
    if frame is None:
        return 0
    return 1 if name == "packets" else frame.lengths[-1] if frame.lengths else 0
