"""Demands beyond the measured ceiling of a host are refused before the testbed is set up."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.cli import main
from trustbed.run.error import RunError
from trustbed.run.execution import ceiling
from trustbed.run.execution.ceiling import Ceiling, FloodRates
from trustbed.run.execution.demand import Load
from trustbed.scenario import Scenario, load

FAST = """
[hosts.a]
[hosts.c]
[link]
rate = "RATE"
[workload.w]
kind = "bulk"
host = "a"
to = "c"
"""
NOISE = """
[hosts.a]
[hosts.c]
[link]
LINK
[workload.w]
kind = "command"
host = "a"
command = "true"
[background.noise]
model = "cbr"
rate = "RATE"
from = "a"
to = "c"
"""
SENT = {1500: 400_000, 64: 500_000}
FORWARDED = {1500: 200_000, 64: 300_000}


def read(directory: Path, text: str) -> Scenario:
    (directory / "study.toml").write_text(text)
    return load(directory / "study.toml").first


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Ceiling:
    """A host of known packet rates, whatever this one sustains."""

    def measure(packet_bytes: int) -> FloodRates:
        return FloodRates(
            packet_bytes=packet_bytes,
            sent_packets_per_second=SENT[packet_bytes],
            forwarded_packets_per_second=FORWARDED[packet_bytes],
        )

    monkeypatch.setattr(ceiling, "measure", measure)
    return Ceiling(full=measure(1500), small=measure(64))


def refused(directory: Path, *texts: str) -> str:
    """The message with which scenarios are refused."""
    with pytest.raises(RunError) as caught:
        ceiling.refuse_too_much([read(directory, text) for text in texts])
    return caught.value.message


# A link that would drop most of what reaches it does not help the emulator.
SLOW_LINK = NOISE.replace("LINK", 'rate = "20Mbit/s"')
SMALL_PACKETS = NOISE.replace("LINK", 'rate = "1Gbit/s"') + "packet_bytes = 64\n"
AT_ONCE = '[background.noise]\nmodel = "poisson"\nrate = "2Gbit/s"\nfrom = "c"\nto = "a"\n'


@pytest.mark.parametrize(
    "text",
    [
        FAST.replace("RATE", "2Gbit/s"),
        SLOW_LINK.replace("RATE", "2Gbit/s"),
        SMALL_PACKETS.replace("RATE", "150Mbit/s"),
    ],
)
def test_demands_below_the_ceiling_are_allowed(tmp_path: Path, machine: Ceiling, text: str) -> None:
    assert ceiling.refuse_too_much([read(tmp_path, text)]) == machine


@pytest.mark.usefixtures("machine")
def test_links_and_background_beyond_the_ceiling_are_refused_with_it(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    links = [FAST.replace("RATE", rate) for rate in ("1Mbit/s", "10Gbit/s")]
    assert {
        "the faster of two": refused(tmp_path, *links),
        "more than senders send": refused(
            tmp_path, NOISE.replace("LINK", 'delay = "1ms"').replace("RATE", "100Gbit/s")
        ),
        "more than the emulator forwards": refused(tmp_path, SLOW_LINK.replace("RATE", "3Gbit/s")),
        "more small packets": refused(tmp_path, SMALL_PACKETS.replace("RATE", "180Mbit/s")),
        "more small packets than sent": refused(
            tmp_path, SMALL_PACKETS.replace("RATE", "300Mbit/s")
        ),
        "all at once": refused(tmp_path, FAST.replace("RATE", "1Gbit/s") + AT_ONCE),
    } == snapshot


def test_the_cost_of_a_packet_is_linear_in_its_length(machine: Ceiling) -> None:
    assert machine.forwarded(1500) == pytest.approx(200_000)
    assert machine.forwarded(64) == pytest.approx(300_000)
    assert 1 / machine.forwarded(782) == pytest.approx((1 / 200_000 + 1 / 300_000) / 2)
    assert machine.sent(9000) == machine.sent(1500)


@pytest.mark.usefixtures("machine")
def test_a_recording_counts_by_its_mean_rate(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    packet = bytes.fromhex("4500 0400 0000 0000 4011 0000 0a00 0001 0a00 0002") + bytes(1004)
    # Eleven packets of 1024 bytes within so many microseconds, of raw IP (pcap link type 101).
    for name, spacing in (("slow", 100), ("fast", 1)):
        records = b"".join(
            struct.pack("<IIII", 1, spacing * number, 1024, 1024) + packet for number in range(11)
        )
        (tmp_path / f"{name}.pcap").write_bytes(
            struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + records
        )
    played = NOISE.replace("LINK", 'delay = "1ms"').replace(
        'model = "cbr"\nrate = "RATE"', 'model = "playback"\nfile = "NAME.pcap"'
    )
    assert ceiling.refuse_too_much([read(tmp_path, played.replace("NAME", "slow"))]) is None
    assert refused(tmp_path, played.replace("NAME", "fast")) == snapshot


def test_modest_rates_are_not_worth_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ceiling, "measure")
    assert ceiling.refuse_too_much([read(tmp_path, FAST.replace("RATE", "500Mbit/s"))]) is None
    assert (
        ceiling.refuse_too_much(
            [
                read(
                    tmp_path,
                    NOISE.replace("LINK", "").replace("RATE", "25Mbit/s") + "packet_bytes = 64\n",
                )
            ]
        )
        is None
    )


def test_host_json_has_the_measured_ceiling(machine: Ceiling) -> None:
    assert ceiling.facts(machine) == {
        "emulator_ceiling_bits_per_second": 2_400_000_000,
        "emulator_ceiling_packets_per_second": 200_000,
        "emulator_ceiling_small_packets_per_second": 300_000,
        "sender_ceiling_packets_per_second": 400_000,
        "sender_ceiling_small_packets_per_second": 500_000,
    }
    assert set(ceiling.facts(None).values()) == {None}


@pytest.mark.quiet
@pytest.mark.usefixtures("networks")
def test_a_host_measures_its_own_ceiling() -> None:
    full, small = ceiling.measure(1500), ceiling.measure(64)
    for rates in (full, small):
        # Any host sends and forwards thousands of packets per second, and forwards no more than
        # it sends.
        assert 1000 < rates.forwarded_packets_per_second <= rates.sent_packets_per_second
    assert small.forwarded_bits_per_second < full.forwarded_bits_per_second


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("text", [FAST, NOISE.replace("LINK", "")])
def test_a_run_beyond_the_ceiling_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(text.replace("RATE", "1000Gbit/s"))
    assert main(["run", "study.toml"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert "1000.00 Gbit/s (83,333,333 packets/s" in error
    assert hint.startswith("hint: ")
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.usefixtures("networks")
def test_a_shell_behind_a_link_that_cannot_be_emulated_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["shell", "--down", "rate=1000Gbit/s", "--", "touch", str(tmp_path / "ran")]) == 125
    assert "1000.00 Gbit/s (83,333,333 packets/s" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_shell_behind_a_modest_link_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ceiling, "measure")
    from trustbed.cli import shell

    shell._refuse_what_cannot_be_emulated(
        {"pipes": [{"rate_bits_per_second": 500_000_000}, {"name": "down"}]}
    )
    shaped = {
        "rate_bits_per_second": 10_000_000_000,
        "shaper": {"rate_bits_per_second": 20_000_000, "burst_bytes": 100_000},
    }
    shell._refuse_what_cannot_be_emulated({"pipes": [shaped]})
    with pytest.raises(NameError):
        shell._refuse_what_cannot_be_emulated(
            {"pipes": [{}, {"rate_bits_per_second": 500_000_001}]}
        )


def test_the_link_of_a_shell_counts_in_one_direction(machine: Ceiling) -> None:
    ceiling.refuse_link(Load(bits_per_second=2.39e9))
    with pytest.raises(RunError):
        ceiling.refuse_link(Load(bits_per_second=2.41e9))
