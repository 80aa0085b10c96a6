"""A campaign's folder as if it had been measured: rounds with what was judged of them, for whoever reads such folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.rounds.conftest import study_of
from trustbed.rounds import CampaignDirectory

BEGAN_NS = 1_700_000_000_000_000_000
PERIOD_NS = 300_000_000_000


def made(folder: Path, count: int) -> CampaignDirectory:
    """Two pairs; the sender of the second is withheld its processor between noon and two o'clock. Every tenth round of it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    study = study_of(folder, "a-b", "c-d", count=count, period='"300s"', pings=1)
    directory = CampaignDirectory(folder / "out")
    directory.begin(study, began_ns=BEGAN_NS, about={"version": "1"})
    directory.journal.append(BEGAN_NS, "session", version="1")
    directory.journal.append(BEGAN_NS, "host", host="d", up=False, why="it is away")
    for number in range(count):
        at = BEGAN_NS + number * PERIOD_NS
        for pair in ("a-b", "c-d"):
            facts = {"pair": pair, "number": number}
            failed = pair == "c-d" and number % 10 == 9
            directory.journal.append(at, "began", **facts, index="1", due_ns=at)
            if not failed:
                one = directory.begin_round(pair, number)
                one.finish({"outcome": "complete"})
                one.write_judged(judged(pair, number, starved=pair == "c-d" and 12 <= (at // 3_600_000_000_000) % 24 < 14))
            directory.journal.append(at + PERIOD_NS // 2, "ended", **facts, outcome="failed" if failed else "complete")
    directory.journal.append(BEGAN_NS + count * PERIOD_NS, "finished")
    return directory


def judged(pair: str, number: int, *, starved: bool) -> dict[str, Any]:
    """What a round came to."""
    use = "discard" if starved else "trust"
    host = {
        "busy_share": 0.5,
        "steal_share": 0.01,
        "throttled_share": 0.6 if starved else 0.0,
        "nap_late_max_ns": 90_000_000 if starved else 70_000,
    }
    rate = 200_000.0 if starved else 1_400_000.0 + 1000 * (number % 7)
    rows = [
        {
            **{"pair": pair, "round": number, "index": "1", "number": each, "role": role, "failure": None, "rtt_base_seconds": 0.04},
            **{"app_bytes_per_second": rate if role == "data" else rate / 4, "rtt_mean_seconds": 0.041, "loss_rate": 0.0},
            **{"segments": 1000, "retransmitted": 0, "window_max_bytes": 65_535, "payload_bytes_per_packet": 1448, "packet_bytes": 1500},
            **{"spacing_mean_seconds": 1e-5, "cause": "host_scheduling" if starved else "window_limited", "verdict": use},
            **{"lost_between": 1, "needless": 0, "reordered": 0, "one_way_floor_seconds": 0.02, "one_way_above_floor_p50_seconds": 0.001},
            **{"one_way_above_floor_p95_seconds": 0.002, "turnaround_p50_seconds": 1e-5},
        }
        for each in range(2)
        for role in ("probe", "data")
    ]
    uses = {verdict: len(rows) * (verdict == use) for verdict in ("trust", "review", "discard")}
    return {
        "outcome": "complete",
        "use": use,
        "verdicts": uses,
        "flags": [],
        "hosts": {"sender": host, "receiver": host},
        "connections": rows,
    }
