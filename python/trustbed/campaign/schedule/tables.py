"""Tables of sizes: plain bulk, and the published ones; the sizes of a campaign.

PlanetLab: Lee et al., *Traffic Anomaly Analysis and Characteristics on a Virtualized Network
Testbed*, Table 2. EC2: the same authors, *Internet Traffic Characteristics of Virtual Machine on
Amazon EC2*, Table 1. Both have three connection pairs at once; their sizes are binary: 1 KB is
1024 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from trustbed.scenario.campaign_model import Index, Rounds, TableName

_KB, _MB = 1 << 10, 1 << 20


def _index(name: str, probe: int, data: int) -> Index:
    return Index(name=name, probe_bytes=probe * _KB, data_bytes=data * _MB)


PLANETLAB: tuple[Index, ...] = (
    _index("1", 16, 8),
    _index("2", 16, 16),
    _index("3", 32, 16),
    _index("4", 64, 16),
    _index("5", 64, 32),
)
EC2: tuple[Index, ...] = (
    _index("I0", 16, 8),
    _index("I1", 16, 16),
    _index("I2", 32, 16),
    _index("I3", 64, 16),
    _index("I4", 64, 32),
    _index("I5", 512, 8),
    _index("I6", 512, 16),
    _index("I7", 1024, 16),
    _index("I8", 1024, 16),  # as printed: the same as I7; one of the two is probably a misprint
    _index("I9", 2048, 32),
)
BULK: tuple[Index, ...] = (Index(name="bulk", probe_bytes=1_000_000, data_bytes=32_000_000),)
"""The default: one size of each, without a window clamp."""
TABLES: Mapping[TableName, tuple[Index, ...]] = {"bulk": BULK, "planetlab": PLANETLAB, "ec2": EC2}


def indices(rounds: Rounds) -> tuple[Index, ...]:
    """The sizes of the rounds, in the order of the table."""
    return TABLES[rounds.table] if isinstance(rounds.table, str) else rounds.table
