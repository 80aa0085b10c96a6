"""Compares trustbed with tcptrace and tshark on one capture, by direction and field.

A field is *equal* when both report the same; *explained* when three things hold: the oracle's slow
reading of the packets by trustbed's definitions gives exactly trustbed's numbers, the oracle's
model of the tool gives exactly the tool's numbers, and every packet (sample, frame) on which the
two readings part satisfies a named reason within its bounds; *unexplained* otherwise.

The tool's number for a direction is taken over the frames of trustbed's direction, so that it has a
meaning where the two cut connections differently; where they cut alike it is the printed number.
The effect of cutting differently is found by asking the model what the tool would report for
trustbed's connection by itself.
"""

from collections import defaultdict
from dataclasses import dataclass

from validation import counts, flags, round_trips, tcptrace, tcptrace_rules, tshark, tshark_rules
from validation.arrivals import Capture
from validation.case import History
from validation.connections import Connection
from validation.finding import Endpoint, Finding, Result, equal, explained, unexplained
from validation.packets import Packet
from validation.reasons_cut import CUTS, CutCase
from validation.reasons_foreign import FOREIGN, NOTES
from validation.stream import Stream
from validation.trustbed_side import Direction, Report

PRINTED_MS = 0.0501


@dataclass(frozen=True, slots=True)
class Tools:
    """The output of the two tools for a capture; None where one cannot read it."""

    tcptrace: list[tcptrace.Connection] | None
    tshark: dict[int, tshark.Frame] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A direction under comparison."""

    connection: Connection
    history: History
    endpoint: Endpoint
    stream: Stream
    direction: Direction

    @property
    def peer(self) -> Stream:
        """The opposite direction."""
        return self.connection.streams[self.connection.peer(self.endpoint)]


class Comparison:
    """One capture: both tools' models are run once, then every direction is compared."""

    def __init__(
        self, capture: Capture, connections: list[Connection], report: Report, tools: Tools
    ) -> None:
        self.capture = capture
        self.connections = connections
        self.report = report
        self.tools = tools
        self.siblings: dict[tuple[Endpoint, Endpoint], list[Connection]] = defaultdict(list)
        for connection in connections:
            self.siblings[connection.endpoints].append(connection)
        self.pairs = tcptrace_rules.trace(capture.packets)
        self.pair_of = {
            frame: pair for pair in self.pairs for side in pair.sides for frame in side.frames
        }
        self.wrong_pairs = self._wrong_pairs()
        self.analysis = tshark_rules.analyse(capture.packets)
        self.stream_frames: dict[tuple[int, Endpoint], set[int]] = defaultdict(set)
        for packet in capture.packets:
            self.stream_frames[self.analysis.streams[packet.frame], packet.sender].add(packet.frame)

    def results(self) -> list[Result]:
        """Every direction with at least one packet, then what only the tools see."""
        found: list[Result] = []
        for connection in self.connections:
            history = History.of(connection)
            found += [
                self._result(connection, history, endpoint)
                for endpoint, each in connection.streams.items()
                if each.packets
            ]
        return [*found, *self._foreign(), *self._only_tshark()]

    def _result(self, connection: Connection, history: History, endpoint: Endpoint) -> Result:
        result = Result(connection.number, endpoint, connection.peer(endpoint))
        direction = self.report.directions.get(connection.number, {}).get(endpoint)
        if direction is None:
            result.findings.append(
                unexplained("trustbed", "connection", "trustbed has no connection that begins here")
            )
            return result
        subject = Subject(connection, history, endpoint, connection.streams[endpoint], direction)
        if self.tools.tcptrace is not None:
            result.findings += self._against_tcptrace(subject)
        if self.tools.tshark is not None:
            result.findings += self._against_tshark(subject, self.tools.tshark)
        return result

    def _cut(
        self, tool: str, connection: Connection, own: set[int], groups: list[set[int]]
    ) -> Finding:
        """Whether the tool cuts the connection where trustbed does.

        `groups`: frames of this direction, by instance of the tool.
        """
        theirs = set().union(*groups)
        case = CutCase(
            connection, self.siblings[connection.endpoints], len(groups) > 1, bool(theirs - own)
        )
        if not case.split and not case.joined:
            return equal(tool, "connection")
        names = {
            reason.name for reason in CUTS if reason.tool in (tool, "both") and reason.holds(case)
        }
        if names:
            return explained(tool, "connection", names)
        return unexplained(
            tool,
            "connection",
            f"{len(groups)} instances, {len(theirs - own)} packets of other instances",
        )

    # tcptrace

    def _wrong_pairs(self) -> set[int]:
        """Connections of tcptrace whose printed numbers the model does not give.

        All of them when they cannot be matched.
        """
        printed = self.tools.tcptrace
        if printed is None:
            return set()
        if len(printed) != len(self.pairs):
            return {id(pair) for pair in self.pairs}
        return {
            id(pair)
            for pair, connection in zip(self.pairs, printed, strict=True)
            if not as_printed(pair, connection)
        }

    def _against_tcptrace(self, subject: Subject) -> list[Finding]:
        stream, endpoint = subject.stream, subject.endpoint
        own = {frame for frame in stream.frames if frame in self.pair_of}
        involved = {id(self.pair_of[frame]): self.pair_of[frame] for frame in own}
        if any(key in self.wrong_pairs for key in involved):
            return [
                unexplained(
                    "tcptrace", "connection", "the model of tcptrace does not give what it printed"
                )
            ]
        sides = [pair.side(endpoint) for pair in involved.values()]
        cut = self._cut("tcptrace", subject.connection, own, [set(side.frames) for side in sides])
        alone = sides
        if cut.state != "equal":
            pair = tcptrace_rules.trace_alone(subject.history.packets)
            alone = [pair.side(endpoint)] if pair else []
        elif not sides:
            # The other direction may have been opened although none of this one's packets was.
            alone = sides = [pair.side(endpoint) for pair in self._pairs_of(subject.history)]
        tool = counts.Tool(sides, alone, cut.reasons)
        found = counts.compare(subject.history, stream, subject.direction, tool)
        return [cut, *found, *round_trips.compare(subject.history, stream, subject.direction, tool)]

    def _pairs_of(self, history: History) -> list[tcptrace_rules.Pair]:
        pairs = (
            self.pair_of[packet.frame] for packet in history.packets if packet.frame in self.pair_of
        )
        return list({id(pair): pair for pair in pairs}.values())

    # tshark

    def _against_tshark(self, subject: Subject, frames: dict[int, tshark.Frame]) -> list[Finding]:
        own = {frame for frame in subject.stream.frames if frame in self.analysis.streams}
        streams = sorted({self.analysis.streams[frame] for frame in own})
        cut = self._cut(
            "tshark",
            subject.connection,
            own,
            [self.stream_frames[number, subject.endpoint] for number in streams],
        )
        alone = believing = self.analysis
        packets = subject.history.packets
        if cut.state != "equal":
            alone = believing = tshark_rules.analyse(packets, cuts=False)
        if any(packet.beyond_frame for packet in packets):
            believing = tshark_rules.analyse(packets, cuts=False, believes_ip=True)
        tool = flags.Tool(frames, self.analysis, alone, believing, cut.reasons)
        return [
            cut,
            *flags.compare(subject.history, subject.stream, subject.peer, subject.direction, tool),
        ]

    # What only the tools see

    def _foreign(self) -> list[Result]:
        """Directions of the tools that hold no packet of any connection of trustbed."""
        own = {packet.frame for connection in self.connections for packet in connection.packets}
        by_direction: dict[tuple[int, Endpoint, Endpoint], list[Packet]] = defaultdict(list)
        for packet in self.capture.packets:
            if packet.frame not in own:
                by_direction[
                    self.analysis.streams[packet.frame], packet.sender, packet.receiver
                ].append(packet)
        found = []
        for (_, source, destination), packets in by_direction.items():
            names = [
                {reason.name for reason in FOREIGN if reason.holds(packet)} for packet in packets
            ]
            result = Result(packets[0].frame, source, destination)
            if all(names):
                result.findings.append(explained("trustbed", "connection", set().union(*names)))
            else:
                bare = next(
                    packet.frame for packet, name in zip(packets, names, strict=True) if not name
                )
                result.findings.append(
                    unexplained("trustbed", "connection", f"trustbed does not measure frame {bare}")
                )
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
            names = [
                next((n.name for n in NOTES if n.holds(self.capture.foreign.get(number, []))), "")
                for number in numbers
            ]
            result = Result(numbers[0], ("?", port), ("?", 0))
            if all(names):
                result.findings.append(explained("tshark", "connection", set(names)))
            else:
                detail = (
                    f"frame {numbers[names.index('')]} holds no TCP packet for the oracle's reader"
                )
                result.findings.append(unexplained("tshark", "connection", detail))
            found.append(result)
        return found


