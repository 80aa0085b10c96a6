"""Error messages for SSH connections that fail or are lost.

In words, with what can be done about it.
"""

from __future__ import annotations

import asyncio
import errno
import socket

import asyncssh

from trustbed.errors import TestbedError, reason


def explained(
    error: Exception, title: str, options: asyncssh.SSHClientConnectionOptions, seconds: float
) -> TestbedError:
    """Why there is no connection."""
    where = f"{options.host}, port {options.port}"
    if isinstance(error, asyncssh.PermissionDenied):
        message = f"{title} does not let {options.username} in: {_reason(error)}"
        by_hand = f"ssh -p {options.port} {options.username}@{options.host}"
        hint = (
            f"it has to know a key of yours: try `{by_hand}`; keys with a passphrase go to an "
            f"agent (ssh-add)"
        )
        return TestbedError(message, hint)
    if isinstance(error, asyncssh.ChannelOpenError):
        message = (
            f"{title} cannot be reached from the jump host before it ({where}): {_reason(error)}"
        )
        return TestbedError(
            message,
            (
                "check its name there, that it runs, and that the jump host may pass "
                "connections on (AllowTcpForwarding)"
            ),
        )
    if isinstance(error, asyncssh.KeyExchangeFailed):
        return TestbedError(
            f"{title} speaks another version of SSH: {_reason(error)}",
            "it may be very old, or configured so",
        )
    if isinstance(error, asyncssh.ConnectionLost):
        message = f"{title} has closed the connection while it was made ({where})"
        return TestbedError(
            message, "it may have too many of them, or not speak SSH on that port; see its log"
        )
    if isinstance(error, asyncssh.Error):
        return TestbedError(
            f"{title} refuses the connection: {_reason(error)}",
            f"try `ssh -v -p {options.port} {options.host}`",
        )
    if isinstance(error, socket.gaierror):
        return TestbedError(
            f"{title}: there is no address for {options.host}",
            "check its name in the inventory, and the name servers here",
        )
    if isinstance(error, ConnectionRefusedError):
        return TestbedError(
            f"{title} refuses connections ({where})",
            "check that sshd runs there, and on which port",
        )
    if (
        isinstance(error, (TimeoutError, asyncio.TimeoutError))
        or getattr(error, "errno", None) == errno.ETIMEDOUT
    ):
        return TestbedError(
            f"{title} does not answer ({where}; waited up to {seconds:g} s)",
            "check that it runs, and that no firewall is in between",
        )
    if isinstance(error, OSError):
        message = reason(error)
        return TestbedError(
            f"{title} cannot be reached ({where}): {message}",
            "check its address, and the route there",
        )
    return TestbedError(
        f"{title}: SSH cannot be set up: {error}",
        "look into ~/.ssh/config and the keys that it or the inventory names",
    )


def lost(error: Exception | None) -> str:
    """How an established connection has ended."""
    return f"the connection is lost{'' if error is None else f': {_reason(error)}'}"


def _reason(error: Exception) -> str:
    reason = (
        error.reason
        if isinstance(error, asyncssh.Error)
        else (getattr(error, "strerror", None) or str(error))
    )
    return reason[:1].lower() + reason[1:] if reason else type(error).__name__
