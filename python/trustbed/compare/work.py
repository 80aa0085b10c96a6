"""What an application completed in a repetition: the unit that packets and calls are counted by."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from trustbed.report.records import Row
from trustbed.report.run.reading import Measured, Repetition

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Work:
    """So many requests that were answered, or so many MB (10⁶ B) of payload."""

    count: float
    unit: str


def completed(one: Repetition, name: str, measured: Measured | None) -> Work | None:
    """Requests of the whole repetition, warm-up included; MB where there are no requests.

    ``None`` if nothing is known of it.
    """
    requests, printed = one.table(f"{name}.requests"), summary(one, name)
    if requests is not None:
        listed = len(requests) - requests["response_ns"].null_count
        return Work(max(0, listed - failed_requests(printed)), "request")
    found = answered(printed)
    if found is not None:
        return Work(found, "request")
    return None if measured is None else _payload(one, name)


def summary(one: Repetition, name: str) -> Row:
    """The summary that a workload's program printed; empty without one."""
    table = one.table(f"{name}.summary")
    return table.to_pylist()[0] if table is not None and table.num_rows else {}


def failed_requests(printed: Row) -> int:
    """How many of the requests that a program's summary counts failed.

    Of ``ab`` failures and responses with another status than 2xx, of ``wrk`` other statuses than
    2xx and 3xx, of ``httperf`` requests without a reply, 4xx and 5xx. ``ab`` calls a response
    whose length is not the first one's failed, which pages that vary are (its option ``-l``): alone
    that is no failure here. Errors of ``wrk``'s sockets are of requests that it does not count at
    all (``response_complete`` of its source), so nothing is subtracted for them.
    """
    known = {key: value or 0 for key, value in printed.items() if isinstance(value, (int, float))}
    lengths, statuses = known.get("failed_length", 0), known.get("not_2xx_responses", 0)
    failed = known.get("failed_requests", 0) - lengths + statuses
    failed += sum(
        known.get(key, 0) for key in ("not_2xx_3xx_responses", "status_4xx", "status_5xx")
    )
    if "replies" in known:
        failed += max(0, known.get("requests", 0) - known["replies"])
    return int(failed)


def answered(printed: Row) -> int | None:
    """The requests of a summary that did not fail; ``None`` if it counts none."""
    if printed.get("requests") is None:
        return None
    return max(0, int(printed["requests"]) - failed_requests(printed))


def answered_per_second(printed: Row) -> float | None:
    """The rate of a summary without failed requests; ``None`` if it has none."""
    rate, requests = printed.get("requests_per_second"), printed.get("requests")
    if rate is None or not requests:
        return rate
    return float(rate) * (answered(printed) or 0) / int(requests)


def _payload(one: Repetition, name: str) -> Work | None:
    table = one.table("transfers")
    if table is None or "workload" not in table.column_names:
        return None
    own = table.filter(pc.fill_null(pc.equal(table["workload"], name), False))
    sums = own.group_by("capture").aggregate([("unique_bytes", "sum")]).to_pylist()
    # Several captures hold the same bytes: those of the one that saw most.
    octets = max((row["unique_bytes_sum"] or 0 for row in sums), default=0)
    return Work(octets / MEGABYTE, "MB") if sums else None
