"""Many captures into a store in this process, one after the other, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from trustbed.store.captures import How, Job, Outcome, Reading, store_capture
from trustbed.store.errors import StoreError


@dataclass(slots=True)
class Sweep:
    """The sum of outcomes so far.

    Attributes:
        present: The keys of those that were there before, and ``present_bytes`` of their captures.
    """

    captures: int
    size_bytes: int
    states: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)
    damaged: list[Outcome] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    done_bytes: int = 0
    present_bytes: int = 0

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Sweep:
        """Nothing of these has been done yet."""
        return cls(len(jobs), sum(job.size_bytes for job in jobs))

    @property
    def done(self) -> int:
        """How many captures have an outcome."""
        return self.states.total()

    @property
    def held(self) -> int:
        """How many of them the store has."""
        return self.states["stored"] + self.states["present"]

    def add(self, one: Outcome) -> None:
        """Counts an outcome."""
        self.states[one.state] += 1
        self.verdicts.update(one.verdicts or {})
        self.done_bytes += one.size_bytes
        if one.state == "present":
            self.present.append(one.key)
            self.present_bytes += one.size_bytes
        if one.state == "failed":
            self.failed.append(one)
        if one.damage:
            self.damaged.append(one)


def carry_out(
    jobs: Iterable[Job], url: str, how: How, *, reading: Reading | None = None
) -> Iterator[Outcome]:
    """Stores captures in this process; ``reading`` is called with the bytes read of one.

    Raises:
        StoreError: The store cannot be written; every further capture would fail as well.
    """
    for job in jobs:
        one = store_capture(job, url, how, reading)
        if one.problem in ("store", "full"):
            raise StoreError(one.message, one.hint)
        yield one
        if reading is not None:
            reading(0)
