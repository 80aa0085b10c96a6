"""Whether a release works: its wheel in an empty environment, its agent, its source offline."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

RECORDING = "guest-quota.sender.pcap.gz"
VERDICT = "host_scheduling"
"""What the recording shows."""


class UntriedError(Exception):
    """This machine cannot try a part; the message says why."""


def agent(program: Path, machine: str) -> None:
    """The agent starts a process and hands on its exit code.

    That of another machine refuses an unknown verb by name, under QEMU, which lacks a system call
    that starting a process needs (``PR_SET_CHILD_SUBREAPER``).

    Raises:
        UntriedError: Nothing here can run it.
        SystemExit: It does not.
    """
    command = [str(program), "exec", "--", "sh", "-c", "exit 5"]
    if machine != platform.machine():
        emulator = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
        if emulator is None:
            raise UntriedError(f"{program.name} was not run: no qemu-{machine} (qemu-user-static)")
        command = [emulator, str(program), "nothing"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode != 5 and "there is no verb `nothing`" not in ended.stdout + ended.stderr:
        sys.exit(f"error: {program.name} ended with {ended.returncode}: {ended.stderr[-300:]}")


def wheels_of(requirements: Path, directory: Path) -> Path:
    """The wheels of everything that trustbed needs, in a directory, with their hashes checked."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    words = ["--require-hashes", "--only-binary", ":all:", "--dest", str(directory)]
    subprocess.run([*pip, *words, "-r", str(requirements)], check=True)
    return directory


def install(wheel: Path, wheels: Path, venv: Path, recordings: Path, version: str) -> float:
    """Seconds from `pip install` of the wheel into an empty environment to the first verdict.

    Raises:
        SystemExit: It cannot be installed, or does not come to the verdict.
    """
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    begun = time.monotonic()
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-index"]
    subprocess.run([*pip, "--find-links", str(wheels), str(wheel)], check=True)
    trustbed = str(venv / "bin" / "trustbed")
    command = [trustbed, "analyze", str(recordings / RECORDING)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=venv)
    seconds = time.monotonic() - begun
    told = subprocess.run([trustbed, "--version"], check=True, capture_output=True, text=True)
    if VERDICT not in said.stdout or told.stdout.split() != ["trustbed", version]:
        sys.exit(f"error: the installed wheel does not work\n{told.stdout}{said.stdout}")
    return seconds


def offline_build(out: Path, work: Path, tools: Path, wheels: Path) -> str:
    """A wheel from the source distribution, in an empty directory, without a network.

    Raises:
        UntriedError: This user may not make a network namespace.
        SystemExit: It does not build.
    """
    del wheels
    directory = work / "offline"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (archive,) = out.glob("trustbed-*[0-9].tar.gz")
    alone = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        raise UntriedError("offline build: no network namespace (unshare --net) here")
    shutil.unpack_archive(archive, directory)
    (unpacked,) = directory.glob("trustbed-*")
    pip = [str(tools / "python"), "-m", "pip", "wheel", "--quiet", "--no-build-isolation"]
    environment = {
        "PATH": f"{tools}:{Path(shutil.which('cargo') or 'cargo').parent}:/usr/bin:/bin",
        "HOME": str(directory / "home"),
        "RUSTUP_HOME": _rustup_home(),
        "MATURIN_PEP517_ARGS": "--locked --offline",
        "CARGO_NET_OFFLINE": "true",
    }
    ended = subprocess.run(
        [*alone, *pip, "--no-deps", "--no-index", "--wheel-dir", str(directory), str(unpacked)],
        env=environment,
        cwd=directory,
        check=False,
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        sys.exit(f"error: the source distribution does not build offline\n{ended.stderr[-3000:]}")
    (built,) = directory.glob("*.whl")
    return f"the source distribution builds without a network: {built.name}"


def _rustup_home() -> str:
    said = subprocess.run(["rustup", "show", "home"], check=False, capture_output=True, text=True)
    return said.stdout.strip() or str(Path.home() / ".rustup")
