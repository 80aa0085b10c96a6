"""A model of background traffic as JSON: its header, and its distributions by quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trustbed.report.records import Json
from trustbed.traffic.summary import QUANTILES, Distribution, summarise

if TYPE_CHECKING:
    from trustbed.traffic.model import Model


def document(model: Model) -> Json:
    """Everything that ``trustbed model show --json`` prints."""
    summary = summarise(model)
    return {
        "model": msgspec.to_builtins(model.header),
        "seconds": summary.seconds,
        "client_bits_per_second": summary.load.client,
        "server_bits_per_second": summary.load.server,
        "clients": summary.clients,
        "servers": summary.servers,
        "classes": [
            {
                "name": one.name,
                "sessions": one.sessions,
                "connections": one.connections,
                "pairs": one.pairs,
                "concurrent_connections": one.concurrent,
                "flows_of_datagrams": one.datagrams,
                "client_bytes": one.client_bytes,
                "server_bytes": one.server_bytes,
                "distributions": [_distribution(found) for found in one.distributions],
            }
            for one in summary.classes
        ],
        "hosts": [_distribution(found) for found in summary.hosts],
    }


def _distribution(found: Distribution) -> Json:
    return {
        "name": found.name,
        "unit": found.unit,
        "meaning": found.meaning,
        "count": found.count,
        "quantiles": {f"p{q * 100:g}": found.quantile(q) for q in QUANTILES},
    }
