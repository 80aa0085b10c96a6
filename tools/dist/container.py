"""The container image of a release, from Containerfile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.dist.smoke import RECORDING, VERDICT, UntriedError

ROOT = Path(__file__).resolve().parents[2]
BUILDERS = ("podman", "buildah", "docker")


def build_image(out: Path, work: Path, tools: Path, wheels: Path) -> str:
    """Builds the image from the release's own wheel, without a network inside, and tries it.

    ``TRUSTBED_BASE`` names another image to build on.

    Raises:
        UntriedError: No program here builds images, the base image cannot be had, or no container
            starts here.
        SystemExit: The image does not work.
    """
    del tools
    builder = next(filter(_works, BUILDERS), None)
    if builder is None:
        raise UntriedError(f"container image: none of {', '.join(BUILDERS)} works here")
    context = work / "image"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(wheels, context / "wheels")
    for path in out.glob("*.whl"):
        shutil.copy(path, context / "wheels")
    shutil.copy(ROOT / "Containerfile", context)
    # The wheels of the dependencies are for this Python.
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = os.environ.get("TRUSTBED_BASE", f"docker.io/library/python:{version}-slim-bookworm")
    command = [builder, "build", "--network", "none", "--tag", "trustbed"]
    command += ["--build-arg", f"BASE={base}"]
    command += ["--file", str(context / "Containerfile"), str(context)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise UntriedError(f"container image ({builder}): {_last(ended.stderr)}")
    said = _analysed(builder)
    if said.returncode in (125, 126, 127):  # of the engine, not of what it runs
        raise UntriedError(f"container image: built by {builder}, not run: {_last(said.stderr)}")
    if VERDICT not in said.stdout:
        sys.exit(f"error: the container image does not work\n{said.stderr}{said.stdout}")
    return f"container image built by {builder}, and came to a verdict"


def _works(builder: str) -> bool:
    """Whether it is here, and Docker's service as well."""
    if shutil.which(builder) is None:
        return False
    return builder != "docker" or not _asked("docker", "info").returncode


def _analysed(builder: str) -> subprocess.CompletedProcess[str]:
    """What a container of the image says of a recording."""
    mount = ["--volume", f"{ROOT / 'recordings'}:/data:ro"]
    if builder != "buildah":
        alone = ["--rm", "--network", "none", *mount]
        return _asked(builder, "run", *alone, "trustbed", "analyze", RECORDING)
    name = _asked("buildah", "from", "localhost/trustbed").stdout.strip()
    try:
        return _asked("buildah", "run", *mount, name, "--", "trustbed", "analyze", RECORDING)
    finally:
        _asked("buildah", "rm", name)


def _asked(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _last(said: str) -> str:
    """The last line of what a program said, which has the reason."""
    return (said.strip().splitlines() or ["no reason given"])[-1][-400:]
