"""What shells complete, asked of the shells."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from trustbed.cli import VERBS, completion, main

ASK_BASH = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
_trustbed
printf '%s\\n' "${COMPREPLY[@]}"
"""


def asked(shell: str, tmp_path: Path, *words: str) -> list[str]:
    """What a shell offers for the last of the words."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "completion"
    script.write_text(completion.SHELLS[shell](), encoding="utf-8")
    if shell == "bash":
        command = ["bash", "--norc", "-c", ASK_BASH, "bash", script, *words]
    else:
        ask = f"source {script}; complete -C '{' '.join(words)}'"
        command = ["fish", "--no-config", "-c", ask]
    said = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert said.stderr == ""
    return [line.partition("\t")[0] for line in said.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ana"], ["analyze"]),
        (["analyze", "--wo"], ["--worker-memory", "--workers", "--workload"]),
        (["analyze", "x.pcap", "--at", ""], ["middle", "receiver", "sender"]),
        (["campaign", ""], ["init", "report", "run", "status"]),
        (["campaign", "run", "--dr"], ["--dry-run"]),
        (["testbed", "cl"], ["clean"]),
        (["--print-completion", ""], ["bash", "fish", "zsh"]),
    ],
)
def test_a_shell_offers(shell: str, words: list[str], offered: list[str], tmp_path: Path) -> None:
    found = asked(shell, tmp_path, "trustbed", *words)
    assert sorted(word for word in found if word not in ("-h", "--help")) == offered


def test_behind_the_dashes_are_the_words_of_another_program(tmp_path: Path) -> None:
    assert asked("bash", tmp_path, "trustbed", "shell", "--", "--r") == []


def test_zsh_completes_an_option_where_a_person_types(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh here")
    (tmp_path / "_trustbed").write_text(completion.zsh(), encoding="utf-8")
    setup = (
        f"fpath=({tmp_path} $fpath); PS1=; autoload -U compinit; compinit -u -D; "
        "trustbed() { print GOT $*; exit; }\n"
    )
    theirs, ours = pty.openpty()
    zsh = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=ours,
        stdout=ours,
        stderr=ours,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(ours)
    os.write(theirs, f"{setup}trustbed ana\tx.pcap --capa\t20Mbit/s --at send\t\n".encode())
    shown = b""
    try:
        while part := os.read(theirs, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(theirs)
    assert zsh.wait() == 0
    assert "GOT analyze x.pcap --capacity 20Mbit/s --at sender" in shown.decode()


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_has_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", shell]) == 0
    script = capsys.readouterr().out
    assert [verb for verb in VERBS if verb not in script] == []


@pytest.mark.parametrize("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_another_shell_is_an_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", *words]) == 2
    assert "hint: one of: trustbed --print-completion bash" in capsys.readouterr().err
