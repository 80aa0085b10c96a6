"""What a comparison found: the records that its page, text, Markdown, JUnit and JSON show.

Numbers are in base units, shares 0…1, differences in percent; unknown is ``null``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

SCHEMA_VERSION = 1
"""Increased when a field changes its meaning or is removed, not when one is added."""

Level: TypeAlias = Literal["application", "system_calls", "network", "delay"]
LEVELS: tuple[Level, ...] = ("application", "system_calls", "network", "delay")
Verdict: TypeAlias = Literal["different", "equivalent", "open", "not_compared"]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One testbed's values of a metric.

    Attributes:
        values: One per repetition, in the order in which they were carried out.
        sd: Standard deviation of the values, n − 1.
        half_width: Half of the mean's 95 % interval by Student's t.
        half_width_normal: The same by the normal distribution.
    """

    mean: float
    sd: float | None
    count: int
    half_width: float | None
    half_width_normal: float | None
    values: tuple[float, ...] = ()


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a candidate against the reference.

    Attributes:
        key: ``requests_per_second``; with several workloads ``fetch.requests_per_second``.
        title: For people: ``reads/request``.
        unit: Base unit: ``1/s``, ``s``, ``B``, ``bit/s``, ``1``.
        per: What it is counted for: ``request``, ``MB``, ``trace`` or nothing.
        tolerance: The share of the reference's mean that counts as similar.
        difference: Candidate less reference.
        difference_percent: The same in percent of the reference; ``null`` of a reference of 0.
        low_percent: Lower end of its 95 % interval (Welch), of this metric alone.
        similar: Whether the means differ by at most the tolerance.
        overlap: Whether the intervals of the means touch.
        equivalent: Whether the difference is certainly within the tolerance (TOST at 5 %).
        different: Whether it certainly exceeds the resolution, all of the report at 5 % (Holm).
        beyond: Whether it is different, and its interval excludes the tolerance as well.
        p: Of no difference beyond the resolution, before the correction.
        p_holm: After it.
        p_equivalence: The larger one of both one-sided tests.
        repetitions_needed: On each side, to settle what is open; ``null``: nothing is open, or more
            than the simulation tried.
        note: Why it was not compared, or what limits it.
    """

    key: str
    level: Level
    title: str
    unit: str
    per: str
    tolerance: float
    verdict: Verdict
    reference: Side | None = None
    candidate: Side | None = None
    difference: float | None = None
    difference_percent: float | None = None
    low_percent: float | None = None
    high_percent: float | None = None
    similar: bool | None = None
    overlap: bool | None = None
    equivalent: bool | None = None
    different: bool | None = None
    beyond: bool | None = None
    p: float | None = None
    p_holm: float | None = None
    p_equivalence: float | None = None
    repetitions_needed: int | None = None
    note: str = ""


class LevelResult(msgspec.Struct, frozen=True, kw_only=True):
    """A level: its verdict, how many of its metrics are similar, and the sentence that says so."""

    level: Level
    verdict: Verdict
    similar: int
    compared: int
    sentence: str


class ChangedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A system call that is made more or less often, per request or MB: the means of both sides."""

    name: str
    reference: float
    candidate: float


class ChangedTransition(msgspec.Struct, frozen=True, kw_only=True):
    """A transition of system calls that contributes most to the difference, in bits per call.

    Shares are of all transitions of a side. ``phase`` is where it is made: ``initialisation``,
    ``steady`` or ``throughout``; ``example`` has the calls around one.
    """

    before: str
    after: str
    reference_share: float
    candidate_share: float
    bits_per_call: float
    phase: str = "throughout"
    example: str = ""


class ChainEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A transition of the pruned chains, as the graph draws it.

    Weights are probabilities of ``call`` after ``state``, shares are of all transitions of a side;
    ``shift`` is the share of all transitions that only the candidate decides so.
    """

    state: tuple[str, ...]
    call: str
    reference_weight: float
    candidate_weight: float
    reference_share: float
    candidate_share: float
    shift: float


class LaterCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The same walks without the beginning of every thread, where it initialises.

    Attributes:
        skipped: Calls that are left out at the beginning of every thread.
        calls: Calls of each repetition that were compared.
    """

    skipped: int
    calls: int
    walks: int
    invalid_walks: int
    invalid_transitions: int
    relative_exponent: float | None
    bits_per_call: float | None
    reference_bits_per_call: float | None
    consistent: bool | None


