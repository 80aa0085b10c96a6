"""Hosts that only play (:mod:`bench.simulated_hosts`), for tests of those that connect them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh

from bench.simulated_hosts import address_of

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def simulated(directory: Path, hosts: int, record: dict[str, Any] | None = None) -> Iterator[str]:
    """So many hosts ``h0``, ``h1``, …; the text of their inventory.

    ``record`` has what they report of a round, which takes no time.
    """
    for name in ("host_key", "user_key"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(str(directory / name))
        key.write_public_key(str(directory / f"{name}.pub"))
    (directory / "round").mkdir()
    known: dict[str, Any] = {"ping": {}, "sent": {}, "received": {}, "watched": {}}
    (directory / "round" / "round.json").write_text(json.dumps(known | (record or {})))
    words = [sys.executable, "-m", "bench.simulated_hosts", str(directory), str(hosts), "0"]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as playing:
        try:
            assert playing.stdout is not None
            port = playing.stdout.readline().split()[-1]
            public = (directory / "host_key.pub").read_text()
            (directory / "known_hosts").write_text(
                "".join(f"[{address_of(number)}]:{port} {public}" for number in range(hosts))
            )
            yield (
                f'known_hosts = "{directory}/known_hosts"\n[defaults]\nuser = "test"\n'
                f'keys = ["{directory}/user_key"]\n'
                + "".join(
                    f'[hosts.h{number}]\nssh = "{address_of(number)}"\nport = {port}\n'
                    for number in range(hosts)
                )
            )
        finally:
            playing.kill()
