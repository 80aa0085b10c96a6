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
    both.two_point                    # losses, one-way delays, the receiver's part of the RTT

    study = trustbed.run("study.toml", out="study.run")
    study = trustbed.open_run("study.run")
    study.cells                       # results of every cell with their confidence intervals
    study.report("report.html")       # and which repetitions must not be used

    beds = trustbed.compare("metal.run", "guest.run")
    beds.cases[0].candidates[0].levels  # equivalent, different or open, level by level

    paths = trustbed.campaign("campaign.toml", out="campaign.pairs")
    paths = trustbed.open_campaign("campaign.pairs")
    paths.pairs                       # what the network gives between the hosts

    lab = trustbed.open_store("s3://lab/store")
    lab.transfers.lazy()              # of many captures, as a polars frame; phases, runs, …

Importing this package costs a few milliseconds: Arrow and the engine load with the first name that
needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustbed._core import CaptureError
    from trustbed.analysis.burst import Burstiness, burst
    from trustbed.analysis.capture import Capture, analyze
    from trustbed.analysis.transfer import Transfer
    from trustbed.analysis.two_point import TwoPoint, join
    from trustbed.campaign.api import campaign
    from trustbed.campaign.results import Campaign, open_campaign
    from trustbed.compare.api import compare
    from trustbed.report.placing import OutputError
    from trustbed.run.api import run
    from trustbed.run.directory import RunDirectoryError
    from trustbed.run.results import Run, open_run
    from trustbed.store.store import Store, open_store

__all__ = [
    "Burstiness",
    "Campaign",
    "Capture",
    "CaptureError",
    "OutputError",
    "Run",
    "RunDirectoryError",
    "Store",
    "Transfer",
    "TwoPoint",
    "__version__",
    "analyze",
    "burst",
    "campaign",
    "compare",
    "join",
    "open_campaign",
    "open_run",
    "open_store",
    "run",
]

__version__ = "0.1.0"

_HOMES = {
    "Burstiness": "trustbed.analysis.burst",
    "Campaign": "trustbed.campaign.results",
    "Capture": "trustbed.analysis.capture",
    "CaptureError": "trustbed._core",
    "OutputError": "trustbed.report.placing",
    "Run": "trustbed.run.results",
    "RunDirectoryError": "trustbed.run.directory",
    "Store": "trustbed.store.store",
    "Transfer": "trustbed.analysis.transfer",
    "TwoPoint": "trustbed.analysis.two_point",
    "analyze": "trustbed.analysis.capture",
    "burst": "trustbed.analysis.burst",
    "join": "trustbed.analysis.two_point",
    "open_campaign": "trustbed.campaign.results",
    "open_run": "trustbed.run.results",
    "open_store": "trustbed.store.store",
}

_PACKAGES = ("campaign", "compare", "run")
"""Packages that can be called (docs/decisions/0025-callable-packages.md)."""


def __getattr__(name: str) -> object:
    """Loads a public name from its home on first use."""
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
