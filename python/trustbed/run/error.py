"""The error of a run that cannot continue."""

from __future__ import annotations

from trustbed.errors import TrustbedError


class RunError(TrustbedError):
    """A run that cannot continue. Repetitions that were completed before stay valid."""
