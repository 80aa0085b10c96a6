"""Evidence and rows that the tests of the diagnosis start from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trustbed.diagnose import Evidence, Finding
from trustbed.diagnose.evidence import SOURCES
from trustbed.diagnose.time_budget import STATES

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

SPENT = {**dict.fromkeys(STATES, 0.0), "window": 0.9, "idle_sender": 0.03, "path": 0.07}
"""Where the time of an undisturbed transfer goes."""


@pytest.fixture(scope="session")
def published_cases() -> list[dict[str, Any]]:
    """The cases of the published papers and the synthetic ones: evidence and expected diagnosis."""
    computed = json.loads((GOLDEN / "diagnosis.json").read_text(encoding="utf-8"))["computed"]
    return [*computed["paper_cases"], *computed["synthetic_cases"]]


@pytest.fixture(scope="session")
def recorded_cases() -> list[dict[str, Any]]:
    """Evidence of the recorded transfers, and what is acceptable."""
    return json.loads((GOLDEN / "recordings_evidence.json").read_text(encoding="utf-8"))[
        "recordings"
    ]  # type: ignore[no-any-return]


@pytest.fixture
def healthy() -> Evidence:
    """A transfer that its window limits and nothing disturbs; where its time went is unknown."""
    return Evidence(
        throughput_bytes_per_second=3.1e6,
        window_bytes=65535,
        payload_bytes=1448,
        packet_bytes=1500,
        rtt_base_seconds=0.02,
        rtt_seconds=0.0201,
        loss=0.0,
        loss_events=0,
        spacing_mean_seconds=0.00002,
        spacing_max_seconds=0.001,
        long_pause_fraction=0.0,
        idle_open_window_fraction=0.03,
        window_saturated=1.0,
        window_closed=0.0,
        rwnd_limited=0.6,
        app_limited_fraction=0.0,
        duration_seconds=10.0,
        slow_start=False,
        too_short=False,
        pauses_estimated=False,
    )


@pytest.fixture
def timed(healthy: Evidence) -> Evidence:
    """The same transfer, and where its time went."""
    named = {source.column: source.field for source in SOURCES}
    known = {f"share_{state}": share for state, share in SPENT.items()}
    shares: dict[str, Any] = {named[name]: known[name] for name in known if name in named}
    return replace(healthy, **shares)


@pytest.fixture
def row() -> dict[str, Any]:
    """A row of the transfers table: the same transfer, in nanoseconds."""
    return {
        "transfer": "1.0",
        "src": "10.0.0.1",
        "at": "sender",
        "packets": 21_500,
        "duration_ns": 10_000_000_000,
        "unique_bytes": 31_000_000,
        "acked_unseen_bytes": 0,
        "capture_duplicates": 0,
        "payload_bytes_per_packet": 1448,
        "packet_bytes": 1500,
        "window_max_bytes": 65535,
        "window_estimated": False,
        "rtt_base_ns": 20_000_000,
        "rtt_path_ns": 20_100_000.0,
        "spacing_mean_ns": 20_000.0,
        "spacing_max_ns": 1_000_000,
        "long_pause_fraction": 0.0,
        "idle_open_window_fraction": 0.03,
        "spacing_source": "measured",
        "window_saturated": 1.0,
        "window_closed": 0.0,
        "rwnd_limited": 0.6,
        "throughput_bytes_per_second": 3.1e6,
        "capacity_bytes_per_second": None,
        "capacity_source": None,
        "loss_rate_genuine": 0.0,
        "loss_events": 0,
        "app_limited_fraction": 0.0,
        **{f"share_{state}": share for state, share in SPENT.items()},
        "slow_start": False,
        "too_short": False,
        "outage_ns": 0,
        "stall_gaps_ns": [],
        "flags": [],
    }


def described(findings: Iterable[Finding], code: str) -> str:
    """The one finding of a code, in a line."""
    (found,) = [finding for finding in findings if finding.code == code]
    return f"{found.code} ({found.severity}, {found.scope}): {found.message}"
