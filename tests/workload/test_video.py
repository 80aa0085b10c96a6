"""What a viewer of a video in chunks experiences; expected values are calculated by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.workload.video import Chunk, Viewing, viewing

CHUNKS = st.lists(
    st.tuples(st.floats(0, 20), st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from([1e6, 5e6])),
    max_size=40,
)


def test_a_video_begins_with_its_first_chunk_and_stalls_when_it_runs_dry() -> None:
    seen = viewing(
        [
            Chunk(1.5, 4, 1e6),  # plays until 5.5
            Chunk(3, 4, 2.5e6),  # until 9.5
            Chunk(12, 4, 2.5e6),  # 2.5 s late: until 16
            Chunk(16, 2, 1e6),  # just in time
        ]
    )
    assert seen.start_up == 1.5
    assert seen.stalls == (2.5,)
    assert seen.rebuffer_ratio == pytest.approx(2.5 / 14)
    assert seen.switches == 2
    assert seen.mean_rate == pytest.approx((4 * 1e6 + 8 * 2.5e6 + 2 * 1e6) / 14)


def test_a_video_of_which_nothing_came() -> None:
    nothing = Viewing(start_up=None, stalls=(), switches=0, mean_rate=None, media=0.0)
    assert viewing([]) == nothing
    assert nothing.rebuffer_ratio is None


@given(CHUNKS)
def test_all_is_played_between_start_and_end(rows: list[tuple[float, float, float]]) -> None:
    at, chunks = 0.0, []
    for took, seconds, rate in rows:
        at += took
        chunks.append(Chunk(at, seconds, rate))
    seen = viewing(chunks)
    # The same by the buffer, chunk by chunk, as the agent counts it.
    stalled, left, begun = 0.0, 0.0, False
    previous = 0.0
    for chunk in chunks:
        passed = chunk.complete - previous
        if begun:
            stalled += max(0.0, passed - left)
            left = max(0.0, left - passed)
        left, begun, previous = left + chunk.seconds, True, chunk.complete
    assert seen.stalled == pytest.approx(stalled, abs=1e-6)
