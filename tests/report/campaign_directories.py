"""Campaigns of many rounds made by hand, through the subdirectory's own parts.

Judged rounds and a journal, in which it is known what happened.

Hosts are disturbed on purpose, at known hours: what the page says can be held against what was
written. All is drawn from one seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.campaign.runner.directory import DONE, JUDGED, ROUNDS, CampaignDirectory
from trustbed.campaign.runner.journal import Journal
from trustbed.scenario import campaign as campaigns

SECOND = 10**9
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
BEGAN = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z, a midnight."""
PAIRS = (
    ("alpha", "beta"),
    ("beta", "alpha"),
    ("gamma", "delta"),
    ("delta", "gamma"),
    ("epsilon", "zeta"),
)
PERIOD = 300 * SECOND
_RATES = (2.4e6, 2.1e6, 1.3e6, 1.5e6, 0.4e6)
_INDICES = (("1", 16, 8), ("2", 16, 16), ("3", 32, 16))


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens to a campaign. Hours are of the day in UTC; shares are of rounds.

    Attributes:
        pairs: Sender and receiver of each.
        rounds: Of every pair.
        period_ns: From one to the next.
        hours: Host and hours of the day in which it does badly as a sender, with the share of
            rounds that this costs.
        always: Senders that do badly at any hour, with the share.
        down: Hosts that are not there, from when to when after the beginning.
        captured: At both ends, at the sender, or nowhere.
        finished: Whether the last round was the last one.
    """

    pairs: Sequence[tuple[str, str]] = PAIRS
    rounds: int = 288
    period_ns: int = PERIOD
    hours: dict[str, tuple[range, float]] = field(default_factory=dict)
    always: dict[str, float] = field(default_factory=dict)
    down: dict[str, tuple[int, int]] = field(default_factory=dict)
    captured: int = 2
    finished: bool = True


FOUR_DAYS = Story(
    rounds=4 * 288,
    hours={"alpha": (range(9, 12), 0.7)},
    always={"gamma": 0.3},
    down={"zeta": (30 * HOUR, 37 * HOUR)},
)
"""Alpha is bad in the morning, gamma always, zeta was away for seven hours."""


def make_campaign(subdirectory: Path, story: Story = FOUR_DAYS, *, seed: int = 5) -> Path:
    """The subdirectory of a campaign to which all of that has happened."""
    subdirectory.parent.mkdir(parents=True, exist_ok=True)
    file = subdirectory.parent / f"{subdirectory.name}.toml"
    names = dict.fromkeys(host for pair in story.pairs for host in pair)
    hosts = "".join(
        f'[hosts.{name}]\nlocal = true\nmeasure = "127.0.0.{number}"\n'
        for number, name in enumerate(names, 1)
    )
    pairs = "".join(
        f'[[pairs]]\nsender = "{sender}"\nreceiver = "{receiver}"\n'
        for sender, receiver in story.pairs
    )
    pings = "" if story.period_ns >= 60 * SECOND else "pings = 0\n"
    text = (
        f'name = "four hosts"\n{hosts}{pairs}[rounds]\ncount = {story.rounds}\nperiod = '
        f'"{story.period_ns // 10**6}ms"\n{pings}'
    )
    file.write_text(text, encoding="utf-8")
    directory = CampaignDirectory(subdirectory)
    directory.begin(campaigns.load(file), began_ns=BEGAN, about={"version": "0.1.0"})
    lines = _host_lines(story, list(names))
    chance = random.Random(seed)
    for index, pair in enumerate(story.pairs):
        lines += _rounds(subdirectory, story, pair, _RATES[index % len(_RATES)], chance)
    if story.finished:
        lines.append({"at_ns": BEGAN + story.rounds * story.period_ns, "event": "finished"})
    ordered = sorted(lines, key=lambda line: line["at_ns"])
    Journal(subdirectory / "journal.jsonl").path.write_text(
        "".join(json.dumps(line) + "\n" for line in ordered), encoding="utf-8"
    )
    return subdirectory


def _host_lines(story: Story, names: Sequence[str]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"at_ns": BEGAN, "event": "session", "version": "0.1.0"}]
    lines += [
        {"at_ns": BEGAN, "event": "host", "host": name, "up": True, "why": None} for name in names
    ]
    for name, (begin, end) in story.down.items():
        lines.append(
            {
                "at_ns": BEGAN + begin,
                "event": "host",
                "host": name,
                "up": False,
                "why": f"{name} does not answer",
            }
        )
        lines.append({"at_ns": BEGAN + end, "event": "host", "host": name, "up": True, "why": None})
    return lines


def _rounds(
    subdirectory: Path, story: Story, pair: tuple[str, str], rate: float, chance: random.Random
) -> list[dict[str, Any]]:
    name, lines = "-".join(pair), []
    for number in range(story.rounds):
        due = BEGAN + number * story.period_ns
        gone = next(
            (
                host
                for host, (begin, end) in story.down.items()
                if host in pair and begin <= due - BEGAN < end
            ),
            None,
        )
        late = gone is None and chance.random() < 0.002
        if gone is not None or late:
            reason = "unreachable" if gone else "overrun"
            facts = {
                "pair": name,
                "first": number,
                "count": 1,
                "index": "1",
                "due_ns": due,
                "reason": reason,
                "by": gone or name,
            }
            lines.append({"at_ns": due, "event": "skipped", **facts})
            continue
        judged = judged_round(story, pair, number, due, rate, chance)
        at = due + 20 * 10**6
        lines.append(
            {
                "at_ns": at,
                "event": "began",
                "pair": name,
                "number": number,
                "index": "1",
                "due_ns": due,
            }
        )
        end = at + story.period_ns // 4
        lines.append(
            {
                "at_ns": end,
                "event": "ended",
                "pair": name,
                "number": number,
                "outcome": judged["outcome"],
            }
        )
        directory = subdirectory / ROUNDS / name / f"{number:06}"
        directory.mkdir(parents=True)
        (directory / DONE).write_text("{}")
        (directory / JUDGED).write_text(json.dumps(judged), encoding="utf-8")
    return lines


def judged_round(
    story: Story, pair: tuple[str, str], number: int, due: int, rate: float, chance: random.Random
) -> dict[str, Any]:
    """The judgement of a round."""
    sender, _ = pair
    hours, share = story.hours.get(sender, (range(0), 0.0))
    bad = chance.random() < story.always.get(sender, 0.0) or (
        due % DAY // HOUR in hours and chance.random() < share
    )
    lossy = not bad and chance.random() < 0.04
    failed = chance.random() < 0.003
    slower = (
        chance.uniform(0.15, 0.6)
        if bad
        else chance.uniform(0.6, 0.8)
        if lossy
        else chance.uniform(0.95, 1.05)
    )
    use = None if story.captured == 0 else "discard" if bad else "review" if lossy else "trust"
    index, probe, data = _INDICES[number % len(_INDICES)]
    rows = [
        _row(
            "-".join(pair),
            number,
            index,
            connection_pair,
            role,
            size,
            use,
            rate * slower * (0.4 if role == "probe" else 1),
            story,
            chance,
        )
        for connection_pair in range(3)
        for role, size in (("probe", probe << 10), ("data", data << 20))
    ]
    if failed:
        rows[-1] |= {"failure": "late", "close": "timed_out", "app_bytes_per_second": 1e4}
    verdicts = {
        verdict: sum(row["verdict"] == verdict for row in rows)
        for verdict in ("trust", "review", "discard")
    }
    return {
        "outcome": "partial" if failed else "complete",
        "use": use,
        "verdicts": verdicts,
        "flags": []
        if story.captured == 2
        else ["one_end_only" if story.captured else "no_capture"],
        "hosts": {"sender": _load(bad, chance), "receiver": _load(False, chance)},
        "connections": rows,
        "clocks": None,
        "findings": [],
        "capture_error": None,
    }


def _load(bad: bool, chance: random.Random) -> dict[str, Any]:
    return {
        "samples": 60,
        "busy_share": chance.uniform(0.7, 0.95) if bad else chance.uniform(0.05, 0.3),
        "steal_share": chance.uniform(0.2, 0.5) if bad else chance.uniform(0.0, 0.01),
        "throttled_share": None,
        "wakeup_latency_max_ns": round(
            chance.uniform(2e7, 9e7) if bad else chance.uniform(1e5, 3e6)
        ),
    }


def _row(
    pair: str,
    number: int,
    index: str,
    connection_pair: int,
    role: str,
    size: int,
    use: str | None,
    rate: float,
    story: Story,
    chance: random.Random,
) -> dict[str, Any]:
    rtt = 0.0201 + chance.uniform(0, 0.001)
    segments = max(3, size // 1448)
    lost = (
        round(segments * chance.uniform(0.005, 0.02)) if use == "review" and role == "data" else 0
    )
    cause = {"discard": "host_scheduling", "review": "network_loss", "trust": "window_limited"}.get(
        use or ""
    )
    judged: dict[str, Any] = {"cause": cause, "confidence": 0.95, "verdict": use, "rule": "some"}
    if use is not None and role == "probe":
        judged = {
            "cause": "insufficient",
            "confidence": 0.99,
            "verdict": "not_judged",
            "rule": "too_short",
        }
    both = story.captured == 2
    return {
        "pair": pair,
        "round": number,
        "index": index,
        "number": connection_pair,
        "role": role,
        "failure": None,
        "size_bytes": size,
        "rtt_base_seconds": rtt,
        "close": "complete",
        "received_bytes": size,
        "app_bytes_per_second": rate * chance.uniform(0.98, 1.02),
        "rtt_mean_seconds": rtt * 1.02,
        "rtt_sd_seconds": 0.001,
        "spacing_mean_seconds": chance.uniform(1e-4, 2e-4) * (20 if use == "discard" else 1),
        "loss_rate": lost / segments if use is not None else None,
        "segments": segments if use is not None else None,
        "retransmitted": lost if use is not None else None,
        "window_max_bytes": 65_536 if use is not None else None,
        "idle_open_window_fraction": (
            chance.uniform(0.4, 0.8) if use == "discard" else chance.uniform(0, 0.03)
        )
        if use is not None
        else None,
        "mss": 1448,
        "payload_bytes_per_packet": 1448,
        "packet_bytes": 1500,
        **judged,
        "sent_between": segments + 2 if both else None,
        "passed_between": segments + 2 - lost if both else None,
        "lost_between": lost if both else None,
        "unseen": 0 if both else None,
        "needless": lost // 3 if both else None,
        "reordered": 0 if both else None,
        "owd_min_seconds": 0.01 if both else None,
        "owd_increase_p50_seconds": chance.uniform(1e-4, 3e-4) if both else None,
        "owd_increase_p95_seconds": chance.uniform(1e-3, 3e-3) if both else None,
        "path_p50_seconds": rtt if both else None,
        "turnaround_p50_seconds": chance.uniform(2e-5, 1e-4) if both else None,
    }
