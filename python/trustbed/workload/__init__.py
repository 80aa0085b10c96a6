"""What a workload did.

Outputs of known programs as tables, response times against their baseline, confidence intervals.

Pure functions on text, tables and numbers; nothing here runs a program or opens a file.
:mod:`~trustbed.workload.tools` knows the programs (``ab``, ``wrk``, ``httperf``, ``iperf3``,
``curl``), :mod:`~trustbed.workload.http` what background traffic does to response times,
:mod:`~trustbed.workload.intervals` how far a number can be trusted.
"""

from __future__ import annotations

from trustbed.workload.distribution import Step, cumulative, deviation, mean, quantile
from trustbed.workload.errors import WorkloadError
from trustbed.workload.http import (
    Comparison,
    Responses,
    Slowdown,
    compare,
    increases,
    noisy,
    slowdown,
    steady,
    steady_rows,
)
from trustbed.workload.intervals import (
    Interval,
    mean_interval,
    quantile_interval,
    ratio_interval,
    share_interval,
)
from trustbed.workload.tools import TOOLS, Prepared, prepare, read

__all__ = [
    "TOOLS",
    "Comparison",
    "Interval",
    "Prepared",
    "Responses",
    "Slowdown",
    "Step",
    "WorkloadError",
    "compare",
    "cumulative",
    "deviation",
    "increases",
    "mean",
    "mean_interval",
    "noisy",
    "prepare",
    "quantile",
    "quantile_interval",
    "ratio_interval",
    "read",
    "share_interval",
    "slowdown",
    "steady",
    "steady_rows",
]
