"""Faults that are really applied.

What each does to real processes and real packets, read off the record, the capture and the ledger.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE, wait_until
from tests.run.here import Trustbed
from tests.run.here import trustbed as trustbed
from tests.run.stalls import unless_stalled
from tests.run.test_live import Begin, nothing_is_left, read
from tests.run.test_live import begin as begin

pytestmark = pytest.mark.usefixtures("networks")
MS = 1_000_000
PAIR = """
duration = "1s"
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "2ms"
queue = "200p"
"""
BULK = PAIR + '[workload.w]\nkind = "bulk"\nhost = "client"\nto = "server"\n'
BUSY = PAIR + (
    '[workload.w]\nkind = "command"\nhost = "client"\ncommand = "sh -c \'timeout 1 sh -c '
    '\\"while :; do :; done\\"; exit 0\'"\n'
)


def record(tmp_path: Path) -> dict[str, Any]:
    """What happened in the only repetition."""
    found = read(tmp_path / "run" / "rep-000" / "repetition.json")
    assert found["outcome"] == "complete", (
        found["failures"],
        found["faults"],
        [one["reason"] for one in found["workloads"]],
    )
    return found


def fault(tmp_path: Path) -> dict[str, Any]:
    """The report of the only injector."""
    (fault,) = record(tmp_path)["faults"]
    assert fault["made"]
    (report,) = fault["reports"]
    assert isinstance(report, dict)
    return report


def most_run(report: dict[str, Any]) -> float:
    """The share of a processor that the busiest of the processes had."""
    return max(one["ran_share"] for one in report["processes"])


def sent(tmp_path: Path) -> list[int]:
    """When the sender's packets reached the link, on the real-time clock."""
    ledger = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "ledger" / "packets.parquet",
        columns=["pipe", "arrived_ns", "length"],
    )
    return sorted(
        row["arrived_ns"]
        for row in ledger.to_pylist()
        if row["pipe"] == "link.up" and row["length"] > 1000
    )


