"""The options of `trustbed shell` and `trustbed testbed`, and the words about a link.

Nothing is made here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trustbed.cli import arguments, link_options, link_summary, main, shell

QUEUE = {"kind": "drop_tail", "limit_packets": 1000}


def pipes(*words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return link_options.pipes(arguments.parse(shell.parser(), list(words)))


def test_without_options_nothing_holds_a_packet_back() -> None:
    assert pipes() == ({"queue": QUEUE}, {"queue": QUEUE})


def test_an_option_holds_in_each_direction() -> None:
    words = [
        "--rate",
        "20Mbit/s",
        "--delay",
        "10ms",
        "--jitter",
        "1ms",
        "--queue",
        "50p",
        "--loss",
        "0.1%",
        "--duplicate",
        "0.01",
    ]
    wanted = {
        "rate_bits_per_second": 20_000_000,
        "delay_ns": 10_000_000,
        "jitter": {"kind": "uniform", "spread_ns": 1_000_000, "keep_order": True},
        "queue": {"kind": "drop_tail", "limit_packets": 50},
        "loss": {"kind": "independent", "probability": 0.001},
        "duplicate": {"probability": 0.01},
    }
    assert pipes(*words) == (wanted, wanted)


def test_up_and_down_change_what_they_name_and_nothing_else() -> None:
    up, down = pipes(
        "--delay",
        "10ms",
        "--up",
        "rate=1Mbit/s,loss=1%",
        "delay=5ms",
        "--down",
        "rate=20Mbit/s",
        "--down",
        "queue=64KiB",
    )
    assert up == {
        "rate_bits_per_second": 1_000_000,
        "delay_ns": 5_000_000,
        "queue": QUEUE,
        "loss": {"kind": "independent", "probability": 0.01},
    }
    assert down == {
        "rate_bits_per_second": 20_000_000,
        "delay_ns": 10_000_000,
        "queue": {"kind": "drop_tail", "limit_bytes": 65536},
    }


def test_every_key_of_a_link_is_an_option() -> None:
    up, _ = pipes(
        "--link",
        "queue.discipline=codel",
        "queue.target=3ms",
        "loss.model=periodic",
        "loss.every=100",
        "reorder.probability=1%",
        "reorder.delay=2ms",
    )
    assert up["queue"] == {"kind": "codel", "target_ns": 3_000_000}
    assert up["loss"] == {"kind": "periodic", "every": 100, "first": 100}
    assert up["reorder"] == {"probability": 0.01, "held_ns": 2_000_000}


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("--rate 20", "--rate: '20' lacks a unit", "20Mbit/s"),
        ("--rate 0bit/s", "--rate: a rate of 0 delivers nothing", "above 0"),
        ("--delay soon", "--delay: ", "20ms"),
        ("--loss 200%", "--loss: '200%' is not a probability", "0.1%"),
        ("--queue 0p", "--queue: a queue of 0 packets delivers nothing", "1p"),
        ("--up los=1%", "--up los: no such key, los", "did you mean loss?"),
        ("--down loss.model=often", "--down loss.model: 'often' is none of", ""),
        (
            "--link queue=5p queue.discipline=red",
            "--link queue.discipline: queue has a value of its own",
            "either",
        ),
        ("--link trace=x", "--link trace: no such key, trace", ""),
        ("--up loss", "'loss' is not KEY=VALUE", "--help"),
        ("--rate 5Mbit/s --link rate=1Mbit/s", "--rate and --link rate=… contradict", "one"),
        ("--rat 5", "no such option, --rat", "--rate"),
    ],
)
def test_what_cannot_be_is_named_by_its_option(words: str, message: str, hint: str) -> None:
    with pytest.raises(arguments.UsageError) as caught:
        pipes(*words.split())
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_command_without_dashes_is_shown_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "--rate", "1Mbit/s", "curl", "x"]) == 2
    assert "trustbed shell … -- curl x" in capsys.readouterr().err


def test_its_own_failures_are_not_the_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = str(tmp_path / "none" / "ledger.parquet")
    assert main(["shell", "--ledger", ledger, "--", "true"]) == 125
    assert "directory does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["lost"], ["list", "clean"]])
def test_testbed_wants_one_of_two_words(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["testbed", *words]) == 2
    assert "trustbed testbed list, or trustbed testbed clean" in capsys.readouterr().err


def pipe(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any key of the report
    return {
        "name": name,
        "packets": 1000,
        "carried_bytes": 1_000_000,
        "carried_bits_per_second": 19_200_000.0,
        "dropped": {},
        "queue_delay": {"p50_ns": 0, "p99_ns": 0, "max_ns": 0, "mean_ns": 0},
        **changes,
    }


def report(
    *pipes: dict[str, Any], p99_ns: int = 30_000, share: float = 0.0, priority: str = "fifo"
) -> dict[str, Any]:
    departure_error = {
        "packets": 2000,
        "p50_ns": 8_000,
        "p99_ns": p99_ns,
        "max_ns": 90_000,
        "late_by_more_than_a_packet_time": share,
    }
    return {
        "pipes": list(pipes),
        "departure_error": departure_error,
        "ready": {"event": "ready", "priority": priority},
        "event": "report",
    }


def test_the_line_reports_what_the_link_did() -> None:
    up = pipe(
        "up",
        dropped={"queue_full": 3, "lost": 1, "inside": 9},
        queue_delay={"p50_ns": 5_000_000, "p99_ns": 20_000_000, "max_ns": 21_000_000},
    )
    text = link_summary.line(report(up, pipe("down", packets=0)))
    assert text == (
        "link: up 19.2 Mbit/s, queue 5.00 ms (p99 20.0 ms), 4 of 1,000 packets dropped (1 "
        "on the wire, 3 queue full) · down nothing"
        " · emulator late by 8.00 µs (p99 30.0 µs)"
    )
    assert "\n" not in text


def test_missing_priority_and_small_queues_are_reported() -> None:
    text = link_summary.line(
        report(
            pipe("up", queue_delay={"p50_ns": 0, "p99_ns": 0, "max_ns": 5}),
            pipe("down"),
            priority="normal",
        )
    )
    assert (
        "up 19.2 Mbit/s, hardly a queue, none dropped · down 19.2 Mbit/s, no queue, none dropped"
        in text
    )
    assert text.endswith("without real-time priority")


def test_an_emulator_that_was_too_late_is_not_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    late, fine = report(pipe("up"), p99_ns=4_000_000), report(pipe("up"))
    assert [
        link_summary.model(one, link_summary.findings(one))["trusted"] for one in (late, fine)
    ] == [False, True]
    options = arguments.parse(shell.parser(), [])
    shell._print_report(late, options)
    assert "do not trust what was measured\nhint: " in capsys.readouterr().err
    shell._print_report(fine, options)
    assert "trust" not in capsys.readouterr().err


def test_the_configured_link_is_summarized() -> None:
    up, down = pipes("--rate", "20Mbit/s", "--delay", "10ms", "--loss", "1%", "--down", "loss=0")
    described = link_summary.described([{"name": "up", **up}, {"name": "down", **down}])
    assert described == "20.0 Mbit/s, 10.0 ms, 1 % loss up; 20.0 Mbit/s, 10.0 ms down"
    trace = {"rate_trace": {"opportunities_ms": [5, 2000]}, "delay_recorded": {"delays_ns": [1]}}
    steps = {"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 8}]}
    assert link_summary.described([{"name": "up", **trace}, {"name": "down", **steps}]) == (
        "a recorded rate that repeats every 2.00 s, recorded delays that repeat up; "
        "a rate in steps down"
    )
    assert (
        link_summary.described([{"name": "up", "queue": QUEUE}, {"name": "down", "queue": QUEUE}])
        == "a link without limits each way"
    )


def test_records_of_one_that_was_killed_are_removed_by_the_next(tmp_path: Path) -> None:
    left, target = tmp_path / ".trustbed-killed", tmp_path / "ledger.parquet"
    left.mkdir()
    (left / "ledger").write_bytes(b"records")
    (left / shell._MARK).touch()
    notes = tmp_path / ".trustbed-notes"
    notes.mkdir()
    with shell._raw_ledger(target) as first:
        assert not left.exists()
        assert first is not None
        with shell._raw_ledger(target) as second:
            assert second is not None
            assert first.parent.is_dir(), "another process uses it"
            assert first.parent != second.parent
    assert list(tmp_path.iterdir()) == [notes], "files of others stay"
    with shell._raw_ledger(None) as none:
        assert none is None
