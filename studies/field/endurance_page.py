"""What a campaign says of its rounds, held against what was done to its hosts.

And its page about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.campaign.runner.journal import BeganLine, EndedLine, SkippedLine
from trustbed.campaign.schedule.schedule import SkipReason

_MARGIN_SECONDS = 40.0
"""What a fault may still be felt for after its end.

A host that is there again is tried every minute, and a round takes its time.
"""
_RETRY_SECONDS = 60.0
_LOST = frozenset({"failed", "partial", "unreachable", "interrupted", "missed", "overrun"})
_SKIPPED = frozenset(get_args(SkipReason))
_HOST_CAUSES = frozenset({"host_scheduling", "host_stall"})

Told = Mapping[str, Any]
Fault = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round as the campaign tells of it.

    Moments in seconds of the real-time clock, of skipped ones the one when they were due.

    ``by`` is the pair that held a host while one was overrun.
    """

    pair: str
    number: int
    began: float
    ended: float
    outcome: str
    use: str | None = None
    causes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    troubles: int = 0
    by: str | None = None

    @property
    def hosts(self) -> set[str]:
        """Whose fault it may be."""
        return {
            host for pair in (self.pair, self.by) if pair is not None for host in pair.split("-")
        }


@dataclass(frozen=True, kw_only=True)
class Check:
    """Something that should be true of the campaign, what was wanted of it, and what was found."""

    what: str
    wanted: str
    found: str
    holds: bool


def rounds_of(out: Path) -> list[Round]:
    """All rounds of a campaign, by its journal and what was judged."""
    directory = CampaignDirectory(out)
    judged = {
        (subdirectory.pair, subdirectory.number): subdirectory
        for subdirectory in directory.rounds()
    }
    began: dict[tuple[str, int], float] = {}
    found = []
    for line in directory.journal.lines():
        if isinstance(line, SkippedLine):
            due = (line.due_ns or line.at_ns) / 1e9
            found += [
                Round(
                    pair=line.pair,
                    number=number,
                    began=due,
                    ended=due,
                    outcome=line.reason,
                    by=line.by,
                )
                for number in range(line.first, line.first + line.count)
            ]
        elif isinstance(line, BeganLine):
            began[line.pair, line.number] = line.at_ns / 1e9
        elif isinstance(line, EndedLine):
            key = line.pair, line.number
            facts: dict[str, Any] = {}
            if (subdirectory := judged.get(key)) is not None and subdirectory.is_judged:
                found_in = subdirectory.judged()
                causes = tuple(
                    row.cause for row in found_in.connections if row.role == "data" and row.cause
                )
                facts = {"use": found_in.use, "causes": causes, "flags": tuple(found_in.flags)}
                facts["troubles"] = len(subdirectory.record().warnings)
            found.append(
                Round(
                    pair=key[0],
                    number=key[1],
                    began=began[key],
                    ended=line.at_ns / 1e9,
                    outcome=line.outcome,
                    **facts,
                )
            )
    return sorted(found, key=lambda one: (one.began, one.pair))


def checked(told: Told, rounds: Sequence[Round]) -> list[Check]:
    """What the campaign should say, and whether it does."""
    calm = [one for one in rounds if not _near(one, told["faults"])]
    complete = [one for one in calm if one.outcome == "complete"]
    found = [
        *_whole(told, rounds),
        _share("rounds away from every fault: complete", complete, calm, 0.98),
        _share(
            "of these: to be trusted",
            [one for one in complete if one.use == "trust"],
            complete,
            0.9,
        ),
    ]
    for fault in told["faults"]:
        found += _FAULTS[fault["kind"]](fault, rounds)
    for fault in told["faults"]:
        if fault["kind"] in ("SSH cut", "host killed"):
            end = fault["end"] + _RETRY_SECONDS + _MARGIN_SECONDS
            later = [
                one for one in calm if fault["host"] in one.pair.split("-") and one.began > end
            ]
            measured = [one for one in later if one.outcome == "complete"]
            found.append(
                _share(
                    f"{_name(fault)}: rounds of it afterwards, away from other faults: complete",
                    measured,
                    later,
                    0.98,
                )
            )
    return found