def not_here(ended: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    """Skips where the machine cannot apply the fault, with the reason."""
    assert ended.returncode == 0, ended.stderr
    _skip_what_was_not_applied(tmp_path)


def _skip_what_was_not_applied(tmp_path: Path) -> None:
    """Only where nothing was measured for that reason.

    A fault that came too late is a mistake of the test's.
    """
    found = read(tmp_path / "run" / "rep-000" / "repetition.json")
    if found["outcome"] == "not made":
        reasons = [one["reason"] for one in found["faults"] if one["reason"] is not None]
        assert reasons, found["faults"]
        pytest.skip("; ".join(reasons))


@pytest.mark.quiet
def test_a_quota_grants_its_share_and_no_more(tmp_path: Path, trustbed: Trustbed) -> None:
    ended = trustbed(BUSY + '[faults.slow]\nkind = "cpu-quota"\nhost = "client"\nshare = "30%"\n')
    not_here(ended, tmp_path)
    report = fault(tmp_path)
    assert report["throttled_periods"] > 0
    used = sum(one["ran_ns"] for one in report["processes"])
    # Never more than 3 ms a period. Whenever it was throttled it had used its quota, less
    # what stays behind on a processor that it was moved away from, which happens often where others
    # want the processors too.
    assert 1.5 * MS * report["throttled_periods"] <= used <= 3.3 * MS * (report["periods"] + 1)
    assert most_run(report) < 0.34
    nothing_is_left(tmp_path)


@pytest.mark.quiet
@pytest.mark.parametrize("policy", ["normal", "realtime"])
def test_a_spinner_takes_its_part_of_the_processor(
    tmp_path: Path, trustbed: Trustbed, policy: str
) -> None:
    spinner = (
        f'[faults.slow]\nkind = "spinner"\nhost = "client"\nbusy = "7ms"\nevery = '
        f'"10ms"\npolicy = "{policy}"\n'
    )
    not_here(trustbed(BUSY + spinner), tmp_path)
    report = fault(tmp_path)
    # On one processor there is no more than one to share.
    assert most_run(report) + report["ran_share"] < 1.04
    # Of every turn seven parts of ten; the first one may have begun already.
    assert 7 * MS * (report["turns"] - 1) <= report["busy_ns"] <= 7 * MS * report["turns"]
    if policy == "realtime":
        with unless_stalled(tmp_path / "run" / "rep-000"):
            assert report["ran_ns"] > 0.75 * report["busy_ns"]
    nothing_is_left(tmp_path)


@pytest.mark.quiet
def test_a_stopped_sender_with_a_small_buffer_is_silent(tmp_path: Path, trustbed: Trustbed) -> None:
    freeze = '[faults.slow]\nkind = "freeze"\nhost = "client"\nstopped = "140ms"\nevery = "200ms"\n'
    assert trustbed(BULK + 'send_buffer = "16KiB"\n' + freeze).returncode == 0
    report = fault(tmp_path)
    packets = sent(tmp_path)
    stops = list(zip(report["stopped_at_ns"], report["continued_at_ns"], strict=True))
    with unless_stalled(tmp_path / "run" / "rep-000"):
        assert report["stops"] >= 4
        assert report["stopped_share"] > 0.5
        for at, until in (
            (report["begun_ns"] + one, report["begun_ns"] + other) for one, other in stops
        ):
            # What was in the buffer leaves within some round trips.
            assert not [one for one in packets if at + 60 * MS < one < until], (
                "it sent while it was stopped"
            )
        assert (
            len([one for one in packets if one < report["begun_ns"] + report["stopped_at_ns"][0]])
            > 10
        )
    nothing_is_left(tmp_path)


@pytest.mark.quiet
def test_a_stalled_interface_passes_nothing_and_the_sender_retransmits(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    stall = (
        '[faults.hang]\nkind = "nic-stall"\nhost = "server"\nstart = "300ms"\nduration = "400ms"\n'
    )
    assert trustbed(BULK + stall).returncode == 0
    found = record(tmp_path)
    (fault,) = found["faults"]
    ledger = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "ledger" / "packets.parquet"
    ).to_pylist()
    meanwhile = [
        row
        for row in ledger
        if fault["begun_ns"] + 50 * MS < row["arrived_ns"] < fault["ended_ns"] - 50 * MS
    ]
    with unless_stalled(tmp_path / "run" / "rep-000"):
        assert meanwhile, "the sender gave up"
        assert not [row for row in meanwhile if row["fate"] == "passed"]
        assert found["workloads"][0]["report"]["transfers"][0]["tcp"]["retransmitted_segments"] > 0


@pytest.mark.quiet
def test_an_application_that_writes_in_bursts_leaves_gaps(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    """A pause counts by half of its length.

    A burst may take some round trips, and a tail loss probe may follow it.
    """
    assert (
        trustbed(
            BULK.replace('"1s"', '"2s"') + 'write = { burst = "50KB", pause = "400ms" }\n'
        ).returncode
        == 0
    )
    (transfer,) = record(tmp_path)["workloads"][0]["report"]["transfers"]
    assert transfer["payload_bytes"] % 50_000 == 0
    packets = sent(tmp_path)
    gaps = [
        after - before for before, after in itertools.pairwise(packets) if after - before > 200 * MS
    ]
    with unless_stalled(tmp_path / "run" / "rep-000"):
        assert len(gaps) == transfer["payload_bytes"] // 50_000 - 1 > 0
    (row,) = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "tables" / "w.summary.parquet"
    ).to_pylist()
    assert 0 < row["busy_ns"] < row["duration_ns"]


@pytest.mark.quiet
def test_a_slow_reader_is_what_limits(tmp_path: Path, trustbed: Trustbed) -> None:
    assert (
        trustbed(BULK + 'read = { rate = "2Mbit/s" }\nreceive_buffer = "16KiB"\n').returncode == 0
    )
    (row,) = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "tables" / "w.summary.parquet"
    ).to_pylist()
    with unless_stalled(tmp_path / "run" / "rep-000"):
        assert row["receive_window_limited_ns"] > 0.5 * row["busy_ns"]
        assert row["received_bits_per_second"] < 2.4e6


