"""The error of a comparison that cannot be made."""

from __future__ import annotations

from trustbed.errors import TrustbedError


class CompareError(TrustbedError):
    """Testbeds that cannot be compared: what, where, and what to do instead."""
