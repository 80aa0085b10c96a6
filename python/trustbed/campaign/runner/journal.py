"""A campaign's journal: a line of JSON for each event.

Sessions, hosts that went up or down, rounds that began, ended or were skipped.

It is append-only, and a line is on the disk before the event that it announces begins. When its
writer is killed, at most the last line is truncated, and a round that began and did not end was
interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from trustbed.campaign import Recorded, Skip
from trustbed.campaign.schedule.outcomes import NOT_MEASURED
from trustbed.disk import flush


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """A line, written at this time (nanoseconds since the epoch); other fields are not read."""

    at_ns: int


class SessionLine(_Line, frozen=True, kw_only=True, tag="session"):
    """A session begins or continues the campaign."""


class ScheduledLine(_Line, frozen=True, kw_only=True, tag="scheduled"):
    """The first period of the campaign begins: its hosts are connected, or have failed."""


class HostLine(_Line, frozen=True, kw_only=True, tag="host"):
    """A host was connected, or is unreachable for a reason."""

    host: str
    up: bool
    why: str | None = None


class BeganLine(_Line, frozen=True, kw_only=True, tag="began"):
    """A round begins."""

    pair: str
    number: int


class EndedLine(_Line, frozen=True, kw_only=True, tag="ended"):
    """A round has ended; ``transport_losses`` names the hosts whose transport was lost meanwhile.

    Earlier versions called them ``ways_lost``.
    """

    pair: str
    number: int
    outcome: str
    transport_losses: tuple[str, ...] = ()
    ways_lost: tuple[str, ...] = ()


class SkippedLine(_Line, frozen=True, kw_only=True, tag="skipped"):
    """Consecutive rounds are skipped; ``by`` is the host or pair that prevents them."""

    pair: str
    first: int
    count: int
    reason: str
    due_ns: int | None = None
    by: str | None = None


class CapturesRemovedLine(_Line, frozen=True, kw_only=True, tag="captures_removed"):
    """The captures of a round were removed to make room."""


class FinishedLine(_Line, frozen=True, kw_only=True, tag="finished"):
    """The campaign has ended."""


Line: TypeAlias = (
    SessionLine
    | ScheduledLine
    | HostLine
    | BeganLine
    | EndedLine
    | SkippedLine
    | CapturesRemovedLine
    | FinishedLine
)
"""A line of the journal; ``event`` is its type."""
_DECODER = msgspec.json.Decoder(Line)


class Journal:
    """A file of lines; created with the first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._together: list[str] | None = None

    def append(self, at_ns: int, event: str, **facts: object) -> None:
        """Writes a line, and waits until it is on the disk."""
        line = json.dumps({"at_ns": at_ns, "event": event, **facts}, ensure_ascii=False)
        if self._together is None:
            self._write(line)
        else:
            self._together.append(line)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Writes the lines of a block at its end, and waits for all of them once."""
        self._together = []
        try:
            yield
        finally:
            lines, self._together = self._together, None
            if lines:
                self._write("\n".join(lines))

    def _write(self, text: str) -> None:
        with self.path.open("ab+") as stream:
            is_new = not stream.tell()
            if stream.tell() and not _ends_a_line(stream.fileno(), stream.tell()):
                text = f"\n{text}"  # after a truncated one
            stream.write(f"{text}\n".encode())
            stream.flush()
            os.fsync(stream.fileno())
        if is_new:
            flush(self.path.absolute().parent)

    def skipped(self, at_ns: int, skip: Skip) -> None:
        """Writes the line of skipped rounds."""
        facts = {
            "pair": skip.pair.name,
            "first": skip.numbers.start,
            "count": len(skip.numbers),
            "index": skip.index.name,
        }
        self.append(at_ns, "skipped", **facts, due_ns=skip.due_ns, reason=skip.reason, by=skip.by)

    def lines(self) -> Iterator[Line]:
        """All well-formed lines, in order; a truncated one is left out."""
        try:
            stream = self.path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            for text in stream:
                try:
                    yield _DECODER.decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue  # truncated by a kill, or not ours


def _ends_a_line(descriptor: int, length: int) -> bool:
    return os.pread(descriptor, 1, length - 1) == b"\n"


@dataclass(slots=True)
class PairState:
    """The rounds of a pair: their number by outcome, and the one that is running."""

    outcomes: Counter[str] = field(default_factory=Counter)
    running: int | None = None
    last_ns: int | None = None


@dataclass(slots=True)
class State:
    """The state of a campaign, from the lines of its journal.

    Memory is proportional to the number of rounds.
    """

    pairs: dict[str, PairState] = field(default_factory=dict)
    rounds: list[Recorded] = field(default_factory=list)
    hosts: dict[str, HostLine] = field(default_factory=dict)
    """The last line of each host."""
    scheduled_ns: int | None = None
    """When the first period began; earlier versions have no line for it."""
    sessions: int = 0
    removed_captures: int = 0
    ended: bool = False

    def of(self, pair: str) -> PairState:
        """The state of a pair."""
        return self.pairs.setdefault(pair, PairState())

    @property
    def interrupted(self) -> Iterator[tuple[str, int]]:
        """Rounds that began and did not end."""
        return (
            (name, pair.running) for name, pair in self.pairs.items() if pair.running is not None
        )


def state_of(lines: Iterator[Line]) -> State:
    """The state of a campaign after these lines."""
    state = State()
    began: dict[tuple[str, int], int] = {}
    for line in lines:
        match line:
            case SessionLine():
                state.sessions += 1
                state.ended = False
            case ScheduledLine():
                state.scheduled_ns = line.at_ns
            case HostLine():
                state.hosts[line.host] = line
            case BeganLine():
                _close(state, began, line.pair)  # it was killed before this
                began[line.pair, line.number] = line.at_ns
                pair = state.of(line.pair)
                pair.running, pair.last_ns = line.number, line.at_ns
            case EndedLine():
                at = began.pop((line.pair, line.number), None)
                pair = state.of(line.pair)
                pair.outcomes[line.outcome] += 1
                pair.running = None
                counts = line.outcome not in NOT_MEASURED
                state.rounds.append(
                    Recorded(pair=line.pair, number=line.number, began_ns=at if counts else None)
                )
            case SkippedLine():
                state.of(line.pair).outcomes[line.reason] += line.count
                last = line.first + line.count - 1
                state.rounds.append(Recorded(pair=line.pair, number=last, began_ns=None))
            case CapturesRemovedLine():
                state.removed_captures += 1
            case FinishedLine():
                state.ended = True
    return state


def _close(state: State, began: dict[tuple[str, int], int], pair: str) -> None:
    for key in [key for key in began if key[0] == pair]:
        del began[key]
        state.of(pair).outcomes["interrupted"] += 1
        state.rounds.append(Recorded(pair=key[0], number=key[1], began_ns=None))
