"""The part of the catalogue that is about two captures of the same packets. The checks are in :mod:`trustbed.diagnose.ends_findings`."""

from __future__ import annotations

from trustbed.diagnose.entry import Entry

ENDS_ENTRIES = (
    Entry(
        "ends_capture_drops",
        "warning",
        "capture",
        "a capture dropped packets",
        "share",
        "Whoever captured at one of the places counted packets for which there was no room. Dropped where they arrived, they look lost on "
        "the way: losses that two captures count are not used for verdicts then. Delays and round trips are not touched by it.",
        "capture fewer bytes of each packet, with a filter or a larger buffer, or on a machine that is less busy",
    ),
    Entry(
        "ends_frames_unseen",
        "warning",
        "capture",
        "frames arrived that were not seen where they came from",
        "share",
        "Beside the receiver there are data frames that the capture beside the sender does not hold: it dropped packets, or something on "
        "the way changed or made them. What looks lost may have been changed, too.",
        "look at the drop counters of the first capture; capture where nothing rewrites packets (no NAT, no proxy) lies in between",
    ),
    Entry(
        "ends_connections_apart",
        "warning",
        "capture",
        "connections could not be joined",
        "share",
        "Of these connections not both directions were seen at both places with frames that can be told apart, so it is not known "
        "which place they begin at. Nothing is said about them.",
        "capture both directions at both places, at the same time, for longer than a connection takes to begin",
    ),
    Entry(
        "ends_delays_negative",
        "warning",
        "capture",
        "frames arrived before they were sent",
        "share",
        "By both clocks these frames took less than no time: the clocks are not as far apart as was stated or found, or one was set or "
        "slewed in between. One-way delays are wrong by at least as much; losses, and round trips taken apart, are not touched by it.",
        "leave --same-clock away if the two captures were not stamped by one clock; keep clocks from being set while capturing",
    ),
    Entry(
        "ends_clocks_steered",
        "info",
        "capture",
        "a clock was steered while packets were captured",
        "seconds",
        "No two clocks that run evenly explain the delays of both directions: one was steered, or set by a little, by more than the way "
        "takes. The offset was followed from frame to frame: while a queue stands it is known only within what a clock may have gone "
        "meanwhile (500 ppm), which the error that is stated includes. Losses, and round trips taken apart, are not touched by it.",
        "let clocks settle before measuring (`chronyc waitsync`), or stamp both captures with one clock",
    ),
    Entry(
        "ends_clocks_uncertain",
        "info",
        "capture",
        "one-way delays are known only within half of a round trip",
        "seconds",
        "Two clocks are compared by packets that took time themselves: by the smallest delays of both directions, which are taken to be "
        "equal. Where they are not, one direction is too long by what the other is too short. Their sum is right, and so is what varies.",
        "say --same-clock if one clock stamped both captures; else synchronise the clocks (PTP, chrony with hardware timestamps)",
    ),
)
