"""Times of day as text tracers print them."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d{1,2}):(\d\d):(\d\d)|(\d{1,20}))(?:\.(\d{1,9}))?")
DAY_NS = 86_400 * 1_000_000_000


def nanoseconds(text: str) -> int | None:
    """``12:34:56.789`` since midnight, or ``1234.567`` in seconds; ``None`` for anything else."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds, plain, fraction = found.groups()
    whole = int(plain) if plain else int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1_000_000_000 + int((fraction or "").ljust(9, "0") or 0)


class Days:
    """Makes times of day grow over midnight."""

    def __init__(self) -> None:
        self._latest = 0
        self._days = 0

    def since_first(self, time_ns: int) -> int:
        """The time since the midnight before the first one."""
        if time_ns + self._days * DAY_NS < self._latest - DAY_NS // 2:
            self._days += 1
        found = time_ns + self._days * DAY_NS
        self._latest = max(self._latest, found)
        return found
