"""The part of the catalogue that is about measuring bursts. The checks are in :mod:`trustbed.diagnose.burst_findings`."""

from __future__ import annotations

from trustbed.diagnose.entry import Entry

BURST_ENTRIES = (
    Entry(
        "burst_no_packets",
        "warning",
        "capture",
        "there is nothing to measure",
        "records",
        "The capture holds no packets, or none that count.",
        "look at the filter, the file and the interface that was captured on",
    ),
    Entry(
        "burst_no_whole_window",
        "warning",
        "capture",
        "the capture is shorter than a window",
        "seconds",
        "A window that the end of the capture cuts has too low an average, so it is left out of means and maxima: there are none.",
        "give a shorter --window, or --align first, or capture for longer",
    ),
    Entry(
        "burst_clock_steps",
        "warning",
        "capture",
        "time went on where the capture's clock stepped back",
        "steps",
        "A record is stamped earlier than one before it by more than reordering explains. Everything behind it was moved so that time "
        "goes on; the gap at the step itself is not known and counts as none, so a burst there can look denser than it was.",
        "keep the clock from being set during the capture (slewing chrony instead of stepping)",
    ),
    Entry(
        "burst_silence",
        "warning",
        "capture",
        "one silence makes up most of the capture",
        "share",
        "Means, energies and the Hurst parameter count the silence as traffic of rate 0. It may be real; a clock that jumped, or two "
        "captures in one file, look the same.",
        "measure the parts on their own (editcap -A and -B cut by time)",
    ),
    Entry(
        "burst_super_packets",
        "info",
        "capture",
        "super-packets of segmentation offload were cut into frames",
        "packets",
        "The host captured large packets that its interface cuts, or put together, so their frames' own times are not known. Stacked they "
        "are the largest burst that they can have been.",
        "say --offload spread with --link-rate, or capture with offload switched off (`ethtool -K eth0 tso off gso off gro off`)",
    ),
    Entry(
        "burst_without_ip",
        "info",
        "capture",
        "frames without an IP header were left out",
        "frames",
        "With IP lengths as the basis, ARP and the like have no length. They loaded the link all the same.",
        "measure with --basis frame or --basis wire to count them",
    ),
)
