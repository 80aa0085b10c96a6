"""The timeline of a campaign's journal.

When each round began, which rounds did not take place, when a host was down.

:func:`~trustbed.campaign.runner.journal.state_of` has the current state of a campaign. Memory is a
few numbers per line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import intern

from trustbed.campaign import Stretch
from trustbed.campaign.runner.journal import BeganLine, EndedLine, HostLine, Line, SkippedLine


@dataclass(slots=True)
class History:
    """Times of rounds and hosts.

    Attributes:
        began: When each round began, by its pair and number, in ns since the epoch.
        stretches: Per pair, rounds that were skipped, failed or interrupted, or in which a
            connection failed.
        down: Per host, when it was down, from and to; ``None``: it still is.
        lost_to: Rounds that were skipped because a host was down, or because a round waited for
            one, by that host.
        last_ns: When the last line was written.
    """

    began: dict[tuple[str, int], int] = field(default_factory=dict)
    stretches: dict[str, list[Stretch]] = field(default_factory=dict)
    down: dict[str, list[tuple[int, int | None]]] = field(default_factory=dict)
    lost_to: Counter[str] = field(default_factory=Counter)
    last_ns: int | None = None

    def _add(self, pair: str, kind: str, begin: int, end: int, rounds: int = 1) -> None:
        self.stretches.setdefault(pair, []).append(
            Stretch(kind=intern(kind), from_ns=begin, to_ns=end, rounds=rounds)
        )

    def _host(self, host: str, at: int, *, up: bool) -> None:
        spans = self.down.setdefault(host, [])
        is_open = bool(spans) and spans[-1][1] is None
        if up and is_open:
            spans[-1] = (spans[-1][0], at)
        elif not up and not is_open:
            spans.append((at, None))

    def _interrupted(self, pair: str, running: dict[str, int], until: int) -> None:
        number = running.pop(pair, None)
        if number is not None:
            self._add(pair, "interrupted", self.began[pair, number], until)


def history_of(lines: Iterable[Line], *, period_ns: int) -> History:
    """The history that a journal's lines describe.

    ``period_ns`` is the campaign's period, the length of a skipped round.
    """
    history = History()
    running: dict[str, int] = {}
    held: Counter[str] = Counter()
    for line in lines:
        at = line.at_ns
        history.last_ns = at
        match line:
            case HostLine():
                history._host(line.host, at, up=line.up)
            case BeganLine():
                pair = intern(line.pair)
                history._interrupted(pair, running, at)  # it was killed before this
                history.began[pair, line.number] = at
                running[pair] = line.number
                held[pair] = 0
            case EndedLine():
                running.pop(line.pair, None)
                for host in line.transport_losses or line.ways_lost:
                    history.lost_to[host] += held[line.pair]
                if line.outcome != "complete":
                    begin = history.began.get((line.pair, line.number), at)
                    end = begin if line.outcome == "interrupted" else max(at, begin)
                    history._add(line.pair, line.outcome, begin, end)
            case SkippedLine():
                due, count = line.due_ns or at, line.count
                history._add(line.pair, line.reason, due, due + count * period_ns, count)
                if line.reason == "unreachable" and line.by is not None:
                    history.lost_to[line.by] += count
                elif line.reason == "overrun" and line.by is not None:
                    held[line.by] += count
    return history
