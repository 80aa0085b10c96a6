"""The faults of a scenario.

Read with its units, varied like any key, refused with file, line and key.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, refusals
from trustbed.scenario import Fault, ScenarioError, baselines

MS = 1_000_000
FREEZE = '[faults.slow]\nkind = "freeze"\nhost = "client"\nstopped = "35ms"\nevery = "50ms"\n'
QUOTA = '[faults.slow]\nkind = "cpu-quota"\nhost = "client"\nshare = "30%"\n'
SPINNER = '[faults.slow]\nkind = "spinner"\nhost = "server"\nbusy = "7ms"\nevery = "10ms"\n'
STALL = '[faults.slow]\nkind = "nic-stall"\nhost = "server"\n'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            FREEZE,
            Fault(name="slow", kind="freeze", host="client", stopped_ns=35 * MS, every_ns=50 * MS),
        ),
        (
            FREEZE + 'start = "1s"\nduration = "2s"\n',
            Fault(
                name="slow",
                kind="freeze",
                host="client",
                start_ns=1000 * MS,
                duration_ns=2000 * MS,
                stopped_ns=35 * MS,
                every_ns=50 * MS,
            ),
        ),
        (
            FREEZE.replace('stopped = "35ms"\nevery = "50ms"', 'stopped = "35ms of 50ms"'),
            Fault(name="slow", kind="freeze", host="client", stopped_ns=35 * MS, every_ns=50 * MS),
        ),
        (QUOTA, Fault(name="slow", kind="cpu-quota", host="client", share=0.3, period_ns=10 * MS)),
        (
            QUOTA.replace('share = "30%"', 'quota = "5ms of 50ms"'),
            Fault(name="slow", kind="cpu-quota", host="client", share=0.1, period_ns=50 * MS),
        ),
        (
            SPINNER.replace('busy = "7ms"\nevery = "10ms"', 'busy = "7ms of 10ms"'),
            Fault(
                name="slow",
                kind="spinner",
                host="server",
                busy_ns=7 * MS,
                every_ns=10 * MS,
                policy="normal",
            ),
        ),
        (
            SPINNER,
            Fault(
                name="slow",
                kind="spinner",
                host="server",
                busy_ns=7 * MS,
                every_ns=10 * MS,
                policy="normal",
            ),
        ),
        (
            SPINNER + 'policy = "realtime"\n',
            Fault(
                name="slow",
                kind="spinner",
                host="server",
                busy_ns=7 * MS,
                every_ns=10 * MS,
                policy="realtime",
            ),
        ),
        (STALL, Fault(name="slow", kind="nic-stall", host="server", duration_ns=13_000 * MS)),
    ],
)
def test_each_kind_is_read(read: Read, text: str, wanted: Fault) -> None:
    assert read(SMALL + text).first.faults == (wanted,)


def test_a_disabled_fault_is_left_out(read: Read) -> None:
    everything = (
        'share = "1%"\nbusy = "1ms"\nevery = "1ms"\nstopped = "9s"\npolicy = '
        '"realtime"\nstart = "1s"\nduration = "2s"\nperiod = "9s"\n'
    )
    assert (
        read(SMALL + '[faults.slow]\nkind = "none"\nhost = "client"\n' + everything).first.faults
        == ()
    )


def test_intensities_are_a_factor_and_the_undisturbed_cell_occurs_once(read: Read) -> None:
    factors = (
        '[factors]\nfaults.slow.kind = ["none", "freeze"]\nfaults.slow.stopped = ["5ms", "35ms"]\n'
    )
    study = read(SMALL + FREEZE + factors)
    assert [[fault.stopped_ns for fault in cell.scenario.faults] for cell in study.cells] == [
        [],
        [5 * MS],
        [35 * MS],
    ]
    assert baselines(study.cells) == {0: 0, 1: 0, 2: 0}


def test_several_kinds_may_come_together(read: Read) -> None:
    second = QUOTA.replace("slow", "narrow")
    assert [fault.kind for fault in read(SMALL + FREEZE + second).first.faults] == [
        "freeze",
        "cpu-quota",
    ]


WRONG = [
    FREEZE.replace('"freeze"', '"freze"'),
    FREEZE.replace('"client"', '"cliet"'),
    FREEZE.replace('stopped = "35ms"\n', ""),
    FREEZE.replace('"35ms"', '"50ms"'),
    FREEZE + 'share = "3%"\n',
    FREEZE + 'stoped = "3ms"\n',
    QUOTA.replace("30%", "5%"),
    QUOTA.replace("30%", "0.01%"),
    QUOTA + 'period = "2s"\n',
    SPINNER.replace('"7ms"', '"11ms"'),
    SPINNER.replace('"7ms"', '"9.5ms"') + 'policy = "realtime"\n',
    SPINNER.replace('"7ms"', '"2s"').replace('"10ms"', '"9s"') + 'policy = "realtime"\n',
    SPINNER + 'policy = "fifo"\n',
    FREEZE + FREEZE.replace("slow", "slower"),
    STALL + 'duration = "0s"\n',
    FREEZE.replace('every = "50ms"\n', ""),
    FREEZE.replace('"35ms"', '"35ms of 50ms"'),
    FREEZE.replace('stopped = "35ms"\nevery = "50ms"', 'stopped = "50ms of 50ms"'),
    FREEZE.replace('stopped = "35ms"\nevery = "50ms"', 'stopped = "35 of 50ms"'),
    QUOTA.replace('share = "30%"\n', ""),
    QUOTA + 'quota = "5ms of 50ms"\n',
    QUOTA.replace('share = "30%"', 'quota = "5ms"'),
    QUOTA.replace('share = "30%"', 'quota = "50ms of 50ms"'),
    QUOTA.replace('share = "30%"', 'quota = "0.5ms of 50ms"'),
    QUOTA.replace('share = "30%"', 'quota = "1s of 2s"'),
]


def test_invalid_keys_are_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(lambda text: read(SMALL + text), WRONG, tmp_path) == snapshot


def test_a_host_without_processes_cannot_have_faults(read: Read) -> None:
    plain = SMALL.replace('"bulk"', '"command"').replace('to = "server"', 'command = "true"')
    with pytest.raises(ScenarioError, match="nothing runs on server") as caught:
        read(plain + SPINNER)
    assert caught.value.hint == "name a host of a workload: client"
    assert read(plain + STALL).first.faults[0].kind == "nic-stall"
