"""A capture that several workers share: the tables of one process, whatever the capture.

Every generator of hostile captures, captures drawn at random, and recordings; each in some numbers
of parts, against the analysis by two threads of one process.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trustbed
from bench import hostile_captures
from bench.hostile_captures import ACK, FIN, PSH, SYN, Case, record, tcp
from tests.pcap_records import records
from tests.store.conftest import HOW, ROOT
from tests.test_same import pcapng
from trustbed.analysis.capture import Capture
from trustbed.analysis.options import LEAST_MEMORY, Options
from trustbed.store import parts
from trustbed.store.captures import Division, Job, Outcome, jobs_of, store_capture
from trustbed.store.files import files_of
from trustbed.store.store import open_store

PACKETS = 1500
FROZEN = "guest-frozen.sender"


def shared(files: Sequence[Path], count: int, directory: Path, **options: int | bool) -> Capture:
    """The capture in parts, put together."""
    asked = Options(files=tuple(map(str, files)), **options)  # type: ignore[arg-type]
    found = [directory / str(part) for part in range(count)]
    for part, place in enumerate(found):
        place.mkdir(parents=True)
        parts.analyse(asked, (part, count), place)
    return parts.joined(found, asked)


def assert_same(files: Sequence[Path], counts: Sequence[int], to: Path, **options: int) -> Capture:
    alone = trustbed.analyze(files, workers=2, **options)  # type: ignore[arg-type]
    for count in counts:
        found = shared(files, count, to / f"{count}-parts", **options)
        assert found.facts == alone.facts
        assert found.damage == alone.damage
        assert found.verdicts == alone.verdicts
        for table in alone.tables:
            assert list(found.stream(table)) == list(alone.stream(table)), table
    return alone


@pytest.mark.parametrize("case", hostile_captures.CASES, ids=lambda case: case.name)
def test_hostile_captures(case: Case, tmp_path: Path) -> None:
    for number, content in enumerate(case.make(PACKETS)):
        file = tmp_path / f"{number}{case.suffix}"
        file.write_bytes(content)
        assert_same([file], [2, 5], tmp_path / f"of-{number}")


def test_hosts_that_stall_are_found_though_their_transfers_are_in_several_parts(
    tmp_path: Path,
) -> None:
    file = tmp_path / "stalls.pcap"
    file.write_bytes(four_at_once_with_a_silence(ROOT / "recordings" / f"{FROZEN}.pcap.gz"))
    alone = assert_same([file], [2, 16], tmp_path)
    overlaps, gaps = (alone.transfers.column(c) for c in ("host_overlap", "stall_gaps_ns"))
    assert len(overlaps) - overlaps.null_count >= 4
    assert pa.compute.sum(pa.compute.list_value_length(gaps)).as_py() >= 4


def four_at_once_with_a_silence(recording: Path) -> bytes:
    """A recording of one connection as four of other ports, which all pause for three seconds."""
    head, found = records(recording)
    out = [head]
    for number, one in enumerate(found):
        late = 3 * (number > len(found) // 2)
        for copy in range(4):
            changed = bytearray(one)
            struct.pack_into("<I", changed, 0, struct.unpack_from("<I", one)[0] + late)
            for at in (16 + 14 + 20 + 1, 16 + 14 + 20 + 3):  # low bytes of both ports
                changed[at] ^= copy
            out.append(bytes(changed))
    return b"".join(out)


def test_connections_are_evicted_where_one_process_evicts_them(tmp_path: Path) -> None:
    file = tmp_path / "flood.pcap"
    file.write_bytes(hostile_captures.syn_flood(60_000)[0])
    alone = assert_same([file], [3], tmp_path, memory=LEAST_MEMORY)
    assert alone.facts["evicted_connections"] > 0


def test_recordings_as_one_rotated_capture(tmp_path: Path) -> None:
    files = sorted((ROOT / "recordings").glob("*.sender.pcap.gz"))[::2]
    alone = assert_same(files, [2, 7], tmp_path)
    assert alone.summary["judged"] >= len(files)


flags = st.sampled_from([ACK] * 12 + [ACK | PSH] * 4 + [SYN, SYN | ACK, FIN | ACK, 4])
"""The last one is RST."""
passed = st.one_of(
    st.integers(0, 3_000_000),
    st.integers(-9_000_000, 0),
    st.sampled_from([-2 * 10**9, 3 * 10**9, 61 * 10**9, 700 * 10**9]),
)
"""Nanoseconds since the packet before: in order, out of it, a step of the clock, silences."""
packets = st.lists(
    st.tuples(st.integers(0, 40), st.booleans(), flags, st.integers(0, 60), passed),
    min_size=1,
    max_size=400,
)
FORMS = ("pcap", "pcapng", "gzip", "rotated", "damaged")


@settings(max_examples=8, deadline=None)
@given(packets, st.sampled_from(FORMS), st.integers(2, 66), st.integers(0, 2**32))
def test_random_captures(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[int, bool, int, int, int]],
    form: str,
    count: int,
    seed: int,
) -> None:
    directory = tmp_path_factory.mktemp("random")
    assert_same(written(drawn, form, directory, random.Random(seed)), [count], directory)


def written(
    drawn: list[tuple[int, bool, int, int, int]], form: str, directory: Path, chance: random.Random
) -> list[Path]:
    """A capture of these packets, as files of a form."""
    made, now = [], 10**12
    for connection, by_client, flag, step, later in drawn:
        now += later
        ends = ((0x0A000001, 40_000 + connection), (0x0A000002 + connection % 3, 443))
        source, destination = ends if by_client else ends[::-1]
        packet = tcp(
            source, destination, seq=step * 1000, ack=step * 500, flags=flag, payload=step * 20
        )
        made.append(record(now, packet, len(packet) + step * 20))
    whole = hostile_captures.pcap(made)
    if form == "damaged":
        at = chance.randrange(24, len(whole))
        whole = whole[:at] + chance.randbytes(chance.randrange(1, 60)) + whole[at:]
    contents = {"whole.pcap": whole}
    if form == "pcapng":
        contents = {"whole.pcapng": pcapng(whole)}
    elif form == "gzip":
        contents = {"whole.pcap.gz": gzip.compress(whole)}
    elif form == "rotated":
        cut = chance.randrange(len(made)) + 1
        halves = {"a.pcap": made[:cut], "b.pcap": made[cut:]}
        contents = {name: hostile_captures.pcap(half) for name, half in halves.items() if half}
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return [directory / name for name in contents]


# As tasks.


DIVISION = Division(parts=3, memory=1 << 30)


def carried_out(job: Job, url: str, division: Division = DIVISION) -> list[Outcome]:
    """The tasks of a divided capture, one after the other."""
    begun = parts.begin(job, url, HOW, division)
    assert begun.division is not None
    measured = [parts.measure(job, url, HOW, begun.division, n) for n in (2, 0, 1)]
    return [begun, *measured, parts.finish(job, url, HOW, begun.division)]


def test_a_divided_capture_is_stored_like_another(url: str, captures: list[Job]) -> None:
    other = open_store(f"{url}-whole", create=True)
    for job in captures if Path(url).is_absolute() else captures[:1]:
        states = [one.state for one in carried_out(job, url)]
        assert states == ["begun", *["measured"] * 3, "stored"]
        assert store_capture(job, other.url, HOW).state == "stored"
        assert parts.begin(job, url, HOW, DIVISION).state == "present"
    for table in ("transfers", "verdicts", "phases", "findings"):
        here, there = (open_store(one).view(table).table() for one in (url, other.url))
        assert here.equals(there)
    assert files_of(url).list("parts") == []


def test_a_part_that_is_there_is_not_done_twice_and_one_that_is_lost_is_noticed(
    disk: str, captures: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    division = parts.begin(captures[0], disk, HOW, DIVISION).division
    assert division is not None
    assert parts.finish(captures[0], disk, HOW, division).problem == "lost"
    for part in range(3):
        assert parts.measure(captures[0], disk, HOW, division, part).state == "measured"
    with monkeypatch.context() as patch:
        patch.setattr(parts, "analyse", None)
        again = parts.measure(captures[0], disk, HOW, division, 1)
    assert (again.state, again.problem) == ("measured", "")
    (file,) = Path(disk).glob("parts/*/1/judged.arrow")
    file.write_bytes(file.read_bytes()[:100])
    assert parts.finish(captures[0], disk, HOW, division).problem == "lost"
    assert not list(Path(disk).glob("parts/*"))
    assert carried_out(captures[0], disk)[-1].state == "stored"


def test_a_capture_that_changes_between_its_parts_is_not_stored(disk: str, tmp_path: Path) -> None:
    file = tmp_path / "grows.pcap"
    file.write_bytes(hostile_captures.pcap([record(0, tcp((1, 1), (2, 2), payload=9))]))
    (job,) = jobs_of([file])
    division = parts.begin(job, disk, HOW, DIVISION).division
    assert division is not None
    parts.measure(job, disk, HOW, division, 0)
    file.write_bytes(file.read_bytes() + record(1, tcp((1, 1), (2, 2), payload=9)))
    changed = parts.measure(job, disk, HOW, division, 1)
    assert (changed.state, changed.problem) == ("failed", "capture")
    assert "changed while it was read" in changed.message


def test_what_parts_left_is_removed(url: str, captures: list[Job]) -> None:
    division = parts.begin(captures[0], url, HOW, DIVISION).division
    assert division is not None
    parts.measure(captures[0], url, HOW, division, 0)
    assert open_store(url).gc() == []
    (removed,) = open_store(url).gc(older_seconds=-1)
    assert (removed.why, removed.name.split("/")[0]) == ("never finished", "parts")
    assert files_of(url).list("parts") == []
