"""What has happened to a campaign, a line of JSON for each: sessions, hosts that came and went, rounds that began, ended or were skipped.

It is only ever appended to, and every line is on the disk before what it tells of begins. Whatever moment its writer is killed at, at most
the last line is cut, and a round that began and did not end was interrupted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.campaign import Recorded, Skip
from trustbed.campaign.outcomes import NOT_MEASURED

Line = Mapping[str, Any]


class Journal:
    """A file of lines; made when the first is written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, at_ns: int, event: str, **facts: object) -> None:
        """Writes a line, and waits until it is on the disk."""
        text = json.dumps({"at_ns": at_ns, "event": event, **facts}, ensure_ascii=False)
        with self.path.open("ab+") as stream:
            if stream.tell() and not _ends_a_line(stream.fileno(), stream.tell()):
                text = f"\n{text}"  # behind one that was cut
            stream.write(f"{text}\n".encode())
            stream.flush()
            os.fsync(stream.fileno())

    def skipped(self, at_ns: int, skip: Skip) -> None:
        """Rounds that do not take place."""
        facts = {
            "pair": skip.pair.name,
            "first": skip.numbers.start,
            "count": len(skip.numbers),
            "index": skip.index.name,
        }
        self.append(at_ns, "skipped", **facts, due_ns=skip.due_ns, reason=skip.reason, by=skip.by)

    def lines(self) -> Iterator[Line]:
        """Everything that can be read, in order."""
        try:
            stream = self.path.open(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        with stream:
            for text in stream:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue  # cut by a kill
                if isinstance(line, dict) and "event" in line:
                    yield line


def _ends_a_line(descriptor: int, length: int) -> bool:
    return os.pread(descriptor, 1, length - 1) == b"\n"


@dataclass(slots=True)
class PairState:
    """What became of the rounds of a pair: how many by outcome, and the one that runs."""

    outcomes: Counter[str] = field(default_factory=Counter)
    running: int | None = None
    last_ns: int | None = None


@dataclass(slots=True)
class State:
    """What the lines of a journal come to. Memory is what the rounds that took place need for their numbers."""

    pairs: dict[str, PairState] = field(default_factory=dict)
    rounds: list[Recorded] = field(default_factory=list)
    hosts: dict[str, Line] = field(default_factory=dict)
    """Of each host the last that was heard: ``up``, and why not."""
    sessions: int = 0
    removed_captures: int = 0
    ended: bool = False

    def of(self, pair: str) -> PairState:
        """That of a pair."""
        return self.pairs.setdefault(pair, PairState())

    @property
    def interrupted(self) -> Iterator[tuple[str, int]]:
        """Rounds that began and did not end."""
        return (
            (name, pair.running) for name, pair in self.pairs.items() if pair.running is not None
        )


def state_of(lines: Iterator[Line]) -> State:
    """Where a campaign stands after these lines."""
    state = State()
    began: dict[tuple[str, int], int] = {}
    for line in lines:
        match line["event"]:
            case "session":
                state.sessions += 1
                state.ended = False
            case "host":
                state.hosts[line["host"]] = line
            case "began":
                _close(state, began, line["pair"])  # a kill was before this
                began[line["pair"], line["number"]] = line["at_ns"]
                pair = state.of(line["pair"])
                pair.running, pair.last_ns = line["number"], line["at_ns"]
            case "ended":
                at = began.pop((line["pair"], line["number"]), None)
                pair = state.of(line["pair"])
                pair.outcomes[line["outcome"]] += 1
                pair.running = None
                counts = line["outcome"] not in NOT_MEASURED
                state.rounds.append(
                    Recorded(
                        pair=line["pair"], number=line["number"], began_ns=at if counts else None
                    )
                )
            case "skipped":
                state.of(line["pair"]).outcomes[line["reason"]] += line["count"]
                last = line["first"] + line["count"] - 1
                state.rounds.append(Recorded(pair=line["pair"], number=last, began_ns=None))
            case "captures_removed":
                state.removed_captures += 1
            case "finished":
                state.ended = True
    return state


def _close(state: State, began: dict[tuple[str, int], int], pair: str) -> None:
    for key in [key for key in began if key[0] == pair]:
        del began[key]
        state.of(pair).outcomes["interrupted"] += 1
        state.rounds.append(Recorded(pair=key[0], number=key[1], began_ns=None))
