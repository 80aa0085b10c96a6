"""Findings about two joined captures: what makes their losses and delays less reliable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trustbed.diagnose.catalogue import finding
from trustbed.findings import Finding
from trustbed.findings.words import count_words, percent_words, seconds_words

Row = Mapping[str, Any]
Model = Mapping[str, Any]

UNSEEN_SHARE = 0.001
APART_SHARE = 0.01
NEGATIVE_SHARE = 0.001
"""Shares from which on it counts.

One frame in a thousand, one in a hundred of those that belong to no capture point.
"""
CAPTURES = ("first", "second")


def _unseen(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    unseen, arrived = (
        sum(row["data_frames_missed"] for row in rows),
        sum(row["data_frames_missed"] + row["data_frames_delivered"] for row in rows),
    )
    if unseen and unseen / arrived >= UNSEEN_SHARE:
        yield finding(
            "two_point_frames_missed",
            f"{count_words(unseen, 'data frame')} ({percent_words(unseen / arrived)}) "
            f"arrived and are missing in the sender's capture",
            value=unseen / arrived,
            threshold=UNSEEN_SHARE,
        )


def _apart(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    shares = [
        part / whole if whole else 0.0
        for part, whole in zip(model["without_capture_point"], model["frames"], strict=True)
    ]
    if max(shares) >= APART_SHARE:
        yield finding(
            "two_point_connections_apart",
            f"{percent_words(max(shares))} of the frames belong to connections that were "
            f"not joined",
            value=max(shares),
            threshold=APART_SHARE,
            evidence=", ".join(
                f"{part} of {whole} frames of the {which}" for part, whole, which in _counts(model)
            ),
        )


def _dropped(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    if any(model["dropped"]):
        dropped = [count for count in zip(model["dropped"], CAPTURES, strict=True) if count[0]]
        total = sum(model["dropped"])
        yield finding(
            "two_point_capture_drops",
            f"{count_words(total, 'packet')} passed a capture point and "
            f"{'is' if total == 1 else 'are'} missing in its capture",
            value=total / (total + sum(model["frames"])),
            threshold=0.0,
            evidence=", ".join(f"{count} dropped at the {which}" for count, which in dropped),
        )


def _counts(model: Model) -> Iterator[tuple[int, int, str]]:
    yield from zip(model["without_capture_point"], model["frames"], CAPTURES, strict=True)


def _negative(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    negative, passed = (
        sum(row["delays_negative"] for row in rows),
        sum(row["data_frames_delivered"] + row["no_payload_frames_delivered"] for row in rows),
    )
    if negative and negative / passed >= NEGATIVE_SHARE:
        least = min(row["owd_min_ns"] for row in rows if row["owd_min_ns"] is not None)
        yield finding(
            "two_point_delays_negative",
            f"{count_words(negative, 'frame')} arrived before they were sent, by up to "
            f"{seconds_words(-least / 1e9)}",
            value=negative / passed,
            threshold=NEGATIVE_SHARE,
        )


def _uncertain(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    error = model["clocks"]["ahead_error_seconds"]
    if error > 0 and rows:
        yield finding(
            "two_point_clocks_uncertain",
            f"one-way delays may be wrong by {seconds_words(error)}, in either direction",
            value=error,
        )


def _slewed(model: Model, rows: Sequence[Row]) -> Iterator[Finding]:
    reach = model["clocks"]["clock_slew_seconds"]
    if reach is not None:
        yield finding(
            "two_point_clocks_slewed",
            f"the two clocks drifted by {seconds_words(reach)} against each other",
            value=reach,
        )


CHECKS: tuple[Callable[[Model, Sequence[Row]], Iterator[Finding]], ...] = (
    _dropped,
    _unseen,
    _apart,
    _negative,
    _uncertain,
    _slewed,
)


def two_point_findings(model: Model, rows: Sequence[Row]) -> list[Finding]:
    """Every finding.

    ``model`` has what was counted over all frames, ``rows`` the table of two_point.
    """
    return [found for check in CHECKS for found in check(model, rows)]
