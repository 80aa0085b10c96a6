"""The options of an analysis: the files, what the user knows of them, how to read them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

CapturePoint: TypeAlias = Literal["sender", "receiver", "middle"]
Workload: TypeAlias = Literal["bulk", "interactive"]
Mode: TypeAlias = Literal["static", "dynamic-same", "dynamic-previous", "dynamic-same-carry"]
Basis: TypeAlias = Literal["frame", "frame_fcs", "wire", "ip"]
By: TypeAlias = Literal["direction", "vlan", "interface", "flow"]
Offload: TypeAlias = Literal["stacked", "spread", "as-captured"]
Wavelet: TypeAlias = Literal["haar", "daubechies2", "daubechies3"]
Measure: TypeAlias = Literal["windows", "sigma", "queue", "energy", "rates", "gaps", "trains"]

LEAST_MEMORY = 16 << 20
"""The smallest budget of connection state, in bytes: 256 KiB for each part of the analysis."""

MEASURES: tuple[Measure, ...] = ("windows", "sigma", "queue", "energy", "rates", "gaps", "trains")

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one analysis: ``capacity`` in bit/s, ``memory`` in bytes.

    ``None`` means "not known"; of ``memory``, 1 GiB.
    """

    files: tuple[str, ...]
    at: CapturePoint | None = None
    workload: Workload | None = None
    capacity: int | None = None
    inner: bool = False
    dedup: bool = False
    samples: bool = False
    memory: int | None = None
    workers: int = 1

    @property
    def name(self) -> str:
        """The capture in a word or two: its file, or its first file and how many more."""
        return name_of(self.files)

    @property
    def repeatable(self) -> bool:
        """Whether the files can be read a second time."""
        return STANDARD_INPUT not in self.files and all(Path(file).is_file() for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstOptions:
    """How burstiness is measured: rates in bit/s, sizes in bytes, times in nanoseconds.

    ``None`` means "not known", or "choose from the traffic".
    """

    files: tuple[str, ...]
    mode: Mode = "dynamic-same"
    rate: int | None = None
    window: int = 100_000_000
    basis: Basis = "frame"
    align: Literal["epoch", "first"] = "epoch"
    by: By | None = None
    filter: str | None = None
    offload: Offload = "stacked"
    link_rate: int | None = None
    buffers: tuple[int, ...] | None = None
    rates: tuple[int, ...] | None = None
    bin: int = 1_000_000
    count: Literal["bytes", "packets"] = "bytes"
    wavelet: Wavelet = "daubechies3"
    octaves: tuple[int | None, int | None] = (None, None)
    measures: frozenset[Measure] = frozenset(MEASURES)
    top: int = 20
    inner: bool = False
    lost: bool = False
    workers: int = 1

    @property
    def name(self) -> str:
        """The capture in a word or two."""
        return name_of(self.files)


def name_of(files: Sequence[str]) -> str:
    """Files in a word or two: the only one, or the first one and how many more."""
    first = "standard input" if files[0] == STANDARD_INPUT else Path(files[0]).name
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more"


def files_of(
    captures: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> tuple[str, ...]:
    """One path or several as strings."""
    if isinstance(captures, (str, os.PathLike)):
        captures = [captures]
    files = tuple(os.fspath(capture) for capture in captures)
    if not files:
        raise ValueError("no capture given")
    return files


def lacks_unit(text: str) -> bool:
    """A number other than 0 without a unit.

    The engine would take some for bit/s or bytes; where a person writes it, it is a mistake.
    """
    return text.strip().replace(".", "", 1).isdecimal() and float(text) != 0


def available_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