def as_printed(pair: tcptrace_rules.Pair, connection: tcptrace.Connection) -> bool:
    """Whether the model of tcptrace gives the numbers that it printed for a connection."""
    names = tuple(f"{host}:{port}" for host, port in pair.endpoints)
    sides = zip(pair.sides, connection.sides, strict=True)
    return names == connection.endpoints and all(
        _side_as_printed(side, numbers) for side, numbers in sides
    )


def _side_as_printed(side: tcptrace_rules.Side, numbers: dict[str, float]) -> bool:
    exact = {
        "packets": side.packets,
        "data_packets": side.data_packets,
        "payload_bytes": side.data_bytes,
        "unique_bytes": side.unique_bytes,
        "retransmitted_packets": side.retransmitted_packets,
        "retransmitted_bytes": side.retransmitted_bytes,
        "rtt_samples": len(side.samples),
    }
    if any(numbers.get(name) != value for name, value in exact.items()):
        return False
    largest = max((sample.rtt_us for sample in side.samples), default=0)
    times = {"rtt_min_ms": side.rtt_min_us, "rtt_mean_ms": side.rtt_mean_us, "rtt_max_ms": largest}
    return all(
        abs(numbers.get(name, 0) - value / 1000) <= PRINTED_MS for name, value in times.items()
    )
