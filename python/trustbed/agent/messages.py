"""The messages to and from an agent: lines of JSON.

A host decides what its agent answers. What is read of an answer while an experiment is carried out
has the right type, or the answer is malformed; the rest is stored as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec

Event: TypeAlias = dict[str, Any]
"""A line from an agent."""
Configuration: TypeAlias = Mapping[str, object]
"""The configuration of an agent."""

_Whole = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_Number = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]


class _Problem(msgspec.Struct):
    """What went wrong while a capture was written."""

    message: str


class _Part(msgspec.Struct):
    """A file that an agent writes besides its report, or a capture of the emulator's."""

    error: str | None = None
    troubles: list[_Problem] | None = None
    router: str | None = None


class _Transfer(msgspec.Struct):
    """A transfer: its outcome, times and the kernel's counters."""

    outcome: str | None = None
    error: str | None = None
    local: str | None = None
    connection: _Whole | None = None
    connected_ns: _Whole | None = None
    confirmed_ns: _Whole | None = None
    last_byte_ns: _Whole | None = None
    payload_bytes: _Whole | None = None
    send_buffer_bytes: _Whole | None = None
    goodput_bits_per_second: _Number | None = None
    congestion_control: str | None = None
    tcp: dict[str, str | bool | _Whole | _Number | None] | None = None


class _Report(_Part):
    """What is read of a report while an experiment is carried out, whatever its verb."""

    start_ns: _Whole | None = None
    end_ns: _Whole | None = None
    taps: list[_Part] | None = None
    rows: _Part | None = None
    ledger: _Part | None = None
    transfers: list[_Transfer] | None = None
    requests: _Whole | None = None
    good_requests: _Whole | None = None
    ending: str | None = None


class _Complaint(msgspec.Struct):
    """An error: what failed, and how to fix it."""

    message: str
    hint: str


_NEEDED: Mapping[str, type[msgspec.Struct]] = {"error": _Complaint, "report": _Report}
"""What an event must hold, by its kind. Those of other kinds may hold anything."""


def event_of(line: bytes) -> Event:
    """An event by its line, under the keys that the agent gave it.

    Raises:
        ValueError: It is something else.
        RecursionError: It is nested too deep.
    """
    event = msgspec.json.decode(line)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("no event")
    if (needed := _NEEDED.get(event["event"])) is not None:
        msgspec.convert(event, needed)
    return event
