"""A transfer beside its control: the same numbers of both, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trustbed.report import words
from trustbed.report.records import Row

Shape: TypeAlias = Callable[[float | None], str]
Change: TypeAlias = Callable[[float | None, float | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One quantity of both transfers."""

    term: str
    definition: str
    here: str
    control: str
    difference: str


def _sign(change: float) -> str:
    return "−" if change < 0 else "+"


def _relative(here: float | None, control: float | None) -> str:
    """The change in percent of the control."""
    if not here or not control:
        return ""
    change = here / control - 1
    return "the same" if change == 0 else f"{_sign(change)}{words.percent(abs(change))}"


def _points(here: float | None, control: float | None) -> str:
    """The change of a share in percentage points."""
    if here is None or control is None:
        return ""
    change = here - control
    return (
        "the same"
        if change == 0
        else f"{_sign(change)}{words.percent(abs(change)).removesuffix(' %')} points"
    )


_COMPARED: Sequence[tuple[str, str, str, Shape, Change]] = (
    ("Throughput", "throughput", "throughput_bytes_per_second", words.rate, _relative),
    ("Round-trip time", "rtt", "rtt_path_seconds", words.duration, _relative),
    ("99th percentile of the RTT", "rtt", "rtt_p99_seconds", words.duration, _relative),
    ("Loss", "loss", "loss", words.percent, _points),
    ("Pauses longer than the RTT", "spacing", "long_pause_fraction", words.percent, _points),
    (
        "Idle with open window",
        "idle-open-window",
        "idle_open_window_fraction",
        words.percent,
        _points,
    ),
)


_FROM_CAPTURE_POINT = "rtt_p99_seconds"
"""From the capture point to the receiver and back; other quantities are of the whole path."""


def differences(here: Row, control: Row) -> list[Difference]:
    """Throughput, RTT, loss and silences of a transfer and of its control."""
    same_point = here.get("at") == control.get("at")
    return [
        Difference(
            term=term,
            definition=definition,
            here=shape(here.get(column)),
            control=shape(control.get(column)),
            difference=change(here.get(column), control.get(column))
            if same_point or column != _FROM_CAPTURE_POINT
            else "different capture points",
        )
        for term, definition, column, shape, change in _COMPARED
    ]


def in_a_sentence(name: str, here: Row, control: Row) -> str:
    """The comparison in short, for the top of the page."""
    known = [
        (
            "throughput",
            _relative(
                here.get("throughput_bytes_per_second"), control.get("throughput_bytes_per_second")
            ),
        ),
        ("RTT", _relative(here.get("rtt_path_seconds"), control.get("rtt_path_seconds"))),
        ("loss", _points(here.get("loss"), control.get("loss"))),
    ]
    message = [f"{what} {change}" for what, change in known if change]
    silent, other = here.get("idle_open_window_fraction"), control.get("idle_open_window_fraction")
    if silent is not None and other is not None:
        message.append(
            f"silent under an open window {words.percent(silent)} of the time instead of "
            f"{words.percent(other)}"
        )
    return f"Beside {name}: {', '.join(message)}." if message else ""
