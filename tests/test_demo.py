"""The demo tells the truth: what it prints and writes agrees with what was done to the recordings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import demo, live
from trustbed.scenario import ScenarioFile, load

EXPECTED = {
    "live-healthy": ("window_limited", "trust"),
    "live-background": ("network_congestion", "trust"),
    "live-loss": ("network_loss", "review"),
}
STALL_SECONDS = 0.02
"""An emulator that stood still for so long delayed a round trip by half: what the packets then show is no longer what was asked for."""
TRUTH = {entry["name"]: entry for entry in json.loads((demo.ROOT / "recordings" / "truth.json").read_text(encoding="utf-8"))}


@pytest.mark.parametrize("story", demo.STORIES, ids=lambda story: story.recording)
def test_every_story_ends_in_an_accepted_verdict(story: demo.Story) -> None:
    rows = demo.judge(story).transfers.to_pylist()
    main = max(rows, key=lambda row: row["unique_bytes"])
    assert main["cause"] in TRUTH[story.recording]["accept_from_capture_alone"]
    assert main["verdict"] in TRUTH[story.recording]["verdicts_accepted"]


def test_the_starved_guest_stands_beside_the_same_guest_undisturbed() -> None:
    beside = {story.recording: story.beside for story in demo.STORIES}
    assert beside["guest-quota"] == "guest-free"
    assert {control for control in beside.values() if control} <= beside.keys()


@pytest.fixture(scope="module")
def study() -> ScenarioFile:
    """What the demo carries out."""
    return live.chosen(load(live.SCENARIO))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> live.Experiment:
    """The demo's own experiment with shorter transfers."""
    folder = tmp_path_factory.mktemp("live")
    text = live.SCENARIO.read_text(encoding="utf-8")
    shorter = folder / "demo.toml"
    shorter.write_text(text.replace('duration = "5s"', 'duration = "2s"\nwarm_up = "300ms"'), encoding="utf-8")
    assert shorter.read_text(encoding="utf-8") != text
    found = live.carry_out(folder / "demo.run", scenario=shorter)
    if isinstance(found, live.Missing) and found.forbidden:
        pytest.skip(found.message)
    assert isinstance(found, live.Experiment), found
    return found


def page_of(report: Path) -> str:
    return report.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_the_live_stories_are_three_cells_of_the_scenario_that_differ_in_one_thing(study: ScenarioFile) -> None:
    healthy, background, loss = (cell.scenario for cell in study.cells)
    assert background.links == healthy.links
    assert loss.backgrounds[0].silent
    assert healthy.backgrounds[0].silent
    assert not background.backgrounds[0].silent
    assert loss.links != healthy.links
    assert healthy.workloads == background.workloads == loss.workloads


def test_what_the_live_stories_say_is_what_the_scenario_asks_for(study: ScenarioFile) -> None:
    healthy, background, loss = (cell.scenario for cell in study.cells)
    link, workload, lossy = healthy.links[0].forward, healthy.workloads[0], loss.links[0].forward
    assert link.rate == 20_000_000
    assert link.loss is None or not link.loss.probability
    assert lossy.loss is not None
    assert lossy.loss.probability == pytest.approx(0.01)
    assert background.backgrounds[0].rate == 14_000_000
    # The window that the buffer allows is smaller than what fits into the path, and yet no share of the link is left beside the others.
    assert workload.receive_buffer_bytes is not None
    assert workload.receive_buffer_bytes < link.rate / 8 * 2 * link.delay_ns / 1e9
    assert background.backgrounds[0].rate + workload.receive_buffer_bytes * 8 / (2 * link.delay_ns / 1e9) > link.rate
    # Twice three transfers, in the worst case, and what is around them.
    assert 6 * (healthy.expected_ns / 1e9 + 2.5) < 60


