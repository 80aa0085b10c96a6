"""The page of made-up measurements: what it says of accuracy, witnesses, costs, and which one it chooses; and the command around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from validation.witness import command, page, plan
from validation.witness.plan import Accuracy, Transfer

S, MS = 1_000_000_000, 1_000_000
STEPS = plan.steps(2)
COSTS = {
    "machine": 0.002,
    "processes": 0.003,
    "cgroups": 0.0021,
    "naps 1 ms": 0.032,
    "naps 2 ms": 0.012,
    "naps 5 ms": 0.007,
    "naps 10 ms": 0.004,
}

Row = dict[str, Any]


def held_back(*seconds: float) -> Row:
    """Pauses at the beginning of each second, so long."""
    longer = [[number * S, number * S + round(share * S)] for number, share in enumerate(seconds)]
    return {
        "first_ns": 0,
        "last_ns": len(seconds) * S,
        "longer": longer,
        "withheld": [],
        "empty": [],
    }


def said(*seconds: float) -> list[list[float]]:
    return [[number * S, (number + 1) * S, value] for number, value in enumerate(seconds)]


def transfer(
    step: Transfer, *, pauses: tuple[float, ...], megabits: float = 8.0, **seen: tuple[float, ...]
) -> Row:
    told = {name.replace("_", " "): said(*values) for name, values in seen.items()}
    came: Row = {
        "outcome": "made",
        "reason": None,
        "payload_bits_per_second": megabits * 1e6,
        "emulator_was_late": False,
    }
    return {**command.about(step), **came, "held": held_back(*pauses), "seen": told}


def accuracy(step: Accuracy, share: float) -> Row:
    return {
        **command.about(step),
        "outcome": "made",
        "known": step.quota,
        "version": 1 if step.quota else None,
        "share": share,
        "watched_ns": 2 * S,
        "charged_share": 0.4,
    }


def rows(*, off: float = 0.005) -> list[Row]:
    """Everything: naps that follow the pauses exactly, a queue that sees half of them, a kernel that never steals."""
    found: list[Row] = []
    for number, step in enumerate(STEPS):
        if isinstance(step, Accuracy):
            known = (
                step.quota
                if step.quota is not None
                else 0.5
                if step.case == "competitor"
                else 0.999
            )
            found.append(
                accuracy(
                    step, known + (off if step.case == "quota 40%" and step.round == 1 else 0.0)
                )
            )
        elif not isinstance(step, Transfer):
            found.append({**command.about(step), "outcome": "made", "shares": COSTS})
        else:
            pauses = (
                (0.0, 0.0, 0.0, 0.0) if step.planned.disturbance is None else (0.05, 0.6, 0.5, 0.05)
            )
            half = pauses if number % 4 < 2 else (0.0,) * 4
            if step.watched == "cheap":
                found.append(
                    transfer(step, pauses=pauses, naps=pauses, queue=half, steal=(0.0,) * 4)
                )
            else:
                found.append(transfer(step, pauses=(0.9,) * 4, megabits=2.0, spin=pauses))
    return found


def section(text: str, title: str) -> str:
    return text.partition(f"### {title}\n")[2].partition("\n### ")[0]


def test_the_page_tells_what_each_witness_told() -> None:
    text = page.render(rows(), missing=0, seed=2)
    told = section(text, "What each witness tells")
    undisturbed, disturbed = (
        4,
        len({step.planned.name for step in STEPS if isinstance(step, Transfer)}) - 4,
    )
    seconds, oversize = 4 * (undisturbed + disturbed), 2 * disturbed
    assert (
        f"| naps, 5 ms apart: share of the time late | {seconds} | {oversize} | 1.00 (1.00…1.00) | 50.00% | 100% | 100% | 100% | 0.500% |"
        in told
    )
    assert f"| steal | {seconds} | {oversize} | – | never | – | 0% | 0% | 0.200% |" in told
    assert (
        f"| spin monitor: share of a core lost, against the twin | {seconds} | {oversize} | 1.00 (1.00…1.00) |"
        in told
    )
    # Beside the monitor all seconds are the same: nothing is correlated with them.
    assert (
        f"| spin monitor: share of a core lost, against beside it | {seconds} | {seconds} | – |"
        in told
    )
    assert "throttled" not in told


def test_the_page_tells_how_exact_the_monitor_is() -> None:
    found = section(page.render(rows(), missing=0, seed=2), "Accuracy of the spin monitor")
    assert "| quota 40% | 40% | 40.00% | 0.50 | 40.00% | 3 |" in found
    assert "| competitor | 50% | 50.00% | 0.00 | 40.00% | 3 |" in found
    assert "| free |  | 99.90% |  | 40.00% | 3 |" in found
    assert "quotas: worst error 0.50 points, allowed 2: kept" in found
    worse = section(page.render(rows(off=0.021), missing=0, seed=2), "Accuracy of the spin monitor")
    assert "quotas: worst error 2.10 points, allowed 2: NOT kept" in worse


def test_the_page_tells_what_the_monitor_does_to_its_host() -> None:
    found = section(
        page.render(rows(), missing=0, seed=2), "What the monitor does to what it watches"
    )
    assert "| freeze | 10 | 25% | 30.0% | 90.0% | 0 |" in found
    assert "| undisturbed-window | 4 | 25% | 0.0% | 90.0% | 0 |" in found


def test_the_best_of_those_that_are_cheap_enough_is_chosen() -> None:
    told = list(page.witnesses(rows()))
    best = page.chosen(told)
    assert best is not None
    assert best.witness.name == "naps"
    text = section(page.render(rows(), missing=0, seed=2), "What is chosen")
    assert (
        "**naps, 5 ms apart: share of the time late**. On even seeds its F1 is 100%, beside 100% of the spin monitor."
        in text
    )
    assert '`naps = "5ms"` below `[samples]`' in text
    assert "run-queue delay of the sender's process, F1" in text


def test_what_is_too_dear_is_not_chosen_however_good_it_is() -> None:
    dear = [
        {**row, "shares": {**COSTS, "naps 5 ms": 0.02}} if row["part"] == "cost" else row
        for row in rows()
    ]
    best = page.chosen(list(page.witnesses(dear)))
    assert best is not None
    assert best.witness.name == "queue"
    text = section(page.render(dear, missing=0, seed=2), "What is chosen")
    assert "it stays the default" in text
    assert "Too dear: naps, 5 ms apart: share of the time late." in text


def test_what_could_not_be_made_is_listed_and_counts_for_nothing() -> None:
    some = [
        {**row, "outcome": "not made", "reason": "no control | groups"}
        if row["key"] == "accuracy/0/quota 40%"
        else row
        for row in rows()
    ]
    text = page.render(some, missing=3, seed=2)
    assert "| accuracy/0/quota 40% | not made | no control / groups |" in text
    assert "| quota 40% | 40% | 40.25% | 0.50 | 40.00% | 2 |" in text
    assert "3 of its steps are missing here" in text


def test_without_measurements_the_page_says_so() -> None:
    text = page.render([], missing=len(STEPS), seed=2)
    assert "Nothing has been measured yet." in text
    assert "No cheap witness has told anything yet." in text


def test_lines_of_the_page_are_no_longer_than_others() -> None:
    lines = page.render(rows(), missing=0, seed=2).splitlines()
    assert all(len(line) <= page.WIDTH for line in lines if not line.startswith(("|", "-")))


# The command.


def test_a_step_is_left_until_it_is_made_or_was_tried_three_times() -> None:
    step = STEPS[0]

    def outcomes(*given: str) -> list[Row]:
        return [{"key": step.key, "outcome": outcome} for outcome in given]

    assert command.left([step], []) == [step]
    assert command.left([step], outcomes("spoilt", "failed")) == [step]
    assert command.left([step], outcomes("spoilt", "failed", "spoilt")) == []
    assert command.left([step], outcomes("failed", "made")) == []
    assert command.left([step], outcomes("not made")) == []
    assert command.latest([step], outcomes("failed", "made")) == outcomes("made")


def test_a_line_that_was_cut_is_done_again(tmp_path: Path) -> None:
    file = tmp_path / "seed-2.jsonl"
    assert command.load(file) == []
    file.write_text('{"key": "1"}\n{"key": "2', encoding="utf-8")
    assert [row["key"] for row in command.load(file)] == ["1"]
    assert file.read_text(encoding="utf-8") == '{"key": "1"}\n'


def test_the_page_is_written_when_all_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, file = tmp_path / "validation.md", tmp_path / "seed-2.jsonl"
    words = ["--score-only", "--folder", str(tmp_path), "--output", str(output)]
    assert command.main(words) == 1
    assert not output.exists()
    assert "Nothing has been measured yet." in capsys.readouterr().out
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    assert command.main(words) == 0
    assert (
        output.read_text(encoding="utf-8").count(
            "<!-- begin witness. Made by `python -m validation witness`. Do not edit. -->"
        )
        == 1
    )


def test_steps_are_carried_out_in_turn_and_kept_until_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def carried_out(step: plan.Step) -> Row:
        made.append(step.key)
        return {"outcome": "failed", "reason": "it is a test"}

    monkeypatch.setattr(command, "carry_out", carried_out)
    monkeypatch.setattr("trustbed.testbed.prepare", lambda: None)
    monkeypatch.setattr(plan, "steps", lambda seed: STEPS[:3])
    words = ["--folder", str(tmp_path), "--print", "--wait", "0"]
    assert command.main([*words, "--minutes", "0"]) == 1
    assert made == []
    assert command.main(words) == 1
    assert made == [step.key for step in STEPS[:3]]
    assert [row["key"] for row in command.load(tmp_path / "seed-2.jsonl")] == made
