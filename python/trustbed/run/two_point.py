"""What two captures of a repetition saw of the same packets: beside both ends of a workload.

One table of it, and evidence for the verdicts of transfers that were captured beside their sender.
One clock timestamps everything on this machine, and a guest's veth link beside it; captures inside
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

_PLACES: tuple[Side, ...] = ("first", "second")


class JoinedCaptures:
    """The captures of a repetition, by the host beside which each was taken.

    Joined where both ends of a workload have one.

    Attributes:
        unjoined: Why two captures could not be joined, by their hosts.
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
        """Writes the two_point of all workloads to a Parquet file, if there are any."""
        if tables := list(self._tables()):
            pa.parquet.write_table(
                pa.concat_tables(tables), path, compression="zstd", version="2.6"
            )

    def host_of(self, point: str, hosts: HostOf) -> HostOf:
        """Adds the other end's evidence of transfers sent beside ``point`` to that of ``hosts``.

        The other end is the host that has the transfer's other address: several may use one port of
        ``point``.
        """
        seen = self._seen_from(point)

        def of(row: Row) -> HostEvidence | None:
            host = hosts(row)
            ask = seen.get(frozenset({self._hosts.get(row["src"]), self._hosts.get(row["dst"])}))
            ends = None if ask is None else ask(row)
            return host if ends is None else replace(host or HostEvidence(), ends=ends)

        return of

    def _seen_from(
        self, point: str
    ) -> Mapping[frozenset[str | None], Callable[[Mapping[str, Any]], TwoPointEvidence | None]]:
        """Whom to ask, by the two hosts of a transfer."""
        return {
            frozenset(pair): ends.sent_from(place)
            for pair, ends in self._joined.items()
            for place, end in zip(_PLACES, pair, strict=True)
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
            for number, (place, end) in enumerate(zip(_PLACES, pair, strict=True)):
                meaning = f"the {place} of the two captures: the host beside which it was taken"
                table = table.add_column(
                    number,
                    _field(f"{place}_capture", meaning),
                    [pa.array([end] * len(table), pa.string())],
                )
            yield table

    def _owner(self, row: Mapping[str, Any]) -> str | None:
        return owner(
            self._scenario, row["sender"], row["sender_port"], row["receiver"], row["receiver_port"]
        )


def _pairs(scenario: Scenario) -> list[tuple[str, str]]:
    """The ends of workloads; two hosts that begin workloads towards each other are one pair."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for one in scenario.workloads:
        if one.to is not None:
            found.setdefault(frozenset((one.host, one.to)), (one.host, one.to))
    return sorted(found.values())


def _field(name: str, meaning: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata={"unit": "", "meaning": meaning})
