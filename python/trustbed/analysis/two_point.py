"""Two-point captures: the same packets, captured beside the sender and beside the receiver.

They show what one capture can only infer: which packets were lost between the two points, the
one-way delay of each, and how much of a round trip the path took and how much the receiving host.
The engine matches and counts; this module names the results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from trustbed import _core
from trustbed.analysis.options import STANDARD_INPUT, files_of, name_of
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.two_point import TwoPointEvidence
from trustbed.diagnose.two_point_findings import two_point_findings
from trustbed.findings import Finding
from trustbed.report import columns, schemas
from trustbed.report.records import Row

Side = Literal["first", "second"]
"""Beside which of two captures something was sent."""
Captures = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """How the receiver's clock differs from the sender's.

    ``ahead_seconds`` at the first frame that both saw, give or take ``ahead_error_seconds``;
    ``skew`` in seconds per second, with what the two directions disagree about in ``skew_error``,
    both ``None`` where the captures are too short. ``clock_slew_seconds`` is how far the clocks
    went against each other where they did not run evenly, ``None`` elsewhere; then
    ``ahead_error_seconds`` is that of the worst moment. ``stated`` means that none of it was
    measured: one clock is declared to have timestamped both. ``frames`` were compared.
    """

    ahead_seconds: float
    ahead_error_seconds: float
    skew: float | None
    skew_error: float | None
    clock_slew_seconds: float | None
    stated: bool
    frames: int


def join(
    sender: Captures,
    receiver: Captures,
    *,
    same_clock: bool = False,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> TwoPoint:
    """Joins a capture taken beside the sender with one taken beside the receiver.

    Each a file or the files of a rotated one.

    Which is which only names them: transfers of both directions are found. ``same_clock`` declares
    that one clock timestamped both, ``inner`` looks into tunnels. Both are read twice, ``progress``
    is called with bytes read and bytes in total of each reading.

    Raises ``CaptureError`` when one cannot be read or the two do not hold the same packets.
    """
    files = (files_of(sender), files_of(receiver))
    for names in files:
        if STANDARD_INPUT in names:
            raise ValueError(
                "captures are joined by reading them twice, which standard input does not allow: "
                "name files"
            )
    return TwoPoint(
        _core.join(*files, inner=inner, ahead_ns=0 if same_clock else None, progress=progress),
        files,
    )


@dataclass(frozen=True, eq=False, repr=False)
class TwoPoint:
    """Two captures of the same packets, joined. Made by :func:`join`."""

    _joined: _core.TwoPoint
    files: tuple[Sequence[str], Sequence[str]]

    @cached_property
    def clocks(self) -> Clocks:
        """How the two clocks differ."""
        reported = self._joined.clocks
        return Clocks(
            ahead_seconds=reported["ahead_ns"] / 1e9,
            ahead_error_seconds=reported["ahead_error_ns"] / 1e9,
            skew=reported["skew"],
            skew_error=reported["skew_error"],
            clock_slew_seconds=None
            if reported["clock_slew_ns"] is None
            else reported["clock_slew_ns"] / 1e9,
            stated=reported["stated"],
            frames=reported["frames"],
        )

    @property
    def dropped(self) -> Mapping[Side, int]:
        """Packets that each capture dropped, if the file counts them (pcapng can, pcap cannot)."""
        first, second = self._joined.frames["dropped"]
        return {"first": first, "second": second}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return ("two_point",)

    @cached_property
    def two_point(self) -> pa.Table:
        """One row per direction of a connection: packets sent, delivered and lost, delays."""
        return self.stream().read_all()

    def rows(self) -> Iterator[Row]:
        """The rows of the table as JSON carries them."""
        for batch in self.stream():
            yield from columns.text_rows(batch)

    def stream(self) -> pa.RecordBatchReader:
        """The table as a stream of record batches."""
        return schemas.ordered(pa.RecordBatchReader.from_stream(self._joined.two_point))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What makes losses and delays mean less."""
        return tuple(
            two_point_findings(
                self._counted, [row for batch in self.stream() for row in columns.plain_rows(batch)]
            )
        )

    def host_of(self, row: Row) -> HostEvidence | None:
        """What both captures show of a transfer, for ``trustbed.analyze(sender, host_of=…)``.

        Transfers sent beside the second capture are marked as such.
        """
        evidence = self.sent_from("first")(row)
        if evidence is None and self.sent_from("second")(row) is not None:
            evidence = TwoPointEvidence(sent_here=False)
        return None if evidence is None else HostEvidence(ends=evidence)

    def sent_from(self, index: Side) -> Callable[[Row], TwoPointEvidence | None]:
        """What both captures show of the transfers sent at one of them.

        The function returned takes a row of that capture's table of transfers.
        """
        sent, dropped = self._sent[index], self.dropped["second" if index == "first" else "first"]

        def of(row: Row) -> TwoPointEvidence | None:
            crossing = sent.get(
                tuple(row.get(name) for name in ("src", "src_port", "dst", "dst_port"))
            )
            return None if crossing is None else TwoPointEvidence.of(crossing, dropped=dropped)

        return of

    @cached_property
    def _sent(self) -> Mapping[Side, Mapping[tuple[Any, ...], Row]]:
        """TwoPointSummary by where they began, and by addresses and ports.

        Connections that reuse both have several, which cannot be distinguished.
        """
        found: dict[Side, dict[tuple[Any, ...], Row]] = {"first": {}, "second": {}}
        twice = set()
        for batch in self.stream():
            for row in columns.plain_rows(batch):
                key = tuple(
                    row[name] for name in ("sender", "sender_port", "receiver", "receiver_port")
                )
                sent = found[row["sender_capture"]]
                twice |= {key} & sent.keys()
                sent[key] = row
        return {
            index: {key: row for key, row in sent.items() if key not in twice}
            for index, sent in found.items()
        }

    @property
    def _counted(self) -> Row:
        return {"clocks": asdict(self.clocks), **self._joined.frames}

    @cached_property
    def model(self) -> Row:
        """Everything, as JSON carries it."""
        return {
            "captures": [[Path(name).name for name in names] for names in self.files],
            **self._counted,
            "findings": [asdict(finding) for finding in self.findings],
            "two_point": list(self.rows()),
        }

    def __repr__(self) -> str:
        return (
            f"<TwoPoint {name_of(self.files[0])} and {name_of(self.files[1])}: "
            f"{len(self.two_point)} directions>"
        )
