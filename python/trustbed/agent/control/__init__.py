"""The control channel of a host that is another machine.

One duplex stream carries commands with their streams, files, and the time.

It does not matter what the stream is: a guest's serial port, the standard streams of a program that
was started over SSH, or a command prefix. The other end is ``trustbed-agent control``.
"""

from __future__ import annotations

from trustbed.agent.control.commands import ControlledProcess
from trustbed.agent.control.control import Control
from trustbed.agent.control.host import ControlledHost
from trustbed.agent.control.link import Loss
from trustbed.agent.control.peer import Peer, Reading

__all__ = ["Control", "ControlledHost", "ControlledProcess", "Loss", "Peer", "Reading"]
