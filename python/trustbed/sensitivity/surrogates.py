"""Surrogates of a study: the background that costs most, with one band of time scales changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trustbed.scenario import ScenarioFile
from trustbed.scenario.file import keys_of
from trustbed.sensitivity import cascade
from trustbed.sensitivity.arrivals import write_capture
from trustbed.sensitivity.judge.effects import Seen, slowdowns
from trustbed.sensitivity.plan import (
    Part,
    Place,
    SensitivityError,
    beside,
    seed_of,
    surrogate,
)


def surrogates(
    study: ScenarioFile,
    where: Place,
    bands: Sequence[cascade.Band],
    base: Seen,
    series: Path,
) -> Part:
    """The run beside the series of a background, unchanged and with each band either way.

    The captures that are played back are written into the directory ``series``.
    """
    series.mkdir(exist_ok=True)
    label, load = base.treatment.label, base.treatment.load
    wanted = load * where.capacity / (base.carried or 1.0)  # one draw of users is more, or less
    scaled = [wanted * one for one in base.series]
    made = []
    changes = [(None, False), *((b, up) for b in bands for up in (False, True))]
    for band, amplified in changes:
        name = (
            "unchanged"
            if band is None
            else f"{'amplified' if amplified else 'flattened'}-{band.first:02}-{band.last:02}"
        )
        file = (series / f"{name}.pcap").resolve()
        changed = cascade.surrogate(scaled, band, amplified=amplified, seed=seed_of(study, name))
        write_capture(file, _covering(changed, where, study))
        made.append(replace(surrogate(name, file, where, load), band=band, amplified=amplified))
    return beside(study, keys_of(study), made, where, f"beside surrogates of {label}")


def base_of(found: Sequence[Seen], label: str | None) -> Seen:
    """The background whose time scales are changed: the one of this label, if it is there.

    Otherwise the model that surely costs most.

    Raises:
        SensitivityError: No background came to the link.
    """
    known = next((one for one in found if one.treatment.label == label), None) or _costliest(found)
    if known is None:
        raise SensitivityError(
            "no background came to the link, so there is nothing to change",
            "see trustbed report on the directory 'alone' of this study",
        )
    return known


def _costliest(found: Sequence[Seen]) -> Seen | None:
    slow = slowdowns(found)
    known = [
        (one, (effect.value if effect.low is None else effect.low))
        for one, effect in zip(found, slow, strict=True)
        if effect is not None and any(one.series) and not one.treatment.reverse
    ]
    varied = [pair for pair in known if pair[0].treatment.name not in ("steady", "poisson")]
    return max(varied or known, key=lambda pair: pair[1], default=(None, 0.0))[0]


def _covering(series: Sequence[float], where: Place, study: ScenarioFile) -> list[float]:
    """A series that begins with the application and repeats, with the time before it."""
    scenario = study.first
    before = (scenario.warm_up_ns + where.workload.start_ns) // 1_000_000
    whole = -(-scenario.longest_ns // 1_000_000)
    return [series[(place - before) % len(series)] for place in range(whole)]
