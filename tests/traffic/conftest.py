"""What tests of traffic models share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.frames import connection, pcap
from trustbed.traffic import Model, extract
from trustbed.traffic.synthetic import ClassPlan, HostPlan, build, constant, uniform

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "traffic.json"


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """The golden values of traffic.md."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))["computed"]  # type: ignore[no-any-return]


@pytest.fixture
def learned(golden: dict[str, Any], tmp_path: Path) -> Model:
    """The model of the golden connection."""
    frames = connection(golden["connection"])
    return extract(pcap(tmp_path / "golden.pcap", frames), workers=1)


@pytest.fixture
def small() -> Model:
    """A model of a few small connections a second."""
    return build(
        "small",
        [
            ClassPlan(
                name="HTTP",
                port=80,
                sessions_per_second=8,
                pairs=uniform(1, 3),
                request=constant(200),
                response=constant(6000),
                user_think=constant(0.05),
                server_think=constant(0.01),
            )
        ],
        HostPlan(number=9, latency=constant(0.004), from_rate=constant(20e6)),
        HostPlan(number=4, latency=constant(0.01)),
        seconds=10,
        seed=3,
        about="for a test",
    )
