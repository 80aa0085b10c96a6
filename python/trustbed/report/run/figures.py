"""The charts of a run's page, each with its title, caption and a line on how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trustbed.report import words
from trustbed.report.charts.drawing import (
    PERCENT_LABEL,
    RATE_LABEL,
    SECONDS_LABEL,
    SHARE_LABEL,
)
from trustbed.report.html.elements import Figure, Pair
from trustbed.report.html.payload import Payload
from trustbed.report.records import Row, Spec
from trustbed.report.run import charts as charts
from trustbed.report.run import words as run_words
from trustbed.report.run.factors import Scale, key_words, others, scale_of, short
from trustbed.report.run.records import (
    Application,
    CellOverTime,
    CellResults,
    RunModel,
    WorkloadResult,
)
from trustbed.report.run.words import Found, times

READING = {
    "slowdown": "1 × is as fast as without background traffic; further right is slower. Marks "
    "that move right together mean that "
    "everything got slower, marks that move apart that some requests got much slower than "
    "others. Bars are 95 % confidence intervals.",
    "mean": "1 × is as without background traffic; further right is worse. Bars are 95 % "
    "confidence intervals.",
    "distribution": "Follow a share to the right until it meets a line: so long did that share "
    "of the requests take at most. A line that "
    "is shifted to the right means that all requests got slower, one that leans that they "
    "vary more.",
    "gaps": "Follow a share to the right until it meets a line: so far apart were that share of "
    "the packets at most, each from the one received before it. A network that changes nothing "
    "leaves the gaps of the sender, two parts of a frame or two frames; a line that leans more "
    "has packets that were held up and packets that came in bunches.",
    "factor": "Each point is the result of a cell, each bar its 95 % confidence interval. Cells "
    "whose bars overlap may not differ at all. "
    "The dashed line is the cell without background.",
    "values": "Each dot is the result of a cell, its bar the 95 % confidence interval, each "
    "stroke what one repetition gave. Cells whose "
    "bars overlap may not differ at all.",
    "loss": "Each point is the share of packets that did not arrive, the mean of the repetitions "
    "with its 95 % confidence "
    "interval. The axis makes room for small shares.",
    "queue": "The height is how many packets a packet found waiting in front of the link: the "
    "deepest of each slice of time, and the mean. "
    "Strokes above are packets that the link lost.",
    "rate_over_time": "Above what the application got, below the queue in front of the link. A "
    "queue that never empties means that the "
    "link is the limit; an empty one under a low rate that something else is. Strokes "
    "above the queue are packets that the link lost.",
    "over_time": "Look down from a slow request: if the queue below it is deep, it waited there; "
    "if the queue is short, look for another "
    "reason. Strokes above the queue are packets that the link lost.",
}


def of_workload(
    model: RunModel, pairs: Sequence[Found], group: Sequence[CellResults], payload: Payload
) -> list[Figure]:
    """Slowdown, result against a factor, distributions of a workload; those with data."""
    found = [_slowdown(pairs, group, payload), _against(model, pairs, payload)]
    if not any(found) and len(pairs) > 1:
        found.append(_values(pairs, group, payload))
    found.append(_distribution(pairs, group, payload))
    drawn = [figure for figure in found if figure is not None]
    return [*drawn[:-1], replace(drawn[-1], wide=True)] if len(drawn) % 2 else drawn


def _drawn(spec: Spec) -> bool:
    return any(spec["datasets"].get(name) for name in spec["datasets"] if name != "marks")


def _slowdown(
    pairs: Sequence[Found], group: Sequence[CellResults], payload: Payload
) -> Figure | None:
    cells = [(short(cell, group), one.slowdown) for cell, one in pairs if not cell.is_baseline]
    kind = pairs[0][1]
    measure = run_words.measure(kind)
    of_times = measure == "response time"
    what = "increase" if measure == "jitter" else "slowdown"
    spec = (
        charts.slowdown(cells)
        if of_times
        else charts.slowdown(cells, title=f"{what} of the mean {measure}")
    )
    if not _drawn(spec):
        return None
    slowdowns = [
        (point.ratio, cell)
        for cell, one in pairs
        if (point := run_words.central(one)) and point.ratio and not cell.is_baseline
    ]
    ratio, worst = max(slowdowns, key=lambda one: one[0])
    by = " at the median" if of_times else ""
    caption = f"Most{by}: {times(ratio)} ({short(worst, group)})."
    return Figure(
        chart=payload.add(spec),
        title=f"{what.capitalize()} against no background",
        caption=caption,
        definition="slowdown",
        reading=READING["slowdown" if of_times else "mean"],
    )


def _against(model: RunModel, pairs: Sequence[Found], payload: Payload) -> Figure | None:
    cells = [cell for cell, _ in pairs]
    scale = scale_of(model.factors, cells)
    if scale is None:
        return None
    kind = pairs[0][1]
    shape = run_words.shape_of(kind)
    lines: dict[str, list[Row]] = {}
    for cell, one in pairs:
        point = scale.position(cell)
        found = one.middle
        if point is not None and found.value is not None and not cell.is_baseline:
            row = {"x": point, "value": found.value, "low": found.low, "high": found.high}
            lines.setdefault(others(cell, scale.key) or "all", []).append(row)
    quiet = next((one.middle.value for cell, one in pairs if cell.is_baseline), None)
    measure = run_words.measure_of(kind)
    spec = charts.against_factor(
        [(word, sorted(rows, key=lambda row: row["x"])) for word, rows in lines.items()],
        title=_scale_words(scale),
        unit=scale.unit,
        measure=measure,
        label=_label(kind),
        baseline=quiet,
    )
    if not _drawn(spec):
        return None
    caption = "" if quiet is None else f"Without background: {shape(quiet)}."
    caption = caption or _ends_of(lines, shape)
    if len(lines) > charts.LINES:
        caption += f" {words.counted(len(lines) - charts.LINES, 'more line')} in the table only."
    title = f"{measure[0].upper()}{measure[1:]} against the {key_words(scale.key)}"
    return Figure(
        chart=payload.add(spec),
        title=title,
        caption=caption,
        definition="interval",
        reading=READING["factor"],
    )


def _label(kind: WorkloadResult) -> str:
    if kind.is_error:
        return PERCENT_LABEL
    return RATE_LABEL if kind.is_rate else SECONDS_LABEL


def _scale_words(scale: Scale) -> str:
    """The title of an axis; it gives the unit that the labels lack."""
    return key_words(scale.key) + (", packets" if scale.unit in ("p", "packets") else "")


def _values(
    pairs: Sequence[Found], group: Sequence[CellResults], payload: Payload
) -> Figure | None:
    """The result of every cell, where no factor has numbers and nothing is compared."""
    kind = pairs[0][1]
    name, shape = kind.middle_name, run_words.shape_of(kind)
    cells: list[tuple[str, Row]] = [
        (
            short(cell, group),
            {
                "value": one.middle.value,
                "low": one.middle.low,
                "high": one.middle.high,
                "each": [getattr(each, name) for each in one.per_repetition],
            },
        )
        for cell, one in pairs
    ]
    title = run_words.measure_of(kind)
    spec = charts.values(cells, title=title, label=_label(kind))
    if not _drawn(spec):
        return None
    known = [row["value"] for _, row in cells if row["value"] is not None]
    caption = f"From {shape(min(known))} to {shape(max(known))}."
    heading = f"{title[0].upper()}{title[1:]}, cell by cell"
    return Figure(
        chart=payload.add(spec),
        title=heading,
        caption=caption,
        definition="interval",
        reading=READING["values"],
    )


def _ends_of(lines: dict[str, list[Row]], shape: object) -> str:
    values = [row["value"] for rows in lines.values() for row in rows]
    return (
        f"From {shape(min(values))} to {shape(max(values))}." if values and callable(shape) else ""
    )


def _distribution(
    pairs: Sequence[Found], group: Sequence[CellResults], payload: Payload
) -> Figure | None:
    cells = [(short(cell, group), one.cdf) for cell, one in pairs if len(one.cdf) > 1]
    if not cells:
        return None
    values = [value for _, steps in cells for value, _ in steps]
    apart = len(cells) - charts.LINES
    more = (
        f" {words.counted(apart, 'more cell')} {'is' if apart == 1 else 'are'} in the table "
        "and not drawn."
        if apart > 0
        else ""
    )
    is_gap = pairs[0][1].measure == "jitter"
    spec = charts.distributions(
        cells,
        logarithmic=min(values) > 0 and max(values) / min(values) > 8,
        what="gap between packets" if is_gap else "response time",
        of="packets" if is_gap else "requests",
    )
    caption = (
        f"{words.counted(len(cells), 'cell')}, from {words.duration(min(values))} to "
        f"{words.duration(max(values))}.{more}"
    )
    return Figure(
        chart=payload.add(spec),
        title=f"Distribution of the {'gaps between packets' if is_gap else 'response times'}",
        caption=caption,
        definition="distribution",
        reading=READING["gaps" if is_gap else "distribution"],
    )


def losses(model: RunModel, payload: Payload) -> list[Figure]:
    """The loss of background traffic against a factor, where one has numbers."""
    cells = [
        cell for cell in model.cells if any(one.loss_share is not None for one in cell.backgrounds)
    ]
    scale = scale_of(model.factors, cells) if cells else None
    if scale is None or not any(one.loss_share for cell in cells for one in cell.backgrounds):
        return []
    lines = _loss_lines(cells, scale)
    title = _scale_words(scale)
    spec = charts.against_factor(
        lines, title=title, unit=scale.unit, measure="packets lost", label=SHARE_LABEL, shares=True
    )
    most = max(((row["value"], word) for word, rows in lines for row in rows), default=None)
    caption = "" if most is None else f"At most {words.percent(most[0])} ({most[1]})."
    return [
        Figure(
            chart=payload.add(spec),
            title=f"Background lost against the {key_words(scale.key)}",
            caption=caption,
            definition="background",
            reading=READING["loss"],
        )
    ]


def _loss_lines(cells: Sequence[CellResults], scale: Scale) -> list[tuple[str, list[Row]]]:
    several = len({one.name for cell in cells for one in cell.backgrounds}) > 1
    lines: dict[str, list[Row]] = {}
    for cell in cells:
        point = scale.position(cell)
        for one in cell.backgrounds:
            if point is None or one.loss_share is None:
                continue
            word = (
                ", ".join(
                    part for part in (one.name if several else "", others(cell, scale.key)) if part
                )
                or one.name
            )
            lines.setdefault(word, []).append(
                {
                    "x": point,
                    "value": one.loss_share,
                    "low": one.loss_low,
                    "high": one.loss_high,
                }
            )
    return [(word, sorted(rows, key=lambda row: row["x"])) for word, rows in lines.items()]


def over_time(one: CellOverTime, payload: Payload) -> Pair:
    """A repetition over time: the application above, the queue below."""
    shown = one.shown
    above, below = charts.application(shown), charts.queue(shown)
    first = next(iter(shown.applications), None)
    pipe = next(iter(shown.pipes), None)
    return Pair(
        title=f"{one.label} ({shown.directory})",
        above=payload.add(above) if _drawn(above) else None,
        below=payload.add(below) if _drawn(below) else None,
        above_words="" if first is None else _above_words(first),
        below_words=""
        if pipe is None
        else (
            f"Queue of {pipe.name}: {words.counted(max(pipe.packets_max), 'packet')} at its "
            f"deepest, {sum(pipe.lost)} lost."
        ),
        reading=READING[
            "queue"
            if first is None
            else "rate_over_time"
            if first.measure == "throughput"
            else "over_time"
        ],
    )


def _above_words(first: Application) -> str:
    if first.measure == "throughput":
        return f"Throughput of {first.name} over time."
    longest = max(first.seconds or (), default=None)
    failed = len(first.failed_t or ())
    return (
        f"{words.counted(first.requests or 0, 'request')} of {first.name}"
        + ("" if longest is None else f", the slowest {words.duration(longest)}")
        + (f", {failed} failed" if failed else "")
        + "."
    )
