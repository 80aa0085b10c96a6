"""Burstiness by the definitions, slowly.

The model of a few thousand packets in plain Python, packet by packet and sum by sum.

Times are integer nanoseconds in order, lengths bytes. Nothing is shared with the engine, so that it
can be held against it. Windows and bins begin at multiples of their length of the epoch.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from typing import Any

Packets = Sequence[tuple[int, int]]

BIN = 1_000_000
WINDOW = 100_000_000
TRAIN_GAP = 100_000
WIDTHS = (100_000, 1_000_000, 10_000_000, 100_000_000)
SQRT10 = math.sqrt(10)
INNER = math.sqrt(5 + 2 * SQRT10)
DAUBECHIES3 = [
    value / (16 * math.sqrt(2))
    for value in (
        1 + SQRT10 + INNER, 5 + SQRT10 + 3 * INNER, 10 - 2 * SQRT10 + 2 * INNER,
        10 - 2 * SQRT10 - 2 * INNER, 5 + SQRT10 - 3 * INNER, 1 + SQRT10 - INNER,
    )
]  # fmt: skip
HAAR = [1 / math.sqrt(2)] * 2


def waits(packets: Packets, rate: float, buffer: float = math.inf) -> list[float | None]:
    """Bytes that each packet finds in front of it at a link of ``rate`` bit/s.

    ``None`` for one that the buffer has no room for.
    """
    found: list[float | None] = []
    backlog, last = 0.0, packets[0][0] if packets else 0
    for time, length in packets:
        backlog, last = max(0.0, backlog - rate * (time - last) / 8e9), time
        taken = backlog + length <= buffer + 1e-6
        found.append(backlog if taken else None)
        backlog += length if taken else 0
    return found


def depth(packets: Packets, rate: float) -> float:
    """σ(ρ): the largest backlog with the arriving packet counted."""
    return max(
        (
            wait + length
            for wait, (_, length) in zip(waits(packets, rate), packets, strict=True)
            if wait is not None
        ),
        default=0.0,
    )


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def windows(packets: Packets, rate: float | None, length: int = WINDOW) -> list[dict[str, Any]]:
    """Static at ``rate`` with the backlog carried, or each window at its own average from empty.

    Empty ones in a row are one entry.
    """
    first, last = packets[0][0] // length, packets[-1][0] // length
    carried = iter(waits(packets, rate)) if rate else None
    found: list[dict[str, Any]] = []
    place = 0
    for number in range(first, last + 1):
        held = []
        while place < len(packets) and packets[place][0] // length == number:
            held.append(packets[place])
            place += 1
        average = sum(size for _, size in held) * 8e9 / length
        fronts = [next(carried) or 0.0 for _ in held] if carried else waits(held, average)
        row = {
            "start_seconds": number * length / 1e9,
            "abw_bits_per_second": average,
            "max_q_bytes": max((wait or 0.0 for wait in fronts), default=0.0),
            "max_q_sys_bytes": max(
                ((wait or 0.0) + size for wait, (_, size) in zip(fronts, held, strict=True)),
                default=0.0,
            ),
            "packets": len(held),
            "rate_bits_per_second": rate or average,
            "partial": number == last,
            "windows": 1,
        }
        if not held and found and not found[-1]["packets"]:
            found[-1]["windows"] += 1
        else:
            found.append(row)
    return found


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means and maxima over whole windows, and over those of them that hold packets."""
    whole = [row for row in rows if not row["partial"]]
    count, active = sum(row["windows"] for row in whole), [row for row in whole if row["packets"]]

    def averages(over: int) -> dict[str, Any]:
        columns = {
            "abw": "abw_bits_per_second",
            "max_q": "max_q_bytes",
            "max_q_sys": "max_q_sys_bytes",
        }
        made: dict[str, Any] = {}
        for name, column in columns.items():
            values = [row[column] for row in active]
            unit = column.removeprefix(name + "_")
            made[f"{name}_mean_{unit}"] = sum(values) / over if over else None
            made[f"{name}_max_{unit}"] = max(values, default=0.0) if over else None
        return made

    return {
        "windows": count,
        "active_windows": len(active),
        **averages(count),
        "active": averages(len(active)),
    }


