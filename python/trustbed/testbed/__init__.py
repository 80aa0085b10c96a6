"""Where experiments run: hosts that are network namespaces of this machine, joined through a middle one where links are emulated.

:func:`plan` decides everything and touches nothing; :class:`Testbed` makes it and removes it. Names are ``tb-ID-HOST``, so that ``ip
netns`` shows them, and every testbed is written down before it is made (:mod:`~trustbed.testbed.registry`), so that what a killed process
has left is found and removed. Root makes testbeds where everybody sees them; anybody else in a user namespace (:func:`prepare`).
"""

from __future__ import annotations

from trustbed.testbed.bed import Testbed
from trustbed.testbed.error import TestbedError
from trustbed.testbed.plan import Cable, Host, Plan, plan
from trustbed.testbed.processes import Process
from trustbed.testbed.rootless import prepare

__all__ = ["Cable", "Host", "Plan", "Process", "Testbed", "TestbedError", "plan", "prepare"]
