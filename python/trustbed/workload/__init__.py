"""The results of workloads: program outputs as tables, slowdowns, confidence intervals.

Pure functions on text, tables and numbers; nothing here runs a program or opens a file.
:mod:`~trustbed.workload.tools` reads the output of ``ab``, ``wrk``, ``httperf``, ``iperf3`` and
``curl``, modules of their own that of flent, k8s-netperf, owping and ndt7-client;
:mod:`~trustbed.workload.http` compares response times with and without background traffic;
:mod:`~trustbed.workload.intervals` has the confidence intervals.
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
