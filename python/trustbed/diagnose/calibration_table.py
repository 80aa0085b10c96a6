"""The model that the stated confidence follows.

Transfers for development whose cause was made.

Written by `python -m validation truth --fit` from 0 transfers. Do not edit. How it is used:
:mod:`trustbed.diagnose.calibration`.
"""

from __future__ import annotations

from trustbed.diagnose.calibration import Model

MODEL: Model | None = None
