"""Hosts in namespaces, joined by emulated links, each with an sshd on a management network.

An sshd and all that it starts are in one control group, so that a host can be starved as a whole,
and have mounts of their own, so that its disk can be filled. A host can be killed and started
again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.testbed import Host, Testbed, plan
from trustbed.testbed.netns.cgroups import Group

_PORT = 22
_PERIOD_US = 100_000
_READY_SECONDS = 60.0
_SMALL_BUFFER, _LARGE_BUFFER = 65_536, 4_194_304
"""Of sockets that send, in bytes: of hosts that are starved, and of others."""
_MOUNTS = (
    "mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd && mount -t tmpfs -o "
    "size={disk} tmpfs {cache}"
)


@dataclass
class Reached:
    """A host: where it is measured, where its sshd listens, and what runs there."""

    name: str
    measured: str
    address: str
    directory: Path
    namespace: Path
    group: Group
    disk_bytes: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def cache(self) -> Path:
        """Its disk, which only what runs there sees."""
        return self.directory / "cache"

    @property
    def known(self) -> str:
        """Its line for a file of known hosts."""
        return f"{self.address} {(self.directory / 'host_key.pub').read_text(encoding='utf-8')}"

    def start(self) -> None:
        """Starts its sshd, and waits until it answers."""
        mounts = _MOUNTS.format(disk=self.disk_bytes, cache=self.cache)
        # Into its group first: whatever descends from it is born there.
        script = (
            f"echo $$ > {self.group.path}/cgroup.procs && {mounts} && exec "
            f"{shutil.which('sshd')} -D -f {self.directory}/sshd_config"
        )
        words = [
            "nsenter",
            f"--net={self.namespace}",
            "unshare",
            "--mount",
            "sh",
            "-c",
            f"{script} -E {self.directory}/log",
        ]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection((self.address, _PORT), timeout=1.0),
            ):
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"the sshd of {self.name} does not answer: "
                    f"{(self.directory / 'log').read_text(encoding='utf-8')}"
                )
            time.sleep(0.05)

    def cut(self) -> int:
        """Kills what serves those that are logged in, as a way that breaks does.

        How many there were.
        """
        assert self.process is not None, "it was started"
        children = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            .read_text(encoding="ascii")
            .split()
        )
        for pid in children:
            _kill(int(pid))
        return len(children)

    def kill(self) -> int:
        """Kills everything that runs there; how many processes that were."""
        ours = os.stat(self.namespace).st_ino  # noqa: PTH116 - a name space's number
        killed = 0
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.stat(place / "ns" / "net").st_ino == ours:  # noqa: PTH116
                    _kill(int(place.name))
                    killed += 1
        if self.process is not None:
            self.process.wait()
            self.process = None
        return killed

    def fill(self) -> None:
        """Fills its disk."""
        self._inside(f"cat /dev/zero > {self.cache}/filler 2> /dev/null; true")

    def empty(self) -> None:
        """Removes what filled it."""
        self._inside(f"rm -f {self.cache}/filler")

    def _inside(self, script: str) -> None:
        assert self.process is not None, "it was started"
        subprocess.run(
            ["nsenter", f"--target={self.process.pid}", "--mount", "sh", "-c", script],
            check=True,
            timeout=60,
        )

    def starve(self, share: float | None, period_us: int = _PERIOD_US) -> None:
        """Lets all that runs there have so much of a processor in every period.

        Without a share, as much as it likes.

        New connections have small send buffers meanwhile: a kernel goes on sending what a process
        has given it, and hardly anything would show of a large one.
        """
        most = _LARGE_BUFFER if share is None else _SMALL_BUFFER
        script = (
            f"echo 4096 {min(most, 16_384 if share is None else most)} {most} > "
            f"/proc/sys/net/ipv4/tcp_wmem"
        )
        subprocess.run(
            ["nsenter", f"--net={self.namespace}", "sh", "-c", script], check=True, timeout=60
        )
        quota = None if share is None else max(1000, round(share * period_us))
        if self.group.version == 1:
            (self.group.path / "cpu.cfs_period_us").write_text(str(period_us), encoding="ascii")
            (self.group.path / "cpu.cfs_quota_us").write_text(
                str(-1 if quota is None else quota), encoding="ascii"
            )
        else:
            (self.group.path / "cpu.max").write_text(
                f"{'max' if quota is None else quota} {period_us}", encoding="ascii"
            )


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@dataclass
class Field:
    """Hosts that stand, by name, and the inventory that leads to them."""

    bed: Testbed
    hosts: Mapping[str, Reached]
    directory: Path

    def inventory(self) -> Path:
        """The file that names them."""
        lines = ['known_hosts = "known_hosts"', "[defaults]", 'user = "root"', 'keys = ["key"]']
        for one in self.hosts.values():
            lines += [
                f"[hosts.{one.name}]",
                f'ssh = "{one.address}"',
                f'measure = "{one.measured}"',
                f'directory = "{one.cache}"',
            ]
        (self.directory / "known_hosts").write_text(
            "".join(one.known for one in self.hosts.values()), encoding="utf-8"
        )
        file = self.directory / "hosts.toml"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file


@contextlib.contextmanager
def standing(
    directory: Path,
    names: Sequence[str],
    topology: Mapping[str, Any],
    *,
    seed: int,
    idle: str = "poll",
    disk_bytes: int = 200_000_000,
) -> Iterator[Field]:
    """Hosts by name, with the emulator between them, until the block ends.

    Args:
        directory: For keys, configurations and what hosts keep.
        names: Of the hosts; the first is measured at 10.77.0.1.
        topology: Routers and pipes of the emulator, beside the hosts.
        seed: Of what is lost by chance.
        idle: What the emulator does while nothing passes: ``poll`` for its accuracy, or ``halt``.
        disk_bytes: The size of each host's disk.
    """
    described = [
        Host(name=name, addresses=(f"10.77.0.{number}",)) for number, name in enumerate(names, 1)
    ]
    planned = plan(described)
    _key(directory / "key")
    with Testbed(planned, purpose="validation of campaigns") as bed:
        known = [{"name": host.name, "addresses": list(host.addresses)} for host in described]
        emulator = bed.start_agent(
            "emulate",
            planned.emulator({"hosts": known, **topology}, seed=seed, idle=idle),
            where="net",
        )
        emulator.begin()
        made: dict[str, Reached] = {}
        try:
            for number, host in enumerate(described, 1):
                made[host.name] = _made(bed, directory, host, number, disk_bytes)
            yield Field(bed, made, directory)
            emulator.stop()
        finally:
            for one in made.values():
                one.starve(None)
                one.kill()


def _made(bed: Testbed, directory: Path, host: Host, number: int, disk_bytes: int) -> Reached:
    """A host with its second network, which leads to us alone."""
    namespace = bed.namespace(host.name)
    address = f"10.99.{number}.2"
    _run(
        "ip",
        "link",
        "add",
        f"control{number}",
        "type",
        "veth",
        "peer",
        "name",
        "control",
        "netns",
        str(namespace),
    )
    _run("ip", "address", "add", f"10.99.{number}.1/30", "dev", f"control{number}")
    _run("ip", "link", "set", f"control{number}", "up")
    inside = ("nsenter", f"--net={namespace}", "ip")
    _run(*inside, "address", "add", f"{address}/30", "dev", "control")
    _run(*inside, "link", "set", "control", "up")
    home = directory / host.name
    (home / "cache").mkdir(parents=True)
    _key(home / "host_key")
    lines = (
        f"Port {_PORT}",
        f"ListenAddress {address}",
        f"HostKey {home}/host_key",
        f"AuthorizedKeysFile {directory}/key.pub",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
    )
    (home / "sshd_config").write_text("\n".join(lines) + "\n", encoding="utf-8")
    one = Reached(
        host.name, host.addresses[0], address, home, namespace, bed.group(host.name), disk_bytes
    )
    one.start()
    return one


def _key(path: Path) -> None:
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "validation", "-f", str(path))


def _run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60, stdin=subprocess.DEVNULL)
