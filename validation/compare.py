"""Compares trustbed with tcptrace and tshark on one capture, direction by direction and field by field.

A field is *equal* when both say the same; *explained* when three things hold: the oracle's slow reading of the packets by
trustbed's definitions gives exactly trustbed's numbers, the oracle's model of the tool gives exactly the tool's numbers, and every packet
(sample, frame) on which the two readings part satisfies a named reason within its bounds; *unexplained* otherwise.

The tool's number for a direction is taken over the frames of trustbed's direction, so that it has a meaning where the two cut
connections differently; where they cut alike it is the printed number.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from validation import tcptrace, tcptrace_rules, tshark, tshark_rules
from validation.arrivals import Capture
from validation.case import FlagCase, History, PacketCase, SampleCase
from validation.connections import Connection
from validation.packets import Packet
from validation.reasons_cut import CUTS, CutCase
from validation.reasons_foreign import FOREIGN, NOTES
from validation.reasons_tcptrace import COUNTS, SAMPLES
from validation.reasons_tshark import REASONS
from validation.stream import RoundTrip, Stream
from validation.trustbed_side import Direction, Report

COUNT_FIELDS = ("packets", "payload_bytes", "unique_bytes", "retransmitted_packets", "retransmitted_bytes")
RTT_FIELDS = ("rtt_samples", "rtt_min", "rtt_mean", "rtt_max")
PRINTED_MS = 0.0501
Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome for one field. `reasons` are named when it is explained, `detail` says what is wrong when it is not."""

    tool: str
    field: str
    state: str
    reasons: tuple[str, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class Result:
    """All findings of one connection and direction."""

    connection: int
    source: Endpoint
    destination: Endpoint
    findings: list[Finding] = field(default_factory=list)

    @property
    def state(self) -> str:
        """The worst of its fields."""
        states = {finding.state for finding in self.findings}
        return "unexplained" if "unexplained" in states else "explained" if "explained" in states else "equal"

    @property
    def reasons(self) -> list[str]:
        """Every reason used, as tool.reason, sorted."""
        return sorted({f"{finding.tool}.{reason}" for finding in self.findings for reason in finding.reasons})


@dataclass(frozen=True, slots=True)
class Tools:
    """What the two tools said about a capture; None where one cannot read it."""

    tcptrace: list[tcptrace.Connection] | None
    tshark: dict[int, tshark.Frame] | None


class Comparison:
    """One capture: both tools' models are run once, then every direction is compared."""

    def __init__(self, capture: Capture, connections: list[Connection], report: Report, tools: Tools) -> None:
        self.capture = capture
        self.connections = connections
        self.report = report
        self.tools = tools
        self.pairs = tcptrace_rules.trace(capture.packets)
        self.pair_of = {frame: pair for pair in self.pairs for side in pair.sides for frame in side.frames}
        self.wrong_pairs = self._wrong_pairs()
        self.siblings: dict[tuple[Endpoint, Endpoint], list[Connection]] = defaultdict(list)
        for connection in connections:
            self.siblings[connection.endpoints].append(connection)
        self.analysis = tshark_rules.analyse(capture.packets)
        self.stream_frames: dict[tuple[int, Endpoint], set[int]] = defaultdict(set)
        for packet in capture.packets:
            self.stream_frames[self.analysis.streams[packet.frame], packet.sender].add(packet.frame)

    def results(self) -> list[Result]:
        """Every direction with at least one packet, then what only the tools see."""
        found: list[Result] = []
        for connection in self.connections:
            history = History.of(connection)
            for endpoint, stream in connection.streams.items():
                if stream.packets:
                    found.append(self._direction(connection, history, endpoint, stream))
        return [*found, *self._foreign(), *self._only_tshark()]

    # trustbed against the oracle --------------------------------------------------------------------------------

    def _direction(self, connection: Connection, history: History, endpoint: Endpoint, stream: Stream) -> Result:
        result = Result(connection.number, endpoint, connection.peer(endpoint))
        direction = self.report.directions.get(connection.number, {}).get(endpoint)
        if direction is None:
            result.findings.append(Finding("trustbed", "connection", "unexplained", (), "trustbed has no connection that begins here"))
            return result
        if self.tools.tcptrace is not None:
            result.findings += self._against_tcptrace(connection, history, endpoint, stream, direction)
        if self.tools.tshark is not None:
            result.findings += self._against_tshark(connection, history, endpoint, stream, direction)
        return result

    # tcptrace ---------------------------------------------------------------------------------------------------

    def _wrong_pairs(self) -> set[int]:
        """Connections of tcptrace whose printed numbers the model does not give; all of them when they cannot be matched."""
        printed = self.tools.tcptrace
        if printed is None:
            return set()
        if len(printed) != len(self.pairs):
            return {id(pair) for pair in self.pairs}
        return {id(pair) for pair, connection in zip(self.pairs, printed, strict=True) if not _as_printed(pair, connection)}

    def _against_tcptrace(
        self, connection: Connection, history: History, endpoint: Endpoint, stream: Stream, direction: Direction
    ) -> list[Finding]:
        involved = {id(self.pair_of[f]): self.pair_of[f] for f in stream.frames if f in self.pair_of}
        if any(key in self.wrong_pairs for key in involved):
            return [Finding("tcptrace", "connection", "unexplained", (), "the model of tcptrace does not give what it printed")]
        sides = [pair.side(endpoint) for pair in involved.values()]
        own = {frame for frame in stream.frames if frame in self.pair_of}
        findings = [self._cut("tcptrace", connection, own, [set(side.frames) for side in sides])]
        findings += _counts(history, stream, direction, sides, {f: self.pair_of[f].first_frame for f in own})
        findings += _round_trips(history, stream, direction, sides)
        return findings

    def _cut(self, tool: str, connection: Connection, own: set[int], groups: list[set[int]]) -> Finding:
        """Whether the tool cuts the connection where trustbed does. `groups`: frames of this direction, by instance of the tool."""
        theirs = set().union(*groups)
        case = CutCase(connection, self.siblings[connection.endpoints], len(groups) > 1, bool(theirs - own))
        if not case.split and not case.joined:
            return Finding(tool, "connection", "equal")
        names = [reason.name for reason in CUTS if reason.tool in (tool, "both") and reason.holds(case)]
        if names:
            return Finding(tool, "connection", "explained", tuple(names))
        detail = f"{len(groups)} instances, {len(theirs - own)} packets of other instances"
        return Finding(tool, "connection", "unexplained", (), detail)

    # tshark -----------------------------------------------------------------------------------------------------

    def _against_tshark(
        self, connection: Connection, history: History, endpoint: Endpoint, stream: Stream, direction: Direction
    ) -> list[Finding]:
        frames = self.tools.tshark
        assert frames is not None
        streams = sorted({self.analysis.streams[f] for f in stream.frames if f in self.analysis.streams})
        groups = [self.stream_frames[number, endpoint] for number in streams]
        own = {f for f in stream.frames if f in self.analysis.streams}
        findings = [self._cut("tshark", connection, own, groups)]
        findings += self._lengths(history, stream, direction, frames)
        findings += self._flags(connection, history, endpoint, stream, direction, frames)
        return findings

    def _lengths(self, history: History, stream: Stream, direction: Direction, frames: dict[int, tshark.Frame]) -> list[Finding]:
        seen = [frame for frame in stream.frames if frame in frames]
        lengths = {frame: frames[frame].lengths[-1] if frames[frame].lengths else 0 for frame in seen}
        found = []
        for name, theirs, ours in (
            ("packets", len(seen), direction.packets),
            ("payload_bytes", sum(lengths.values()), direction.payload_bytes),
        ):
            if theirs == ours:
                found.append(Finding("tshark", name, "equal"))
            else:
                found.append(_explain_lengths(name, history, stream, direction, lengths))
        return found

    def _flags(
        self,
        connection: Connection,
        history: History,
        endpoint: Endpoint,
        stream: Stream,
        direction: Direction,
        frames: dict[int, tshark.Frame],
    ) -> list[Finding]:
        wrong = _trustbed_flags_differ(stream, connection.streams[connection.peer(endpoint)], direction)
        expected = _expected_flags(stream, connection.streams[connection.peer(endpoint)])
        changed: dict[str, set[str]] = defaultdict(set)
        bad: dict[str, list[str]] = defaultdict(list)
        for frame in stream.frames:
            if frame not in frames or frame not in self.analysis.situations:
                continue
            observed, wanted = _observed(frames[frame]), frozenset(expected.get(frame, ()))
            if observed == wanted:
                continue
            packet, situation = history.packet(frame), self.analysis.situations[frame]
            case = FlagCase(packet, wanted, observed, situation, history, self.analysis.first_frames[self.analysis.streams[frame]])
            faithful = tshark_rules.printed(packet, situation) == observed or packet.multipath
            reasons, left = explain_flags(case) if faithful else ([], observed ^ wanted)
            for flag in observed ^ wanted:
                if flag in left:
                    bad[flag].append(f"frame {frame}: trustbed {sorted(wanted) or 'none'}, tshark {sorted(observed) or 'none'}")
                else:
                    changed[flag] |= {name for name, touches in reasons if flag in touches}
        found = []
        for flag in tshark.FLAGS:
            if flag in wrong:
                found.append(Finding("tshark", flag, "unexplained", (), wrong[flag]))
            elif bad[flag]:
                found.append(Finding("tshark", flag, "unexplained", (), "; ".join(bad[flag][:3])))
            else:
                found.append(Finding("tshark", flag, "explained" if changed[flag] else "equal", tuple(sorted(changed[flag]))))
        return found

    # What only the tools see ------------------------------------------------------------------------------------

    def _foreign(self) -> list[Result]:
        """Directions of the tools that hold no packet of any connection of trustbed."""
        own = {packet.frame for connection in self.connections for packet in connection.packets}
        by_direction: dict[tuple[int, Endpoint, Endpoint], list[Packet]] = defaultdict(list)
        for packet in self.capture.packets:
            if packet.frame not in own:
                by_direction[self.analysis.streams[packet.frame], packet.sender, packet.receiver].append(packet)
        found = []
        for (_, source, destination), packets in by_direction.items():
            result = Result(packets[0].frame, source, destination)
            names = [{reason.name for reason in FOREIGN if reason.holds(packet)} for packet in packets]
            if all(names):
                result.findings.append(Finding("trustbed", "connection", "explained", tuple(sorted(set().union(*names)))))
            else:
                bare = next(packet.frame for packet, name in zip(packets, names, strict=True) if not name)
                result.findings.append(Finding("trustbed", "connection", "unexplained", (), f"trustbed does not measure frame {bare}"))
            found.append(result)
        return found

    def _only_tshark(self) -> list[Result]:
        """Directions of tshark that hold no packet the oracle's reader takes for one."""
        known = {packet.frame for packet in self.capture.packets}
        by_direction: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, frame in (self.tools.tshark or {}).items():
            # Without a stream number the dissector gave up before the ports.
            if number not in known and frame.streams and frame.ports:
                by_direction[frame.streams[-1], frame.ports[-1]].append(number)
        found = []
        for (_, port), numbers in by_direction.items():
            result = Result(numbers[0], ("?", port), ("?", 0))
            names = [next((n.name for n in NOTES if n.holds(self.capture.foreign.get(number, []))), "") for number in numbers]
            if all(names):
                result.findings.append(Finding("tshark", "connection", "explained", tuple(sorted(set(names)))))
            else:
                detail = f"frame {numbers[names.index('')]} holds no TCP packet for the oracle's reader"
                result.findings.append(Finding("tshark", "connection", "unexplained", (), detail))
            found.append(result)
        return found


def _as_printed(pair: tcptrace_rules.Pair, connection: tcptrace.Connection) -> bool:
    names = tuple(f"{host}:{port}" for host, port in pair.endpoints)
    return names == connection.endpoints and all(
        _side_as_printed(side, numbers) for side, numbers in zip(pair.sides, connection.sides, strict=True)
    )


def _side_as_printed(side: tcptrace_rules.Side, numbers: dict[str, float]) -> bool:
    counts = {
        "packets": side.packets,
        "data_packets": side.data_packets,
        "payload_bytes": side.data_bytes,
        "unique_bytes": side.unique_bytes,
        "retransmitted_packets": side.retransmitted_packets,
        "retransmitted_bytes": side.retransmitted_bytes,
        "rtt_samples": len(side.samples),
    }
    if any(numbers.get(name) != value for name, value in counts.items()):
        return False
    largest = max((sample.rtt_us for sample in side.samples), default=0)
    times = {"rtt_min_ms": side.rtt_min_us, "rtt_mean_ms": side.rtt_mean_us, "rtt_max_ms": largest}
    return all(abs(numbers.get(name, 0) - value / 1000) <= PRINTED_MS for name, value in times.items())


def _effects(stream: Stream, frame: int, history: History) -> dict[str, int]:
    """What one packet adds to the totals of its direction by trustbed's definitions."""
    effect = dict.fromkeys(COUNT_FIELDS, 0)
    effect["packets"] = 1
    outcome = stream.outcomes.get(frame)
    if outcome is None:
        packet = history.packet(frame)
        later = packet.fragment and packet.flags == 0 and frame not in history.connection.after_reset
        effect["payload_bytes"] = packet.payload if later else 0
        return effect
    data = outcome.kind not in ("keep_alive", "window_probe")
    effect["payload_bytes"] = outcome.packet.payload if data else 0
    effect["unique_bytes"] = outcome.fresh
    if outcome.kind == "retransmission":
        effect["retransmitted_packets"], effect["retransmitted_bytes"] = 1, outcome.overlap
    return effect


def _tool_effects(sides: list[tcptrace_rules.Side], frame: int, packet: Packet, counted: bool) -> dict[str, int]:
    effect = dict.fromkeys(COUNT_FIELDS, 0)
    if not counted:
        return effect
    length = tcptrace_rules.payload(packet)
    effect["packets"], effect["payload_bytes"] = 1, max(0, length)
    for side in sides:
        if (taken := side.effects.get(frame)) is not None:
            effect["unique_bytes"] = taken.unique_bytes
            effect["retransmitted_packets"] = int(taken.retransmitted_bytes > 0)
            effect["retransmitted_bytes"] = taken.retransmitted_bytes
    return effect


def _counts(
    history: History, stream: Stream, direction: Direction, sides: list[tcptrace_rules.Side], began: dict[int, int]
) -> list[Finding]:
    transfer = direction.transfer or {}
    ours = {"packets": direction.packets, "payload_bytes": direction.payload_bytes}
    ours |= {name: transfer.get(name, 0) for name in COUNT_FIELDS[2:]}
    counted = {frame for side in sides for frame in side.frames}
    mine, theirs = dict.fromkeys(COUNT_FIELDS, 0), dict.fromkeys(COUNT_FIELDS, 0)
    reasons: dict[str, set[str]] = defaultdict(set)
    bad: dict[str, list[str]] = defaultdict(list)
    for frame in stream.frames:
        packet = history.packet(frame)
        a, b = _effects(stream, frame, history), _tool_effects(sides, frame, packet, frame in counted)
        for name in COUNT_FIELDS:
            mine[name] += a[name]
            theirs[name] += b[name]
        if a != b:
            names, left = explain_counts(
                PacketCase(packet, history, began.get(frame, frame)), {name: b[name] - a[name] for name in COUNT_FIELDS}
            )
            for name in COUNT_FIELDS:
                if name in left:
                    bad[name].append(f"frame {frame}: {b[name] - a[name]:+d}")
                elif a[name] != b[name]:
                    reasons[name] |= {reason for reason, fields in names if name in fields}
    disagree = _segments_differ(stream, direction)
    found = []
    for name in COUNT_FIELDS:
        if ours[name] == theirs[name]:
            found.append(Finding("tcptrace", name, "equal"))
        elif ours[name] != mine[name] or disagree:
            why = disagree or f"the oracle says {mine[name]}"
            found.append(Finding("tcptrace", name, "unexplained", (), f"trustbed {ours[name]}, tcptrace {theirs[name]}; {why}"))
        elif bad[name]:
            detail = f"trustbed {ours[name]}, tcptrace {theirs[name]}; " + "; ".join(bad[name][:3])
            found.append(Finding("tcptrace", name, "unexplained", (), detail))
        else:
            found.append(Finding("tcptrace", name, "explained", tuple(sorted(reasons[name]))))
    return found


def explain_counts(case: PacketCase, delta: dict[str, int]) -> tuple[list[tuple[str, set[str]]], set[str]]:
    """Reasons (with the fields they touch) for a packet's difference, and the fields that stay unexplained."""
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


def explain_flags(case: FlagCase) -> tuple[list[tuple[str, frozenset[str]]], frozenset[str]]:
    """Reasons (with the flags they touch) for a frame's difference, and the flags that stay unexplained."""
    adds, drops = case.observed - case.expected, case.expected - case.observed
    used: list[tuple[str, frozenset[str]]] = []
    for reason in REASONS:
        touches = (adds & reason.adds) | (drops & reason.drops)
        if touches and reason.holds(case):
            used.append((reason.name, touches))
            adds, drops = adds - reason.adds, drops - reason.drops
    return used, adds | drops


def _segments_differ(stream: Stream, direction: Direction) -> str:
    """Where trustbed's table of segments says something else than the oracle, packet by packet; "" when nowhere."""
    mine = {
        frame: (outcome.start, outcome.packet.payload, outcome.overlap if outcome.kind == "retransmission" else 0, outcome.kind)
        for frame, outcome in stream.outcomes.items()
        if outcome.kind not in ("keep_alive", "window_probe")
    }
    ours = {frame: (row["offset"], row["length"], row["overlap"], row["class"]) for frame, row in direction.segments.items()}
    for frame in sorted(mine.keys() | ours.keys()):
        if mine.get(frame) != ours.get(frame):
            return f"segment {frame}: trustbed {ours.get(frame)}, oracle {mine.get(frame)}"
    return ""


# Round trips ----------------------------------------------------------------------------------------------------


def _oracle_samples(stream: Stream) -> list[RoundTrip]:
    samples = [trip for trip in stream.round_trips if trip.verdict == "sample"]
    return [stream.handshake, *samples] if stream.handshake else samples


def _round_trips(history: History, stream: Stream, direction: Direction, sides: list[tcptrace_rules.Side]) -> list[Finding]:
    mine = _oracle_samples(stream)
    if stream.data_packets == 0:
        mine = []
    theirs = [sample for side in sides for sample in side.samples if history.holds(sample.ack_frame)]
    transfer = direction.transfer or {}
    times = [transfer.get(f"rtt_{name}_ns") for name in ("min", "mean", "max")]
    ours = [transfer.get("rtt_samples", 0), *(None if value is None else value / 1e6 for value in times)]
    tools = _tool_statistics(theirs)
    equal = [ours[0] == tools[0], *(_same_time(a, b) for a, b in zip(ours[1:], tools[1:], strict=True))]
    if all(equal):
        return [Finding("tcptrace", name, "equal") for name in RTT_FIELDS]
    disagree = _samples_differ(mine, direction)
    names, bad = _explain_samples(history, mine, theirs)
    found = []
    for name, same, our, their in zip(RTT_FIELDS, equal, ours, tools, strict=True):
        if same:
            found.append(Finding("tcptrace", name, "equal"))
        elif disagree or bad:
            detail = f"trustbed {our}, tcptrace {their}; {disagree or bad[0]}"
            found.append(Finding("tcptrace", name, "unexplained", (), detail))
        else:
            found.append(Finding("tcptrace", name, "explained", tuple(sorted(names))))
    return found


def _tool_statistics(samples: list[tcptrace_rules.Sample]) -> list[float | None]:
    """Count, and minimum, mean and maximum in milliseconds, by tcptrace's rule that a minimum of 0 means "none yet"."""
    if not samples:
        return [0, None, None, None]
    values = [sample.rtt_us / 1000 for sample in samples]
    least = 0.0
    for value in values:
        least = value if least == 0 or value < least else least
    return [len(values), least, sum(values) / len(values), max(values)]


def _same_time(ours: float | None, theirs: float | None) -> bool:
    """Equal to the precision of a print with one decimal of a millisecond, and of stamps cut to microseconds."""
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= 0.001


def _samples_differ(mine: list[RoundTrip], direction: Direction) -> str:
    ours = sorted((index, rtt) for index, rtt, kind in direction.rtt_ns if kind == "ack")
    expected = sorted((trip.ack_frame, trip.rtt_ns) for trip in mine if trip.end != 0)
    for a, b in zip(ours, expected, strict=False):
        if a != b:
            return f"sample: trustbed {a}, oracle {b}"
    handshakes = [rtt for _, rtt, kind in direction.rtt_ns if kind == "syn"]
    if len(ours) != len(expected) or handshakes != [trip.rtt_ns for trip in mine if trip.end == 0]:
        return f"trustbed has {len(ours)}+{len(handshakes)} samples, the oracle {len(mine)}"
    return ""


def _explain_samples(history: History, mine: list[RoundTrip], theirs: list[tcptrace_rules.Sample]) -> tuple[set[str], list[str]]:
    own = {(trip.ack_frame, trip.sent_frame) for trip in mine}
    other = {(sample.ack_frame, sample.frame) for sample in theirs}
    names: set[str] = set()
    bad: list[str] = []
    for pairs, by_tool in ((other - own, True), (own - other, False)):
        for ack, sent in sorted(pairs):
            if not history.holds(sent):
                names.add("older_instance")
                continue
            case = SampleCase(history.packet(sent), history.packet(ack), by_tool, history)
            reason = explain_sample(case)
            if reason:
                names.add(reason)
            else:
                bad.append(f"only {'tcptrace' if by_tool else 'trustbed'} takes {sent}→{ack}")
    return names, bad


def explain_sample(case: SampleCase) -> str:
    """The first reason that holds for a round-trip time that only one side takes; "" when none does."""
    return next((reason.name for reason in SAMPLES if reason.by_tool == case.by_tool and reason.holds(case)), "")


# Flags ----------------------------------------------------------------------------------------------------------


def _observed(frame: tshark.Frame) -> frozenset[str]:
    """Tshark marks fast and spurious retransmissions as retransmissions, too; here each frame has one name."""
    if frame.flags & {"fast_retransmission", "spurious_retransmission"}:
        return frame.flags - {"retransmission"}
    return frame.flags


KINDS = {
    ("retransmission", "spurious"): "spurious_retransmission",
    ("retransmission", "fast"): "fast_retransmission",
    ("retransmission", "timeout"): "retransmission",
    ("fill", "reordered"): "out_of_order",
    ("fill", "lost_upstream"): "retransmission",
}


def _expected_flags(stream: Stream, peer: Stream) -> dict[int, set[str]]:
    """The flags that trustbed's classes ask for, by frame of this direction."""
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


def _trustbed_flags_differ(stream: Stream, peer: Stream, direction: Direction) -> dict[str, str]:
    """Flags for which trustbed's own totals are not those of the oracle."""
    transfer = direction.transfer
    if transfer is None:
        return {}
    causes = stream.causes
    pairs = {
        "spurious_retransmission": (transfer["retransmitted_spurious"], causes.get("spurious", 0)),
        "fast_retransmission": (transfer["retransmitted_fast"], causes.get("fast", 0)),
        "retransmission": (
            transfer["retransmitted_timeout"] + transfer["filled_lost_upstream"],
            causes.get("timeout", 0) + causes.get("lost_upstream", 0),
        ),
        "out_of_order": (transfer["filled_reordered"], causes.get("reordered", 0)),
        "keep_alive": (transfer["keep_alives"], len(stream.keep_alives)),
        "zero_window_probe": (transfer["window_probes"], len(stream.window_probes)),
        "duplicate_ack": (transfer["duplicate_acks"], len(stream.duplicate_acks)),
        "ack_lost_segment": (transfer["acked_unseen_bytes"] > 0, stream.unseen_at_end > 0),
    }
    return {flag: f"trustbed says {ours}, the oracle {mine}" for flag, (ours, mine) in pairs.items() if ours != mine}


def _explain_lengths(name: str, history: History, stream: Stream, direction: Direction, lengths: dict[int, int]) -> Finding:
    """Packets and payload that tshark counts otherwise: each packet that differs must have its reason."""
    mine = {frame: _effects(stream, frame, history)[name] for frame in stream.frames}
    if sum(mine.values()) != getattr(direction, name):
        detail = f"trustbed {getattr(direction, name)}, the oracle {sum(mine.values())}"
        return Finding("tshark", name, "unexplained", (), detail)
    names: set[str] = set()
    for frame in stream.frames:
        theirs = (1 if name == "packets" else lengths[frame]) if frame in lengths else 0
        if theirs != mine[frame]:
            reason = _length_reason(history.packet(frame), history, theirs - mine[frame])
            if not reason:
                detail = f"frame {frame}: {theirs - mine[frame]:+d}"
                return Finding("tshark", name, "unexplained", (), detail)
            names.add(reason)
    return Finding("tshark", name, "explained", tuple(sorted(names)))


def _length_reason(packet: Packet, history: History, delta: int) -> str:
    if packet.frame in history.connection.after_reset and delta == packet.payload - packet.beyond_frame:
        return "after_reset"
    if packet.fragment:
        return "fragment"
    if packet.beyond_frame and delta == -packet.beyond_frame:
        return "beyond_frame"
    kind = history.connection.streams[packet.sender].outcomes.get(packet.frame)
    if kind is not None and kind.kind in ("keep_alive", "window_probe") and delta == packet.payload:
        return kind.kind
    return ""
