"""How long a test waits for what must come.

A machine may be withheld for seconds by whoever shares it, and everything on it then takes many
times as long. No test claims a speed: what is waited for either comes, or the test fails after this
time, which only bounds a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 100.0
"""In seconds.

Shorter than the time that pytest grants a test, so that the test itself says what did not come.
"""


def wait_until(holds: Callable[[], object], what: str, *, seconds: float = PATIENCE) -> None:
    """Returns as soon as something holds; the test fails with ``what`` if that never comes."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.01)
