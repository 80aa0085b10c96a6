"""A capture, and its burstiness, as a small HTML table, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from trustbed.report import words
from trustbed.report.overview import Overview, Row

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
    return f"<p><strong>{html.escape(overview.name)}</strong></p><table><tr>{head}</tr>{rows}</table><p>{html.escape(' · '.join(notes))}</p>"


def _row(row: Row) -> str:
    ends = f"{words.endpoint(row['src'], row['src_port'])} → {words.endpoint(row['dst'], row['dst_port'])}"
    verdict = f"<strong style='color:{_COLOURS.get(row['verdict'], 'inherit')}'>{html.escape(row['verdict'])}</strong>"
    cells = (
        html.escape(row["transfer"]),
        html.escape(ends),
        words.size(row.get("unique_bytes")),
        words.duration(row.get("duration_seconds")),
        words.rate(row.get("throughput_bytes_per_second")),
        f"{html.escape(row['headline'])}<br><small>{html.escape('; '.join(row['reasons']))}</small>",
    )
    body = "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells)
    return f"<tr><td>{verdict}</td>{body}</tr>"


def burstiness(model: Mapping[str, Any]) -> str:
    """What the traffic's burstiness comes to, and the table of average rates and burstiness (``model`` is that of ``burst --json``)."""
    from trustbed.report import burst_words
    from trustbed.report.charts.burst_axes import whole_names
    from trustbed.report.html import burst

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
    said = html.escape(" ".join((burst_words.headline(model), burst_words.bottleneck(model))))
    facts = html.escape(burst.facts(model))
    return f"<p><strong>{name}</strong>: {facts}</p><p>{said}</p><table><tr><th></th>{head}</tr>{body}</table><p>1 KB = 1024 bytes.</p>"


def run(model: Mapping[str, Any]) -> str:
    """A run in one sentence, its cells with their results, and which repetitions must not be used."""
    from trustbed.report import run_words

    head = "".join(
        f"<th style='text-align:left'>{word}</th>"
        for word in ("cell", "workload", "result", "slowdown", "repetitions")
    )
    rows = []
    for cell in model["cells"]:
        for one in cell["workloads"]:
            place = run_words.central(one)
            cells = (
                html.escape(cell["label"]),
                html.escape(one["name"]),
                run_words.middle(one)[1] if one["measure"] else words.UNKNOWN,
                "" if place is None else run_words.times(place["ratio"]),
                f"{cell['counted']} of {cell['planned']}",
            )
            rows.append(
                "<tr>"
                + "".join(f"<td style='text-align:left'>{text}</td>" for text in cells)
                + "</tr>"
            )
    said = html.escape(f"{run_words.headline(model)} {run_words.standing(model)}")
    return f"<p><strong>{said}</strong></p><table><tr>{head}</tr>{''.join(rows)}</table>"
