"""An engine that runs containers, with an image of busybox alone, for tests.

The machine's own engine where one answers. Where only docker's daemon is installed, one of the
tests' own: beside the machine's network, whose bridges and rules it leaves alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.patience import PATIENCE
from trustbed.errors import TestbedError
from trustbed.testbed.container import Engine, choose

IMAGE = "trustbed-test-busybox:latest"
_PROGRAMS = ("sh", "cat", "httpd", "id", "mkdir", "mount", "ps", "sleep", "true", "wget")
_ROOT = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Engine | str]:
    """An engine that has :data:`IMAGE`; or, in words, why there is none."""
    busybox = shutil.which("busybox")
    if busybox is None:
        yield "busybox is not installed (Debian package: busybox-static)"
        return
    with contextlib.ExitStack() as stack:
        try:
            found = choose("auto")
        except TestbedError as error:
            if shutil.which("dockerd") is None or os.geteuid():
                yield error.message
                return
            # The names of its sockets have to be short.
            short = stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-"))
            stack.enter_context(_daemon(Path(short)))
            found = choose("docker")
        _import(found, Path(busybox).resolve(), directory / "image.tar")
        stack.callback(_forget, found)
        yield found


@contextlib.contextmanager
def _daemon(directory: Path) -> Iterator[None]:
    """Docker's daemon, which the commands of this process and its children find."""
    socket = directory / "docker.sock"
    options = {
        "--data-root": directory / "docker",
        "--exec-root": directory / "exec",
        "--pidfile": directory / "docker.pid",
        "--host": f"unix://{socket}",
        "--bridge": "none",
        "--iptables": "false",
        "--ip6tables": "false",
        "--ip-forward": "false",
        "--ip-masq": "false",
    }
    with (directory / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            ["dockerd", *(f"{key}={value}" for key, value in options.items())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = f"unix://{socket}"
    try:
        _wait_for(daemon, directory / "dockerd.log")
        yield
    finally:
        if before is None:
            del os.environ["DOCKER_HOST"]
        else:
            os.environ["DOCKER_HOST"] = before
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(PATIENCE)
        finally:
            daemon.kill()
            daemon.wait()


def _wait_for(daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            choose("docker")
        except TestbedError:
            alive = daemon.poll() is None and time.monotonic() < deadline
            assert alive, f"no daemon: {log.read_text(errors='replace')[-2000:]}"
            time.sleep(0.1)
        else:
            return


def _import(engine: Engine, busybox: Path, archive: Path) -> None:
    """Makes the image of a file system that holds busybox and a page: no registry is asked."""
    with tarfile.open(archive, "w") as tar:
        tar.add(busybox, "bin/busybox")
        for name in _PROGRAMS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for name in ("proc", "tmp", "dev", "sys"):
            place = tarfile.TarInfo(name)
            place.type, place.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(place)
    command = [engine.name, "import", f"--change=ENV {_ROOT}", str(archive), IMAGE]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


def _forget(engine: Engine) -> None:
    subprocess.run(
        [engine.name, "image", "rm", "--force", IMAGE],
        check=False,
        capture_output=True,
        timeout=PATIENCE,
    )


def containers(engine: Engine) -> list[str]:
    """The names of trustbed's containers that the engine knows, running or not."""
    shown = subprocess.run(
        [engine.name, "ps", "--all", "--filter=name=^tb-", "--format={{.Names}}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return shown.stdout.split()
