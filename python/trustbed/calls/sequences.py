"""Sequences of system calls: those of a repetition, one per thread, numbered by one alphabet.

A trace of several threads is taken apart before anything is counted: interleaved threads would make
transitions that no thread made. Calls are two bytes each and stay in Arrow's memory; cutting a
sequence copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from trustbed._core import CallAlphabet, split_calls
from trustbed.calls.pairing import LAST

__all__ = ["Repetition", "Thread", "common_length", "repetition"]


_LASTING = 0.05
"""A thread with this share of a repetition's calls was there for much of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One thread's calls.

    Attributes:
        tid: Its number.
        calls: Numbers of calls (``uint16``) in entry order.
        skipped: Calls at its beginning that ``calls`` lacks.
    """

    tid: int
    calls: pa.ChunkedArray
    skipped: int = 0

    def names(self, alphabet: CallAlphabet, start: int, stop: int) -> tuple[str, ...]:
        """The names of its calls from ``start`` to ``stop``, within its bounds."""
        first = max(start, 0)
        numbers = self.calls.slice(first, max(stop - first, 0)).to_pylist()
        names = alphabet.names
        return tuple(names[number] for number in numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """The threads of a repetition: what one walk covers."""

    name: str
    threads: tuple[Thread, ...]

    @property
    def calls(self) -> int:
        """Calls of all threads."""
        return sum(len(thread.calls) for thread in self.threads)

    def without_first(self, skip: int) -> Repetition:
        """Without the first ``skip`` calls of every thread; threads that end before are left out.

        Every thread initialises by itself.
        """
        threads = [
            replace(thread, calls=thread.calls.slice(skip), skipped=thread.skipped + skip)
            for thread in self.threads
            if len(thread.calls) > skip
        ]
        return replace(self, threads=tuple(threads))

    def at_most(self, most: int) -> Repetition:
        """``most`` calls, about those of the first part of the repetition.

        A thread with a twentieth of all calls or more (one that accepts connections, a worker)
        keeps its share, from its beginning; the others (one for each connection) are kept whole, in
        the order in which they began. Were the longest taken first, the one that accepts would
        stand for all in a long repetition, and hardly count in a short one.
        """
        whole = self.calls
        if most >= whole:
            return self
        lasts = [len(thread.calls) >= _LASTING * whole for thread in self.threads]
        lengths = [
            len(thread.calls) * most // whole if lasting else 0
            for thread, lasting in zip(self.threads, lasts, strict=True)
        ]
        remaining = most - sum(lengths)
        # Those that come and go first; what rounding leaves is of those that last.
        for number in sorted(range(len(lengths)), key=lambda number: lasts[number]):
            more = min(len(self.threads[number].calls) - lengths[number], remaining)
            lengths[number] += more
            remaining -= more
        kept = (
            replace(thread, calls=thread.calls.slice(0, length))
            for thread, length in zip(self.threads, lengths, strict=True)
            if length
        )
        return replace(self, threads=tuple(kept))


def repetition(
    name: str,
    calls: pa.ChunkedArray | pa.Array,
    alphabet: CallAlphabet,
    *,
    threads: pa.ChunkedArray | pa.Array | None = None,
) -> Repetition:
    """The calls of a repetition.

    Args:
        name: What the repetition is called in examples.
        calls: Names of calls (strings, or a dictionary of them); those of a thread in entry order.
        alphabet: Numbers the names; all repetitions that are compared share one.
        threads: The thread of every call (``uint32``); ``None`` where there is one thread.

    Raises:
        ValueError: A name is null, there are more than 65,536 names, or the columns differ in
            length.
        TypeError: A column has another type.
    """
    numbers = _chunked(alphabet.encode(calls))
    if threads is None:
        return Repetition(name=name, threads=(Thread(tid=0, calls=numbers),))
    split = split_calls(threads, numbers)
    ends = pa.array([n for n, word in enumerate(alphabet.names) if word in LAST], pa.uint16())
    return Repetition(
        name=name,
        threads=tuple(
            Thread(tid=tid, calls=life)
            for tid, own in split
            for life in _lives(_chunked([own]), ends)
        ),
    )


def _lives(calls: pa.ChunkedArray, ends: pa.Array) -> Iterator[pa.ChunkedArray]:
    """The calls of every thread that had a number: it is given again once a thread has ended."""
    begin = 0
    for last in pc.indices_nonzero(pc.is_in(calls, ends)).to_pylist():
        yield calls.slice(begin, last + 1 - begin)
        begin = last + 1
    if begin < len(calls):
        yield calls.slice(begin)


def _chunked(chunks: Sequence[object]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk) for chunk in chunks], pa.uint16())


def common_length(repetitions: Sequence[Repetition], most: int) -> int:
    """The calls that every repetition has, at most ``most``: walks of other lengths differ."""
    return min([most, *(one.calls for one in repetitions)])
