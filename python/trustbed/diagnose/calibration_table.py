"""How many answers of each kind were right, and a score's worth, by capture point.

Transfers for development whose cause was made.

Written by `python -m validation truth --fit` from 0 transfers. Do not edit. How it is used:
:mod:`trustbed.diagnose.calibration`.
"""

from __future__ import annotations

from trustbed.diagnose.calibration import Calibration

CALIBRATION: Calibration = {}
