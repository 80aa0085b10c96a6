"""The summary of a link, from the report of the emulator.

One line, a model for programs, and whether it may be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trustbed.diagnose.run_findings import run_findings
from trustbed.findings import Finding
from trustbed.report.words import count, counted, duration, percent, rate

Report = Mapping[str, Any]

SCHEMA_VERSION = 1
_NOT_LOST = ("inside",)
"""Fates of packets in flight when the emulator ended."""
_CAUSES = {
    "queue_full": "queue full",
    "codel_drop": "by CoDel",
    "red_drop": "by RED",
    "lost": "on the wire",
    "policed": "by the policer",
    "outage": "in an outage",
    "emulator_full": "emulator full",
    "unsent": "not sent",
}


def findings(report: Report) -> list[Finding]:
    """The emulator's findings that weaken the numbers, by the rules for repetitions of a run."""
    return run_findings({"emulator": report, "emulator_ready": report.get("ready") or {}})


def line(report: Report) -> str:
    """Throughput, queueing and drops of each direction, and the emulator's own departure_error."""
    # Access links of users are no part of the link.
    parts = [_direction(pipe) for pipe in report["pipes"] if pipe["name"] in ("up", "down")]
    return " · ".join(["link: " + parts[0], *parts[1:], _departure_error(report)])


def _direction(pipe: Report) -> str:
    if not pipe["packets"]:
        return f"{pipe['name']} nothing"
    carried = rate((pipe["carried_bits_per_second"] or 0) / 8)
    delay = pipe["queue_delay"]
    waited = "hardly a queue" if delay["max_ns"] else "no queue"
    if delay["p99_ns"]:
        waited = f"queue {duration(delay['p50_ns'] / 1e9)} (p99 {duration(delay['p99_ns'] / 1e9)})"
    causes = {
        cause: number
        for cause, number in pipe["dropped"].items()
        if cause not in _NOT_LOST and number
    }
    dropped = "none dropped"
    if causes:
        named = ", ".join(
            f"{count(number)} {_CAUSES.get(cause, cause)}"
            for cause, number in sorted(causes.items())
        )
        dropped = (
            f"{count(sum(causes.values()))} of {counted(pipe['packets'], 'packet')} dropped "
            f"({named})"
        )
    return f"{pipe['name']} {carried}, {waited}, {dropped}"


def _departure_error(report: Report) -> str:
    departure_error = report["departure_error"]
    if not departure_error["packets"]:
        return "emulator idle"
    late = (
        f"emulator late by {duration(departure_error['p50_ns'] / 1e9)} (p99 "
        f"{duration(departure_error['p99_ns'] / 1e9)})"
    )
    return (
        late
        if (report.get("ready") or {}).get("priority") == "fifo"
        else f"{late}, without real-time priority"
    )


def model(report: Report, found: Sequence[Finding]) -> Report:
    """The report for programs.

    As the emulator gave it, with the findings and whether it is trusted.
    """
    from trustbed import __version__

    own = {
        key: value for key, value in report.items() if key not in ("event", "ready", "background")
    }
    ready = {key: value for key, value in (report.get("ready") or {}).items() if key != "event"}
    return {
        "trustbed": {"version": __version__, "schema_version": SCHEMA_VERSION, "command": "shell"},
        "trusted": not any(finding.severity == "error" for finding in found),
        "emulator": {**own, "ready": ready},
        "findings": [asdict(finding) for finding in found],
        **({"background": report["background"]} if "background" in report else {}),
    }


def write_ledger(raw: Path, target: Path) -> int:
    """The emulator's records as Parquet, under their name when they are complete.

    How many there are.
    """
    from trustbed.disk import whole_path
    from trustbed.run import rows

    words = rows.lists(raw)
    names = {
        column: words[plural]
        for column, plural in (("pipe", "pipes"), ("fate", "fates"))
        if words.get(plural)
    }
    with whole_path(target) as draft:
        return rows.convert(raw, draft, names=names).rows


def described(pipes: Sequence[Report]) -> str:
    """The configured links, in a few words."""
    up, down = (
        {key: value for key, value in pipe.items() if key not in ("name", "from", "to")}
        for pipe in pipes
    )
    if up == down:
        return f"{_configured(up)} each way"
    return f"{_configured(up)} up; {_configured(down)} down"


def _configured(pipe: Report) -> str:
    words = []
    if "rate_bits_per_second" in pipe:
        words.append(rate(pipe["rate_bits_per_second"] / 8))
    elif "rate_steps" in pipe:
        words.append("a rate in steps")
    elif "rate_trace" in pipe:
        repeats = duration(pipe["rate_trace"]["opportunities_ms"][-1] / 1e3)
        words.append(f"a recorded rate that repeats every {repeats}")
    if "delay_ns" in pipe:
        words.append(duration(pipe["delay_ns"] / 1e9))
    elif "delay_recorded" in pipe:
        words.append("recorded delays that repeat")
    elif "delay_steps" in pipe:
        words.append("a delay in steps")
    loss = pipe.get("loss")
    if loss is not None:
        words.append(
            f"{percent(loss['probability'])} loss" if loss["kind"] == "independent" else "loss"
        )
    for key, word in (("policer", "policed to"), ("shaper", "shaped to")):
        if key in pipe:
            words.append(f"{word} {rate(pipe[key]['rate_bits_per_second'] / 8)}")
    return ", ".join(words) if words else "a link without limits"
