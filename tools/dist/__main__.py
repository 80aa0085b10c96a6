"""Makes a release of a commit in dist/, and proves that it installs: `make dist`.

    python -m tools.dist [--commit HEAD] [--target x86_64|aarch64]… [--twice] [--offline-build]

In dist/ are wheels (manylinux, for the stable ABI), static agents, a source distribution that
builds without a network, manual pages, an SBOM, and their SHA-256 sums. `--twice` makes all of it
again in another directory and compares byte by byte; `--offline-build` makes a wheel from the
source distribution without a network. What this machine cannot do is skipped, with the reason; with
`--strict` a skipped part is a failure.

Bias: the static agent for this machine's processor contains the C library that is installed here;
elsewhere it has other bytes.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.dist import sbom, smoke, source
from tools.dist.container import build_image
from tools.man_pages import source_epoch

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "dist"
WORK = ROOT / "build" / "dist"
GLIBC = "manylinux_2_28"
"""The oldest C library that the wheels serve: that of their dependencies' wheels."""
MACHINES = ("x86_64", "aarch64")


class SkippedError(Exception):
    """A part cannot be made here; the message says why."""


@dataclass
class Release:
    """A release on its way: where it is made, and what had to be skipped.

    Attributes:
        tree: The commit's files; the builds' directory lies beside it.
        out: What the release consists of.
        version: Of the project.
        epoch: When the commit was made, in seconds since 1970: the time of every file.
        tools: The programs of the virtual environment of releases.
        skipped: What was not made, and why.
    """

    tree: Path
    out: Path
    version: str
    epoch: int
    tools: Path
    skipped: list[str] = field(default_factory=list)

    def run(self, *command: str | Path, **more: str) -> None:
        """Carries out a command in the tree, with the environment of a reproducible build."""
        environment = source.reproducible(self.tree, self.epoch) | {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.tools.parent),
            "CARGO_TARGET_DIR": str(self.tree.parent / "target"),
            **more,
        }
        ended = subprocess.run(list(map(str, command)), cwd=self.tree, env=environment, check=False)
        if ended.returncode:
            # Skipped is what cannot be tried here, not what does not work.
            sys.exit(f"error: {' '.join(map(str, command[:3]))} failed with {ended.returncode}")


def agent(release: Release, machine: str) -> Path:
    """The static agent for a machine, in its place in the tree and in dist/."""
    target = f"{machine}-unknown-linux-gnu"
    tools: dict[str, str] = {}
    if machine != platform.machine():
        compiler = f"{machine}-linux-gnu-gcc"
        if shutil.which(compiler) is None:
            packages = f"gcc-{machine}-linux-gnu, and libc6-dev-arm64-cross for aarch64"
            raise SkippedError(f"no {compiler} (Debian: {packages})")
        need_target(target)
        name = target.replace("-", "_")
        tools = {f"CARGO_TARGET_{name.upper()}_LINKER": compiler, f"CC_{name}": compiler}
    release.run("python", "tools/build/backend.py", target, **tools)
    place = release.tree / "python" / "trustbed" / "bin" / "trustbed-agent"
    made = release.out / f"trustbed-agent-{release.version}-{machine}"
    shutil.copy(place, made)
    return made


def wheel(release: Release, machine: str) -> Path:
    """The wheel for a machine, whose agent is in the tree."""
    target = f"{machine}-unknown-linux-gnu"
    need_target(target)
    made = release.tree.parent / "wheels"
    release.run(
        *("maturin", "build", "--release", "--locked", "--zig", "--target", target),
        *("--compatibility", GLIBC, "--out", made),
    )
    (found,) = made.glob(f"trustbed-{release.version}-cp311-abi3-{GLIBC}_{machine}.whl")
    return Path(shutil.copy(found, release.out))


