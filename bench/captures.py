"""The large captures of the bench, as files that are built once and found again.

A file's name carries a fingerprint of everything that decides its content, so that a capture of
other templates or of another version of the builder is never taken for this one. Files appear under
their name only when they are complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import block as block_module
from bench import templates as template_module
from bench.block import Block, build_block
from bench.templates import SNAP_LENGTH, Template, read_templates

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = ROOT / "bench-data"
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_LENGTH, 1)
# Room that must stay free on the disk beside what is built.
SPARE_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Capture:
    """A capture of the bench.

    Attributes:
        path: The file.
        packets: How many records it holds.
        connections: How many connections, at least.
        long_transfers: How many transfers with more samples than a summary keeps exactly, at most.
    """

    path: Path
    packets: int
    connections: int
    long_transfers: int = 0


def template_folders() -> list[Path]:
    """The shipped recordings and, where they lie beside the checkout, captures from elsewhere."""
    elsewhere = Path(os.environ.get("TRUSTBED_TRACES", ROOT.parent / "shared" / "traces"))
    return [ROOT / "recordings"] + [
        directory
        for name in ("bulk", "aggregate", "sessions")
        if (directory := elsewhere / name).is_dir()
    ]


class Captures:
    """Captures of several sizes made of one block, each a prefix of the next."""

    def __init__(self, *, block_packets: int) -> None:
        self._block_packets = block_packets
        self._templates = read_templates(template_folders())
        self._kind = f"merged-{block_packets}"
        self._name = f"{self._kind}-{fingerprint(self._templates, block_packets)}"
        self._block: Block | None = None

    @property
    def templates(self) -> list[Template]:
        """What the captures are made of."""
        return self._templates

    def of(self, packets: int) -> Capture:
        """The capture of that many packets, a multiple of the block's.

        Built when it is not there.
        """
        repetitions, rest = divmod(packets, self._block_packets)
        if rest:
            raise ValueError(
                f"{packets} is not a multiple of {self._block_packets}, the block's packets"
            )
        path = DIRECTORY / f"{self._name}-{packets}.pcap"
        count = DIRECTORY / f"{self._name}.counts"
        if not (path.exists() and count.exists()):
            self._remove_outdated()
            block = self._made_block()
            write_capture(
                path,
                (block.repetition(number) for number in range(repetitions)),
                expected_bytes=packets * (16 + SNAP_LENGTH),
            )
            count.write_text(f"{block.connections} {block.long_transfers}\n", encoding="ascii")
        connections, long_transfers = (
            int(word) * repetitions for word in count.read_text(encoding="ascii").split()
        )
        return Capture(
            path=path, packets=packets, connections=connections, long_transfers=long_transfers
        )

    def _remove_outdated(self) -> None:
        """Captures of this kind that another version of the builder or other templates made.

        Gigabytes that nothing will read.
        """
        for path in DIRECTORY.glob(f"{self._kind}-*"):
            if not path.name.startswith(self._name):
                path.unlink()

    def _made_block(self) -> Block:
        if self._block is None:
            self._block = build_block(self._templates, self._block_packets)
        return self._block


def fingerprint(templates: list[Template], block_packets: int, *more: Path) -> str:
    """Names the content: the templates, the builder's code (`more` is of it), the block's size."""
    digest = hashlib.sha256(str(block_packets).encode())
    for path in (*(Path(str(one.__file__)) for one in (block_module, template_module)), *more):
        digest.update(path.read_bytes())
    for template in templates:
        digest.update(template.name.encode())
        digest.update(template.since_start_ns.tobytes())
        digest.update(template.frames.tobytes())
    return digest.hexdigest()[:10]


def write_capture(
    path: Path, parts: Iterator[npt.NDArray[np.uint8]], *, expected_bytes: int
) -> None:
    """Writes a nanosecond pcap file of the records in `parts`.

    Nothing half-written stays under its name.
    """
    path.parent.mkdir(exist_ok=True)
    _make_room(path.parent, expected_bytes)
    print(f"building {path.name} …", file=sys.stderr)
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            file.write(PCAP_HEADER)
            for part in parts:
                file.write(part.data)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def _make_room(directory: Path, expected_bytes: int) -> None:
    """Refuses to fill the disk."""
    free = shutil.disk_usage(directory).free
    if free < expected_bytes + SPARE_BYTES:
        raise SystemExit(
            f"error: the capture may need {expected_bytes / 1e9:.1f} GB, {free / 1e9:.1f} "
            f"GB are free\n"
            f"hint: make room, remove old captures in {directory}, or measure smaller ones: "
            f"make bench BENCH=quick"
        )
