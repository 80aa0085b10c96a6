"""The engine. Conversions only: paths and options in, Arrow streams and plain dictionaries out."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, final

from trustbed.watch.engine import Event, Facts, Statistics, Window

__all__ = [
    "Analysis",
    "Arrivals",
    "CaptureError",
    "ModelTables",
    "Table",
    "TwoPoint",
    "Watch",
    "analyze",
    "arrivals",
    "check_filter",
    "default_rates",
    "extract_model",
    "join",
    "model_schemas",
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
    """Rows in capture order; every ``__arrow_c_stream__`` starts at the first row."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class Analysis:
    """The result of one pass over a capture."""

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
    def phases(self) -> Table: ...
    @property
    def exchanges(self) -> Table: ...
    @property
    def rtt(self) -> Table | None: ...
    @property
    def spacing(self) -> Table | None: ...
    @property
    def segments(self) -> Table | None: ...
    def series(self, transfer: str) -> dict[str, Any] | None:
        """Thinned columns for the charts of one transfer; ``None`` without ``series=True``."""

@final
class Watch:
    """A live capture of an interface, measured window by window in its own thread.

    With ``successor`` the process gives up all its privileges once interface and file are open: one
    of root becomes one of this user and group.

    Raises:
        CaptureError: The capture cannot begin.
        ValueError: An option is invalid.
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
        successor: tuple[int, int] | None = None,
    ) -> Self: ...
    def next(self, timeout: float) -> list[Window]:
        """Windows completed since the last call, in order; waits at most ``timeout`` seconds.

        Keys as in the windows of a file, with ``direction`` (in, out, all), ``bytes``, and the
        trains of the window.
        """

    def events(self) -> list[Event]:
        """Events since the last call: code, message, hint."""

    def statistics(self) -> Statistics:
        """Counters so far."""

    def facts(self) -> Facts:
        """Facts about the interface and the measurement."""

    @property
    def ended(self) -> bool:
        """Whether the capture has ended, by itself or by ``close``."""

    def close(self) -> None:
        """Ends the capture and completes the file; ``next`` then returns the remaining windows."""

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

    ``capacity`` is in bit/s. The engine calls ``progress`` with the bytes read so far and in
    total (``None``: unknown); an exception from it ends the analysis.
    """

@final
class TwoPoint:
    """A two-point capture: two captures of the same packets, joined."""

    @property
    def two_point(self) -> Table: ...
    @property
    def clocks(self) -> dict[str, Any]:
        """How the two clocks differ.

        ``at_ns``, ``ahead_ns`` (the second clock), ``ahead_error_ns``, ``skew``, ``skew_error``,
        ``clock_slew_ns``, ``stated``, ``floor_ns`` (minimum one-way delay of both
        directions), and the number of ``frames`` compared.
        """
    @property
    def frames(self) -> dict[str, Any]:
        """Frame counts of both captures, and ``evicted_connections``.

        Of both captures: ``frames``, ``without_capture_point``, ``others``, ``dropped``.
        """

def join(
    first: Sequence[str],
    second: Sequence[str],
    *,
    inner: bool = False,
    ahead_ns: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> TwoPoint:
    """Joins two captures, each read twice; ``ahead_ns`` is the second clock's offset, if known."""

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
        """Times of the first and the last packet, in nanoseconds since the epoch."""
    @property
    def streams(self) -> list[tuple[str, int, int]]:
        """Name, packets and bytes of every distinguished stream, the largest first."""
    @property
    def beyond(self) -> tuple[int, int]:
        """Packets and bytes of streams beyond the limit."""
    def study(
        self,
        options: Mapping[str, Any],
        *,
        stream: int | None = None,
        workers: int = 1,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> dict[str, Any]:
        """Windows, energy, rates, gaps, trains; options: ``trustbed.analysis.burst_study``."""
    def load(
        self,
        rates: Sequence[int],
        queues: Sequence[tuple[int, int | None]],
        *,
        stream: int | None = None,
        workers: int = 1,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> tuple[list[float], list[dict[str, Any]]]:
        """The depth σ in bytes per rate, and the result of each queue (rate, buffer)."""
    def lost(
        self,
        rate: int,
        buffer: int,
        *,
        stream: int | None = None,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> list[bytes]:
        """Record numbers (0: unknown), times in nanoseconds and lengths of losses.

        Little-endian integers of 64, 64 and 32 bits.
        """

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
    """Reads captures (``-``: standard input) into columns; ``numbered`` adds record numbers."""

def check_filter(text: str) -> None:
    """Raises ``ValueError`` for an invalid filter."""

def default_rates(mean: float, link: int) -> list[int]:
    """The rates at which σ is shown, in bit/s, rising."""

def parse_rate(text: str) -> int:
    """Bits per second of ``20Mbit/s``; ``ValueError`` for an invalid rate."""

def parse_size(text: str) -> int:
    """Bytes of ``64KiB``; ``ValueError`` for an invalid size."""

def parse_span(text: str) -> int:
    """Nanoseconds of ``20ms``; ``ValueError`` for an invalid duration."""

def three_digits(rate: float) -> int:
    """A rate in bit/s, rounded to three digits."""

def wavelet_details(series: list[float], wavelet: str) -> list[list[float]]:
    """Wavelet coefficients of a series, octave by octave (Mallat's pyramid, no padding)."""

def schemas() -> dict[str, Table]:
    """Every table of the engine by name, without rows: columns, types, units, meanings."""

def model_schemas() -> dict[str, Table]:
    """Every table of a traffic model by name, without rows."""

@final
class ModelTables:
    """What a capture shows of the users, applications and hosts behind it."""

    @property
    def connections(self) -> Table: ...
    @property
    def units(self) -> Table: ...
    @property
    def hosts(self) -> Table: ...
    @property
    def counts(self) -> dict[str, int]: ...

def extract_model(
    paths: Sequence[str | PathLike[str]],
    *,
    classes: Sequence[tuple[str, int, Sequence[int]]],
    session_gap_ns: int,
    exchange_gap_ns: int,
    workers: int = 1,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> ModelTables | None:
    """Learns a traffic model; ``None`` if no connection carried data.

    Raises:
        CaptureError: A capture cannot be read at all.
    """
