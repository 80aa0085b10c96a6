"""Hosts that are guests.

Machines of their own, run by QEMU on Debian's kernel, with nothing in them but busybox and the
agent.

The guest's network card is the end of its link; requests and answers pass a serial
port of its own, so that the veth link carries the experiment alone. :class:`Guest` is one; it
serves the same requests as any host: commands, agents, files.
"""

from __future__ import annotations

from trustbed.testbed.qemu.guest import Guest, Surroundings, peer
from trustbed.testbed.qemu.survey import survey

__all__ = ["Guest", "Surroundings", "peer", "survey"]
