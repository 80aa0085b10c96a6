"""The engine. Conversions only: paths and options in, Arrow streams and plain dictionaries out."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, final

__all__ = [
    "Analysis",
    "Arrivals",
    "CaptureError",
    "Ends",
    "Table",
    "Watch",
    "analyze",
    "arrivals",
    "check_filter",
    "default_rates",
    "join",
    "parse_rate",
    "parse_size",
    "parse_span",
    "schemas",
    "three_digits",
    "wavelet_details",
]

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

@final
class Watch:
    """A capture of an interface, measured window by window in a thread of its own.

    Raises :class:`CaptureError` where it cannot begin, and ``ValueError`` for options that cannot be.
    """

    def __new__(
        cls,
        interface: str,
        *,
        rate: int | None = None,
        mode: str = "dynamic-same",
        window_ns: int = 100_000_000,
        basis: str = "frame",
        directions: bool = True,
        filter: str | None = None,
        offload: str = "stacked",
        snap: int = 128,
        ring: int = 33_554_432,
        hardware_timestamps: bool = True,
        write: str | PathLike[str] | None = None,
    ) -> Self: ...
    def next(self, timeout: float) -> list[dict[str, Any]]:
        """Windows that became complete since the last call, in order. Waits for some, at most ``timeout`` seconds.

        Keys as in the windows of a file, with ``direction`` (in, out, all), ``bytes``, and the trains of the window.
        """

    def events(self) -> list[dict[str, str]]:
        """What happened since the last call: code, message, hint."""

    def statistics(self) -> dict[str, Any]:
        """What was counted so far."""

    def facts(self) -> dict[str, Any]:
        """What is known about the interface and how it is measured."""

    @property
    def ended(self) -> bool:
        """Whether the capture has ended, by itself or because it was closed."""

    def close(self) -> None:
        """Ends the capture; the file is complete afterwards. ``next`` then gives what is left."""

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

@final
class Ends:
    """Two captures of the same packets, joined."""

    @property
    def crossings(self) -> Table: ...
    @property
    def clocks(self) -> dict[str, Any]:
        """How they differ.

        ``at_ns``, ``ahead_ns`` (the second clock), ``ahead_error_ns``, ``skew``, ``skew_error``, ``steered_ns``, ``stated``, ``floor_ns``,
        and how many ``frames`` were compared.
        """
    @property
    def frames(self) -> dict[str, Any]:
        """Of both captures: ``frames``, ``placeless``, ``others``, ``dropped``; and ``evicted_connections``."""

def join(
    first: Sequence[str],
    second: Sequence[str],
    *,
    inner: bool = False,
    ahead_ns: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Ends:
    """Joins two captures, each of which is read twice. ``ahead_ns`` says by how much the second clock is ahead, where that is known."""

@final
class Arrivals:
    """The packets of a capture as times and lengths."""

    @property
    def capture(self) -> dict[str, Any]:
        """Facts about files, interfaces and clock; times in integer nanoseconds."""
    @property
    def problems(self) -> list[dict[str, Any]]:
        """Damage in the files: code, file, offset, record, detail."""
    @property
    def packets(self) -> int: ...
    @property
    def ends(self) -> tuple[int, int] | None:
        """When the first and the last packet arrived, in nanoseconds since the epoch."""
    @property
    def streams(self) -> list[tuple[str, int, int]]:
        """Name, packets and bytes of every stream that was told apart, the largest first."""
    @property
    def beyond(self) -> tuple[int, int]:
        """Packets and bytes of streams that were too many to be told apart."""
    def study(
        self,
        asked: Mapping[str, Any],
        *,
        stream: int | None = None,
        workers: int = 1,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> dict[str, Any]:
        """Windows, energy, rates, gaps and trains; see ``trustbed.burst_study`` for what is asked."""
    def load(
        self,
        rates: Sequence[int],
        queues: Sequence[tuple[int, int | None]],
        *,
        stream: int | None = None,
        workers: int = 1,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> tuple[list[float], list[dict[str, Any]]]:
        """The depth σ in bytes for every rate, and what every queue of a rate and a buffer (``None``: not limited) does."""
    def lost(
        self,
        rate: int,
        buffer: int,
        *,
        stream: int | None = None,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> list[bytes]:
        """Records (0: not known), times in nanoseconds and lengths of lost packets: little-endian integers of 64, 64 and 32 bits."""

def arrivals(
    paths: Sequence[str],
    *,
    basis: str = "frame",
    by: str | None = None,
    filter: str | None = None,
    offload: str = "stacked",
    link_rate: int | None = None,
    inner: bool = False,
    numbered: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Arrivals:
    """Reads captures (``-``: standard input) into columns; ``numbered``: with the number of every packet's record."""

def check_filter(text: str) -> None:
    """``ValueError`` says what is wrong with a filter."""

def default_rates(mean: float, link: int) -> list[int]:
    """The rates at which σ is shown, in bit/s, rising."""

def parse_rate(text: str) -> int:
    """Bits per second of ``20Mbit/s``; ``ValueError`` says what is wrong with other words."""

def parse_size(text: str) -> int:
    """Bytes of ``64KiB``; ``ValueError`` says what is wrong with other words."""

def parse_span(text: str) -> int:
    """Nanoseconds of ``20ms``; ``ValueError`` says what is wrong with other words."""

def three_digits(rate: float) -> int:
    """A rate in bit/s, rounded to three digits."""

def wavelet_details(series: list[float], wavelet: str) -> list[list[float]]:
    """The coefficients of a series, octave by octave, as far as all their inputs exist (Mallat's pyramid, nothing is padded)."""

def schemas() -> dict[str, Table]:
    """Every table that the engine fills, by name, without rows: columns, types, units and meanings."""
