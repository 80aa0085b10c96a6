"""A capture, and its burstiness, as a small HTML table, for notebooks."""

from __future__ import annotations

import html

from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.run.records import RunModel
from trustbed.report.transfer.overview import Overview

LISTED = 20

_COLOURS = {"discard": "#c0392b", "review": "#b7791f", "trust": "#2e7d32"}


def table(overview: Overview) -> str:
    """The judged transfers, the most severe first; what was left out is counted below."""
    rows = "".join(_row(row) for row in overview.transfers[:LISTED])
    head = "".join(
        f"<th style='text-align:left'>{word}</th>"
        for word in ("verdict", "transfer", "from → to", "bytes", "time", "throughput", "why")
    )
    left = overview.judged - min(len(overview.transfers), LISTED)
    notes = [f"{words.counted(left, 'more transfer')}"] if left > 0 else []
    notes += (
        [f"{words.counted(overview.not_judged, 'transfer')} too short to judge"]
        if overview.not_judged
        else []
    )
    notes += (
        [f"{words.counted(len(overview.findings), 'finding')} about the capture"]
        if overview.findings
        else []
    )
    title, below = html.escape(overview.name), html.escape(" · ".join(notes))
    return f"<p><strong>{title}</strong></p><table><tr>{head}</tr>{rows}</table><p>{below}</p>"


def _row(row: Row) -> str:
    colour, verdict = _COLOURS.get(row["verdict"], "inherit"), html.escape(row["verdict"])
    verdict = f"<strong style='color:{colour}'>{verdict}</strong>"
    cells = (
        html.escape(row["transfer"]),
        html.escape(words.endpoints(row)),
        words.size(row.get("unique_bytes")),
        words.duration(row.get("duration_seconds")),
        words.rate(row.get("throughput_bytes_per_second")),
        html.escape(row["headline"])
        + f"<br><small>{html.escape('; '.join(row['reasons']))}</small>",
    )
    body = "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells)
    return f"<tr><td>{verdict}</td>{body}</tr>"


def burstiness(model: Row) -> str:
    """The headline of a capture's burstiness, and its table of average rates and burstiness."""
    from trustbed.report.burst import page as burst
    from trustbed.report.burst import words as burst_words
    from trustbed.report.burst.chart_axes import whole_names

    name = html.escape(whole_names([model])[0])
    if not model.get("packets"):
        return f"<p><strong>{name}</strong>: There are no packets.</p>"
    rows = burst.averages(model)
    head = "".join(
        f"<th style='text-align:left'>{label}</th>"
        for label, _, _ in (rows[0].cells if rows else ())
    )
    body = "".join(
        f"<tr><td>{row.over}</td>{''.join(f'<td>{value}</td>' for _, value, _ in row.cells)}</tr>"
        for row in rows
    )
    message = html.escape(" ".join((burst_words.headline(model), burst_words.bottleneck(model))))
    facts = html.escape(burst.facts(model))
    return (
        f"<p><strong>{name}</strong>: "
        f"{facts}</p><p>{message}</p><table><tr><th></th>{head}</tr>{body}</table>"
    )


def run(model: RunModel) -> str:
    """A run in one sentence, its cells with their results, and which repetitions not to use."""
    from trustbed.report.run import words as run_words

    head = "".join(
        f"<th style='text-align:left'>{word}</th>"
        for word in ("cell", "workload", "result", "slowdown", "repetitions")
    )
    rows = []
    for cell in model.cells:
        for one in cell.workloads:
            index = run_words.central(one)
            cells = (
                html.escape(cell.label),
                html.escape(one.name),
                run_words.middle(one)[1] if one.measure else words.UNKNOWN,
                "" if index is None else run_words.times(index.ratio),
                f"{cell.counted} of {cell.planned}",
            )
            rows.append(
                "<tr>"
                + "".join(f"<td style='text-align:left'>{text}</td>" for text in cells)
                + "</tr>"
            )
    message = html.escape(f"{run_words.headline(model)} {run_words.standing(model)}")
    return f"<p><strong>{message}</strong></p><table><tr>{head}</tr>{''.join(rows)}</table>"