class ChainResult(msgspec.Struct, frozen=True, kw_only=True):
    """System-call chains of a candidate against the reference's.

    Attributes:
        order: How many calls a state has.
        relative_exponent: log₁₀ of the candidate's walk probability over the reference's own.
        invalid_walks: Of candidate sequences on reference chains.
        walks: How many there were.
        invalid_transitions: Transitions that the reference never made.
        bits_per_call: Smoothed cross entropy of the candidate on the reference's chain.
        reference_bits_per_call: Leave-one-out, mean over the reference's sequences.
        reference_low: Lower end of its central 95 %.
        consistent: Whether the candidate's mean lies in that range.
        jaccard: Distance of the edge sets of pruned chains, 0 to 1.
        variation: Stationary-weighted total variation of the transitions, 0 to 1.
        changed: The transitions that differ most.
        edges: The most frequent ones, for the graph.
        note: Whose calls these are, and what limits it.
        later: The walks behind the first million calls of every thread; ``null`` where not every
            repetition has a thread with more.
    """

    order: int
    walks: int
    invalid_walks: int
    invalid_transitions: int
    relative_exponent: float | None
    bits_per_call: float | None
    reference_bits_per_call: float | None
    reference_low: float | None
    reference_high: float | None
    consistent: bool | None
    jaccard: float | None
    variation: float | None
    changed: tuple[ChangedTransition, ...] = ()
    edges: tuple[ChainEdge, ...] = ()
    note: str = ""
    later: LaterCalls | None = None


class CandidateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate in one case; ``calls`` has the system calls that differ most, by workload."""

    testbed: str
    levels: tuple[LevelResult, ...]
    metrics: tuple[MetricResult, ...]
    calls: Mapping[str, tuple[ChangedCall, ...]] = {}
    chains: ChainResult | None = None


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of what is not the testbed: an object's size, a link's rate.

    ``label`` is empty where there is only one.
    """

    label: str
    reference: str
    candidates: tuple[CandidateResult, ...]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A repetition that does not count, and why."""

    repetition: str
    case: str
    reason: str


class TestbedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared.

    Attributes:
        name: Of the directory, of the factor's value, or as given.
        source: The directory or file.
        planned: Repetitions in all cases.
        used: Of these, those that count.
        left_out: The others.
        warm_up: What was dropped at the beginning, in words.
        facts: Kernel, architecture, version of trustbed, where they are known.
    """

    __test__ = False  # it is no test, whatever pytest makes of the name

    name: str
    source: str
    planned: int
    used: int
    left_out: tuple[LeftOut, ...] = ()
    warm_up: str = ""
    facts: Mapping[str, str] = {}


class SettingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate again with one setting changed.

    Attributes:
        setting: In words: ``faults.starved removed``.
        change: The keys of the scenario that were changed, with their values.
        closed: Share of the gap of ``metric`` that it closed, 1 for all; with its 95 % interval.
        metric: The metric in which it closed most, ``null`` if it closed nothing for certain.
        p_holm: Of no effect on that metric, all settings and metrics together.
    """

    setting: str
    change: str
    metric: str | None = None
    closed: float | None = None
    low: float | None = None
    high: float | None = None
    p_holm: float | None = None
    repetitions: int = 0


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """What closes the gap between a candidate and the reference.

    Attributes:
        candidate: The testbed whose settings were changed.
        named: The setting that closes it; ``null`` if none does for certain.
        sentence: The answer.
        gaps: The metrics that differed in these runs.
        settings: Everything that was tried, what closed most first.
        skipped: What was not tried, with the reason.
    """

    candidate: str
    named: str | None
    sentence: str
    gaps: tuple[str, ...] = ()
    settings: tuple[SettingResult, ...] = ()
    skipped: tuple[str, ...] = ()
    rounds: int = 0
    seconds: float = 0.0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole comparison.

    Attributes:
        by: What tells the testbeds apart: ``run``, or the key of a factor.
        interleaved: Whether the repetitions of all testbeds came in random blocks.
        resolution: The smallest difference that counts, as a share of the reference.
        family: How many tests Holm's procedure took together.
        not_compared: What is left out of the comparison as a whole, and why.
        caveats: What to keep in mind.
    """

    schema_version: int = SCHEMA_VERSION
    title: str
    by: str
    reference: str
    interleaved: bool
    tolerance: float
    resolution: float
    family: int
    seed: int
    testbeds: tuple[TestbedResult, ...]
    cases: tuple[CaseResult, ...]
    not_compared: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    explanation: tuple[Ablation, ...] = ()

    def metrics(self) -> Sequence[tuple[CaseResult, CandidateResult, MetricResult]]:
        """Every metric of every candidate in every case."""
        return [
            (case, candidate, metric)
            for case in self.cases
            for candidate in case.candidates
            for metric in candidate.metrics
        ]
