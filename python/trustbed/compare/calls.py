"""System calls, context switches and block I/O of a workload's repetition, per completed request.

Reads the table of calls that tracing leaves (``NAME.calls.parquet``), one row per call. A trace
that lost events has no counts: they would be too small by an unknown part.
"""

from __future__ import annotations

from collections.abc import MutableMapping

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.compare.work import Work
from trustbed.report.run.reading import Repetition

READS = (
    "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg",
)  # fmt: skip
"""The calls that count as reads."""
LOSS_CODE = "trace_loss"


def of(
    one: Repetition, workload: str, work: Work | None, absent: MutableMapping[str, str]
) -> dict[str, float]:
    """The values at the level of system calls; why there are none goes into ``absent``."""
    table = one.table(f"{workload}.calls")
    if table is None:
        absent["system_calls"] = "system calls were not traced"
        return {}
    if lost(one):
        absent["system_calls"] = "the trace lost events (trace_loss), so nothing can be counted"
        return {}
    if work is None or work.count <= 0:
        absent["system_calls"] = f"nothing is known that {workload} completed, to count calls by"
        return {}
    names = table["call"]
    reads = pc.sum(pc.is_in(names, value_set=pa.array(READS, pa.string()))).as_py() or 0
    return {"system_calls": len(table) / work.count, "reads": reads / work.count}


def lost(one: Repetition) -> bool:
    """Whether a trace of the repetition lost events."""
    return any(finding.get("code") == LOSS_CODE for finding in one.findings.get("findings") or ())