def sigma(packets: Packets, average: float, link: float) -> list[dict[str, Any]]:
    """σ at 24 rates from a hundredth of the mean to the link, at the mean and at twice the mean."""
    step = (100 * link / average) ** (1 / 23)
    points = [(average / 100 * step**place, "grid") for place in range(23)]
    points += [(average, "mean"), (2 * average, "twice the mean"), (link, "link")]
    return [
        {"rate_bits_per_second": rate, "sigma_bytes": depth(packets, rate), "role": role}
        for rate, role in sorted(points)
    ]


def queue(packets: Packets, rate: float, buffer: float) -> dict[str, Any]:
    """A drop-tail queue: what it loses and how long the rest waits."""
    found = waits(packets, rate, buffer)
    lost = [length for wait, (_, length) in zip(found, packets, strict=True) if wait is None]
    runs: list[int] = []
    for before, wait in zip([0.0, *found], found, strict=False):
        if wait is None:
            runs = [*runs[:-1], runs[-1] + 1] if before is None and runs else [*runs, 1]
    seconds = [wait * 8 / rate for wait in found if wait is not None]
    return {
        "rate_bits_per_second": rate,
        "buffer_bytes": buffer,
        "lost_packets": len(lost),
        "lost_bytes": sum(lost),
        "loss_rate": len(lost) / len(packets),
        "loss_rate_bytes": sum(lost) / sum(length for _, length in packets),
        "loss_runs": len(runs),
        "loss_run_mean": mean(runs),
        "loss_run_max": max(runs, default=None),
        "wait_mean_seconds": mean(seconds),
        "wait_p50_seconds": percentile(seconds, 0.5),
        "wait_p99_seconds": percentile(seconds, 0.99),
        "wait_max_seconds": max(seconds, default=None),
    }


def delay(packets: Packets, rate: float) -> dict[str, Any]:
    """A queue that loses nothing, and how deep it must be for that."""
    told = queue(packets, rate, math.inf)
    kept = (
        "rate_bits_per_second",
        "wait_mean_seconds",
        "wait_p50_seconds",
        "wait_p99_seconds",
        "wait_max_seconds",
    )
    return {**{name: told[name] for name in kept}, "buffer_needed_bytes": depth(packets, rate)}


