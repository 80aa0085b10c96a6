"""What a report about one capture shows.

Facts, findings, counts, and the transfers that matter most.

Holds what was measured and judged, under the names of the JSON contract. Bounded: at most as many
transfers as a report can show, however long the capture was; the counts are of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.report.records import Row

VERDICTS = ("discard", "review", "trust", "not_judged")
"""From the most to the least severe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One capture in short.

    ``transfers`` are judged ones, the most severe first, the larger first among equals.
    """

    name: str
    facts: Row
    findings: Sequence[Row]
    skips: Sequence[Row]
    transfers: Sequence[Row]
    verdicts: Mapping[str, int] = field(default_factory=dict)
    connections: int = 0

    @property
    def judged(self) -> int:
        """How many transfers were long enough to judge."""
        return sum(count for verdict, count in self.verdicts.items() if verdict != "not_judged")

    @property
    def not_judged(self) -> int:
        """How many were too short."""
        return self.verdicts.get("not_judged", 0)

    @property
    def worst(self) -> str | None:
        """The most severe verdict; ``None`` when nothing could be judged."""
        return next((verdict for verdict in VERDICTS[:-1] if self.verdicts.get(verdict)), None)
