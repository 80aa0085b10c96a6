"""The kernel's counters, step by step, beside the phases of a capture."""

from __future__ import annotations

from typing import Any

import pytest

from validation.truth.kernel import equal_steps, pairs
from validation.truth.kernel_steps import LEAST_STEPS, compare

MS = 1_000_000
ROW = {"transfer": "t", "src_port": 5, "dst_port": 6, "duration_ns": 800 * MS}


def phase(number: int, state: str, begin: int, end: int, time: int | None = None) -> dict[str, Any]:
    return {
        "transfer": "t",
        "phase": number,
        "state": state,
        "start_ns": begin * MS,
        "end_ns": end * MS,
        "time_ns": (end - begin if time is None else time) * MS,
    }


PHASES = [
    phase(0, "path", 0, 400),
    phase(1, "idle_application", 400, 600),
    phase(2, "window", 600, 800),
    {**phase(0, "idle_application", 0, 800), "transfer": "another"},
]


def sample(at: int, busy: float, *, local: str = "10.0.0.1:5") -> dict[str, Any]:
    return {
        "at_ns": at * MS,
        "local": local,
        "peer": "10.0.0.2:6",
        "busy_ns": busy * MS,
        "receive_window_limited_ns": max(0, at - 600) * MS,
        "send_buffer_limited_ns": 0,
    }


def busy_until(at: int) -> float:
    """A kernel that is busy in the first and the last phase."""
    return min(at, 400) + max(0, at - 600)


def test_a_kernel_that_pauses_where_the_capture_does_is_equal_in_every_step() -> None:
    sockets = [sample(at, busy_until(at)) for at in range(0, 801, 10)]
    found = compare(PHASES, [*sockets, sample(5, 0, local="10.0.0.1:7")], ROW)
    assert found is not None
    assert (found["steps"], found["lasted_ns"], found["equal_share"]) == (80, 800 * MS, 1.0)
    assert found["capture_busy_share"] == pytest.approx(0.75)
    assert (found["busy_ns"], found["receive_window_limited_ns"]) == (600 * MS, 200 * MS)


def test_a_kernel_that_never_pauses_differs_in_the_steps_of_the_pause() -> None:
    found = compare(PHASES, [sample(at, at) for at in range(0, 801, 10)], ROW)
    assert found is not None
    assert found["equal_share"] == pytest.approx(0.75)


def test_states_of_a_joined_phase_share_its_time() -> None:
    phases = [phase(0, "path", 0, 800, 600), phase(0, "think", 0, 800, 200)]
    found = compare(phases, [sample(at, 0.75 * at) for at in range(0, 801, 10)], ROW)
    assert found is not None
    assert found["capture_busy_share"] == pytest.approx(0.75)


def test_samples_far_apart_and_too_few_are_not_compared() -> None:
    step = 800 // LEAST_STEPS
    few = [sample(at, at) for at in range(0, step * LEAST_STEPS, step)]
    assert compare(PHASES, few, ROW) is None
    assert compare([], [sample(at, at) for at in range(0, 801, 10)], ROW) is None
    far = [sample(at, at) for at in range(0, 401, 10)] + [sample(at, at) for at in range(600, 801)]
    found = compare(PHASES, far, ROW)
    assert found is not None
    assert found["equal_share"] == 1.0


def test_samples_go_before_the_counters_at_the_end() -> None:
    steps = compare(PHASES, [sample(at, busy_until(at)) for at in range(0, 801, 10)], ROW)
    stored = {
        "captures": {"sender": {"row": {**ROW, "share_path": 0.5, "window_full": 0.25}}},
        "kernel": {"busy_ns": 1 * MS},
        "kernel_steps": steps,
    }
    busy, full = pairs(stored)
    assert (busy.capture, busy.kernel) == (pytest.approx(0.75), pytest.approx(0.75))
    assert (full.capture, full.kernel) == (0.25, pytest.approx(0.25))
    assert equal_steps([stored, {**stored, "kernel_steps": None}]) == (1, 80, 1.0)
    assert equal_steps([{}]) is None
