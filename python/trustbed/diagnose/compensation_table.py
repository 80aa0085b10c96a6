"""What `make truth` found about the estimate of :mod:`trustbed.diagnose.compensation`.

Computes nothing.

The interval is of odd seeds of an earlier plan, on which the estimate was developed; the counts are
of the held-out families of networks, and docs/validation.md shows them. A test holds them against
that page.
"""

from __future__ import annotations

from trustbed.diagnose.calibration import CapturePoint

NEAR, WANTED_SHARE = 0.10, 0.90
"""Reports show an estimate while it is within ``NEAR`` for this share of validated transfers."""

LOW, HIGH = 0.92, 1.10
"""What undisturbed transfers of the same networks gave, over the estimate.

95 % of the odd seeds lie between, rounded outwards.
"""

WITHIN: dict[CapturePoint, tuple[int, int]] = {"beside_with_host": (25, 27), "beside": (7, 7)}
"""How many estimates were within :data:`NEAR`, of how many, on the held-out families.

By capture point and host evidence.
"""

HAS_INTERVAL = False
"""Whether the development half has enough estimates for an interval of its own."""

IS_SHOWN = HAS_INTERVAL and all(hits >= WANTED_SHARE * of for hits, of in WITHIN.values())
"""Whether an estimate is shown at all."""