def test_every_live_transfer_has_a_capture_or_is_to_be_discarded(experiment: live.Experiment) -> None:
    assert [one.story.name for one in experiment.transfers] == list(EXPECTED)
    for one in experiment.transfers:
        assert (one.capture is None) == (one.repetition["use"] == "discard")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_live_transfer_is_judged_as_an_expert_would(experiment: live.Experiment, name: str) -> None:
    (one,) = (one for one in experiment.transfers if one.story.name == name)
    if one.capture is None:
        pytest.xfail(f"{name} had to be discarded on this machine, twice: {one.repetition['why']}")
    stood = one.repetition["emulator"]["max_seconds"]
    if stood > STALL_SECONDS:
        pytest.xfail(f"the emulator stood still for {stood:.3f} s during {name}: this machine has too much else to do")
    main = max(one.capture.overview.transfers, key=lambda row: row["unique_bytes"])
    assert (main["cause"], main["verdict"]) == EXPECTED[name], main["reasons"]
    assert one.repetition["use"] == main["verdict"]


def test_the_demo_prints_every_verdict_and_writes_one_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], experiment: live.Experiment
) -> None:
    report = tmp_path / "report.html"
    assert demo.main(report, experiment=lambda folder: experiment) == 0
    printed = capsys.readouterr().out
    page = page_of(report)
    for story in demo.STORIES:
        assert story.recording in printed
        assert story.recording in page
        # The page escapes some characters; the first words are enough to find the story.
        assert story.text.split("'")[0][:40] in page
    for one in experiment.transfers:
        assert one.story.name in printed
        assert one.story.name in page
        assert (one.story.text.split("'")[0][:40] in page) == (one.capture is not None)
    assert demo.LIVE in page
    assert "What the testbed did" in page
    assert "packets left late by" in printed
    assert max(len(line) for line in printed.splitlines()) <= 100


def test_a_live_transfer_to_be_discarded_has_no_verdict(experiment: live.Experiment) -> None:
    why = "the emulator's packets left late by 5.00 ms"
    late = [
        live.Judged(story=one.story, capture=None, repetition={**one.repetition, "use": "discard", "why": why})
        for one in experiment.transfers
    ]
    found = live.Experiment(scenario=experiment.scenario, transfers=late, model=experiment.model, again={"live-loss": why})
    chapter = demo.chapter(found)
    assert not chapter.captures
    assert not demo.live_parts(found)
    assert [note.startswith(name) for note, name in zip(chapter.notes, [*EXPECTED, "live-loss"], strict=True)] == [True] * 4
    assert all(why in note for note in chapter.notes)
    printed = list(demo.live_lines(found))
    assert sum(line.endswith("discard") for line in printed) == len(EXPECTED)


@pytest.mark.parametrize("forbidden", [True, False])
def test_without_a_live_part_the_page_of_the_recordings_is_written_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], forbidden: bool
) -> None:
    missing = live.Missing("this host allows no user namespaces", "run as root, for example with sudo", forbidden=forbidden)
    report = tmp_path / "report.html"
    # What the machine forbids is no failure; what went wrong is one.
    assert demo.main(report, experiment=lambda folder: missing) == (0 if forbidden else 1)
    printed, page = capsys.readouterr().out, page_of(report)
    assert all(story.recording in printed and story.recording in page for story in demo.STORIES)
    assert f"no live experiment: {missing.message}" in printed
    assert f"hint: {missing.hint}" in printed
    assert missing.message in page
    assert "live-healthy" not in page


def test_a_machine_that_forbids_networks_says_what_is_missing(tmp_path: Path) -> None:
    forbidding = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all --inh-caps -all "$@"'
    asked = [sys.executable, "-m", "tools.carry_out", str(live.SCENARIO), str(tmp_path / "demo.run")]
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", forbidding, "sh", *asked]
    try:
        answer = subprocess.run(command, cwd=demo.ROOT, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"no {error.filename}")
    if "unshare:" in answer.stderr or "setpriv:" in answer.stderr:
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert "user.max_user_namespaces is 0" in told["message"]
    assert told["hint"].startswith("run as root")
    assert told["forbidden"] is True
    assert not (tmp_path / "demo.run").exists()
