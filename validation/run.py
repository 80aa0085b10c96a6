"""Runs all three tools on a capture; the results are small enough to send between processes."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from validation import arrivals, captures, connections, tcptrace, trustbed_side, tshark
from validation.arrivals import TUNNELS
from validation.compare import Comparison, Tools
from validation.finding import Result
from validation.records import Record


@dataclass(frozen=True, slots=True)
class Open:
    """A direction that stays unexplained, in one line per field."""

    capture: str
    connection: int
    source: str
    destination: str
    details: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """A capture's comparison.

    Directions by state, fields by (tool, field, state), reasons by the directions they explain.
    """

    name: str
    why_not: str = ""
    tcptrace: str = ""
    tshark: str = ""
    connections: int = 0
    states: Counter[str] = field(default_factory=Counter)
    fields: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    unexplained: list[Open] = field(default_factory=list)

    @property
    def directions(self) -> int:
        """Directions compared."""
        return sum(self.states.values())

    def add(self, result: Result) -> None:
        """Takes a direction in."""
        self.states[result.state] += 1
        self.fields.update(
            (finding.tool, finding.field, finding.state) for finding in result.findings
        )
        self.reasons.update(result.reasons)
        if result.state == "unexplained":
            details = tuple(
                f"{f.tool} {f.field}: {f.detail}"
                for f in result.findings
                if f.state == "unexplained"
            )
            self.unexplained.append(
                Open(
                    self.name,
                    result.connection,
                    _name(result.source),
                    _name(result.destination),
                    details,
                )
            )


def _name(endpoint: tuple[str, int]) -> str:
    address, port = endpoint
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def outcomes(source: captures.Source) -> list[Outcome]:
    """The capture as it is, and with `--inner` if it holds tunnels."""
    loaded = captures.load(source)
    if isinstance(loaded, captures.Unread):
        return [Outcome(source.name, why_not=loaded.why)]
    plain = _outcome(source.name, source.path, loaded, inner=False)
    if plain.why_not or not any(
        _tunnelled(packet.wrapping) for packet in arrivals.read(loaded).packets
    ):
        return [plain]
    return [plain, _outcome(f"{source.name} (--inner)", source.path, loaded, inner=True)]


def _tunnelled(wrapping: tuple[str, ...]) -> bool:
    return any(layer in TUNNELS for layer in wrapping)


def _outcome(name: str, path: Path, loaded: list[Record], *, inner: bool) -> Outcome:
    outcome = Outcome(name)
    capture = arrivals.read(loaded, inner=inner)
    try:
        report = trustbed_side.run(path, inner=inner)
    except trustbed_side.UnreadableError as error:
        outcome.why_not = f"refused by trustbed: {error}"
        return outcome
    tools = Tools(_tcptrace(outcome, path, inner=inner), _tshark(outcome, path))
    found = connections.cut(capture.arrivals)
    if inner:
        found = [
            connection
            for connection in found
            if any(_tunnelled(packet.wrapping) for packet in connection.packets)
        ]
    outcome.connections = len(found)
    own = {connection.number for connection in found}
    for result in Comparison(capture, found, report, tools).results():
        if not inner or result.connection in own:
            outcome.add(result)
    return outcome


def _tcptrace(outcome: Outcome, path: Path, *, inner: bool) -> list[tcptrace.Connection] | None:
    if inner:
        outcome.tcptrace = "does not open tunnels"
        return None
    try:
        return tcptrace.run(path)
    except tcptrace.UnreadableError as error:
        outcome.tcptrace = str(error)
        return None


def _tshark(outcome: Outcome, path: Path) -> dict[int, tshark.Frame] | None:
    try:
        return tshark.run(path)
    except tshark.UnreadableError as error:
        outcome.tshark = str(error)
        return None
