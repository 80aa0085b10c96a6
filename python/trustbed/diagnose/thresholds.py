"""Every number the diagnosis compares against, in one place.

Holds values with their meaning and their source; decides nothing. A calibration replaces the whole set:
``dataclasses.replace(THRESHOLDS, withheld_fraction=0.4)`` is handed to :func:`trustbed.diagnose.diagnose` and nothing else changes.

Bias: the thresholds stand where the published cases and the recorded transfers lie far apart. They are provisional in between, and the
confidence of a diagnosis says so.

Sources named below:
  VTN  Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed (PlanetLab node pairs)
  EC2  Internet Traffic Characteristics of Virtual Machine on Amazon EC2
  VTS  Virtually the Same: Comparing Physical and Virtual Testbeds (e1000 transmit-queue resets)
  REC  ten recorded transfers of real TCP stacks whose cause was made on purpose
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any


def _value(default: float, meaning: str, source: str) -> Any:  # noqa: ANN401 - dataclasses.field is typed this way
    return field(default=default, metadata={"meaning": meaning, "source": source})


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """All thresholds of rules, confidence, limits and findings. Shares are 0…1, times are seconds, confidence is in hundredths."""

    explained_ratio: float = _value(
        0.8,
        "throughput is explained when it reaches this share of what window, delay, loss and capacity allow",
        "VTN: the two explained pairs reach 0.94 and more, every anomalous run 0.57 or less",
    )
    half_explained_ratio: float = _value(
        0.5,
        "inside a deficit the loss bound is still believed when the throughput reaches this share of what is expected",
        "VTN, EC2; provisional",
    )
    loss_bound_margin: float = _value(
        0.9,
        "loss bounds a transfer when the loss model allows less than this share of what window and capacity allow",
        "keeps two nearly equal bounds from being told apart by noise",
    )
    loss_model_refuted_ratio: float = _value(
        1.5,
        "the loss model is refuted when the transfer was faster than it allows by this factor",
        "Mathis et al. 1997 assume random loss and Reno; CUBIC and BBR exceed the model",
    )
    loss_events_minimum: float = _value(
        5,
        "the loss model needs at least so many losses",
        "a rate counted from fewer events is off by 45 % or more (1/√n)",
    )
    inflation: float = _value(
        1.2,
        "RTT is inflated when its mean is this multiple of its base",
        "VTN: 1.30 for the congested pair, at most 1.125 for the others",
    )
    inflation_clear: float = _value(1.25, "inflation at which the congestion verdict gains confidence", "VTN, between 1.125 and 1.30")
    inflation_thin: float = _value(
        1.3,
        "up to this inflation a congestion verdict with decisive loss names loss as the other reading",
        "REC: 1.26 where the base RTT was itself measured in a standing queue",
    )
    oversize_fraction: float = _value(
        0.2,
        "pauses are oversize when pauses longer than the base RTT make up this share of the transfer",
        "REC: 0.00 for undisturbed senders, 0.41 and more for stopped ones",
    )
    withheld_fraction: float = _value(
        0.35,
        "pauses are oversize when data was withheld under an open window for this share of the transfer",
        "REC: at most 0.15 for undisturbed senders, 0.50 and more for starved ones; provisional",
    )
    withheld_clear: float = _value(0.45, "withheld share at which the host verdict gains confidence", "REC: 0.50 and more; provisional")
    window_closed: float = _value(
        0.2,
        "the receiver limits when its window was below two segments for this share of the time",
        "the same share that counts for pauses",
    )
    window_closed_clear: float = _value(0.5, "closed share at which that verdict gains confidence", "half of the time")
    window_saturated: float = _value(
        0.9, "the advertised window stood near its maximum for this share of the time: flow control did not interfere", "VTN"
    )
    window_exceeded: float = _value(
        1.1,
        "throughput above this multiple of the window bound shows that the assumed window or RTT is wrong",
        "EC2: the published probe that beats a 16 KB window",
    )
    window_met: float = _value(
        1.1, "throughput up to this multiple of the expected one still confirms the window bound", "as window_exceeded"
    )
    capacity_exceeded: float = _value(
        1.1, "throughput above this multiple of the capacity bound shows that the capacity given is wrong", "as window_exceeded"
    )
    packets_in_flight_least: float = _value(
        1.0,
        "a sender with fewer packets in flight on average was idle most of the time, so a queue alone did not set its speed",
        "Little's law: X·R bytes are in flight on average, and a sender that waits for the path has at least one packet there",
    )
    loss_decisive: float = _value(0.005, "loss rate that explains a deficit by itself", "EC2: 0.42 % to 1.7 % on lossy paths; provisional")
    loss_heavy: float = _value(0.01, "loss rate at which the loss verdict gains confidence", "EC2")
    loss_negligible: float = _value(0.001, "below this loss rate a host verdict gains confidence", "VTN: 0.015 % and less on clean paths")
    loss_present: float = _value(0.0001, "above this loss rate a congestion verdict gains confidence", "VTN: 0.049 % on the congested pair")
    app_limited: float = _value(
        0.5, "the application limits when it had nothing to send for this share of the time", "REC: 0.81 against 0.42"
    )
    app_hint: float = _value(
        0.1,
        "from this share on an idle application is named as the alternative to a stopped machine",
        "REC: 0.00 for a starved guest, 0.12 and more where both readings are possible",
    )
    rwnd_hint: float = _value(
        0.2,
        "a sender that fills the window for this share of the time had more to send: speaks for the machine",
        "REC: 0.43 for a stopped bulk sender, 0.00 for an application that pauses",
    )
    cpu_starved: float = _value(
        0.9, "share of a core below which a host is starved", "VTN: availability below one core on the anomalous nodes"
    )
    cpu_free: float = _value(0.95, "share of a core from which the CPU speaks against scheduling", "VTN")
    stall_seconds: float = _value(5.0, "host-wide stalls of this total length decide", "VTS: one reset stops a host for about 13 s")
    stall_share: float = _value(
        0.1, "host-wide stalls of this share of the transfer decide", "a tenth of the time is a tenth of the throughput"
    )
    reset_period_seconds: float = _value(13.0, "a driver that resets its transmit queue stalls for multiples of this", "VTS")
    reset_tolerance_seconds: float = _value(0.5, "how near to a multiple a stall must be", "VTS")
    discard_hundredths: float = _value(
        80, "a host cause is discarded from this confidence on and reviewed below it", "VTN: a human looks first"
    )
    kernel_time_share: float = _value(
        0.5, "share of its busy time that a socket was limited by window or send buffer", "tcp_info: tcpi_rwnd_limited, tcpi_sndbuf_limited"
    )
    capture_loss_share: float = _value(
        0.001,
        "share of a transfer's bytes acknowledged but missing in the capture from which its verdict is lowered",
        "the smallest loss rate that any rule weighs is of this size",
    )
    kernel_drop_share: float = _value(
        0.01,
        "share of packets dropped while capturing from which pauses are not believed",
        "one in a hundred packets; acknowledged-but-unseen bytes show smaller losses per transfer",
    )
    skipped_share: float = _value(
        0.01,
        "share of records that should have been measured and were not, from which pauses and losses are not believed",
        "as kernel_drop_share",
    )
    duplicate_share: float = _value(
        0.001,
        "share of packets captured twice from which losses are not believed",
        "a copy reads as a retransmission: as capture_loss_share",
    )
    timestamp_share: float = _value(
        0.1,
        "timestamps are too coarse, or too far out of order, when their error is this share of the base RTT",
        "the causes lie about 0.1 apart in RTT inflation (1.125 against 1.2)",
    )
    coarse_timestamp_seconds: float = _value(
        0.001, "timestamps of this granularity are reported for the whole capture", "withheld time is counted from 1 ms on"
    )
    clock_step_share: float = _value(0.01, "a clock step of this share of a transfer's duration spoils its throughput", "one in a hundred")
    reordered_share: float = _value(
        0.01, "share of records out of order from which their disorder counts as a timing error", "one in a hundred"
    )
    equal_timestamp_share: float = _value(
        0.5,
        "share of records stamped like the one before, from which pauses below the RTT are not believed",
        "full frames at 10 Gbit/s lie 1.2 µs apart, so a clock of 1 µs alone gives a fifth of them equal stamps; provisional",
    )
    bunched_share: float = _value(0.5, "share of records stamped in bunches from which that is reported", "provisional")


THRESHOLDS = Thresholds()
"""The values in use unless others are given."""


@lru_cache(maxsize=8)
def _values(thresholds: Thresholds) -> Mapping[str, float]:
    return asdict(thresholds)


def filled(words: str, thresholds: Thresholds) -> str:
    """The words with every threshold named in braces replaced by its value; ``{name:.0%}`` gives ``20 %``."""
    return words.format_map(_values(thresholds)).replace("%", " %")
