"""One capture that several workers share, each as a task of its own, and the tables of one process.

Connections are dealt to a fixed number of shards by a hash, and what is measured in a shard does
not depend on other shards. So every part reads and decodes the whole capture, which costs a
twentieth of an analysis, and measures the connections of its own shards. There are no borders at
which a connection would have to be stitched; damage, compression, rotated files and interfaces that
are declared late are what they are for one process. What connections share (the order of rows,
hosts that stalled, sums) is put together at the end: ``crates/record/src/joined.rs``.

A part is a directory of the store that appears whole, under a name that says what it is of: a task
may be killed and repeated at any moment, also by the next command.

Bias: a compressed capture is decompressed by every part, and a capture of one connection has one
shard that matters: the more of it those take, the less there is to share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from trustbed.store.captures import (
    Changed,
    Division,
    Done,
    How,
    Job,
    Lost,
    Outcome,
    attempted,
    content_of,
    present,
    progress_of,
    publish,
    signatures,
)
from trustbed.store.entry import key_of

if TYPE_CHECKING:
    from trustbed import _core
    from trustbed.analysis.capture import Capture
    from trustbed.analysis.options import Options

MOST_PARTS = 64
"""The engine's shards."""
_TABLES = ("connections", "judged", "phases", "exchanges")
_FACTS = "whole.json"
"""The last name of a part, so that it is there when all of the part is."""
_SUMS = frozenset(
    {
        "tcp_connections",
        "udp_flows",
        "offloaded_connections",
        "one_sided_connections",
        "midstream_connections",
        "evicted_connections",
        "capture_duplicates",
        "acked_unseen_bytes",
        "unique_bytes",
        "wild_seq",
        "ignored_holes",
    }
)
"""Facts that are sums over connections; the others are the same in all parts."""


# The tasks: one that begins, the parts side by side, one that finishes.


def begin(job: Job, url: str, how: How, division: Division) -> Outcome:
    """Hashes a capture, and ends there if the store has it."""
    return attempted(job, how, lambda: _begun(job, url, how, division))


def measure(job: Job, url: str, how: How, division: Division, part: int) -> Outcome:
    """Analyses one part, unless an earlier task has."""
    return attempted(job, how, lambda: _measured(job, url, how, division, part))


def finish(job: Job, url: str, how: How, division: Division) -> Outcome:
    """Joins the parts, judges, and publishes."""
    return attempted(job, how, lambda: _finished(job, url, how, division))


def _begun(job: Job, url: str, how: How, division: Division) -> Done:
    from trustbed.store.store import open_store

    before = signatures(job.files)
    subject = content_of(job.files)
    key = key_of(subject, how.version, how.options)
    if (there := present(open_store(url), key)) is not None:
        return there
    if signatures(job.files) != before:
        raise Changed
    known = replace(division, key=key, subject=subject, signatures=_portable(before))
    return Done("begun", key, division=known)


def _measured(job: Job, url: str, how: How, division: Division, part: int) -> Done:
    from trustbed.store.store import open_store

    files = open_store(url).files
    directory = f"{_directory(division)}/{part}"
    if files.read(f"{directory}/{_FACTS}") is not None:
        return Done("measured", division.key)
    before = signatures(job.files)
    if _portable(before) != division.signatures:
        raise Changed
    with files.staging() as staged:
        analyse(_options(job, how, division), (part, division.parts), staged)
        if signatures(job.files) != before:
            raise Changed
        files.place(staged, directory)
    return Done("measured", division.key)


def _finished(job: Job, url: str, how: How, division: Division) -> Done:
    from trustbed.store.store import open_store

    store = open_store(url)
    done, directory = present(store, division.key), _directory(division)
    if done is None:
        with store.files.fetched(directory) as local:
            parts = [local / str(part) for part in range(division.parts)]
            try:
                capture = joined(parts, _options(job, how, division))
            except (OSError, ValueError, RecursionError) as error:
                store.files.remove(directory)  # all of it again, whatever is wrong
                raise Lost(str(error)) from error
            done = publish(
                store,
                capture,
                job,
                how,
                subject=division.subject,
                key=division.key,
                size_bytes=sum(size for size, _ in division.signatures),
            )
    store.files.remove(directory)
    return done


def _portable(found: Sequence[tuple[int, int, int, int]]) -> tuple[tuple[int, int], ...]:
    """What is the same of a file on every host that mounts it."""
    return tuple((size, time) for _, _, size, time in found)


def _directory(division: Division) -> str:
    from trustbed.store.store import PARTS

    return f"{PARTS}/{division.key}-{division.parts}-{division.memory}"


def _options(job: Job, how: How, division: Division) -> Options:
    from trustbed.analysis.options import Options

    names = ("at", "workload", "capacity", "inner", "dedup", "workers")
    given: dict[str, Any] = {name: getattr(how, name) for name in names}
    return Options(files=job.files, memory=division.memory, **given)


# A part as files.


def analyse(options: Options, part: tuple[int, int], directory: Path) -> None:
    """Writes what a part (its number, and of how many) finds into a directory.

    Raises:
        CaptureError: Nothing can be read.
    """
    from trustbed import _core

    found = _core.analyze(
        list(options.files),
        workers=options.workers,
        inner=options.inner,
        dedup=options.dedup,
        at=options.at,
        capacity=options.capacity,
        memory=options.memory,
        part=part,
        progress=progress_of(),
    )
    for name in _TABLES:
        _write(directory / f"{name}.arrow", getattr(found, name))
    _write(directory / "short.arrow", found.transfers, found.judged)
    sequence, trails = found.part or (b"", b"")
    (directory / "sequence").write_bytes(sequence)
    (directory / "trails").write_bytes(trails)
    facts = {"capture": found.capture, "skips": found.skips, "problems": found.problems}
    (directory / _FACTS).write_bytes(msgspec.json.encode(facts))


def _write(path: Path, table: _core.Table, without: _core.Table | None = None) -> None:
    """Writes a table as an Arrow stream, without the rows of another at its beginning."""
    skipped = 0 if without is None else len(without)
    reader = pa.RecordBatchReader.from_stream(table)
    with pa.ipc.new_stream(str(path), reader.schema) as stream:
        for batch in reader:
            left = min(skipped, batch.num_rows)
            skipped -= left
            if left < batch.num_rows:
                stream.write_batch(batch.slice(left))


def joined(directories: Sequence[Path], options: Options) -> Capture:
    """The capture whose parts are in these directories, in the order of their numbers.

    Raises:
        Changed: They are not parts of the same bytes.
        OSError: One of them is not whole.
    """
    from trustbed import _core
    from trustbed.analysis.capture import Capture

    found = [msgspec.json.decode((one / _FACTS).read_bytes()) for one in directories]
    captures = [one.pop("capture") for one in found]
    sums: Mapping[str, int] = {name: sum(one[name] for one in captures) for name in _SUMS}
    wholes = [one | sums for one in captures]
    if any(one != wholes[0] for one in wholes) or any(one != found[0] for one in found):
        raise Changed
    analysis = _core.joined(list(directories), capture=wholes[0], **found[0])
    return Capture(analysis, options)
