"""Findings about two captures of the same packets.

The checks are in :mod:`trustbed.diagnose.two_point_findings`.
"""

from __future__ import annotations

from trustbed.findings import Entry

TWO_POINT_ENTRIES = (
    Entry(
        "two_point_capture_drops",
        "warning",
        "capture",
        "a capture dropped packets",
        "share",
        "The capturing program at one of the points counted packets that it had no room for. A "
        "packet dropped at the receiver looks lost on the path, so losses counted by two "
        "captures are not used for verdicts then. Delays and round trips are not affected.",
        "capture fewer bytes of each packet, with a filter or a larger buffer, or on a less busy "
        "machine",
    ),
    Entry(
        "two_point_frames_missed",
        "warning",
        "capture",
        "frames arrived that the sender's capture lacks",
        "share",
        "The receiver's capture holds data frames that the sender's does not: it dropped "
        "packets, or something on the path rewrote or created them. Frames that look lost may "
        "have been rewritten, too.",
        "read the drop counters of the first capture; capture where nothing in between rewrites "
        "packets (no NAT, no proxy)",
    ),
    Entry(
        "two_point_connections_apart",
        "warning",
        "capture",
        "connections could not be joined",
        "share",
        "Of these connections the two captures do not both hold distinguishable frames of both "
        "directions, so the point at which each begins is unknown. Nothing is reported about "
        "them.",
        "capture both directions at both points, at the same time, for longer than a connection "
        "takes to begin",
    ),
    Entry(
        "two_point_delays_negative",
        "warning",
        "capture",
        "frames arrived before they were sent",
        "share",
        "By both clocks these frames took less than no time: the clock offset given or found is "
        "wrong, or one clock was stepped or slewed in between. One-way delays are wrong by at "
        "least as much; losses and the parts of round trips are not affected.",
        "leave --same-clock away unless one clock timestamped both captures; keep clocks from "
        "being stepped while capturing",
    ),
    Entry(
        "two_point_clocks_slewed",
        "info",
        "capture",
        "a clock was slewed during the capture",
        "seconds",
        "No two clocks that run evenly explain the delays of both directions: one was slewed, or "
        "stepped a little, by more than the path takes. The offset was tracked from frame to "
        "frame; while a queue lasts it is known only within what a clock may drift meanwhile "
        "(500 ppm), which the stated error includes. Losses and the parts of round trips are not "
        "affected.",
        "let clocks settle before measuring (`chronyc waitsync`), or timestamp both captures "
        "with one clock",
    ),
    Entry(
        "two_point_clocks_uncertain",
        "info",
        "capture",
        "one-way delays are known only within half a round trip",
        "seconds",
        "Two clocks are compared by packets that take time themselves: by the minimum one-way "
        "delays of both directions, which are assumed to be equal. If they are not, one "
        "direction is too long by what the other is too short. Their sum is right, and so are "
        "variations.",
        "give --same-clock if one clock timestamped both captures; else synchronise the clocks "
        "(PTP, chrony with hardware timestamps)",
    ),
)
