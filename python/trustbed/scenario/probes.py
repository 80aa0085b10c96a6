"""Reads what probes delay beside the workloads: ``[probe.NAME]``, a STAMP session (RFC 8762)."""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.scenario.model import Probe
from trustbed.scenario.table import Table
from trustbed.scenario.topology import check_name
from trustbed.scenario.workloads import host_of

_MEAN_GAP_NS = 100_000_000
"""That of ``owping`` (RFC 4656)."""
_SHORTEST_GAP_NS = 1_000_000
"""Faster probes are traffic: a thousand a second are a share of what they measure."""
_LEAST_PAYLOAD, _MOST_PAYLOAD = 44, 1472


def read_probes(root: Table, hosts: Sequence[str]) -> tuple[Probe, ...]:
    """Every ``[probe.NAME]``."""
    found = []
    for name, table in root.tables("probe").items():
        check_name(table, None, name)
        for key in ("from", "to"):
            table.must(key, f'{key} = "{hosts[0]}"')
        source, to = host_of(table, "from", hosts), host_of(table, "to", hosts)
        if source == to:
            raise table.error("to", f"probes {source} from itself", "name another host")
        gap = table.span_above_zero("gap", _MEAN_GAP_NS, example="100ms")
        if gap < _SHORTEST_GAP_NS:
            raise table.error(
                "gap", "probes come at most every 1 ms on average", 'for example: gap = "10ms"'
            )
        payload = table.size("payload", _LEAST_PAYLOAD, least=_LEAST_PAYLOAD, most=_MOST_PAYLOAD)
        table.close()
        found.append(Probe(name=name, source=source, to=to, mean_gap_ns=gap, payload_bytes=payload))
    return tuple(found)
