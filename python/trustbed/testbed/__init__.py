"""Where experiments run.

Hosts that are network namespaces of this machine, joined through the switch namespace, where links
are emulated.

:func:`plan` decides everything and touches nothing; :class:`Testbed` makes it and removes it. Names
are ``tb-ID-HOST``, so that ``ip netns`` shows them, and every testbed is recorded before it is
made (:mod:`~trustbed.testbed.netns.registry`), so that what a killed process has left is found and
removed. Root makes testbeds that all users see; an ordinary user, in a user namespace
(:func:`prepare`).
"""

from __future__ import annotations

from trustbed.agent.processes import Process
from trustbed.errors import TestbedError
from trustbed.testbed.netns.plan import Host, Plan, VethLink, plan
from trustbed.testbed.netns.rootless import prepare
from trustbed.testbed.netns.testbed import Testbed

__all__ = ["Host", "Plan", "Process", "Testbed", "TestbedError", "VethLink", "plan", "prepare"]