def bins(packets: Packets, width: int = BIN) -> list[int]:
    """Bytes per bin, without the first and the last one, which the capture may have cut."""
    first, last = packets[0][0] // width, packets[-1][0] // width
    counted = [0] * (last - first + 1)
    for time, length in packets:
        counted[time // width - first] += length
    return counted[1:-1]


def octaves(
    series: Sequence[float], low: Sequence[float], *, start: int = 0, width: int = BIN
) -> list[dict[str, Any]]:
    """Energy per octave with the wavelet of a low-pass: without its bias, with its 95 % interval.

    ``start`` is the number of the first bin since the epoch: pairs begin at even numbers.
    """
    high = [(-1) ** place * low[len(low) - 1 - place] for place in range(len(low))]
    found, approximation, octave = [], [float(value) for value in series], 1
    while len(approximation) >= len(low) + start % 2:
        approximation, start = approximation[start % 2 :], (start + 1) // 2
        places = range((len(approximation) - len(low)) // 2 + 1)
        details = [sum(high[i] * approximation[2 * k + i] for i in range(len(low))) for k in places]
        approximation = [
            sum(low[i] * approximation[2 * k + i] for i in range(len(low))) for k in places
        ]
        count, square = len(details), sum(value * value for value in details) / len(details)
        if count >= 3:
            energy = math.log2(square) if square > 0 else None
            y = (
                None
                if energy is None
                else energy - digamma(count / 2) / math.log(2) + math.log2(count / 2)
            )
            half = 1.959964 * math.sqrt(trigamma(count / 2)) / math.log(2)
            found.append(
                {
                    "octave": octave,
                    "scale_seconds": 2 ** (octave - 1) * width / 1e9,
                    "count": count,
                    "energy": energy,
                    "y": y,
                    "low": None if y is None else y - half,
                    "high": None if y is None else y + half,
                }
            )
        octave += 1
    return found


def digamma(x: float) -> float:
    """ψ by its asymptotic series after moving up to 10."""
    below = 0.0
    while x < 10:
        below, x = below - 1 / x, x + 1
    return below + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def trigamma(x: float) -> float:
    """ψ′ likewise."""
    below = 0.0
    while x < 10:
        below, x = below + 1 / x**2, x + 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


def beyond(square: float, freedom: int) -> float:
    """The probability that a χ² variable of that many degrees of freedom exceeds ``square``."""
    half = square / 2
    if freedom % 2:
        term, total = (
            math.sqrt(square / (2 * math.pi)) * math.exp(-half) * 2,
            math.erfc(math.sqrt(half)),
        )
        for degree in range(3, freedom + 1, 2):
            total, term = total + term, term * square / degree
        return total
    term, total = math.exp(-half), 0.0
    for step in range(freedom // 2):
        total, term = total + term, term * half / (step + 1)
    return total


def fit(points: Sequence[dict[str, Any]], first: int = 3) -> dict[str, Any] | None:
    """The weighted line through octaves ``first`` to the last with eight coefficients."""
    used = [
        point
        for point in points
        if point["octave"] >= first and point["count"] >= 8 and point["y"] is not None
    ]
    if len(used) < 3:
        return None
    weights = [1 / (trigamma(point["count"] / 2) / math.log(2) ** 2) for point in used]
    s0, s1, s2 = (
        sum(w * point["octave"] ** power for w, point in zip(weights, used, strict=True))
        for power in range(3)
    )
    slopes = [
        (s0 * point["octave"] - s1) * w / (s0 * s2 - s1 * s1)
        for w, point in zip(weights, used, strict=True)
    ]
    alpha = sum(slope * point["y"] for slope, point in zip(slopes, used, strict=True))
    half = 1.959964 * math.sqrt(s0 / (s0 * s2 - s1 * s1))
    level = (
        sum(
            w * (point["y"] - alpha * point["octave"])
            for w, point in zip(weights, used, strict=True)
        )
        / s0
    )
    misses = sum(
        w * (point["y"] - alpha * point["octave"] - level) ** 2
        for w, point in zip(weights, used, strict=True)
    )
    quality = beyond(misses, len(used) - 2)
    stationary = alpha < 1
    return {
        "first": used[0]["octave"],
        "last": used[-1]["octave"],
        "alpha": alpha,
        "alpha_low": alpha - half,
        "alpha_high": alpha + half,
        "hurst": (alpha + 1) / 2 if stationary else None,
        "hurst_low": (alpha - half + 1) / 2 if stationary else None,
        "hurst_high": (alpha + half + 1) / 2 if stationary else None,
        "quality": quality,
        "rejected": quality < 0.05,
        "nonstationary": not stationary,
    }


def peaks(packets: Packets) -> list[dict[str, Any]]:
    """The fullest bin of each width."""
    found = []
    for width in WIDTHS:
        amounts: dict[int, int] = {}
        for time, length in packets:
            amounts[time // width] = amounts.get(time // width, 0) + length
        number, amount = max(amounts.items(), key=lambda item: (item[1], -item[0]))
        found.append(
            {
                "width_seconds": width / 1e9,
                "bits_per_second": amount * 8e9 / width,
                "start_seconds": number * width / 1e9,
            }
        )
    return found


def trains(packets: Packets, gap: int = TRAIN_GAP) -> dict[str, Any]:
    """Packets that follow each other within ``gap``."""
    found: list[list[tuple[int, int]]] = []
    for packet in packets:
        if found and packet[0] - found[-1][-1][0] <= gap:
            found[-1].append(packet)
        else:
            found.append([packet])
    lengths = [len(train) for train in found]
    inside = [
        (later - earlier) / 1e9
        for train in found
        for (earlier, _), (later, _) in itertools.pairwise(train)
    ]
    between = [(later[0][0] - earlier[-1][0]) / 1e9 for earlier, later in itertools.pairwise(found)]
    return {
        "gap_seconds": gap / 1e9,
        "trains": len(found),
        "packets_mean": mean(lengths),
        "packets_p99": percentile(lengths, 0.99),
        "packets_max": max(lengths, default=None),
        "bytes_max": max((sum(length for _, length in train) for train in found), default=None),
        "spacing_mean_seconds": mean(inside),
        "pause_mean_seconds": mean(between),
    }


def gaps(packets: Packets) -> dict[str, Any]:
    """Inter-arrival times and their distribution."""
    found = sorted(
        (later - earlier) / 1e9 for (earlier, _), (later, _) in itertools.pairwise(packets)
    )
    steps = (
        sorted(
            {place * len(found) // 200 for place in range(200)}
            | set(range(max(0, len(found) - 20), len(found)))
        )
        if found
        else []
    )
    return {
        "mean_seconds": mean(found),
        "p50_seconds": percentile(found, 0.5),
        "p99_seconds": percentile(found, 0.99),
        "max_seconds": max(found, default=None),
        "cumulative": [[found[place], (place + 1) / len(found)] for place in steps],
    }


def model(
    packets: Packets, *, rate: float | None = None, link: float = 1e9, file: str = "one.pcap"
) -> dict[str, Any]:
    """Everything that ``trustbed burst --json`` says about these packets."""
    first, last = packets[0][0], packets[-1][0]
    total, duration = sum(length for _, length in packets), (last - first) / 1e9
    average = total * 8 / duration if duration else 0.0
    rows = windows(packets, rate)
    rates = [average * factor for factor in (1, 1.25, 1.5, 2, 4)] if average else []
    buffers = [2.0**power for power in range(11, 23)]
    series, start = bins(packets), first // BIN + 1
    diagram = octaves(series, DAUBECHIES3)
    started = datetime.datetime.fromtimestamp(first / 1e9, datetime.UTC)
    return {
        "trustbed": {
            "version": "0.1.0",
            "schema_version": 1,
            "command": f"trustbed burst {file}",
            "started": "2026-01-01T00:00:00Z",
        },
        "capture": {
            "files": [
                {
                    "name": file,
                    "format": "pcap",
                    "compression": "none",
                    "bytes": total,
                    "records": len(packets),
                }
            ]
        },
        "name": "all packets",
        "packets": len(packets),
        "bytes": total,
        "first": started.isoformat().replace("+00:00", "Z"),
        "first_seconds": first / 1e9,
        "last_seconds": last / 1e9,
        "duration_seconds": duration,
        "mean_rate_bits_per_second": average if duration else None,
        "basis": "frame",
        "mode": "static" if rate else "dynamic-same",
        "rate_bits_per_second": rate,
        "window_seconds": WINDOW / 1e9,
        "align": "epoch",
        "offload": "stacked",
        "expanded_packets": 0,
        "steps_back": 0,
        "windows": rows,
        "summary": summary(rows),
        "sigma": sigma(packets, average, link) if average else [],
        "queue": [queue(packets, speed, buffer) for speed in rates for buffer in buffers],
        "delay": [
            delay(packets, speed)
            for speed in (average * 2 ** (place / 2) for place in range(-2, 9))
        ]
        if average
        else [],
        "energy": {
            "bin_seconds": BIN / 1e9,
            "counted": "bytes",
            "octaves": octaves(series, HAAR, start=start),
        },
        "logscale": {
            "wavelet": "daubechies3",
            "bin_seconds": BIN / 1e9,
            "octaves": diagram,
            "fit": fit(diagram),
        },
        "rates": {
            "bin_seconds": BIN / 1e9,
            "points": [
                [(place + 1) * BIN / 1e9, amount * 8e9 / BIN] for place, amount in enumerate(series)
            ],
            "peaks": peaks(packets),
        },
        "gaps": gaps(packets),
        "trains": trains(packets),
        "streams": [],
        "findings": [],
    }
