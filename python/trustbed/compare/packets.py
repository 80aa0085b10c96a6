"""Packets of a workload in one capture: per direction, as captured and on the wire.

A capture beside a host that leaves segmentation to its card shows packets that are larger than the
wire carries. Offloads are undone by the rule of the analysis: a data packet is as many segments as
its payload has MSS, rounded up; packets without payload are one each.
"""

from __future__ import annotations

from collections.abc import MutableMapping

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.compare.work import Work
from trustbed.report.run.reading import Repetition


def of(
    one: Repetition,
    workload: str,
    point: str,
    work: Work | None,
    absent: MutableMapping[str, str],
) -> dict[str, float]:
    """The values at the level of the network; why there are none goes into ``absent``.

    The server is the side that accepted the connection; the bytes that count as sent are those of
    the side with more payload.
    """
    connections = _own(one, "connections", workload, point)
    transfers = _own(one, "transfers", workload, point)
    if transfers is None:
        absent["network"] = "no capture was analysed"
        return {}
    if connections is None:
        absent["network"] = (
            "judged by a version that kept no table of connections: remove tables and "
            "findings.json of its repetitions, and run the same trustbed run again"
        )
        return {}
    if work is None or work.count <= 0:
        absent["network"] = f"nothing is known that {workload} completed, to count packets by"
        return {}
    if not len(connections):
        absent["network"] = f"no packet of {workload} in the capture at {point}"
        return {}
    per = 1 / work.count
    to_server = _sum(connections, "packets_initiator")
    from_server = _sum(connections, "packets_responder")
    wire = _undone(connections, transfers)
    payload = max(
        _sum(connections, "payload_bytes_initiator"), _sum(connections, "payload_bytes_responder")
    )
    return {
        "sent_bytes": payload * per,
        "packets_to_server_captured": to_server * per,
        "packets_from_server_captured": from_server * per,
        "packets_captured": (to_server + from_server) * per,
        "packets_to_server_wire": (to_server + wire[0]) * per,
        "packets_from_server_wire": (from_server + wire[1]) * per,
        "packets_wire": (to_server + from_server + sum(wire)) * per,
        "retransmissions": _sum(transfers, "retransmitted_packets") * per,
    }


def _undone(connections: pa.Table, transfers: pa.Table) -> tuple[float, float]:
    """Segments beyond the captured packets: to the server, and from it."""
    initiators = dict(
        zip(
            connections["connection"].to_pylist(),
            zip(
                connections["initiator"].to_pylist(),
                connections["initiator_port"].to_pylist(),
                strict=True,
            ),
            strict=True,
        )
    )
    beyond = [0.0, 0.0]
    columns = ("connection", "src", "src_port", "segments_wire", "data_packets")
    for connection, src, port, segments, data in zip(
        *(transfers[name].to_pylist() for name in columns), strict=True
    ):
        side = 0 if initiators.get(connection) == (src, port) else 1
        beyond[side] += max(0, (segments or 0) - (data or 0))
    return beyond[0], beyond[1]


def _own(one: Repetition, name: str, workload: str, point: str) -> pa.Table | None:
    table = one.table(name)
    if table is None or not {"capture", "workload"} <= set(table.column_names):
        return None
    own = pc.and_(pc.equal(table["capture"], point), pc.equal(table["workload"], workload))
    return table.filter(pc.fill_null(own, False))


def _sum(table: pa.Table, column: str) -> float:
    return float(pc.sum(table[column]).as_py() or 0)
