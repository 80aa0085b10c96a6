"""A run that cannot go on, and what to do about it."""

from __future__ import annotations

from trustbed.errors import TrustbedError


class RunError(TrustbedError):
    """A run that cannot go on. What was measured so far is complete."""
