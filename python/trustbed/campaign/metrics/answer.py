"""What a source outside the host answered, or why it did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.campaign.metrics.table import Observation
from trustbed.errors import TrustbedError


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source told.

    Attributes:
        observations: Every value that it has of the time that was asked for.
        reached_ns: Until when it knows the host; what is later may come yet. ``None`` where it
            knows nothing yet.
        problems: What it did not report besides, each in words.
    """

    observations: Sequence[Observation]
    reached_ns: int | None
    problems: Sequence[str] = ()


class SourceError(TrustbedError):
    """A source that did not answer what it was asked.

    ``is_away`` says that it did not answer at all, and is better left alone a while.
    """

    def __init__(self, message: str, hint: str, *, is_away: bool = False) -> None:
        # Servers answer with whole pages, and with halves of letters.
        super().__init__(" ".join(message.encode(errors="replace").decode().split()), hint)
        self.is_away = is_away
