"""What the demo does, and says, where the machine forbids networks or guests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.experiments import page_of
from tests.patience import PATIENCE
from tools import demo, live
from tools.stories import GUEST, NETWORK, PROCESS, Study


@pytest.mark.parametrize("guests", [True, False])
def test_a_process_is_starved_where_guests_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guests: bool
) -> None:
    tried = []

    def carry_out(study: Study, directory: Path) -> live.Found:
        tried.append(study.name)
        if study is GUEST and not guests:
            return live.Missing(
                study=study, message="guests need QEMU", hint="install it", forbidden=True
            )
        return live.Experiment(study=study, transfers=(), model={}, again={})

    monkeypatch.setattr(live, "carry_out", carry_out)
    _, starved = live.experiments(tmp_path)
    assert isinstance(starved, live.Experiment)
    assert tried == (["network", "guest"] if guests else ["network", "guest", "process"])
    assert (starved.study, starved.instead) == (
        (GUEST, "") if guests else (PROCESS, "guests need QEMU")
    )


def test_a_machine_without_networks_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = live.Missing(
        study=NETWORK, message="no user namespaces", hint="run as root", forbidden=True
    )
    monkeypatch.setattr(live, "carry_out", lambda study, directory: missing)
    assert list(live.experiments(tmp_path)) == [missing]


@pytest.mark.parametrize("forbidden", [True, False])
def test_without_a_live_part_the_page_of_the_recordings_is_written_and_says_why(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    forbidden: bool,
) -> None:
    if not forbidden:  # one recording is enough the second time
        monkeypatch.setattr(demo, "STORIES", demo.STORIES[:1])
    message, hint = "this host allows no user namespaces", "run as root, for example with sudo"
    missing = live.Missing(study=NETWORK, message=message, hint=hint, forbidden=forbidden)
    report = tmp_path / "report.html"
    # What the machine forbids is no failure; what went wrong is one.
    assert demo.main(report, experiments=lambda directory: iter([missing])) == (
        0 if forbidden else 1
    )
    printed, page = capsys.readouterr().out, page_of(report)
    assert all(story.recording in printed and story.recording in page for story in demo.STORIES)
    assert f"no live experiment: {missing.message}" in printed
    assert f"hint: {missing.hint}" in printed
    assert missing.message in page
    assert "live-healthy" not in page


def test_a_machine_that_forbids_networks_says_what_is_missing(tmp_path: Path) -> None:
    forbidding = (
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all "
        '--inh-caps -all "$@"'
    )
    asked = [
        sys.executable,
        "-m",
        "tools.carry_out",
        NETWORK.name,
        str(NETWORK.file),
        str(tmp_path / "demo.run"),
    ]
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", forbidding, "sh", *asked]
    try:
        answer = subprocess.run(
            command, cwd=demo.ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except FileNotFoundError as error:
        pytest.skip(f"no {error.filename}")
    if "unshare:" in answer.stderr or "setpriv:" in answer.stderr:
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0, answer.stderr
    reported = json.loads(answer.stdout)
    assert "user.max_user_namespaces is 0" in reported["message"]
    assert reported["hint"].startswith("run as root")
    assert reported["forbidden"] is True
    assert not (tmp_path / "demo.run").exists()
