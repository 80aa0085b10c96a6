"""Workloads that play: media streams and videos."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, refusals
from trustbed.run.execution.commands import programs
from trustbed.run.execution.configurations import client, listener
from trustbed.scenario import Workload
from trustbed.scenario.players import Media, Video

MEDIA = SMALL.replace('"bulk"', '"media"')
VIDEO = SMALL.replace('"bulk"', '"video"')

WRONG = [
    MEDIA + 'transport = "sctp"\n',
    MEDIA + 'transport = "tcp"\nrepair = true\n',
    MEDIA + 'rate = "5kbit/s"\n',
    MEDIA + 'rate = "2Gbit/s"\n',
    MEDIA + 'rate = "900Mbit/s"\nduration = "10min"\n',
    MEDIA + "rate = 450\n",
    MEDIA + "frames_per_second = 0\n",
    MEDIA + 'buffer = "2h"\n',
    MEDIA + 'repair = "yes"\n',
    MEDIA + 'segment = "4s"\n',
    MEDIA + 'discard = "1s"\n',
    VIDEO + 'segment = "1s"\n',
    VIDEO + 'segment = "6s"\nbuffer = "10s"\n',
    VIDEO + 'rule = "bola"\n',
    VIDEO + "rates = []\n",
    VIDEO + 'rates = ["1Mbit/s", "5"]\n',
    VIDEO + "rates = [1, 2]\n",
    VIDEO + 'rates = ["10bit/s"]\n',
    VIDEO + 'rates = ["5Mbit/s", "1Mbit/s"]\n',
    VIDEO + 'discard = "1s"\n',
    VIDEO + 'transport = "udp"\n',
]


def only(read: Read, text: str) -> Workload:
    (workload,) = read(text).first.workloads
    return workload


def test_what_is_wrong_is_refused_with_its_line(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(read, WRONG, tmp_path) == snapshot


def test_the_stream_of_the_study_is_the_default(read: Read) -> None:
    film = only(read, MEDIA + '[capture]\npoints = ["client"]\n')
    assert film.media == Media(
        transport="udp", rate=450_000, frames_per_second=30, buffer_ns=0, repair=False
    )
    assert (film.data_from, film.judged_as) == ("server", "interactive")


@pytest.mark.parametrize(
    ("scenario", "own", "seconds"),
    [("10s", "", 10), ("100s", "", 62), ("100s", 'duration = "90s"\n', 90)],
)
def test_a_stream_is_no_longer_than_the_study_s_unless_it_is_told(
    read: Read, scenario: str, own: str, seconds: int
) -> None:
    film = only(read, f'duration = "{scenario}"\n{MEDIA}{own}')
    assert film.duration_ns == seconds * 10**9
    assert film.media is not None
    assert film.media.frames(film.duration_ns) == 30 * seconds


def test_a_stream_is_configured_at_both_ends(read: Read, tmp_path: Path) -> None:
    scenario = read(
        MEDIA + 'rate = "1Mbit/s"\nframes_per_second = 25\nduration = "4s"\n'
        'buffer = "10s"\nrepair = true\n'
    ).first
    (film,) = scenario.workloads
    stream = {"rate_bits_per_second": 1_000_000, "frames_per_second": 25, "frames": 100}
    sends, plays = listener(film, scenario), client(film, scenario, tmp_path)
    assert sends is not None
    assert plays is not None
    assert (sends.verb, sends.where, plays.verb, plays.where) == (
        "media",
        "server",
        "media",
        "client",
    )
    assert sends.configuration == {
        "role": "send",
        "listen": "0.0.0.0:6001",
        "transport": "udp",
        "media": stream,
    }
    assert plays.configuration == {
        "role": "receive",
        "to": "10.77.0.2:6001",
        "from": "10.77.0.1",
        "transport": "udp",
        "media": stream,
        "buffer_ns": 10 * 10**9,
        "repair": True,
        "rows": str(tmp_path / "transfer.packets.rows"),
    }
    assert programs(scenario) == {}


def test_a_video_is_fetched_from_the_built_in_server(read: Read, tmp_path: Path) -> None:
    scenario = read(VIDEO + 'rule = "buffer"\n').first
    (show,) = scenario.workloads
    assert show.video == Video(
        segment_ns=4 * 10**9,
        rates=(1_000_000, 2_500_000, 5_000_000),
        rule="buffer",
        buffer_ns=20 * 10**9,
    )
    serves, plays = listener(show, scenario), client(show, scenario, tmp_path)
    assert serves is not None
    assert plays is not None
    assert (serves.verb, serves.configuration) == ("serve", {"listen": ["0.0.0.0:8000"]})
    assert plays.verb == "video"
    assert plays.configuration == {
        "to": "10.77.0.2:8000",
        "from": "10.77.0.1",
        "duration_ns": 10 * 10**9,
        "segment_ns": 4 * 10**9,
        "rates_bits_per_second": [1_000_000, 2_500_000, 5_000_000],
        "rule": "buffer",
        "buffer_ns": 20 * 10**9,
        "rows": str(tmp_path / "transfer.chunks.rows"),
    }


def test_what_is_played_can_be_a_factor(read: Read) -> None:
    factors = '[factors]\n"workload.transfer.buffer" = ["0s", "10s"]\n'
    buffers = [
        cell.scenario.workloads[0].media.buffer_ns  # type: ignore[union-attr]
        for cell in read(MEDIA + factors).cells
    ]
    assert buffers == [0, 10 * 10**9]
