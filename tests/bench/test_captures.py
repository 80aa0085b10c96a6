"""The captures of the bench are real traffic, repeated.

In order, with connections and checksums of their own, the same every time.
"""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

import numpy as np
import pytest

from bench.block import FIRST_NS, RECORD_HEADER, Block, build_block
from bench.flood import ANSWER_EVERY, parts
from bench.templates import Template, read_template, read_templates

PACKETS = 10_000


@pytest.fixture(scope="module")
def templates(recordings: Path) -> list[Template]:
    return read_templates([recordings])


@pytest.fixture(scope="module")
def block(templates: list[Template]) -> Block:
    return build_block(templates, PACKETS)


def records(content: bytes) -> list[tuple[int, int, bytes]]:
    """(timestamp, length on the wire, frame) of every record, read the slow way."""
    found = []
    at = 0
    while at < len(content):
        seconds, fraction, captured, original = struct.unpack_from("<IIII", content, at)
        found.append((seconds * 10**9 + fraction, original, content[at + 16 : at + 16 + captured]))
        at += 16 + captured
    assert at == len(content)
    return found


def header_sum(frame: bytes) -> int:
    total = sum(struct.unpack("!10H", frame[14:34]))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ends(frame: bytes) -> frozenset[bytes]:
    return frozenset({frame[26:30] + frame[34:36], frame[30:34] + frame[36:38]})


def test_every_recording_can_serve(recordings: Path) -> None:
    assert len(read_templates([recordings])) == 10


def test_a_file_that_is_no_capture_is_no_template(tmp_path: Path) -> None:
    path = tmp_path / "notes.pcap"
    path.write_text("not a capture", encoding="ascii")
    assert read_template(path) is None


def test_a_block_has_as_many_packets_as_asked(block: Block) -> None:
    assert block.packets == PACKETS == len(records(block.repetition(0).tobytes()))


def test_time_never_runs_backwards_within_and_between_repetitions(block: Block) -> None:
    stamps = [ts for number in (0, 1) for ts, _, _ in records(block.repetition(number).tobytes())]
    assert stamps == sorted(stamps)


def test_repetitions_have_connections_of_their_own(block: Block) -> None:
    first, second = (
        {ends(frame) for _, _, frame in records(block.repetition(number).tobytes())}
        for number in (0, 1)
    )
    assert len(first) == len(second) == block.connections
    assert not first & second


def test_several_transfers_run_at_once(block: Block) -> None:
    frames = records(block.repetition(0).tobytes())
    switches = sum(ends(one[2]) != ends(other[2]) for one, other in itertools.pairwise(frames))
    assert switches > PACKETS / 10


def test_checksums_follow_the_addresses(templates: list[Template], block: Block) -> None:
    assert all(
        header_sum(row.tobytes()) == 0xFFFF
        for template in templates
        for row in template.frames[:1000]
    )
    assert all(
        header_sum(frame) == 0xFFFF for _, _, frame in records(block.repetition(7).tobytes())
    )


def test_tcp_checksum_changes_by_what_the_addresses_changed(block: Block) -> None:
    def folded(*words: int) -> int:
        total = sum(words)
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        return total

    def covered(frame: bytes) -> int:
        # RFC 1071: addresses and checksum enter one sum, so this part is the same before and after.
        return folded(*struct.unpack("!4H", frame[26:34]), *struct.unpack("!H", frame[50:52]))

    one, other = (records(block.repetition(number).tobytes())[:2000] for number in (0, 200))
    assert [covered(frame) % 0xFFFF for _, _, frame in one] == [
        covered(frame) % 0xFFFF for _, _, frame in other
    ]
    assert [frame[30:34] for _, _, frame in one] != [frame[30:34] for _, _, frame in other]


def test_the_same_block_comes_out_every_time(templates: list[Template], block: Block) -> None:
    assert np.array_equal(build_block(templates, PACKETS).repetition(3), block.repetition(3))


def test_repetition_keeps_the_stored_lengths(block: Block) -> None:
    assert (
        len(block.repetition(0))
        == int(block.stored.sum())
        == sum(RECORD_HEADER + len(f) for _, _, f in records(block.repetition(1).tobytes()))
    )


def test_overlapping_copies_are_in_order_and_run_at_once(block: Block) -> None:
    copies, shift = 3, 50_000_000
    found = records(b"".join(part.tobytes() for part in block.overlapping(copies, shift)))
    assert [ts for ts, _, _ in found] == sorted(ts for ts, _, _ in found)
    for number in range(copies):
        alone = records(block.repetition(number).tobytes())
        late = alone[0][0] - FIRST_NS - number * shift
        own = {ends(frame) for _, _, frame in alone}
        mine = [one for one in found if ends(one[2]) in own]
        assert mine == [(ts - late, length, frame) for ts, length, frame in alone]
    assert len(found) == copies * PACKETS
    networks = [frame[27] for _, _, frame in found]
    switches = sum(one != other for one, other in itertools.pairwise(networks))
    assert switches > PACKETS / 10


def test_too_many_repetitions_are_refused(block: Block) -> None:
    with pytest.raises(ValueError, match="256 times"):
        block.repetition(256)


def test_a_flood_is_made_of_new_connections_of_which_some_are_answered() -> None:
    count = 4_000
    found = records(b"".join(part.tobytes() for part in parts(count)))
    assert len(found) == count + count // ANSWER_EVERY
    assert [ts for ts, _, _ in found] == sorted(ts for ts, _, _ in found)
    syns = [frame for _, _, frame in found if frame[47] == 0x02]
    answers = [frame for _, _, frame in found if frame[47] == 0x12]
    assert len({ends(frame) for frame in syns}) == len(syns) == count
    assert {ends(frame) for frame in answers} < {ends(frame) for frame in syns}
    assert all(header_sum(frame) == 0xFFFF for _, _, frame in found)
