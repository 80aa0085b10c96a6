"""A real sshd for tests.

On loopback or in a namespace, with keys and a configuration of its own, and with mounts of its own.

It serves the user who runs the tests, who must be root; nothing of this machine's own SSH is read
or written: not its keys, not its home.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.patience import PATIENCE

PROGRAM = shutil.which("sshd") or "/usr/sbin/sshd"


def check() -> None:
    """Skips where there can be no sshd of our own."""
    if os.geteuid() != 0:
        pytest.skip("sshd with mounts of its own can be run by root only")
    for program in (PROGRAM, "ssh-keygen", "unshare"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} (Debian: openssh-server, util-linux)")
    script = "mount -t tmpfs tmpfs /run"
    tried = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"no mounts of one's own: {tried.stderr.strip()}")


def make_key(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A pair of keys."""
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(words, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return path


@dataclass
class Server:
    """An sshd. ``home`` is the user's home there; ``log`` its log."""

    directory: Path
    address: str
    port: int
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def home(self) -> Path:
        """The cache of the user."""
        return self.directory / "cache"

    @property
    def log(self) -> str:
        """Its log."""
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")

    def known(self, key: Path | None = None) -> str:
        """Its line for a file of known hosts; with another key if one is given."""
        public = (
            (key or self.directory / "host_key").with_suffix(".pub").read_text(encoding="utf-8")
        )
        return f"[{self.address}]:{self.port} {public}"

    def kill_sessions(self) -> None:
        """Kills what serves those that are connected, and not what listens.

        As a host that goes away does it.
        """
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def sessions(self) -> list[int]:
        """What serves those that are connected."""
        children = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            .read_text(encoding="ascii")
            .split()
        )
        return [int(pid) for pid in children]


def free_port(address: str = "127.0.0.1") -> int:
    """A port without a listener."""
    with socket.socket() as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def configuration(
    directory: Path, authorized: Path, *, address: str, port: int, more: Sequence[str] = ()
) -> Path:
    """The files of a server: its key and its configuration."""
    (directory / "cache").mkdir(parents=True)
    make_key(directory / "host_key")
    file = directory / "sshd_config"
    lines = [
        f"Port {port}",
        f"ListenAddress {address}",
        f"HostKey {directory}/host_key",
        f"AuthorizedKeysFile {authorized}",
        f"SetEnv XDG_CACHE_HOME={directory}/cache HOME={directory}",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PrintMotd no",
        "PrintLastLog no",
        *more,
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def words(config: Path, log: Path, mounts: str = "") -> list[str]:
    """The command line that runs it in the foreground.

    ``mounts`` are shell commands that run first, in a mount namespace of its own.
    """
    script = (
        f"mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd && {mounts or 'true'} && "
        f"exec {PROGRAM} -D -f {config} -E {log}"
    )
    return ["unshare", "--mount", "sh", "-c", script]


@contextlib.contextmanager
def serving(
    directory: Path, authorized: Path, *, more: Sequence[str] = (), mounts: str = ""
) -> Iterator[Server]:
    """One on loopback, until the block ends."""
    address, port = "127.0.0.1", free_port()
    config = configuration(directory, authorized, address=address, port=port, more=more)
    with subprocess.Popen(
        words(config, directory / "log", mounts), stdin=subprocess.DEVNULL
    ) as process:
        server = Server(directory, address, port, process)
        try:
            wait_until_it_listens(server)
            yield server
        finally:
            process.kill()


def wait_until_it_listens(server: Server) -> None:
    """Returns when it takes connections."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with (
            contextlib.suppress(OSError),
            socket.create_connection((server.address, server.port), timeout=PATIENCE),
        ):
            return
        log = server.log if (server.directory / "log").exists() else ""
        assert server.process.poll() is None, f"sshd has ended: {log}"
        assert time.monotonic() < deadline, f"sshd does not listen: {log}"
        time.sleep(0.02)
