"""The configurations of the agents that send and play media streams and videos. Pure."""

from __future__ import annotations

from pathlib import Path

from trustbed.agent.messages import Configuration
from trustbed.run.execution.commands import address_of
from trustbed.scenario import Scenario, Workload

PACKETS, CHUNKS = "packets.rows", "chunks.rows"
"""What the rows of a media stream and of a video are called, behind the workload's name."""


def _stream(workload: Workload) -> Configuration:
    media = workload.media
    assert media is not None, "a stream is served and played by workloads of its kind"
    return {
        "transport": media.transport,
        "media": {
            "rate_bits_per_second": media.rate,
            "frames_per_second": media.frames_per_second,
            "frames": media.frames(workload.duration_ns),
        },
    }


def server(workload: Workload, address: str) -> Configuration:
    """The server of a media stream."""
    return {"role": "send", "listen": address, **_stream(workload)}


def client(workload: Workload, scenario: Scenario, logs: Path) -> Configuration:
    """The player of a media stream, or of a video."""
    assert workload.to is not None, "validated when the scenario was read"
    ends: Configuration = {
        "to": f"{address_of(scenario, workload.to)}:{workload.port}",
        "from": address_of(scenario, workload.host),
    }
    if (media := workload.media) is not None:
        return {
            "role": "receive",
            **ends,
            **_stream(workload),
            "buffer_ns": media.buffer_ns,
            "repair": media.repair,
            "rows": str(logs / f"{workload.name}.{PACKETS}"),
        }
    video = workload.video
    assert video is not None, "a player plays a stream or a video"
    return {
        **ends,
        "duration_ns": workload.duration_ns,
        "segment_ns": video.segment_ns,
        "rates_bits_per_second": list(video.rates),
        "rule": video.rule,
        "buffer_ns": video.buffer_ns,
        "rows": str(logs / f"{workload.name}.{CHUNKS}"),
    }