def _whole(told: Told, rounds: Sequence[Round]) -> list[Check]:
    """The campaign's end, and whether every round has a line in its journal."""
    pairs = ["-".join(pair) for pair in told["pairs"]]
    asked = int(told["seconds"] // told["period"])
    numbers = {pair: Counter(one.number for one in rounds if one.pair == pair) for pair in pairs}
    return [
        Check(
            what="the campaign ended by itself: its code",
            wanted="0",
            found=str(told["code"]),
            holds=told["code"] == 0,
        ),
        Check(
            what=f"rounds that are told of, each exactly once, of {len(pairs)} × {asked}",
            wanted=str(len(pairs) * asked),
            found=str(sum(map(len, numbers.values()))),
            holds=all(numbers[pair] == Counter(range(asked)) for pair in pairs),
        ),
    ]


def _cut(fault: Fault, rounds: Sequence[Round]) -> list[Check]:
    own = [one for one in rounds if _struck(one, fault)]
    complete = [one for one in own if one.outcome == "complete"]
    return [
        _share(
            f"{_name(fault)}: rounds in which the sessions were cut are complete all the same",
            complete,
            own,
            1,
        )
    ]


def _killed(fault: Fault, rounds: Sequence[Round]) -> list[Check]:
    own = [one for one in rounds if _struck(one, fault)]
    return [
        _share(
            f"{_name(fault)}: rounds while it is dead are not complete",
            [one for one in own if one.outcome in _LOST],
            own,
            1,
        )
    ]


def _full(fault: Fault, rounds: Sequence[Round]) -> list[Check]:
    """Rounds that were skipped kept nothing, and show nothing of what a full disk does."""
    own = [one for one in rounds if _struck(one, fault) and one.outcome not in _SKIPPED]
    saying = [one for one in own if one.flags or one.troubles]
    return [
        _share(
            (
                f"{_name(fault)}: rounds that took place say, by a finding or a trouble, what "
                f"was not kept"
            ),
            saying,
            own,
            1,
        )
    ]


def _starved(fault: Fault, rounds: Sequence[Round]) -> list[Check]:
    own = [one for one in rounds if _struck(one, fault)]
    kept_out = [one for one in own if one.outcome in _LOST or _is_hosts(one)]
    discarded = sum(_is_hosts(one) for one in rounds if one.pair.split("-")[0] == fault["host"])
    return [
        _share(
            (
                f"{_name(fault)}: rounds that it sends meanwhile are not complete, or "
                f"discarded for the host"
            ),
            kept_out,
            own,
            0.8,
        ),
        Check(
            what=(
                f"{_name(fault)}: rounds that it sends, in the whole campaign, that took "
                f"place and are discarded for the host"
            ),
            wanted="at least 1",
            found=str(discarded),
            holds=discarded >= 1,
        ),
    ]


def _stopped(fault: Fault, rounds: Sequence[Round]) -> list[Check]:
    lost = [
        one
        for one in rounds
        if one.ended >= fault["begin"] and one.began <= fault["end"] and one.outcome != "complete"
    ]
    said = Counter(one.outcome for one in lost)
    return [
        Check(
            what=f"{fault['kind']}: rounds of that time that are not complete",
            wanted="interrupted, missed, or waited for a pair that is named",
            found=", ".join(f"{count} {name}" for name, count in said.items()) or "none",
            holds=all(
                one.outcome in ("interrupted", "missed") or one.by is not None for one in lost
            ),
        )
    ]


_FAULTS: Mapping[str, Callable[[Fault, Sequence[Round]], list[Check]]] = {
    "SSH cut": _cut,
    "host killed": _killed,
    "disk full": _full,
    "starved": _starved,
    "campaign interrupted": _stopped,
    "campaign killed": _stopped,
}
"""What is asked of a fault of each kind."""


def _name(fault: Fault) -> str:
    return f"{fault['kind']} ({fault['host']})"


def _share(what: str, holding: Sequence[Round], everything: Sequence[Round], least: float) -> Check:
    held = bool(everything) and len(holding) >= least * len(everything)
    wanted = "all" if least == 1 else f"at least {least:.0%}"
    return Check(what=what, wanted=wanted, found=f"{len(holding)} of {len(everything)}", holds=held)


def _is_hosts(one: Round) -> bool:
    return one.use == "discard" and bool(_HOST_CAUSES & set(one.causes))


def _struck(one: Round, fault: Fault) -> bool:
    """Whether a fault held while a round ran.

    Who is starved sends: as a receiver it has little to do.
    """
    hosts = one.pair.split("-")
    if (
        fault["host"] is None
        or fault["host"] not in hosts
        or (fault["kind"] == "starved" and fault["host"] != hosts[0])
    ):
        return False
    begin, end = float(fault["begin"]), float(fault["end"])
    if fault["kind"] == "SSH cut":
        # From its beginning on a session to cut was waited for, as a rule until the next round.
        return one.began <= end and begin <= one.ended
    # A fault that began at the end of a round did not hold for it.
    return one.began >= begin - 1 and one.ended <= end + 1


def _near(one: Round, faults: Sequence[Fault]) -> bool:
    """Whether a round may have to do with a fault: one of its hosts, or the campaign itself."""
    margin = _RETRY_SECONDS + _MARGIN_SECONDS
    return any(
        (fault["host"] is None or fault["host"] in one.hosts)
        and one.ended >= fault["begin"]
        and one.began <= fault["end"] + margin
        for fault in faults
    )


def render(told: Told, rounds: Sequence[Round], checks: Sequence[Check]) -> str:
    """The section."""
    minutes = told["seconds"] / 60
    lines = [
        "## Endurance: a campaign to which everything happens",
        "",
        (
            "Six hosts in namespaces, each with its own sshd, over emulated links of 50 "
            "Mbit/s and 40 ms;"
        ),
        (
            f"{len(told['pairs'])} pairs, a round of six connections every {told['period']} "
            f"s, {minutes:.0f} minutes. What was done to it:"
        ),
        "",
        "| what | to whom | from | to | |",
        "|---|---|---|---|---|",
    ]
    for one in told["faults"]:
        begin, end = (_clock(one[key] - told["began"]) for key in ("begin", "end"))
        lines.append(
            f"| {one['kind']} | {one['host'] or 'the campaign'} | {begin} | {end} | "
            f"{one['note'] or ''} |"
        )
    lines += [
        "",
        "What the campaign says of it:",
        "",
        "| rounds | wanted | found | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {one.what} | {one.wanted} | {one.found} | {'holds' if one.holds else '**missed**'} |"
        for one in checks
    ]
    lines += [
        "",
        (
            "Not complete is a round that is overrun, unreachable, missed, interrupted, "
            "failed or partial. Of a starved sender only as much"
        ),
        (
            "shows as its kernel has not been given: what lies in the send buffer leaves "
            "without the process. With so little of a processor"
        ),
        (
            "a round takes longer than a period, and the next ones are overrun: above they "
            "count as not complete, and of the pair the table"
        ),
        (
            "below has how many. Only those that took place can be discarded. A round that "
            "waits for a host which a struck round holds is"
        ),
        (
            "overrun too, and names the pair that it waited for: it is not away from the "
            "fault. A host that was killed is found again when it"
        ),
        "is tried again, a minute after the last try.",
    ]
    lines += [
        "",
        "Rounds, all of them:",
        "",
        "| pair | outcomes | to be used | causes of data connections |",
        "|---|---|---|---|",
    ]
    for pair in ("-".join(pair) for pair in told["pairs"]):
        own = [one for one in rounds if one.pair == pair]
        causes = Counter(cause for one in own for cause in one.causes)
        counts = (
            Counter(one.outcome for one in own),
            Counter(one.use for one in own if one.use),
            causes,
        )
        lines.append(
            f"| {pair} | "
            + " | ".join(
                ", ".join(f"{count} {name}" for name, count in each.most_common())
                for each in counts
            )
            + " |"
        )
    return "\n".join(lines)


def _clock(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
