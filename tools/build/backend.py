"""What pip calls to build trustbed.

Maturin's backend (PEP 517, PEP 660), with the agent built first and put into the package.

The agent, the one program that runs on every host of an experiment, becomes
python/trustbed/bin/trustbed-agent. It is linked statically, so that it runs wherever the kernel
does: on a host that it is copied to, in a guest without a C library. Cargo decides what has
changed; the file in the package is replaced only when its content has. `make setup` runs this file
to the same end.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import maturin

Settings: TypeAlias = Mapping[str, Any] | None

build_sdist = maturin.build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "python" / "trustbed" / "bin" / "trustbed-agent"
PACKAGE = "trustbed-agent"


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """A wheel that has the agent in it."""
    build_agent()
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """An installation that runs from the checkout, with the agent in its place there."""
    build_agent()
    name: str = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    return name


def build_agent(target: str | None = None) -> Path:
    """Builds the agent for this machine or for another target, and returns where it is.

    Raises:
        SystemExit: Cargo has said why not.
    """
    target = target or _host()
    variable = f"CARGO_TARGET_{target.upper().replace('-', '_')}_RUSTFLAGS"
    # Given for this target alone: the rest of the workspace is not linked statically, nor built
    # again.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS")
    }
    # What hides where a release was built serves the agent as well.
    hidden = [
        word
        for word in os.environ.get("RUSTFLAGS", "").split()
        if word.startswith("--remap-path-prefix=")
    ]
    environment[variable] = " ".join(["-C target-feature=+crt-static", "-C strip=symbols", *hidden])
    # The target is named even though it is this machine's: build scripts and macros are then not
    # linked statically.
    command = [
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        PACKAGE,
        "--bin",
        PACKAGE,
        "--target",
        target,
    ]
    try:
        ended = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    except FileNotFoundError:
        sys.exit("error: no Rust toolchain (cargo)\nhint: install Rust 1.95 or newer with rustup")
    if ended.returncode:
        sys.exit(
            "error: the agent was not built\nhint: a static program needs the C library's "
            "libc.a (Debian: libc6-dev)"
        )
    _place(_output_directory() / target / "release" / PACKAGE)
    return PLACE


def _host() -> str:
    """The target that this machine is."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(
        line.removeprefix("host: ") for line in said.splitlines() if line.startswith("host: ")
    )


def _place(built: Path) -> None:
    """Puts it into the package if it is another one.

    In one step, since the old one may be running.
    """
    if PLACE.is_file() and filecmp.cmp(built, PLACE, shallow=False):
        return
    PLACE.parent.mkdir(exist_ok=True)
    draft = PLACE.with_name(f".{PLACE.name}.{os.getpid()}")
    shutil.copyfile(built, draft)
    draft.chmod(0o755)
    draft.rename(PLACE)


def _output_directory() -> Path:
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


if __name__ == "__main__":
    build_agent(*sys.argv[1:2])
