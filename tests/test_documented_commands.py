"""Every command that pages and examples show does what is said of it: it is carried out here.

Files have the names that the pages give them, and hold recordings, made runs and a made campaign.
An experiment is planned and not run. What needs a live interface, a kernel's tracer or another host
is only understood: :func:`reason_not_to_run` says why. The tutorial has a test of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.compare.testbeds import make_testbed
from tests.report.campaign_directories import HOUR, Story, make_campaign
from tests.report.run_directories import STUDY, make_run
from trustbed.cli import arguments, main

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")}
    | {*ROOT.glob("examples/**/*.toml")} - {ROOT / "docs" / "tutorial.md", ROOT / "CHANGELOG.md"}
)
SHOWN = re.compile(
    r"^(?:#? {4,5}|\$ )(?:sudo )?(trustbed \S.*?)(?: {2,}\S.*| +# .*)?$", re.MULTILINE
)
STRACE = """\
1 10:00:00.000001 read(3, "", 5) = 0 <0.000010>
1 10:00:00.000020 write(1, "x", 1) = 1 <0.000010>
"""
GUESTS = f"""
{STUDY.partition("[background")[0]}
[factors]
"hosts.server.guest" = ["none", "e1000", "virtio-net"]
"""


def commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for command in SHOWN.findall(page.read_text(encoding="utf-8")):
            yield str(page.relative_to(ROOT)), command


SHOWN_COMMANDS = sorted({command for _, command in commands()})


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that the pages name."""
    place = tmp_path_factory.mktemp("stage")
    (place / "examples").symlink_to(ROOT / "examples")
    (place / "recordings").symlink_to(ROOT / "recordings")
    sender, receiver = (
        ROOT / "recordings" / f"guest-quota.{end}.pcap.gz" for end in ("sender", "receiver")
    )
    for name in ("client", "run", "monday", "tuesday"):
        (place / f"{name}.pcap").symlink_to(sender)
    (place / "server.pcap").symlink_to(receiver)
    (place / "captures").mkdir()
    (place / "captures" / "client.pcap").symlink_to(sender)
    for name in ("metal", "guest", "base", "change"):
        make_testbed(place / f"{name}.run")
    make_run(place / "study.run", GUESTS)
    for name in ("lab", "cloud"):
        (place / "results" / name).mkdir(parents=True)
        for number in range(3):
            output = ROOT / "tests" / "workload" / "fixtures" / "ab.txt"
            shutil.copy(output, place / "results" / name / f"{number}.txt")
    for name in ("host", "container"):
        (place / "traces" / name).mkdir(parents=True)
        for number in range(3):
            (place / "traces" / name / f"{number}.strace").write_text(STRACE, encoding="utf-8")
    pair = (("alpha", "beta"),)
    make_campaign(place / "campaign.pairs", Story(pairs=pair, rounds=24, period_ns=HOUR))
    shutil.copytree(place / "campaign.pairs", place / "paths.pairs")
    shutil.copy(ROOT / "examples" / "sensitivity" / "ab-4kb.toml", place / "pages.toml")
    shutil.copy(ROOT / "examples" / "lossy.toml", place / "study.toml")
    (place / "strace.txt").write_text(STRACE, encoding="utf-8")
    return place


def test_commands_were_found() -> None:
    assert len(SHOWN_COMMANDS) >= 40
    assert {command.split()[1] for command in SHOWN_COMMANDS} >= {"analyze", "burst", "compare"}


@pytest.mark.parametrize("command", SHOWN_COMMANDS)
def test_it_runs(command: str, stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stage)
    if "|" in command or ">" in command.replace(">10.", ""):
        return in_a_shell(command, stage)
    verb, *words = shlex.split(command)[1:]
    if reason_not_to_run(verb, words):
        module = import_module(f"trustbed.cli.{verb}")
        if hasattr(module, "ACTIONS"):
            module = module.ACTIONS[words.pop(0)]
        arguments.parse(module.parser(), words[: words.index("--")] if "--" in words else words)
        return None
    if verb in ("run", "sensitivity") or (verb == "campaign" and words[0] == "run"):
        words = [*words, *([] if "--dry-run" in words else ["--dry-run"])]
    if verb == "campaign" and "campaign.toml" in words and not Path("campaign.toml").exists():
        assert main(["campaign", "init", "."]) == 0
    # 3 and 4 are verdicts, where --fail-on asks for them.
    assert main([verb, *words]) in ((0, 3, 4) if "--fail-on" in words else (0,))
    return None


def reason_not_to_run(verb: str, words: list[str]) -> str | None:
    """What a command needs beyond files, and which test carries it out; ``None``: nothing."""
    if verb == "watch":
        return "a live interface: tests/watch"
    if verb == "ui":
        return "somebody who ends it: tests/ui"
    if verb == "shell":
        return "a network: tests/cli/test_shell.py"
    if verb == "trace" and "--import" not in words:
        return "the kernel's tracer: tests/calls"
    if verb == "compare" and any(word.endswith(".toml") for word in words):
        return "minutes of experiments: tests/compare"
    if verb == "campaign" and "--resources" in words:
        return "samples of hosts: tests/campaign/metrics"
    if verb == "explain" and words[0] == "lossy.run":
        return "a run with captures: tests/cli/test_end_to_end.py"
    return None


def in_a_shell(command: str, stage: Path) -> None:
    """A command with pipes or redirections, as a person types it."""
    if "| jq" in command and shutil.which("jq") is None:
        pytest.skip("there is no jq here")
    (stage / ".config" / "fish" / "completions").mkdir(parents=True, exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env={**os.environ, "PATH": path, "HOME": str(stage)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
