"""What agents answer during a round, validated where it arrives.

One host with another version, or with a fault, answers in another form: that fails its own round.
Fields that a round does not read are not checked; its record stores the whole answer.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from trustbed.agent.client import AgentError

T = TypeVar("T")


class Started(msgspec.Struct, frozen=True):
    """An agent has started, at this time of its host's real-time clock."""

    start_ns: int


class Opened(msgspec.Struct, frozen=True):
    """The receiver's ports, as ``address:port`` by role; null for a role without connections."""

    listening: dict[str, str | None]


class Listening(msgspec.Struct, frozen=True):
    """The one port of a reflector or of an estimator's receiver, as ``address:port``."""

    listening: str


class Interface(msgspec.Struct, frozen=True):
    """The interface that has the measured address; null: none has it."""

    interface: str | None = None


class Pinged(msgspec.Struct, frozen=True):
    """Round-trip times, and the address and interface that the sender uses."""

    own: str = msgspec.field(name="from")
    round_trips_ns: tuple[int | None, ...]
    interface: str | None = None


class Reflected(msgspec.Struct, frozen=True):
    """Test packets that the reflector left unanswered because they came too fast."""

    too_fast_packets: int


class SentConnection(msgspec.Struct, frozen=True):
    """A connection as its sender reports it."""

    pair: int
    role: Literal["probe", "data"]
    connected_ns: int | None
    close: str | None


class ReceivedConnection(msgspec.Struct, frozen=True):
    """A connection as its receiver reports it; bytes, and nanoseconds since the start."""

    pair: int
    role: Literal["probe", "data"]
    failed: bool
    accepted_ns: int | None
    size_bytes: int
    payload_bytes: int
    last_byte_ns: int | None
    result_ns: int | None
    close: str | None


class Sent(msgspec.Struct, frozen=True):
    """The sender's report."""

    connections: tuple[SentConnection, ...]


class Received(msgspec.Struct, frozen=True):
    """The receiver's report."""

    connections: tuple[ReceivedConnection, ...]


def validate(answer: object, form: type[T], agent: str) -> T:
    """Checks an agent's answer.

    Args:
        answer: What it answered.
        form: What is expected.
        agent: Its name, for the message.

    Raises:
        AgentError: It has another form.
    """
    try:
        return msgspec.convert(answer, form)
    except msgspec.ValidationError as error:
        raise AgentError(
            f"{agent}: malformed answer: {error}",
            "the agent on the host may be of another version; the next round tries again",
        ) from None
