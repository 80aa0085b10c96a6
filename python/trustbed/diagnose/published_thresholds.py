"""The thresholds of what published measurements show.

Model, delay, loss, pauses, window, processor, stalls.

Holds values with their meaning and their source; decides nothing. Those of the shape of a transfer
and of captures come on top in :mod:`trustbed.diagnose.thresholds`, which is what the rest of the
package uses and which names the sources.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.findings import value


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedThresholds:
    """Shares are 0…1, times are seconds, scores are in hundredths."""

    explained_ratio: float = value(
        0.8,
        "throughput is explained when it reaches this share of what window, delay, loss and "
        "capacity allow",
        "VTN: the two explained pairs reach 0.94 and more, every anomalous run 0.57 or less",
    )
    half_explained_ratio: float = value(
        0.5,
        "inside a throughput gap the loss bound still counts when the throughput reaches this "
        "share of what is expected",
        "VTN, EC2; provisional",
    )
    loss_bound_margin: float = value(
        0.9,
        "loss bounds a transfer when the loss model allows less than this share of what window "
        "and capacity allow",
        "keeps noise from deciding between two nearly equal bounds",
    )
    loss_model_refuted_ratio: float = value(
        1.5,
        "the loss model is refuted when the transfer was faster than it allows by this factor",
        "Mathis et al. 1997 assume random loss and Reno; CUBIC and BBR exceed the model",
    )
    loss_events_minimum: float = value(
        5,
        "the loss model needs at least this many losses",
        "a rate counted from fewer events is off by 45 % or more (1/√n)",
    )
    inflation: float = value(
        1.2,
        "RTT is inflated when its mean is this multiple of its base",
        "VTN: 1.30 for the congested pair, at most 1.125 for the others",
    )
    inflation_clear: float = value(
        1.25,
        "inflation at which the congestion verdict gains confidence",
        "VTN, between 1.125 and 1.30",
    )
    inflation_thin: float = value(
        1.3,
        "up to this inflation a congestion verdict with decisive loss names loss as the other "
        "reading",
        "REC: 1.26 where the base RTT was itself measured in a standing queue",
    )
    long_pause_fraction: float = value(
        0.2,
        "pauses are long when pauses longer than the base RTT make up this share of the transfer",
        "REC: 0.00 for undisturbed senders, 0.41 and more for stopped ones",
    )
    idle_open_window_fraction: float = value(
        0.3,
        "pauses are long when the sender was idle with an open window for this share of the "
        "transfer",
        "REC: at most 0.15 for undisturbed senders, 0.50 and more for starved ones; provisional",
    )
    idle_open_window_clear: float = value(
        0.45,
        "share idle with an open window at which the host verdict gains confidence",
        "REC: 0.50 and more; provisional",
    )
    window_closed: float = value(
        0.2,
        "the receiver limits when its window was below two segments for this share of the time",
        "the same share that counts for pauses",
    )
    window_closed_clear: float = value(
        0.5, "closed share at which that verdict gains confidence", "half of the time"
    )
    window_saturated: float = value(
        0.9,
        "the advertised window stood near its maximum for this share of the time: flow control "
        "did not interfere",
        "VTN",
    )
    window_exceeded: float = value(
        1.1,
        "throughput above this multiple of the window bound shows that the assumed window or RTT "
        "is wrong",
        "EC2: the published probe that beats a 16 KB window",
    )
    window_met: float = value(
        1.1,
        "throughput up to this multiple of the expected one still confirms the window bound",
        "as window_exceeded",
    )
    capacity_exceeded: float = value(
        1.1,
        "throughput above this multiple of the capacity bound shows that the capacity given is "
        "wrong",
        "as window_exceeded",
    )
    packets_in_flight_least: float = value(
        1.0,
        "a sender with fewer packets in flight on average was idle most of the time, so a queue "
        "alone did not set its speed",
        "Little's law: X·R bytes are in flight on average, and a sender that waits for the path "
        "has at least one packet there",
    )
    loss_decisive: float = value(
        0.005,
        "loss rate that explains a throughput gap by itself",
        "EC2: 0.42 % to 1.7 % on lossy paths; provisional",
    )
    loss_heavy: float = value(0.01, "loss rate at which the loss verdict gains confidence", "EC2")
    loss_negligible: float = value(
        0.001,
        "below this loss rate a host verdict gains confidence",
        "VTN: 0.015 % and less on clean paths",
    )
    loss_present: float = value(
        0.0001,
        "above this loss rate a congestion verdict gains confidence",
        "VTN: 0.049 % on the congested pair",
    )
    app_limited: float = value(
        0.5,
        "the application limits when it had nothing to send for this share of the time",
        "REC: 0.81 against 0.42",
    )
    app_hint: float = value(
        0.1,
        "from this share on an idle application is named as the alternative to a stopped machine",
        "REC: 0.00 for a starved guest, 0.12 and more where both readings are possible",
    )
    rwnd_hint: float = value(
        0.2,
        "a sender that fills the window for this share of the time had more to send: suggests "
        "the host",
        "REC: 0.43 for a stopped bulk sender, 0.00 for an application that pauses",
    )
    cpu_starved: float = value(
        0.9,
        "share of a core below which a host is starved",
        "VTN: availability below one core on the anomalous nodes",
    )
    cpu_free: float = value(
        0.95, "share of a core from which the CPU speaks against scheduling", "VTN"
    )
    stall_seconds: float = value(
        5.0,
        "host-wide stalls of this total length decide",
        "VTS: one reset stops a host for about 13 s",
    )
    stall_share: float = value(
        0.1,
        "host-wide stalls of this share of the transfer decide",
        "a tenth of the time is a tenth of the throughput",
    )
    reset_period_seconds: float = value(
        13.0, "a driver that resets its transmit queue stalls for multiples of this", "VTS"
    )
    reset_tolerance_seconds: float = value(0.5, "how near to a multiple a stall must be", "VTS")
    discard_hundredths: float = value(
        80,
        "a host cause is discarded from this score on and reviewed below it",
        "VTN: a human looks first",
    )
