"""Hosts that are other machines.

Reached by SSH, by a command that runs others there, or without leaving this one.

``with Hosts(inventory) as hosts`` and ``hosts.connect()`` copy the agent to each and start it; then
``hosts["alpha"]`` serves the same requests as any host: commands, agents, files, its clock, its
ports. The connection is the control channel, and nothing else is opened.
"""

from __future__ import annotations

from trustbed.scenario.inventory import transport_of
from trustbed.testbed.remote.host import RemoteHost, title_of
from trustbed.testbed.remote.hosts import Hosts
from trustbed.testbed.remote.machines import Machines, survey
from trustbed.testbed.remote.program import Keep

__all__ = ["Hosts", "Keep", "Machines", "RemoteHost", "survey", "title_of", "transport_of"]
