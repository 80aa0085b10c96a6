"""What the engine hands over while it watches an interface: windows, counters, facts, events."""

from __future__ import annotations

from typing import TypedDict


class Window(TypedDict):
    """A complete window of one direction (in, out, all), or ``windows`` empty ones in a row."""

    direction: str
    start_seconds: float
    abw_bits_per_second: float
    max_q_bytes: float | None
    max_q_sys_bytes: float | None
    packets: int
    bytes: int
    rate_bits_per_second: float | None
    partial: bool
    windows: int
    trains: int
    train_packets_mean: float | None
    train_packets_max: int | None
    train_bytes_max: int | None


class WrittenFile(TypedDict):
    """The file of ``--write``; unknown until the file is complete: bytes and frames left out."""

    path: str
    frames: int
    frames_left_out: int | None
    bytes: int | None
    failed: bool


class Statistics(TypedDict):
    """The counters so far."""

    kernel_received: int
    kernel_dropped: int
    ring_full: int
    filtered: int
    without_ip: int
    expanded_packets: int
    steps_back: int
    clock_steps: int
    windows_left_out: int
    file: WrittenFile | None


class Facts(TypedDict):
    """Facts about the interface and the measurement."""

    interface: str
    mode: str
    rate_bits_per_second: float | None
    window_seconds: float
    basis: str
    offload: str
    timestamps: str
    train_gap_seconds: float


class Event(TypedDict):
    """Something happened; ``hint`` is how to fix it, or empty."""

    code: str
    message: str
    hint: str
