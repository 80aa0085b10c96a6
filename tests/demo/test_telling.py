"""What the demo prints and writes agrees with what was carried out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.demo.experiments import EACH, NOT_COMPARED, Carried, page_of, quiet_transfers
from tools import demo, telling, versus
from tools.stories import NETWORK, PROCESS, Study


@quiet_transfers
def test_the_demo_prints_every_verdict_and_writes_one_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], carried_out: Carried
) -> None:
    report = tmp_path / "report.html"
    found = [carried_out(study) for study in (NETWORK, PROCESS)]
    assert (
        demo.main(
            report,
            experiments=lambda directory: iter(found),
            comparing=lambda directory: NOT_COMPARED,
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "not carried out: guests need QEMU" in printed
    assert not report.with_name(versus.PAGE).exists()
    page = page_of(report)
    for story in demo.STORIES:
        assert story.recording in printed
        assert story.recording in page
        # The page escapes some characters; the first words are enough to find the story.
        assert story.text.split("'")[0][:40] in page
    for one in (one for experiment in found for one in experiment.transfers):
        assert one.story.name in printed
        assert one.story.name in page
        assert (one.story.text.split("'")[0][:40] in page) == (one.capture is not None)
        assert telling.stood(one) in page
    for experiment in found:
        assert experiment.study.file.name in page
        assert f"{experiment.study.title}: what the testbed did" in page
    assert "packets left late by" in printed
    assert max(len(line) for line in printed.splitlines()) <= 100


@quiet_transfers
@EACH
def test_a_live_transfer_that_was_invalid_has_no_verdict(
    carried_out: Carried, study: Study
) -> None:
    made = carried_out(study)
    why = "the emulator's packets left late by 5.00 ms"
    late = [
        replace(
            one,
            capture=None,
            repetition={**one.repetition, "use": "discard", "why": why, "findings": []},
        )
        for one in made.transfers
    ]
    names = [one.story.name for one in late]
    found = replace(made, transfers=late, again={names[-1]: why})
    chapter = telling.chapter(found)
    assert not chapter.captures
    assert not telling.parts(found)
    assert [
        note.startswith(name) for note, name in zip(chapter.notes, [*names, names[-1]], strict=True)
    ] == [True] * (len(names) + 1)
    assert all(why in note for note in chapter.notes)
    printed = list(telling.lines(found))
    assert sum(line.endswith("discard") for line in printed) == len(names)


@quiet_transfers
def test_a_sender_that_others_starved_says_so(carried_out: Carried) -> None:
    one = replace(
        carried_out(PROCESS).transfers[0], disturbed="others had its processor for 40 % of the time"
    )
    if one.main is None:
        pytest.xfail("invalid on this machine, twice")
    other = replace(
        one,
        story=replace(one.story, meant="discard" if one.main["verdict"] == "trust" else "trust"),
    )
    assert telling.unmeant(other).endswith(other.disturbed)


@quiet_transfers
def test_an_unexpected_verdict_is_reported(carried_out: Carried) -> None:
    made = carried_out(PROCESS)
    one, starved = made.transfers
    if one.main is None:
        pytest.xfail("invalid on this machine, twice")
    other = replace(
        one,
        story=replace(one.story, meant="discard" if one.main["verdict"] == "trust" else "trust"),
    )
    wanted, found = telling.unmeant(other), replace(made, transfers=[other, starved])
    assert "meant to end in" in wanted
    assert any(wanted in note for note in telling.chapter(found).notes)
    assert wanted in " ".join(" ".join(telling.lines(found)).split())


@quiet_transfers
def test_a_process_instead_of_a_guest_is_explained(carried_out: Carried) -> None:
    found = replace(carried_out(PROCESS), instead="guests need QEMU, and it is not installed")
    assert "guests need QEMU, and it is not installed" in telling.chapter(found).introduction
    assert any("guests need QEMU" in line for line in telling.lines(found))
