"""Joins the two captures at the ends of each workload of a repetition.

The result is one table, and evidence for the verdicts of transfers that were captured at their
sender. All captures on this machine, a guest's veth link included, share one clock; captures inside
a guest are not joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from trustbed import _core
from trustbed.analysis.two_point import Side, TwoPoint, join
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.judge import HostOf
from trustbed.diagnose.two_point import TwoPointEvidence
from trustbed.scenario import Scenario
from trustbed.scenario.owners import owner

_SIDES: tuple[Side, ...] = ("first", "second")


class JoinedCaptures:
    """The two-point captures of a repetition, by the two hosts at which they were taken.

    Captures are joined where both ends of a workload have one.

    Attributes:
        unjoined: Why two captures could not be joined, by hosts (``client-server``).
    """

    def __init__(self, files: Mapping[str, Path], scenario: Scenario) -> None:
        self._scenario = scenario
        self._hosts = {address: host.name for host in scenario.hosts for address in host.addresses}
        self._joined: dict[tuple[str, str], TwoPoint] = {}
        self.unjoined: dict[str, str] = {}
        for pair in _pairs(scenario):
            if not files.keys() >= set(pair):
                continue
            try:
                self._joined[pair] = join(files[pair[0]], files[pair[1]], same_clock=True)
            except _core.CaptureError as error:
                self.unjoined["-".join(pair)] = error.message

    def write(self, path: Path) -> None:
        """Writes the two-point results of all workloads to a Parquet file, if there are any."""
        if tables := list(self._tables()):
            pa.parquet.write_table(
                pa.concat_tables(tables), path, compression="zstd", version="2.6"
            )

    def host_of(self, point: str, hosts: HostOf) -> HostOf:
        """Adds two-point evidence of transfers sent at ``point`` to the evidence of ``hosts``.

        The other capture is that of the host with the transfer's other address, since several
        hosts may use one port of ``point``.
        """
        evidence = self._evidence_at(point)

        def of(row: Row) -> HostEvidence | None:
            host = hosts(row)
            pair = frozenset({self._hosts.get(row["src"]), self._hosts.get(row["dst"])})
            ends = evidence[pair](row) if pair in evidence else None
            return host if ends is None else replace(host or HostEvidence(), ends=ends)

        return of

    def _evidence_at(
        self, point: str
    ) -> Mapping[frozenset[str | None], Callable[[Mapping[str, Any]], TwoPointEvidence | None]]:
        """Functions from a transfer to its two-point evidence, by the transfer's two hosts."""
        return {
            frozenset(pair): ends.sent_from(side)
            for pair, ends in self._joined.items()
            for side, end in zip(_SIDES, pair, strict=True)
            if end == point
        }

    def _tables(self) -> Iterator[pa.Table]:
        for pair, ends in self._joined.items():
            table = ends.two_point
            owners = [
                self._owner(row)
                for row in table.select(
                    ["sender", "sender_port", "receiver", "receiver_port"]
                ).to_pylist()
            ]
            table = table.add_column(
                0,
                _field("workload", "name of the workload that it belongs to; null for others"),
                [pa.array(owners, pa.string())],
            )
            for number, (side, end) in enumerate(zip(_SIDES, pair, strict=True)):
                meaning = f"the {side} of the two captures: the host beside which it was taken"
                table = table.add_column(
                    number,
                    _field(f"{side}_capture", meaning),
                    [pa.array([end] * len(table), pa.string())],
                )
            yield table

    def _owner(self, row: Mapping[str, Any]) -> str | None:
        return owner(
            self._scenario, row["sender"], row["sender_port"], row["receiver"], row["receiver_port"]
        )


def _pairs(scenario: Scenario) -> list[tuple[str, str]]:
    """The pairs of hosts with workloads between them; each pair once, whichever direction."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for one in scenario.workloads:
        if one.to is not None:
            found.setdefault(frozenset((one.host, one.to)), (one.host, one.to))
    return sorted(found.values())


def _field(name: str, meaning: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata={"unit": "", "meaning": meaning})
