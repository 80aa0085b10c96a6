"""Both ends: two captures of the same packets, one beside the sender and one beside the receiver, joined.

What one capture can only infer is seen here: which packets were lost between the two, how long each took, and what of a round trip was
spent on the way and what in the receiver's machine. Finding and counting are the engine's; this module names them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from trustbed import _core
from trustbed.diagnose.both_ends import EndsEvidence
from trustbed.diagnose.ends_findings import ends_findings
from trustbed.diagnose.findings import Finding
from trustbed.diagnose.host import HostEvidence
from trustbed.question import STANDARD_INPUT, files_of, name_of
from trustbed.report import columns, schemas

Place = Literal["first", "second"]
"""Beside which of two captures something was sent."""
Captures = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """How the receiver's clock differs from the sender's.

    ``ahead_seconds`` at the first frame that both saw, give or take ``ahead_error_seconds``; ``skew`` in seconds per second, with what the
    two directions disagree about in ``skew_error``, both ``None`` where the captures are too short to tell. ``steered_seconds`` is how far
    the clocks went against each other where they did not run evenly, ``None`` elsewhere; then ``ahead_error_seconds`` is that of the worst
    moment. ``stated`` says that none of it was found, but one clock was said to have stamped both. ``frames`` were compared.
    """

    ahead_seconds: float
    ahead_error_seconds: float
    skew: float | None
    skew_error: float | None
    steered_seconds: float | None
    stated: bool
    frames: int


def join(
    sender: Captures,
    receiver: Captures,
    *,
    same_clock: bool = False,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Ends:
    """Joins a capture taken beside the sender with one taken beside the receiver; each a file or the files of a rotated one.

    Which is which only names them: transfers of both directions are found. ``same_clock`` says that one clock stamped both, ``inner`` looks
    into tunnels. Both are read twice, ``progress`` is called with bytes read and bytes in total of each reading.

    Raises ``CaptureError`` when one cannot be read or the two do not hold the same packets.
    """
    files = (files_of(sender), files_of(receiver))
    for names in files:
        if STANDARD_INPUT in names:
            raise ValueError(
                "captures are joined by reading them twice, which standard input does not allow: name files"
            )
    return Ends(
        _core.join(*files, inner=inner, ahead_ns=0 if same_clock else None, progress=progress),
        files,
    )


class Ends:
    """Two captures, joined. Made by :func:`join`."""

    def __init__(self, joined: _core.Ends, files: tuple[Sequence[str], Sequence[str]]) -> None:
        self._joined = joined
        self.files = files

    @cached_property
    def clocks(self) -> Clocks:
        """How the two clocks differ."""
        told = self._joined.clocks
        return Clocks(
            ahead_seconds=told["ahead_ns"] / 1e9,
            ahead_error_seconds=told["ahead_error_ns"] / 1e9,
            skew=told["skew"],
            skew_error=told["skew_error"],
            steered_seconds=None if told["steered_ns"] is None else told["steered_ns"] / 1e9,
            stated=told["stated"],
            frames=told["frames"],
        )

    @property
    def dropped(self) -> Mapping[Place, int]:
        """Packets that passed and that a capture does not have, as far as it counts them itself (pcapng can, pcap cannot)."""
        first, second = self._joined.frames["dropped"]
        return {"first": first, "second": second}

    @cached_property
    def crossings(self) -> pa.Table:
        """One row per direction of a connection: what was sent, what passed, how long it took."""
        return self.stream().read_all()

    def stream(self) -> pa.RecordBatchReader:
        """The same as a stream of record batches."""
        return schemas.ordered(pa.RecordBatchReader.from_stream(self._joined.crossings))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What makes losses and delays mean less."""
        return tuple(
            ends_findings(
                self._counted, [row for batch in self.stream() for row in columns.plain_rows(batch)]
            )
        )

    def host_of(self, row: Mapping[str, Any]) -> HostEvidence | None:
        """What both captures show of a transfer, for ``trustbed.analyze(sender, host_of=…)``, and whether it was sent beside the first."""
        seen = self.sent_from("first")(row)
        if seen is None and self.sent_from("second")(row) is not None:
            seen = EndsEvidence(sent_here=False)
        return None if seen is None else HostEvidence(ends=seen)

    def sent_from(self, place: Place) -> Callable[[Mapping[str, Any]], EndsEvidence | None]:
        """What both captures show of the transfers that were sent beside one of them, asked for with a row of its table of transfers."""
        sent, dropped = self._sent[place], self.dropped["second" if place == "first" else "first"]

        def of(row: Mapping[str, Any]) -> EndsEvidence | None:
            crossing = sent.get(
                tuple(row.get(name) for name in ("src", "src_port", "dst", "dst_port"))
            )
            return None if crossing is None else EndsEvidence.of(crossing, dropped=dropped)

        return of

    @cached_property
    def _sent(self) -> Mapping[Place, Mapping[tuple[Any, ...], Mapping[str, Any]]]:
        """Crossings by where they began, and by addresses and ports. Who used both again has several, of which none can be told apart."""
        found: dict[Place, dict[tuple[Any, ...], Mapping[str, Any]]] = {"first": {}, "second": {}}
        twice = set()
        for batch in self.stream():
            for row in columns.plain_rows(batch):
                key = tuple(
                    row[name] for name in ("sender", "sender_port", "receiver", "receiver_port")
                )
                sent = found[row["from_place"]]
                twice |= {key} & sent.keys()
                sent[key] = row
        return {
            place: {key: row for key, row in sent.items() if key not in twice}
            for place, sent in found.items()
        }

    @property
    def _counted(self) -> Mapping[str, Any]:
        return {"clocks": asdict(self.clocks), **self._joined.frames}

    @cached_property
    def model(self) -> Mapping[str, Any]:
        """Everything, as JSON carries it."""
        rows = [row for batch in self.stream() for row in columns.text_rows(batch)]
        return {
            "captures": [[Path(name).name for name in names] for names in self.files],
            **self._counted,
            "findings": [asdict(finding) for finding in self.findings],
            "crossings": rows,
        }

    def __repr__(self) -> str:
        return f"<Ends {name_of(self.files[0])} and {name_of(self.files[1])}: {len(self.crossings)} crossings>"
