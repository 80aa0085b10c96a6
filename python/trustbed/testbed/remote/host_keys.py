"""Host keys.

trustbed checks every one, whatever OpenSSH's configuration states, and explains a key that is
unknown or has changed.

The files are those of OpenSSH (``UserKnownHostsFile`` and ``GlobalKnownHostsFile`` of its
configuration, else its own defaults), or the one that an inventory names. trustbed never
writes to them: only a person can confirm a fingerprint.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import asyncssh
from asyncssh.public_key import get_default_public_key_algs

from trustbed.errors import TestbedError

_DEFAULTS = (
    "~/.ssh/known_hosts",
    "~/.ssh/known_hosts2",
    "/etc/ssh/ssh_known_hosts",
    "/etc/ssh/ssh_known_hosts2",
)
_STANDARD_PORT = 22


class Doorkeeper(asyncssh.SSHClient):
    """Remembers the key of a host that is in none of the files."""

    def __init__(self) -> None:
        self.shown: asyncssh.SSHKey | None = None

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Never: only files state which keys are right."""
        self.shown = key
        return False


def files(
    options: asyncssh.SSHClientConnectionOptions, named: Path | None, title: str
) -> tuple[Path, ...]:
    """The files that hold the keys of known hosts.

    Raises:
        TestbedError: OpenSSH's configuration turns the check off.
    """
    if named is not None:
        return (named,)
    configured = options.known_hosts
    if configured is None:
        hint = (
            "take UserKnownHostsFile none out of OpenSSH's configuration, or name a file by "
            "known_hosts in the inventory"
        )
        raise TestbedError(
            f"{title}: OpenSSH's configuration has its key not checked, and it always is here", hint
        )
    names = [str(name) for name in configured] if isinstance(configured, Sequence) else []
    key_files = [Path(name).expanduser() for name in names or _DEFAULTS]
    return tuple(file for file in key_files if file.is_file())


def known(key_files: Sequence[Path], title: str) -> asyncssh.SSHKnownHosts:
    """The entries of the files.

    Raises:
        TestbedError: One cannot be read.
    """
    try:
        return _read(tuple((str(file), _state(file.stat())) for file in key_files))
    except (OSError, ValueError) as error:
        listed = ", ".join(map(str, key_files))
        raise TestbedError(
            f"{title}: the keys of known hosts cannot be read: {error}", f"look into {listed}"
        ) from None


@lru_cache(maxsize=8)
def _read(key_files: tuple[tuple[str, tuple[int, ...]], ...]) -> asyncssh.SSHKnownHosts:
    """Files in this state: those of a thousand hosts are not read a thousand times."""
    return asyncssh.read_known_hosts([name for name, _ in key_files])


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def algorithms(
    options: asyncssh.SSHClientConnectionOptions, keys: asyncssh.SSHKnownHosts
) -> Sequence[str]:
    """The kinds of host keys to request.

    Known ones come first, the others behind them, so that the host shows a changed one.

    Nothing where OpenSSH's configuration decides, or where an authority vouches for the host: then
    the library's order is right.
    """
    trusted, authorities = _match(options, keys)
    if options.config.get("HostKeyAlgorithms") or authorities or not trusted:
        return ()
    first = {name for key in trusted for name in key.sig_algorithms}
    return [
        name.decode("ascii")
        for name in sorted(get_default_public_key_algs(), key=lambda name: name not in first)
    ]


def _match(
    options: asyncssh.SSHClientConnectionOptions, keys: asyncssh.SSHKnownHosts
) -> tuple[Sequence[asyncssh.SSHKey], Sequence[asyncssh.SSHKey]]:
    """The keys of a host, and those of the authorities that may vouch for it."""
    trusted, authorities, *_ = keys.match(
        options.host_key_alias or options.host,
        "",
        None if options.port == _STANDARD_PORT else options.port,
    )
    return trusted, authorities


def explained(
    title: str,
    options: asyncssh.SSHClientConnectionOptions,
    keys: asyncssh.SSHKnownHosts,
    shown: asyncssh.SSHKey | None,
    key_files: Sequence[Path],
) -> TestbedError:
    """Why its key was not accepted: it is not known, or another one is."""
    host = options.host_key_alias or options.host
    entry = host if options.port == _STANDARD_PORT else f"[{host}]:{options.port}"
    before, _ = _match(options, keys)
    its = (
        "none of that kind"
        if shown is None
        else f"{shown.get_algorithm()} {shown.get_fingerprint()}"
    )
    where = ", ".join(map(str, key_files)) or _DEFAULTS[0]
    if before:
        was = ", ".join(sorted(f"{key.get_algorithm()} {key.get_fingerprint()}" for key in before))
        message = (
            f"{title} shows another host key than the one that is known ({where}): {its}, not {was}"
        )
        hint = (
            f"it was installed anew, or another host intercepts the connection: ask its owner; "
            f"if all is well: ssh-keygen -R '{entry}'"
        )
        return TestbedError(message, hint)
    file = key_files[0] if key_files else Path(_DEFAULTS[0])
    hint = (
        f"compare it with the fingerprint from its owner; then: ssh-keyscan -p {options.port} "
        f"{options.host} >> {file}"
    )
    return TestbedError(f"the host key of {title} is not known: {its}", hint)
