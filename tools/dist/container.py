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
    builder = next((name for name in BUILDERS if shutil.which(name)), None)
    if builder is None:
        raise UntriedError(f"container image: none of {', '.join(BUILDERS)} is here")
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
        raise UntriedError(f"container image ({builder}): {ended.stderr.strip()[-400:]}")
    if builder == "buildah":
        return "container image built by buildah; not tried, since buildah starts none"
    mount = f"{ROOT / 'recordings'}:/data:ro"
    run = [builder, "run", "--rm", "--network", "none", "--volume", mount, "trustbed"]
    said = subprocess.run([*run, "analyze", RECORDING], check=False, capture_output=True, text=True)
    if said.returncode in (125, 126, 127):  # of the engine, not of what it runs
        raise UntriedError(f"container image: built by {builder}, not run: {said.stderr[-400:]}")
    if VERDICT not in said.stdout:
        sys.exit(f"error: the container image does not work\n{said.stderr}{said.stdout}")
    return f"container image built by {builder}, and came to a verdict"
