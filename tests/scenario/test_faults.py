"""What a scenario says of faults.

Read with its units, varied like any key, refused with file, line and key.
"""

from __future__ import annotations

import pytest

from tests.scenario.conftest import SMALL, Read
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
        (QUOTA, Fault(name="slow", kind="cpu-quota", host="client", share=0.3, period_ns=10 * MS)),
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


def test_what_is_switched_off_is_not_there(read: Read) -> None:
    everything = (
        'share = "1%"\nbusy = "1ms"\nevery = "1ms"\nstopped = "9s"\npolicy = '
        '"realtime"\nstart = "1s"\nduration = "2s"\nperiod = "9s"\n'
    )
    assert (
        read(SMALL + '[faults.slow]\nkind = "none"\nhost = "client"\n' + everything).first.faults
        == ()
    )


def test_intensities_are_a_factor_and_the_undisturbed_cell_stands_once(read: Read) -> None:
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


CASES = [
    (FREEZE.replace('"freeze"', '"freze"'), "kind", "'freze' is none of", "did you mean freeze?"),
    (FREEZE.replace('"client"', '"cliet"'), "host", "no host named cliet", "did you mean client?"),
    (FREEZE.replace('stopped = "35ms"\n', ""), "", "lacks stopped", 'stopped = "35ms"'),
    (
        FREEZE.replace('"35ms"', '"50ms"'),
        "stopped",
        "leaves nothing of every",
        "a part of every turn",
    ),
    (FREEZE + 'share = "3%"\n', "share", "says nothing about freeze", "belongs to cpu-quota"),
    (FREEZE + 'stoped = "3ms"\n', "stoped", "no such key", "did you mean stopped?"),
    (QUOTA.replace("30%", "5%"), "share", "less than the 1 ms", "a period of at least 20ms"),
    (QUOTA.replace("30%", "0.01%"), "share", "less than the 1 ms", "a larger share"),
    (QUOTA + 'period = "2s"\n', "period", "is no period", "1ms to 1s"),
    (SPINNER.replace('"7ms"', '"11ms"'), "busy", "is more than every", "a part of every turn"),
    (
        SPINNER.replace('"7ms"', '"9.5ms"') + 'policy = "realtime"\n',
        "busy",
        "starve the whole machine",
        "at most 90%",
    ),
    (
        SPINNER.replace('"7ms"', '"2s"').replace('"10ms"', '"9s"') + 'policy = "realtime"\n',
        "busy",
        "starve",
        "at most 1s at once",
    ),
    (SPINNER + 'policy = "fifo"\n', "policy", "'fifo' is none of", "normal"),
    (
        FREEZE + FREEZE.replace("slow", "slower"),
        "kind",
        "slow is a freeze on client too",
        "one of a kind",
    ),
    (STALL + 'duration = "0s"\n', "duration", "no length of time", "above 0"),
]


@pytest.mark.parametrize(("text", "key", "message", "hint"), CASES)
def test_what_cannot_be_is_refused_with_its_key(
    read: Read, text: str, key: str, message: str, hint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(SMALL + text)
    name = "slower" if "slower" in text else "slow"
    assert caught.value.key == (f"faults.{name}.{key}" if key else f"faults.{name}")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.line is not None


def test_a_host_on_which_nothing_runs_cannot_be_disturbed(read: Read) -> None:
    plain = SMALL.replace('"bulk"', '"command"').replace('to = "server"', 'command = "true"')
    with pytest.raises(ScenarioError, match="nothing runs on server") as caught:
        read(plain + SPINNER)
    assert caught.value.hint == "name a host of a workload: client"
    assert read(plain + STALL).first.faults[0].kind == "nic-stall"
