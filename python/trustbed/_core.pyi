"""The engine. Conversions only: paths and options in, Arrow streams and plain dictionaries out."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from os import PathLike
from typing import Any, Self, final

from trustbed.watch.engine import Event, Facts, Statistics, Window

__all__ = [
    "Analysis",
    "Arrivals",
    "CallAlphabet",
    "CallChains",
    "CaptureError",
    "ModelTables",
    "Table",
    "TwoPoint",
    "Watch",
    "analyze",
    "annotate",
    "arrivals",
    "call_occurrences",
    "check_filter",
    "default_rates",
    "extract_model",
    "join",
    "joined",
    "model_schemas",
    "parse_rate",
    "parse_size",
    "parse_span",
    "profiles",
    "schemas",
    "split_calls",
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
    def judged(self) -> Table:
        """The transfers that can be judged: of :attr:`transfers` the first."""
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
    @property
    def part(self) -> list[bytes] | None:
        """Of a part, what :func:`joined` needs beside the tables: its sequence, its trails."""
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
    charts_of: AbstractSet[str] | None = None,
    memory: int | None = None,
    part: tuple[int, int] | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Analysis:
    """Reads captures (``-``: standard input) in one pass.

    ``part`` (its number from 0, and of how many) measures only the connections of its shards, for
    :func:`joined`; ``samples`` and ``series`` are for whole analyses.
    ``capacity`` is in bit/s. With ``series``, what charts are drawn from is kept of the 32
    largest transfers, of ``charts_of`` where they are named. ``memory`` is the budget of
    connection state in bytes (``None``: 1 GiB). The engine calls ``progress`` with the bytes read
    so far and in total (``None``: unknown); an exception from it ends the analysis.
    """

def joined(
    parts: Sequence[PathLike[str]],
    capture: dict[str, Any],
    skips: list[dict[str, Any]],
    problems: list[dict[str, Any]],
) -> Analysis:
    """Joins the parts of an analysis, in the order of their numbers.

    Each is a directory with the Arrow streams ``connections``, ``judged``, ``short``, ``phases``
    and ``exchanges`` (``.arrow``), and the bytes ``sequence`` and ``trails``. The other arguments
    are the facts about the capture, the parts' sums added up.
    """

def annotate(
    analysis: Analysis,
    paths: Sequence[str],
    output: PathLike[str],
    *,
    application: str,
    packets: object,
    moments: object,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> tuple[int, int, int]:
    """Writes a capture that was analysed as pcapng, with comments.

    ``packets`` (``index``, ``text``) and ``moments`` (``ts_ns``, ``src``, ``src_port``, ``dst``,
    ``dst_port``, ``text``) are Arrow streams in the order of their first column; a moment's comment
    goes to the next packet of its connection. Returns packets, comments, and comments that found no
    packet.

    Raises:
        CaptureError: The capture changed since it was analysed, or cannot be read any more.
        OSError: It cannot be written.
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
        """Frame counts of both captures, ``evicted_connections`` and ``round_trips_left_out``.

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
    @property
    def profiles(self) -> list[dict[str, object]]: ...

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

def profiles(
    paths: Sequence[str | PathLike[str]],
    *,
    workers: int = 1,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> list[dict[str, object]]:
    """What the packets of TCP and UDP look like in either direction.

    Each direction is a stream of ``trustbed burst --json`` with energy, logscale diagram and rates
    (1 ms, IP lengths, moments since the first packet), and ``sender``: client or server.

    Raises:
        CaptureError: A capture cannot be read at all.
    """

@final
class CallAlphabet:
    """Names of system calls and their numbers, in the order in which the names are met."""

    def __new__(cls) -> Self: ...
    @property
    def names(self) -> list[str]:
        """Every name, by its number."""
    def __len__(self) -> int: ...
    def encode(self, names: object) -> list[Any]:
        """Numbers (Arrow arrays of ``uint16``) of an Arrow array or stream of strings.

        A dictionary of strings is encoded without looking at its rows' names.

        Raises:
            ValueError: A name is null, or there are more than 65,536.
            TypeError: The array holds no strings.
        """

@final
class CallChains:
    """Chains of the orders 1 to ``order`` over the same sequences, ``bound`` transitions each.

    Arrow arrays and streams of calls are ``uint16``, read without a copy and without the
    interpreter lock. Walks, edges and distances are those of the highest order.

    Raises:
        ValueError: No such order.
    """

    def __new__(cls, order: int = 1, *, bound: int = 1_048_576) -> Self: ...
    @property
    def order(self) -> int: ...
    @property
    def calls(self) -> int:
        """Calls that were pushed."""
    @property
    def transitions(self) -> int:
        """Transitions that were counted, each as often as it was made."""
    def __len__(self) -> int:
        """Different transitions."""
    def push(self, calls: object) -> None:
        """Takes the next calls of a thread.

        Raises:
            ValueError: A call is null, or there are more different transitions than the bound: the
                chains then lack what followed and are of no use.
            TypeError: The array is not of ``uint16``.
        """
    def end(self) -> None:
        """Ends the thread: what is pushed next is another's."""
    def merge(self, other: CallChains) -> None:
        """Adds the counts of others; ``ValueError`` for another order, or beyond the bound."""
    def walk(self, calls: object) -> tuple[float, int, int]:
        """log₁₀ of the valid transitions of one sequence, invalid ones, all."""
    def walk_counted(self, other: CallChains) -> tuple[float, int, int]:
        """The same of all sequences that ``other`` counted, as one walk."""
    def vocabulary(self, other: CallChains) -> int:
        """Different calls of both."""
    def bits(
        self, other: CallChains, *, additive: float, backoff: float, vocabulary: int
    ) -> float | None:
        """Smoothed cross entropy of ``other``, in bits per transition; ``None`` without any."""
    def topology(
        self, candidate: CallChains, *, least: float
    ) -> tuple[float | None, float | None, float | None]:
        """Jaccard distance, mean gap of weights, total variation of the pruned chains."""
    def edges(self, *, least: float = 0.0) -> list[tuple[list[int], int, int, float]]:
        """State, call, count and weight of the pruned chain, in ascending order."""
    def changes(
        self, candidate: CallChains, *, additive: float, backoff: float, most: int
    ) -> list[tuple[list[int], int, tuple[int, int], tuple[float, float], tuple[float, float]]]:
        """State, call, counts, probabilities (reference, candidate), and bits with excess.

        Those that contribute most bits first (``trustbed.calls.changes``).
        """

def call_occurrences(
    calls: object,
    transitions: Sequence[tuple[Sequence[int], int]],
    *,
    initialisation: int,
    examples: int,
) -> list[tuple[tuple[int, list[int]], tuple[int, list[int]]]]:
    """Where one thread makes each transition: count and first indexes, of both phases.

    The first phase is the first ``initialisation`` calls.
    """

def split_calls(threads: object, calls: object) -> list[tuple[int, Any]]:
    """The calls (``uint16``) of every thread (``uint32``), in the order of their first calls.

    Raises:
        ValueError: The columns differ in length, or hold nulls.
        TypeError: A column has another type.
    """
