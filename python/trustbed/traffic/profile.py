"""What the traffic of a model looks like on a link: how bursty, and how much over time.

A profile is taken of the packets themselves (TCP and UDP, lengths of IP packets): of the trace from
which a model was learned, or of traffic that was generated and captured. Each direction has the
fields of a stream of ``trustbed burst --json`` (docs/json.md#burst), and moments count from the
first packet, so that no date is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from trustbed import _core
from trustbed.disk import whole_path
from trustbed.errors import TrustbedError


class Octave(msgspec.Struct, frozen=True, kw_only=True):
    """The energy at one time scale: log₂ of the mean square of Haar coefficients, in bytes²."""

    octave: int
    scale_seconds: float
    count: int
    energy: float | None


class Energy(msgspec.Struct, frozen=True, kw_only=True):
    """Energies by octave, the finest first."""

    bin_seconds: float
    counted: str
    octaves: tuple[Octave, ...]


class LogscaleOctave(Octave, frozen=True, kw_only=True):
    """The same without its bias (``y``), with its 95 % interval."""

    y: float | None
    low: float | None
    high: float | None


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A line through the octaves ``first`` to ``last`` of a logscale diagram.

    ``quality`` is the probability of points as far from a line as these if they do lie on one
    (Veitch and Abry, IEEE Trans. IT 45(3), 1999); below 0.05 the line is ``rejected``. ``hurst`` is
    ``None`` where the slope ``alpha`` is not one of stationary traffic.
    """

    first: int
    last: int
    used: int
    alpha: float
    alpha_low: float
    alpha_high: float
    hurst: float | None
    hurst_low: float | None
    hurst_high: float | None
    quality: float | None
    rejected: bool
    nonstationary: bool


class Logscale(msgspec.Struct, frozen=True, kw_only=True):
    """The logscale diagram."""

    wavelet: str
    bin_seconds: float
    octaves: tuple[LogscaleOctave, ...]
    fit: Fit | None


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The largest rate in bins of one width."""

    width_seconds: float
    bits_per_second: float
    start_seconds: float


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """The rate over time: (seconds, bit/s) of every bin; of a silence, its first and last bin."""

    bin_seconds: float
    points: tuple[tuple[float, float], ...]
    peaks: tuple[Peak, ...]


class Direction(msgspec.Struct, frozen=True, kw_only=True):
    """What one side sent: those who opened the connections, or those who answered."""

    sender: Literal["client", "server"]
    packets: int
    bytes: int
    duration_seconds: float | None
    mean_rate_bits_per_second: float | None
    energy: Energy
    logscale: Logscale
    rates: Rates


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What traffic looked like on a link.

    Attributes:
        origin: Whether it is that of the trace, or of traffic that was generated and measured.
        command: What measured it; empty for a trace.
        steps: Of how many steps of the model's recipe; fewer than the recipe has means that it is
            the base's.
        directions: Those in which there were packets.
    """

    origin: Literal["trace", "measurement"]
    command: str = ""
    steps: int = 0
    directions: tuple[Direction, ...] = ()


def of_trace(directions: Sequence[object]) -> Profile:
    """The profile that the extraction of a model saw."""
    return Profile(origin="trace", directions=_converted(directions))


def measured(
    capture: str | os.PathLike[str],
    *,
    command: str,
    steps: int = 0,
    workers: int = 1,
    progress: Callable[[int, int | None], object] | None = None,
) -> Profile:
    """The profile of generated traffic, from its capture.

    Raises:
        CaptureError: Nothing can be read.
    """
    found = _core.profiles([os.fspath(capture)], workers=workers, progress=progress)
    return Profile(origin="measurement", command=command, steps=steps, directions=_converted(found))


def _converted(directions: Sequence[object]) -> tuple[Direction, ...]:
    found = msgspec.convert(directions, tuple[Direction, ...])
    return tuple(msgspec.structs.replace(one, rates=_rounded(one.rates)) for one in found)


def _rounded(rates: Rates) -> Rates:
    """To microseconds and bit/s: more digits would only make files larger."""
    points = tuple((round(at, 6), float(round(rate))) for at, rate in rates.points)
    return msgspec.structs.replace(rates, points=points)


def encoded(profiles: Sequence[Profile]) -> bytes:
    """Profiles as JSON, a line for each."""
    return b"[" + b",\n".join(msgspec.json.encode(one) for one in profiles) + b"]\n"


def decoded(text: bytes) -> tuple[Profile, ...]:
    """Profiles from JSON.

    Raises:
        msgspec.MsgspecError: It is none, or has fields of another kind.
    """
    return msgspec.json.decode(text, type=tuple[Profile, ...])


def write(path: Path, profile: Profile) -> None:
    """Writes a profile into a file of its own, at once or not at all."""
    with whole_path(path) as partial:
        partial.write_bytes(encoded([profile]))


def read(path: Path) -> Profile:
    """Reads a file that :func:`write` wrote.

    Raises:
        ProfileError: It cannot be read, or is none.
    """
    try:
        (found,) = decoded(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ProfileError(
            f"{path}: no profile: {error}", "measure the model again: trustbed model measure"
        ) from None
    return found


class ProfileError(TrustbedError):
    """A file of a profile that cannot be read."""
