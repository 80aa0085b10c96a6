"""A sensitivity study as a page shows it, with made-up figures."""

from __future__ import annotations

from trustbed.sensitivity.model import (
    BandResult,
    OctaveResult,
    Ratio,
    Said,
    Sensitivity,
    TreatmentResult,
)


def study() -> Sensitivity:
    """An application that reacts to bursts of 64 to 128 ms, and to nothing else."""
    treatments = [
        TreatmentResult(label="quiet", name="quiet", load=0.0, reverse=False, median=0.02)
    ]
    for name, slow in (("steady", 1.0), ("web", 1.4), ("bulk", 5.5)):
        treatments.append(
            TreatmentResult(
                label=f"{name} 60 %",
                name=name,
                load=0.6,
                reverse=False,
                carried_bits_per_second=6e6,
                energies=(1.0, 2.0, None, 4.0, 3.0),
                slowdown=Ratio(value=slow, low=0.9 * slow, high=1.1 * slow, rounds=5),
                beyond=None if name == "steady" else Ratio(value=slow, low=0.9 * slow, high=9.0),
                median=0.02 * slow,
                p95=0.03 * slow,
                queue_seconds=0.004,
                lost=0.001,
            )
        )
    bands = [
        BandResult(
            first=first,
            last=first + 1,
            shortest_seconds=2.0 ** (first - 1) / 1000,
            longest_seconds=2.0**first / 1000,
            effect=Ratio(value=value, low=0.98 * value, high=1.02 * value, rounds=5),
            amplified=Ratio(value=value, rounds=1),
            matters=value > 1.1,
        )
        for first, value in ((1, 1.0), (3, 1.0), (5, 1.02), (7, 1.6))
    ]
    return Sensitivity(
        name="pages <of> 4 KB",
        workload="pages",
        measure="mean response time",
        unit="s",
        word="as slow",
        link="link",
        capacity_bits_per_second=1e7,
        quiet=0.02,
        matters=Said(answer="yes", sentence="Background matters: bulk 60 % makes it 5.50 times."),
        kind=Said(answer="burstiness", sentence="Burstiness, not the mean load."),
        scales=Said(answer="64 to 128 ms", sentence="Bursts of 64 to 128 ms."),
        direction=Said(answer="unknown", sentence="Traffic against the data was not tried."),
        way=Said(answer="queue", sentence="The queue rather than losses."),
        treatments=tuple(treatments),
        octaves=(OctaveResult(octave=1, seconds=0.001, correlation=0.5, low=-0.2, high=0.8),),
        bands=tuple(bands),
        base="web 60 %",
        bracket=("quiet", "bulk 60 %"),
        paste='[background.noise]\nmodel = "none"\n',
        advice=("Constant or Poisson traffic is not enough.",),
        caveats=("surrogates are played back",),
        rounds=5,
        surrogate_rounds=5,
        seconds=300.0,
        budget_seconds=600.0,
    )
