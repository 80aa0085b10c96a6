"""trustbed: is that number the network's, or the testbed's, and why?

    import trustbed

    capture = trustbed.analyze("server.pcap", workload="bulk")
    capture.transfers                 # a pyarrow Table; polars, pandas and DuckDB take it as it is
    capture.transfer("1.0").diagnosis # cause, confidence, verdict, and the numbers that decided
    capture.report("report.html")     # one self-contained page

    traffic = trustbed.burst("server.pcap")
    traffic.summary                   # mean and maximum of the average rate and of the burstiness
    traffic.chart("energy")           # on which time scales it varies

    both = trustbed.join("client.pcap", "server.pcap")
    both.crossings                    # what was lost between the two, how long it took, what the receiver's machine took of it

    run = trustbed.open_run("study.run")
    run.cells                         # results of every cell with their confidence intervals
    run.report("report.html")         # and which repetitions must not be used

Importing this package costs a few milliseconds: Arrow and the engine load with the first name that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustbed._core import CaptureError
    from trustbed.burstiness import Burstiness, burst
    from trustbed.capture import Capture, analyze
    from trustbed.ends import Ends, join
    from trustbed.report.placing import OutputError
    from trustbed.run.directory import RunDirectoryError
    from trustbed.run_report import Run, open_run
    from trustbed.transfer import Transfer

__all__ = [
    "Burstiness",
    "Capture",
    "CaptureError",
    "Ends",
    "OutputError",
    "Run",
    "RunDirectoryError",
    "Transfer",
    "__version__",
    "analyze",
    "burst",
    "join",
    "open_run",
]

__version__ = "0.1.0"

_HOMES = {
    "Burstiness": "trustbed.burstiness",
    "Capture": "trustbed.capture",
    "CaptureError": "trustbed._core",
    "Ends": "trustbed.ends",
    "OutputError": "trustbed.report.placing",
    "Run": "trustbed.run_report",
    "RunDirectoryError": "trustbed.run.directory",
    "Transfer": "trustbed.transfer",
    "analyze": "trustbed.capture",
    "burst": "trustbed.burstiness",
    "join": "trustbed.ends",
    "open_run": "trustbed.run_report",
}


def __getattr__(name: str) -> object:
    """Loads a public name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
