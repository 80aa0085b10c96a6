"""Hosts that are containers, run by docker or podman.

Their network namespace is the host's end of the emulated network; their files are those of an
image.
"""

from __future__ import annotations

from trustbed.testbed.container.container import INSIDE, Container
from trustbed.testbed.container.engine import Engine, choose, remove
from trustbed.testbed.container.survey import survey

__all__ = ["INSIDE", "Container", "Engine", "choose", "remove", "survey"]
