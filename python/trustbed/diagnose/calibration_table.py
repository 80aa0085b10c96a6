"""How often answers were right where the cause was made.

Written by `python -m validation truth --fit`. Do not edit. How it is used:
:mod:`trustbed.diagnose.calibration`. Empty: the rules of the time budget have not been fitted yet,
so that every confidence is its score.
"""

from __future__ import annotations

from trustbed.diagnose.calibration import Calibration

CALIBRATION: Calibration = {}
