"""The engine's model of burstiness against the slow one, from a capture to the page."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import trustbed
from tests.report import burst_reference as reference
from tests.report.burst_traffic import uneven as uneven_traffic
from trustbed.report.burst.page import NOT_AGAIN
from trustbed.report.transfer import html

Model = dict[str, Any]

ETHERNET = bytes(12) + b"\x88\xb5"  # an experimental EtherType: nothing in it is decoded


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The uneven traffic as a capture with nanoseconds."""
    path = tmp_path_factory.mktemp("burst") / "uneven.pcap"
    records = [
        struct.pack("<IIII", time // 10**9, time % 10**9, len(ETHERNET), length) + ETHERNET
        for time, length in uneven_traffic()
    ]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1) + b"".join(records))
    return path


def test_the_engine_measures_what_the_definitions_say(capture: Path, uneven: Model) -> None:
    found = trustbed.burst(capture).model
    assert {name: found[name] for name in ("packets", "bytes", "duration_seconds")} == {
        name: pytest.approx(uneven[name]) for name in ("packets", "bytes", "duration_seconds")
    }
    for name in ("abw_bits_per_second", "max_q_bytes", "max_q_sys_bytes"):
        assert [row[name] for row in found["windows"]] == pytest.approx(
            [row[name] for row in uneven["windows"]], abs=1e-6
        )
    for name, value in uneven["summary"].items():
        assert found["summary"][name] == (
            pytest.approx(value)
            if name != "active"
            else {key: pytest.approx(v) for key, v in value.items()}
        )
    for point in found["sigma"][::7]:
        assert point["sigma_bytes"] == pytest.approx(
            reference.depth(uneven_traffic(), point["rate_bits_per_second"])
        )
    for row in found["queue"]:
        slow = reference.queue(uneven_traffic(), row["rate_bits_per_second"], row["buffer_bytes"])
        assert row["lost_packets"] == slow["lost_packets"]
    for part in ("energy", "logscale"):
        wanted = [point["energy"] for point in uneven[part]["octaves"]]
        assert [point["energy"] for point in found[part]["octaves"]] == pytest.approx(wanted)
    fit = found["logscale"]["fit"]
    slow_fit = reference.fit(
        [point for point in uneven["logscale"]["octaves"] if point["octave"] <= fit["last"]],
        fit["first"],
    )
    assert slow_fit is not None
    for name in ("alpha", "alpha_low", "alpha_high", "quality"):
        assert fit[name] == pytest.approx(slow_fit[name], rel=1e-6)
    assert found["rates"]["peaks"] == [
        {name: pytest.approx(value) for name, value in peak.items()}
        for peak in uneven["rates"]["peaks"]
    ]
    assert (found["trains"]["trains"], found["trains"]["packets_max"]) == (
        uneven["trains"]["trains"],
        uneven["trains"]["packets_max"],
    )


def test_the_report_of_a_capture_measures_its_burstiness(capture: Path, tmp_path: Path) -> None:
    part = trustbed.analyze(capture).for_page()
    assert part.burst is not None
    assert part.burst["summary"]["windows"] > 10
    trustbed.analyze(capture).report(tmp_path / "report.html")
    assert "How bursty is the traffic?" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_standard_input_is_not_measured_and_the_page_says_so(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed = trustbed.analyze(capture, series=True)
    monkeypatch.setattr(type(analysed.options), "repeatable", property(lambda _: False))
    part = analysed.for_page()
    assert isinstance(part, html.Capture)
    assert (part.burst, part.without_burst) == (None, NOT_AGAIN)
