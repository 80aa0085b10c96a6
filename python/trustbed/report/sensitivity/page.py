"""A sensitivity study on a page: the answers first, then everything that they rest on."""

from __future__ import annotations

from pathlib import Path

from trustbed.report import definitions, words
from trustbed.report.html.elements import Cell, Figure, Line, Provenance, Table
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Row
from trustbed.report.sensitivity import charts, text
from trustbed.sensitivity.model import BandResult, Sensitivity
from trustbed.sensitivity.words import span


def write(found: Sensitivity, path: Path, about: Row) -> None:
    """The page as a file, complete or not at all."""
    page = render(found, about)
    with whole_file(path) as stream:
        stream.write(page)


def render(found: Sensitivity, about: Row) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` returns."""
    payload = Payload()
    return fill(
        "sensitivity_page.html.j2",
        payload,
        title=found.name,
        # What is certain is the headline; what is not stands below it.
        summary=found.matters.sentence.partition(". ")[0].removesuffix(".") + ".",
        facts=(
            f"{found.workload}: {found.measure} {text.measured(found.quiet, found.unit)} without "
            f"background; {found.link} of {words.bits(found.capacity_bits_per_second)}; "
            f"{text.effort(found)}."
        ),
        answers=text.said(found),
        advice=found.advice,
        paste=found.paste,
        slow=Figure(
            chart=payload.add(charts.slowdowns(found)),
            title=f"Times {found.word}",
            caption="Beside each background, over none at all, in the same rounds.",
            definition="slowdown",
            wide=True,
            reading="A bar is an interval; all of them together hold with 95 %. Those that touch "
            "the dashed line may be no slowdown. Open means: too few rounds for an interval.",
        ),
        treatments=_treatments(found),
        bands=Figure(
            chart=payload.add(charts.bands(found)),
            title=f"Time scales of {found.base}",
            caption="The same bytes played back, with one band of time scales amplified, over the "
            "same with the band flattened.",
            definition="surrogate",
            wide=True,
            reading="Bands whose bar touches the dashed line may have no effect.",
        )
        if found.bands
        else None,
        band_table=_bands(found),
        energy=Figure(
            chart=payload.add(charts.energies(found)),
            title="Energy of the backgrounds",
            caption="Each by itself at the link, at its highest load, over the square of its mean.",
            definition="relative-energy",
            wide=True,
        ),
        octaves=Figure(
            chart=payload.add(charts.octaves(found)),
            title="Slowdown and energy over the suite",
            caption="Partial correlation of slowdown and energy of each octave, load given.",
            definition="octave-correlation",
            wide=True,
            reading="Neighbouring octaves of real traffic go together: a hint, not a cause. The "
            "surrogates change one band at a time.",
        )
        if found.octaves
        else None,
        caveats=found.caveats,
        definitions=definitions.of("sensitivity"),
        provenance=Provenance.of(about, ()),
    )


def _treatments(found: Sensitivity) -> Table:
    lines = [
        Line(
            name=one.label,
            cells=[
                Cell.of(words.bits, one.carried_bits_per_second)
                if one.carried_bits_per_second
                else Cell("–"),
                Cell(text.measured(one.median, found.unit), one.median),
                Cell(text.measured(one.p95, found.unit), one.p95),
                Cell(
                    text.ratio(one.slowdown) if one.load else "1",
                    one.slowdown.value if one.slowdown else None,
                ),
                Cell(text.ratio(one.beyond), one.beyond.value if one.beyond else None),
                Cell.of(words.duration, one.queue_seconds)
                if one.queue_seconds is not None
                else Cell("–"),
                Cell.of(words.percent, one.lost) if one.lost is not None else Cell("–"),
            ],
        )
        for one in found.treatments
    ]
    columns = (
        ("Alone", ""),
        ("Median", ""),
        ("95th percentile", ""),
        ("Over quiet", "slowdown"),
        ("Over steady", "beyond-steady"),
        ("Queue", ""),
        ("Lost", ""),
    )
    return Table(first="Background", columns=columns, lines=lines)


def _matters(band: BandResult) -> str:
    """A band may be seen and still cause too little to be named."""
    low, high = band.effect.low, band.effect.high
    if band.matters:
        return "yes"
    seen = low is not None and high is not None and (low > 1 or high < 1)
    return "below 2 %" if seen else "not seen"


def _bands(found: Sensitivity) -> Table:
    lines = [
        Line(
            name=span(one.shortest_seconds, one.longest_seconds),
            cells=[
                Cell(f"{one.first}–{one.last}", one.first),
                Cell(text.ratio(one.effect), one.effect.value),
                Cell(text.ratio(one.amplified), one.amplified.value if one.amplified else None),
                Cell(text.ratio(one.flattened), one.flattened.value if one.flattened else None),
                Cell(_matters(one)),
            ],
        )
        for one in found.bands
    ]
    columns = (
        ("Octaves", ""),
        ("Amplified over flattened", "surrogate"),
        ("Amplified over unchanged", ""),
        ("Flattened over unchanged", ""),
        ("Matters", ""),
    )
    return Table(first="Time scale", columns=columns, lines=lines)
