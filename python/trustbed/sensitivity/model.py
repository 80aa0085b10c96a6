"""What a sensitivity study found: the records that its page, text and JSON show."""

from __future__ import annotations

import msgspec


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as slow: 1.2 is 20 % slower. Ends of the 95 % interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None
    rounds: int = 0


class TreatmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The application beside one background.

    Attributes:
        label: Its name and load.
        name: The member of the suite.
        load: The share of the link that it should take.
        reverse: Whether it flows against the application's data.
        carried_bits_per_second: What it is alone, in the mean.
        energies: log₂ of its energy by octave over the square of its mean; ``null``: none.
        slowdown: Against no background at all.
        beyond: Against constant traffic of the same rate, where the suite has it.
        median: Of the application's measure, in its unit.
        p95: The 95th percentile, where it has single response times.
        queue_seconds: The queue that packets found at the link, in the mean.
        lost: The share of packets that the link lost.
        failed: Requests that failed.
    """

    label: str
    name: str
    load: float
    reverse: bool
    carried_bits_per_second: float | None = None
    energies: tuple[float | None, ...] = ()
    slowdown: Ratio | None = None
    beyond: Ratio | None = None
    median: float | None = None
    p95: float | None = None
    queue_seconds: float | None = None
    lost: float | None = None
    failed: int = 0


class OctaveResult(msgspec.Struct, frozen=True, kw_only=True):
    """How the suite's slowdowns go with the energy of one octave, load given.

    Attributes:
        octave: From 1 on.
        seconds: The blocks that it compares.
        correlation: Partial correlation over the backgrounds; −1 to 1.
        low: Lower end of its 95 % interval (bootstrap over backgrounds).
        high: Upper end.
    """

    octave: int
    seconds: float
    correlation: float
    low: float | None = None
    high: float | None = None


class BandResult(msgspec.Struct, frozen=True, kw_only=True):
    """Surrogates in which only these time scales differ.

    Attributes:
        first: The smallest octave.
        last: The largest.
        shortest_seconds: The shortest blocks that it compares.
        longest_seconds: The longest.
        effect: The application beside the amplified one, over the flattened one.
        amplified: Beside the amplified one, over the unchanged series.
        flattened: Beside the flattened one, over the unchanged series.
        matters: Whether the interval of ``effect`` excludes no effect, all bands together at 95 %.
    """

    first: int
    last: int
    shortest_seconds: float
    longest_seconds: float
    effect: Ratio
    amplified: Ratio | None = None
    flattened: Ratio | None = None
    matters: bool = False


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """An answer and the sentence that gives it with its figures."""

    answer: str
    sentence: str


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """The whole study.

    Attributes:
        name: The scenario's.
        workload: The application.
        measure: What of it was compared.
        unit: ``s`` or ``bit/s``, of the medians of treatments.
        word: What more of it makes the application: ``as slow``.
        link: Where the background competes.
        capacity_bits_per_second: Of the link.
        quiet: The application's measure without background: the median of repetitions.
        base: The background whose arrivals the surrogates change; ``None`` without surrogates.
    """

    name: str
    workload: str
    measure: str
    unit: str
    word: str
    link: str
    capacity_bits_per_second: float
    quiet: float | None
    matters: Said
    kind: Said
    scales: Said
    direction: Said
    way: Said
    treatments: tuple[TreatmentResult, ...] = ()
    octaves: tuple[OctaveResult, ...] = ()
    bands: tuple[BandResult, ...] = ()
    base: str | None = None
    bracket: tuple[str, ...] = ()
    paste: str = ""
    advice: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    rounds: int = 0
    surrogate_rounds: int = 0
    seconds: float = 0.0
    budget_seconds: float = 0.0
