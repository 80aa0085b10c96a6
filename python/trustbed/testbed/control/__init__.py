"""What is said to a host that is another machine: one duplex stream carries commands with their streams, files, and the time.

It does not matter what the stream is: a guest's serial port, the standard streams of a program that was started over SSH, or a command
prefix. The other end is ``trustbed-agent control``.
"""

from __future__ import annotations

from trustbed.testbed.control.commands import ControlledProcess
from trustbed.testbed.control.control import Control
from trustbed.testbed.control.host import ControlledHost
from trustbed.testbed.control.link import Loss
from trustbed.testbed.control.peer import Peer, Reading

__all__ = ["Control", "ControlledHost", "ControlledProcess", "Loss", "Peer", "Reading"]
