"""The runs of a study read back: what every treatment did to the application, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.report.run.reading import Repetition
from trustbed.report.run.reading import Run as Reading
from trustbed.run.directory import RunDirectoryError
from trustbed.sensitivity.arrivals import Arrivals, arrivals
from trustbed.sensitivity.judge.effects import Seen
from trustbed.sensitivity.observing import Value, is_broken, sent_by, value_of
from trustbed.sensitivity.plan import SECOND, Part, Place

_LEAST_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observed:
    value: Value | None
    broken: bool
    failed: int
    sent: float | None
    queue: float | None
    lost: float | None


class Rounds:
    """Repetitions of a study, each read once.

    Attributes:
        value: The application's number in the first repetition that gave one; ``None`` before.
    """

    def __init__(self, where: Place) -> None:
        self.value: Value | None = None
        self._where = where
        self._observed: dict[Path, _Observed] = {}

    def seen(self, part: Part, reading: Reading) -> list[Seen]:
        """What the complete repetitions of a part show of each of its treatments."""
        found = [Seen(treatment) for treatment in part.treatments]
        for repetition in reading.repetitions:
            if not repetition.complete:
                continue
            seen, one = found[repetition.cell], self._observe(repetition, part.background)
            seen.broken += one.broken
            seen.failed += one.failed
            seen.discarded += not repetition.counts
            if one.value is None or one.broken or not repetition.counts:
                continue
            self.value = self.value or one.value
            this_round = repetition.round
            seen.logs[this_round] = math.log(one.value.cost)
            seen.medians.append(one.value.median)
            if one.value.p95 is not None:
                seen.p95s.append(one.value.p95)
            if one.sent is not None:
                seen.payload_rates[this_round] = one.sent
            if one.queue is not None and one.lost is not None:
                seen.queues[this_round], seen.losses[this_round] = one.queue, one.lost
        return found

    def _observe(self, repetition: Repetition, background: str) -> _Observed:
        """Read once: rounds are added to those that were read before."""
        known = self._observed.get(repetition.path)
        if known is not None:
            return known
        where = self._where
        name = where.workload.name
        measured = repetition.measured(name)
        value = value_of(repetition, name)
        own = self.ways(repetition, where.workload.start_ns).get(where.pipe)
        found = _Observed(
            value=value,
            broken=is_broken(repetition, name),
            failed=0 if measured is None else measured.failed,
            sent=sent_by(repetition, background),
            queue=None if own is None else own.queue_seconds,
            lost=None if own is None else own.lost,
        )
        self._observed[repetition.path] = found
        return found

    def ways(self, repetition: Repetition, start_ns: int) -> dict[str, Arrivals]:
        """What came to the link while the application ran, or for as long as it would."""
        begin = repetition.record.get("workload_start_ns")
        where = self._where
        if begin is None:
            return {}
        workload = repetition.workload(where.workload.name)
        started = workload.get("started_ns") or begin + start_ns
        seconds = workload.get("seconds")
        lasted = where.workload.duration_ns if not seconds else round(seconds * SECOND)
        lasted = max(lasted, _LEAST_NS)
        if where.workload.kind != "command":  # which lasts as long as it lasts
            lasted = min(lasted, where.workload.duration_ns)
        return arrivals(
            repetition.path,
            where.link,
            begin_ns=started,
            end_ns=started + lasted,
            capacity=where.capacity,
        )

    def add_alone(self, found: Sequence[Seen], part: Part, reading: Reading) -> None:
        """Adds to each treatment what it is by itself, from the run of the backgrounds alone."""
        by_label = {
            one.label: repetition
            for repetition in reading.repetitions
            for one in (part.treatments[repetition.cell],)
            if repetition.complete
        }
        for seen in found:
            repetition = by_label.get(seen.treatment.label)
            ways = self.ways(repetition, 0) if repetition is not None else {}
            if ways:
                own = max(ways.values(), key=lambda one: one.bits_per_second)
                seen.series, seen.carried = own.series, own.bits_per_second
                seen.overhead = own.packets_over_payload


def complete_rounds(directory: Path) -> int:
    """How many rounds of a run are complete; 0 if there is none."""
    try:
        reading = Reading(directory)
    except RunDirectoryError:
        return 0
    incomplete = [one.round for one in reading.repetitions if not one.complete]
    rounds = 1 + max((one.round for one in reading.repetitions), default=-1)
    return min(incomplete, default=rounds)