def need_target(target: str) -> None:
    """Sees to it that the Rust compiler has a target's standard library.

    Raises:
        SkippedError: It has not, and cannot get it.
    """
    asked = ["rustup", "target", "add", target]
    try:
        ended = subprocess.run(asked, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise SkippedError(f"no rustup, which would bring the target {target}") from None
    if ended.returncode:
        raise SkippedError(f"rustup has no target {target}: {ended.stderr.strip()[-200:]}")


def man(release: Release) -> Path:
    """The manual pages in an archive, made by the package in the wheel for this machine."""
    package = release.tree.parent / "package"
    (own,) = release.out.glob(f"*_{platform.machine()}.whl")
    shutil.rmtree(package, ignore_errors=True)
    shutil.unpack_archive(own, package, "zip")
    pages = release.tree.parent / f"trustbed-{release.version}-man"
    path = f"{package}:{release.tree}"
    release.run("python", "-m", "tools.man_pages", pages, PYTHONPATH=path)
    return source.pack(pages, release.out / f"{pages.name}.tar.gz", release.epoch)


def make(release: Release, machines: Sequence[str]) -> None:
    """Makes every part; what cannot be made is skipped."""
    shutil.rmtree(release.out, ignore_errors=True)
    release.out.mkdir(parents=True)
    bill = sbom.bill(release.tree, release.version)
    (release.out / f"trustbed-{release.version}.cdx.json").write_text(bill, encoding="utf-8")
    for machine in machines:
        # The wheel has the agent in it: where there is none for a machine, there is no wheel.
        try:
            say(f"agent for {machine}")
            made = agent(release, machine)
            say(f"wheel for {machine}")
            wheel(release, machine)
        except SkippedError as error:
            if machine == platform.machine():
                sys.exit(f"error: {error}")
            release.skipped.append(f"agent and wheel for {machine}: {error}")
            continue
        if machine != platform.machine():
            release.skipped.append(f"installing the wheel for {machine}: no such Python here")
        try:
            smoke.agent(made, machine)
        except smoke.UntriedError as error:
            release.skipped.append(str(error))
    say("source distribution")
    source.source_distribution(release.tree, release.out, release.epoch)
    man(release)
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in sorted(release.out.iterdir()))
    (release.out / "SHA256SUMS").write_text(sums, encoding="ascii")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prepared(directory: Path, out: Path, commit: str, tools: Path) -> Release:
    """A release of a commit, with its tree."""
    tree = directory / "tree"
    source.export(ROOT, commit, tree)
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    said = subprocess.run(
        ["git", "log", "-1", "--format=%ct", commit], cwd=ROOT, check=True, capture_output=True
    )
    epoch = int(said.stdout) if "SOURCE_DATE_EPOCH" not in os.environ else source_epoch()
    return Release(
        tree=tree, out=out, version=project["project"]["version"], epoch=epoch, tools=tools
    )


def environment() -> Path:
    """The virtual environment with the pinned tools of a release; returns its programs."""
    venv = WORK / "tools"
    if not (venv / "bin" / "python").is_file():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    install = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    for name in ("requirements.txt", "requirements-dist.txt"):
        subprocess.run([*install, "-r", str(ROOT / name)], check=True)
    return venv / "bin"


def differing(one: Path, other: Path) -> list[str]:
    """The files of two directories that are not the same, or are in one only."""
    names = {path.name for directory in (one, other) for path in directory.iterdir()}
    _, unlike, missing = filecmp.cmpfiles(one, other, sorted(names), shallow=False)
    return [*unlike, *missing]


def say(text: str) -> None:
    """A line about the progress."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def main(words: Sequence[str]) -> int:
    """Makes a release, and tries it."""
    parser = argparse.ArgumentParser(prog="python -m tools.dist", description="Makes a release.")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--target", action="append", choices=MACHINES, dest="machines")
    parser.add_argument("--twice", action="store_true", help="is it reproducible?")
    parser.add_argument(
        "--offline-build", action="store_true", help="does the sdist build offline?"
    )
    parser.add_argument("--strict", action="store_true", help="a skipped part is a failure")
    options = parser.parse_args(words)
    tools = environment()
    release = prepared(WORK / "one", OUT, options.commit, tools)
    make(release, options.machines or MACHINES)
    lines: list[str] = []
    if options.twice:
        again = prepared(WORK / "another", WORK / "another" / "dist", options.commit, tools)
        make(again, options.machines or MACHINES)
        unlike = differing(release.out, again.out)
        if unlike:
            print(f"error: two builds differ: {', '.join(unlike)}", file=sys.stderr)
            return 1
        lines.append("two builds in different directories are the same, byte by byte")
    wheels = smoke.wheels_of(ROOT / "requirements.txt", WORK / "wheels")
    (own,) = release.out.glob(f"*_{platform.machine()}.whl")
    seconds = smoke.install(own, wheels, WORK / "smoke", ROOT / "recordings", release.version)
    lines.append(f"installed into an empty environment, first verdict after {seconds:.1f} s")
    for part in (smoke.offline_build if options.offline_build else None, build_image):
        if part is not None:
            try:
                lines.append(part(release.out, WORK, tools, wheels))
            except smoke.UntriedError as error:
                release.skipped.append(str(error))
    return report(release, lines, strict=options.strict)


def report(release: Release, lines: Sequence[str], *, strict: bool) -> int:
    """Prints what was made, what holds, and what was skipped."""
    for path in sorted(release.out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {digest(path)[:16]}  dist/{path.name}")
    for line in lines:
        print(line)
    for line in release.skipped:
        print(f"skipped: {line}")
    return 1 if strict and release.skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
