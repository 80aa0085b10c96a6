"""What a study keeps in its directory for a later call that continues it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trustbed.run.execution.ceiling import Ceiling
from trustbed.sensitivity.plan import SensitivityError

_FILE = "study.json"


class Kept(msgspec.Struct, frozen=True):
    """Of a study that may go on later.

    Attributes:
        seconds: What it took so far.
        base: The background whose time scales are changed; ``None`` before it is known.
        ceiling: What the machine sustains; ``None`` if nothing was demanded that needs to know.
            Measured anew, it could leave out other backgrounds than before, and runs that were
            begun could not be continued.
        sender: Who was measured to send the data of ``sender_of``; ``None`` before.
        sender_of: The workload of which it was measured.
    """

    seconds: float = 0.0
    base: str | None = None
    ceiling: Ceiling | None = None
    sender: str | None = None
    sender_of: str | None = None

    def sender_for(self, workload: str | None) -> str | None:
        """Who was measured to send the data of a workload, of any if none is named."""
        return self.sender if workload in (None, self.sender_of) else None

    def write(self, directory: Path) -> None:
        """Writes it at once or not at all."""
        partial = directory / f"{_FILE}.partial"
        partial.write_bytes(msgspec.json.encode(self))
        partial.replace(directory / _FILE)


def read(directory: Path) -> Kept:
    """What an earlier call kept; nothing if there was none.

    Raises:
        SensitivityError: The file is damaged.
    """
    file = directory / _FILE
    if not file.is_file():
        return Kept()
    try:
        return msgspec.json.decode(file.read_bytes(), type=Kept)
    except (ValueError, RecursionError) as error:
        raise SensitivityError(
            f"{file} is damaged: {error}", "remove it; the study then has its whole budget"
        ) from None
