"""Findings about the measurement of bursts.

The checks are in :mod:`trustbed.diagnose.burst_findings`.
"""

from __future__ import annotations

from trustbed.findings import Entry

BURST_ENTRIES = (
    Entry(
        "burst_no_packets",
        "warning",
        "capture",
        "there is nothing to measure",
        "records",
        "The capture holds no packets, or none that count.",
        "check the filter, the file and the interface that was captured on",
    ),
    Entry(
        "burst_no_whole_window",
        "warning",
        "capture",
        "the capture is shorter than a window",
        "seconds",
        "A window that the end of the capture cuts has too low an average, so means and maxima "
        "leave it out: there are none.",
        "give a shorter --window, or --align first, or capture for longer",
    ),
    Entry(
        "burst_clock_steps",
        "warning",
        "capture",
        "the capture's clock stepped back",
        "steps",
        "A record's timestamp is earlier than that of a record before it, by more than "
        "reordering explains. Everything after it was shifted so that time goes on; the gap at "
        "the step is unknown and counts as none, so a burst there can look denser than it was.",
        "keep the clock from being stepped during the capture (let chrony slew)",
    ),
    Entry(
        "burst_silence",
        "warning",
        "capture",
        "one silence makes up most of the capture",
        "share",
        "Means, energies and the Hurst parameter count the silence as traffic of rate 0. It may "
        "be real; a clock that jumped, or two captures in one file, look the same.",
        "measure the parts on their own (editcap -A and -B cut by time)",
    ),
    Entry(
        "burst_super_packets",
        "info",
        "capture",
        "super-packets of segmentation offload were split into frames",
        "packets",
        "The host captured large packets that its interface splits, or merged itself, so their "
        "frames have no times of their own. Stacked they are the largest burst that they can "
        "have been.",
        "give --offload spread with --link-rate, or capture with offload switched off (`ethtool "
        "-K eth0 tso off gso off gro off`)",
    ),
    Entry(
        "burst_without_ip",
        "info",
        "capture",
        "frames without an IP header were left out",
        "frames",
        "With IP lengths as the basis, ARP and the like have no length. They loaded the link all "
        "the same.",
        "measure with --basis frame or --basis wire to count them",
    ),
)
