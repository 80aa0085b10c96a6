"""tcpdump in a namespace: the datagrams of a measurement, with nanoseconds."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.namespaces import Host
from bench.process import ProgramFailed


def capturing(host: Host, interface: str, file: Path, *, snap: int) -> subprocess.Popen[str]:
    """Captures arriving datagrams to port 9; returns when tcpdump listens."""
    words = (
        f"tcpdump -i {interface} --time-stamp-precision=nano -B 32768 -s {snap} -Q in -Z root -w"
    )
    tcpdump = host.start(*words.split(), str(file), "udp", "and", "dst", "port", "9")
    assert tcpdump.stderr is not None
    if "listening on" not in (line := tcpdump.stderr.readline()):
        tcpdump.kill()
        raise ProgramFailed(f"tcpdump: {line.strip()}")
    return tcpdump
