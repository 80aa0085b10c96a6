"""The options of both ends of a bulk transfer, from the file to the agents' configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, refusals
from trustbed.run.execution.configurations import client, listener
from trustbed.scenario import Pace


def configurations(read: Read, keys: str) -> tuple[dict[str, object], dict[str, object]]:
    """The configurations of the sender and the receiver."""
    scenario = read(SMALL + keys).first
    (workload,) = scenario.workloads
    sender, receiver = client(workload, scenario, Path()), listener(workload, scenario)
    assert sender is not None
    assert receiver is not None
    return dict(sender.configuration), dict(receiver.configuration)


def test_a_sender_that_pauses_and_a_receiver_that_is_slow(read: Read) -> None:
    ends = 'write = { burst = "256KB", pause = "200ms" }\nread = { rate = "2Mbit/s" }\n'
    keys = ends + 'delayed_ack = "always"\nwindow_clamp = "16KiB"\nnagle = true\n'
    sender, receiver = configurations(read, keys)
    assert sender["write"] == {"burst_bytes": 256_000, "pause_ns": 200_000_000}
    assert sender["tcp"] == {"congestion_control": "cubic", "no_delay": False}
    assert receiver["read"] == {"rate_bits_per_second": 2_000_000}
    assert receiver["tcp"] == {"receive_buffer_bytes": 8192, "window_clamp_bytes": 16_384}
    assert receiver["delayed_ack"] == "always"


def test_a_window_is_left_to_the_receiver(read: Read) -> None:
    sender, receiver = configurations(read, 'window = "64KiB"\n')
    assert receiver["tcp"] == {"window_bytes": 65_536}
    assert sender["tcp"] == {"congestion_control": "cubic"}


def test_clients_think_between_requests(read: Read) -> None:
    pages = SMALL.replace('"bulk"', '"http"') + 'object = "1MB"\nreuse = true\nthink = "50ms"\n'
    scenario = read(pages).first
    agent = client(scenario.workloads[0], scenario, Path())
    assert agent is not None
    assert (agent.configuration["pause_ns"], agent.configuration["reuse"]) == (50_000_000, True)


def test_what_is_not_requested_is_not_configured(read: Read) -> None:
    sender, receiver = configurations(read, "")
    assert "write" not in sender
    assert sender["tcp"] == {"congestion_control": "cubic"}
    assert set(receiver) == {"role", "listen"}


def test_the_receiver_has_until_the_time_limit_to_take_the_rest(read: Read) -> None:
    sender, _ = configurations(read, 'duration = "10s"\ntime_limit = "95s"\n')
    assert sender["confirm_timeout_ns"] == 85_000_000_000


@pytest.mark.parametrize(
    ("keys", "judged"),
    [
        ("", "bulk"),
        ('read = { rate = "2Mbit/s" }\n', "bulk"),
        ('write = { rate = "2Mbit/s" }\n', None),
        ('write = { burst = "1KB", pause = "1s" }\njudge_as = "bulk"\n', "bulk"),
    ],
)
def test_a_pausing_sender_is_not_a_bulk_sender_unless_declared(
    read: Read, keys: str, judged: str | None
) -> None:
    (workload,) = read(SMALL + keys).first.workloads
    assert workload.judged_as == judged


def test_a_pace_can_be_a_factor(read: Read) -> None:
    study = read(
        SMALL
        + (
            'write = { rate = "1Mbit/s" }\n[factors]\nworkload.transfer.write.rate = '
            '["1Mbit/s", "3Mbit/s"]\n'
        )
    )
    assert [cell.scenario.workloads[0].write for cell in study.cells] == [
        Pace(rate=1_000_000),
        Pace(rate=3_000_000),
    ]


WRONG = [
    'write = { burst = "1KB" }\n',
    'write = { rate = "1Mbit/s", pause = "1s" }\n',
    'write = { rate = "0Mbit/s" }\n',
    'read = { burst = "0B", pause = "1s" }\n',
    'read = { burst = "1KB", pause = "0s" }\n',
    'read = "2Mbit/s"\n',
    'window_clamp = "1KB"\n',
    'window = "1KB"\n',
    'window = "64KiB"\nwindow_clamp = "64KiB"\n',
    'window = "64KiB"\nreceive_buffer = "64KiB"\n',
    'delayed_ack = "sometimes"\n',
]


def test_invalid_keys_are_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(lambda keys: read(SMALL + keys), WRONG, tmp_path) == snapshot
