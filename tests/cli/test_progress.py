"""The progress bar: only for people, never wider than their terminal, gone at the end."""

from __future__ import annotations

import io

import pytest

from trustbed.cli import progress
from trustbed.store.captures import Job, Outcome
from trustbed.store.sweep import Sweep


@pytest.mark.parametrize("columns", [10, 40, 80, 200])
@pytest.mark.parametrize("total", [None, 0, 10**9])
def test_a_line_never_exceeds_the_terminal(columns: int, total: int | None) -> None:
    assert (
        len(progress.line("a-rather-long-name.pcapng", 123_456_789, total, 2.0, columns)) <= columns
    )


def test_a_line_states_progress_and_time_left() -> None:
    line = progress.line("x.pcap", 250_000_000, 1_000_000_000, 2.0, 100)
    assert " 25%" in line
    assert "6 s left" in line
    assert "125 MB/s" in line


def test_what_was_done_before_says_nothing_of_the_time_left() -> None:
    line = progress.line("", 900_000_000, 1_000_000_000, 2.0, 100, skipped=800_000_000)
    assert " 90%" in line
    assert "2 s left" in line, "100 MB took 2 s"
    assert "50 MB/s" in line
    unknown = progress.line("", 800_000_000, 1_000_000_000, 2.0, 100, skipped=800_000_000)
    assert "left" not in unknown


def test_short_work_leaves_no_trace() -> None:
    stream = io.StringIO()
    with progress.Progress("x.pcap", stream) as bar:
        bar(1, 10)
    assert stream.getvalue() == ""


def test_long_work_is_drawn_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 1.01, 2.0])
    monkeypatch.setattr("trustbed.cli.progress.time.monotonic", lambda: next(now))
    stream = io.StringIO()
    with progress.Progress("x.pcap", stream) as bar:
        bar(1, 10)
        bar(2, 10)
        bar(5, 10)
    drawn = stream.getvalue()
    assert drawn.count("reading") == 2
    assert drawn.endswith("\r\x1b[K")


def test_it_is_not_shown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert not progress.visible(quiet=False)


def test_captures_that_were_there_before_are_skipped() -> None:
    sweep = Sweep.of([Job(("new.pcap",), 10), Job(("old.pcap",), 90)])
    sweep.add(Outcome(name="old.pcap", state="present", size_bytes=90, key="old"))
    sweep.add(Outcome(name="new.pcap", state="stored", size_bytes=10))
    assert (sweep.done_bytes, sweep.present_bytes, sweep.present) == (100, 90, ["old"])
