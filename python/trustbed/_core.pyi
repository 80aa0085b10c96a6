"""The engine. Conversions only: paths and options in, Arrow streams and plain dictionaries out."""

from collections.abc import Callable, Sequence
from typing import Any, final

__all__ = ["Analysis", "CaptureError", "Table", "analyze", "parse_rate", "schemas"]

class CaptureError(Exception):
    """A capture cannot be read at all. ``message`` says what and where, ``hint`` what to do."""

    message: str
    hint: str

@final
class Table:
    """Rows in the order of the capture. Every call of ``__arrow_c_stream__`` starts again at the first row."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class Analysis:
    """What one pass over a capture found."""

    @property
    def capture(self) -> dict[str, Any]:
        """Facts about files, interfaces, clock and packets; times in seconds."""
    @property
    def skips(self) -> list[dict[str, Any]]:
        """Records that were not measured: reason, records, first_index."""
    @property
    def problems(self) -> list[dict[str, Any]]:
        """Damage in the files: code, file, offset, record, detail."""
    @property
    def connections(self) -> Table: ...
    @property
    def transfers(self) -> Table: ...
    @property
    def rtt(self) -> Table | None: ...
    @property
    def spacing(self) -> Table | None: ...
    @property
    def segments(self) -> Table | None: ...
    def series(self, transfer: str) -> dict[str, Any] | None:
        """Thinned columns for the charts of one transfer; null unless asked for (``series=True``)."""

def analyze(
    paths: Sequence[str],
    *,
    workers: int = 1,
    inner: bool = False,
    dedup: bool = False,
    at: str | None = None,
    capacity: int | None = None,
    samples: bool = False,
    series: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Analysis:
    """Reads captures (``-``: standard input) in one pass.

    ``capacity`` is in bit/s. ``progress`` is called with the bytes read so far and in total (null = unknown); what it raises ends the
    analysis.
    """

def parse_rate(text: str) -> int:
    """Bits per second of ``20Mbit/s``; ``ValueError`` says what is wrong with other words."""

def schemas() -> dict[str, list[tuple[str, str, str, str]]]:
    """The columns of every table: name, Arrow type, unit, meaning."""