@pytest.mark.quiet
def test_a_reader_that_pauses_closes_its_window(tmp_path: Path, trustbed: Trustbed) -> None:
    assert (
        trustbed(
            BULK + 'read = { burst = "40KB", pause = "150ms" }\nreceive_buffer = "16KiB"\n'
        ).returncode
        == 0
    )
    record(tmp_path)
    (row,) = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "tables" / "transfers.parquet"
    ).to_pylist()
    with unless_stalled(tmp_path / "run" / "rep-000"):
        assert row["zero_window_events"] > 0


@pytest.mark.parametrize("clamp", [8192, 32_768])
def test_a_clamped_window_is_never_exceeded(tmp_path: Path, trustbed: Trustbed, clamp: int) -> None:
    assert trustbed(BULK + f'window_clamp = "{clamp}B"\n').returncode == 0
    (transfer,) = record(tmp_path)["workloads"][0]["report"]["transfers"]
    (row,) = pyarrow.parquet.read_table(
        tmp_path / "run" / "rep-000" / "tables" / "transfers.parquet"
    ).to_pylist()
    assert clamp / 3 <= row["window_max_bytes"] <= clamp
    assert transfer["tcp"]["receive_window_limited_ns"] > 0


def test_no_more_is_under_way_than_a_small_send_buffer_holds(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    assert trustbed(BULK.replace("2ms", "50ms") + 'send_buffer = "8KiB"\n').returncode == 0
    (transfer,) = record(tmp_path)["workloads"][0]["report"]["transfers"]
    assert transfer["send_buffer_bytes"] == 2 * 8192
    # What is in the buffer when it is found full, and the piece (64 KiB) that was let in when it
    # was found not quite full.
    assert (
        transfer["goodput_bits_per_second"] < 8 * (transfer["send_buffer_bytes"] + 65_536) / 0.100
    )
    assert transfer["tcp"]["receive_window_limited_ns"] == 0


def test_a_runner_that_is_killed_leaves_no_stopped_process_and_no_group(
    tmp_path: Path, begin: Begin
) -> None:
    faults = '[faults.slow]\nkind = "freeze"\nhost = "client"\nstopped = "390ms"\nevery = "400ms"\n'
    faults += '[faults.narrow]\nkind = "cpu-quota"\nhost = "client"\nshare = "50%"\n'
    child = begin(tmp_path, BULK.replace('"1s"', '"60s"') + faults)

    def groups() -> list[Path]:
        return [
            Path(name)
            for file in (tmp_path / "registry").glob("*.json")
            for name in read(file)["cgroups"]
        ]

    wait_until(
        lambda: child.poll() is not None or (groups() and _stands(tmp_path)),
        "a stopped process",
    )
    if child.poll() is not None:
        errors = child.communicate()[1]
        _skip_what_was_not_applied(tmp_path)
        raise AssertionError(f"it ended by itself: {errors}")
    created = groups()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=PATIENCE)
    environment = {**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")}
    wait_until(lambda: not _agents(tmp_path), "the end of what was frozen")
    subprocess.run(
        [str(begin_program()), "testbed", "clean"], env=environment, check=True, capture_output=True
    )
    assert created
    assert [group for group in created if group.exists()] == []
    nothing_is_left(tmp_path)


def begin_program() -> Path:
    """The program that these tests call."""
    from tests.run.test_live import TRUSTBED

    return Path(TRUSTBED)


def _stands(tmp_path: Path) -> bool:
    """Whether an agent of this test's runs was stopped."""
    with contextlib.suppress(OSError):
        return any(
            (agent / "stat").read_text().rpartition(") ")[2].startswith("T")
            for agent in _agents(tmp_path)
        )
    return False


def _agents(tmp_path: Path) -> list[Path]:
    """The agents of this test's runs."""
    mark = f"TRUSTBED_RUNTIME={tmp_path / 'registry'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"trustbed-agent" in words[0] and mark in (process / "environ").read_bytes().split(
                b"\0"
            ):
                found.append(process)
        except OSError:
            continue
    return found
