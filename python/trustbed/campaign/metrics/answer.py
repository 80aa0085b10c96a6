"""The answer of a metric source outside the host, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.campaign.metrics.table import Observation
from trustbed.errors import TrustbedError


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a source.

    Attributes:
        observations: Every value that it has for the requested time.
        reached_ns: The end of the time for which it has data; later data may follow. ``None``: it
            has none yet.
        problems: What it did not report, a sentence each.
    """

    observations: Sequence[Observation]
    reached_ns: int | None
    problems: Sequence[str] = ()


class SourceError(TrustbedError):
    """A source did not answer a query.

    ``is_away``: the server did not answer at all, and is not queried again for some time.
    """

    def __init__(self, message: str, hint: str, *, is_away: bool = False) -> None:
        # Servers answer with whole pages, and with incomplete characters.
        super().__init__(" ".join(message.encode(errors="replace").decode().split()), hint)
        self.is_away = is_away
