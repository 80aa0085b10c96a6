"""How late the users of a model began what they did, from the beginning of the measured time on.

Users who were there before the start are opened together in the first second of the warm-up, which
is hard on a machine and disturbs nothing that is measured. The generator's own numbers include
them; these replace them where its rows are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.run import rows

LATE_NS = 1_000_000
LATE_SHARE = 0.01
"""More than this share over a millisecond late, and a generator was late (traffic.md)."""


def measured(record: Mapping[str, Any], logs: Path, warm_up_ns: int) -> Mapping[str, Any]:
    """The record of a repetition, with the start errors of users without those of the warm-up."""
    backgrounds = [
        {**one, "send": {**send, "start_error": found}}
        if (send := one.get("send") or {}).get("start_error")
        and (found := _since(send, logs / f"{one.get('background')}.generated.rows", warm_up_ns))
        else one
        for one in record.get("backgrounds") or ()
    ]
    return {**record, "backgrounds": backgrounds}


def _since(send: Mapping[str, Any], path: Path, begin_ns: int) -> dict[str, Any] | None:
    written = send.get("rows") or {}
    if written.get("rows_left_out") or written.get("error") or not path.is_file():
        return None
    try:
        table = rows.read(path)
        late = pc.subtract(table["begun_ns"], table["due_ns"]).filter(
            pc.greater_equal(table["due_ns"], pa.scalar(begin_ns, pa.int64()))
        )
    except (rows.RowsError, LookupError):  # damaged, or the rows of something else
        return None
    count = len(late) - late.null_count
    if not count:
        return None
    over = pc.sum(pc.cast(pc.greater(late, LATE_NS), pa.int64())).as_py() or 0
    share = over / count
    return {
        **send["start_error"],
        "packets": count,
        "mean_ns": pc.mean(late).as_py(),
        "p99_ns": pc.quantile(late, 0.99)[0].as_py(),
        "max_ns": pc.max(late).as_py(),
        "over_1ms_packets": over,
        "over_1ms_share": share,
        "generator_late": share > LATE_SHARE,
    }
