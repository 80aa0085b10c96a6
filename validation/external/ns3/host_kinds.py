"""Kinds of simulated transfers that a host or its application limits.

Pure.
"""

from __future__ import annotations

from validation.external.ns3.accounts import harmless, mostly_idle, share, used
from validation.external.ns3.nets import MOST_MEGABITS, REVIEW, TRUST, Draft, Net


def window_limited(on: Net) -> Draft:
    """The receiver's buffer is smaller than the bandwidth-delay product."""
    smallest = 3 * on.mss if on.family == "plain" else 6 * on.mss
    window = max(smallest, on.draw.uniform(0.15, 0.7) * on.bdp)
    if on.family == "plain":
        window = max(smallest, window / on.draw.uniform(1, 5))
    return Draft(
        arguments=on.path(on.queue(1, 2, 50), rcvbuf=int(window)),
        causes=("window_limited",),
        verdicts=TRUST,
        holds=lambda a: (
            share(a, "rwnd") > 0.8
            and harmless(a)
            and used(a) < 0.85
            and 1000 * a["own_bytes"] / a["ticks"] > 0.6 * window / on.rtt
        ),
    )


def delayed_acks(on: Net) -> Draft:
    """So few segments fit the window that each round waits for the receiver's timer."""
    segments = on.draw.randint(2, 6)
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            rcvbuf=int((segments + 0.5) * on.mss),
            delayedAcks=segments + 2,
            delayedAckTimeout=on.draw.choice((0.04, 0.1, 0.2)),
            sndbuf=100_000,
        ),
        causes=("acknowledgements_delayed", "window_limited"),
        verdicts=("trust", "review"),
        holds=lambda a: (
            share(a, "rwnd") > 0.8
            and harmless(a)
            and 1000 * a["own_bytes"] / a["ticks"] < 0.5 * segments * on.mss / on.rtt
        ),
    )


def send_buffer(on: Net) -> Draft:
    """The sender's buffer is smaller than the bandwidth-delay product."""
    buffer = max(8 * on.mss, on.draw.uniform(0.15, 0.7) * on.bdp)
    return Draft(
        arguments=on.path(on.queue(1, 2, 50), sndbuf=int(buffer)),
        causes=("send_buffer_limited",),
        verdicts=REVIEW,
        elsewhere=("sender_application_limited",),
        holds=lambda a: share(a, "sndbuf") > 0.6 and harmless(a) and used(a) < 0.85,
    )


def app_pauses(on: Net) -> Draft:
    """The application writes in bursts, with pauses of 0.1 to 3 s."""
    pause = 0.1 * 30 ** on.draw.random()
    burst = int(on.rate * 1e6 / 8 * max(0.1, pause) * on.draw.uniform(0.2, 0.8))
    return Draft(
        arguments=on.path(
            on.queue(1, 3, 50),
            app="bursts",
            chunk=max(20_000, burst),
            interval=round(pause, 3),
            spread=on.draw.choice((0.0, 0.5)),
            seconds=round(max(4.0, 6 * pause), 2),
        ),
        causes=("sender_application_limited",),
        verdicts=REVIEW,
        holds=mostly_idle,
    )


def paced_writes(on: Net) -> Draft:
    """The application writes a little at a steady pace, below the path's rate."""
    interval = on.draw.choice((0.005, 0.01, 0.02, 0.04, 0.1))
    chunk = int(max(100, on.draw.uniform(0.03, 0.5) * on.rate * 1e6 / 8 * interval))
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            app="paced",
            chunk=chunk,
            interval=interval,
            spread=on.draw.choice((0.0, 0.0, 0.3)),
            seconds=on.draw.uniform(6, 12),
        ),
        causes=("sender_application_limited",),
        verdicts=REVIEW,
        holds=lambda a: share(a, "sent", "empty") > 0.8 and harmless(a) and used(a) < 0.65,
    )


def slow_reader(on: Net) -> Draft:
    """The receiving application reads slower than the path delivers."""
    read = on.rate * 1e6 / 8 * on.draw.uniform(0.15, 0.6)
    has_pauses = on.draw.random() < 0.5
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            rcvbuf=int(on.draw.uniform(1.2, 4) * on.bdp + 64_000),
            readRate=int(read * (2 if has_pauses else 1)),
            readPause=round(on.draw.uniform(0.2, 1.0), 2) if has_pauses else 0,
            readEvery=on.draw.choice((0.005, 0.01, 0.02)),
        ),
        causes=("receiver_limited",),
        verdicts=REVIEW,
        holds=lambda a: share(a, "rwnd") > 0.6 and not a["lost"],
    )


def short(on: Net) -> Draft:
    """Too few bytes for slow start to end."""
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            seconds=60,
            bytes=int(max(15_000, on.draw.uniform(0.3, 1.2) * on.bdp)),
        ),
        causes=("slow_start", "insufficient"),
        verdicts=("trust", "not_judged"),
        holds=lambda a: not a["left_slow_start"] and harmless(a) and used(a) < 0.7,
    )


def requests(on: Net) -> Draft:
    """The client asks for object after object, and thinks in between."""
    pause = on.draw.uniform(0.2, 2)
    return Draft(
        arguments=on.path(
            on.queue(0.7, 2, 50),
            app="respond",
            download=True,
            requests=on.draw.randint(4, 10),
            chunk=int(on.rate * 1e6 / 8 * pause * on.draw.uniform(0.3, 1.2)),
            interval=round(pause, 3),
            spread=on.draw.choice((0.0, 0.5)),
        ),
        causes=("peer_limited",),
        verdicts=TRUST,
        holds=mostly_idle,
    )


def server_think(on: Net) -> Draft:
    """The client asks at once; the server takes 0.1 to 1 s to begin each answer."""
    think = on.draw.uniform(0.1, 1)
    return Draft(
        arguments=on.path(
            on.queue(0.7, 2, 50),
            app="respond",
            download=True,
            requests=on.draw.randint(5, 12),
            chunk=int(on.rate * 1e6 / 8 * think * on.draw.uniform(0.3, 1.0)),
            interval=0.001,
            think=round(think, 3),
            spread=0.3,
        ),
        causes=("sender_application_limited",),
        verdicts=REVIEW,
        holds=mostly_idle,
    )


def sender_interface(on: Net) -> Draft:
    """The sender's own interface is the bottleneck; its queue lies before the capture point.

    In most draws that queue holds all that the sender's buffer does, as Linux keeps it.
    """
    rate = round(on.rate * on.draw.uniform(0.2, 0.6), 2)
    queue = on.queue(0.5, 2, 60) if on.draw.random() < 0.3 else 20_000
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 100),
            accessRate=rate,
            senderQueue=f"FifoQueueDisc:MaxSize={queue}p",
            sndbuf=int(2 * on.bdp + 100_000),
            seconds=round(min(12.0, MOST_MEGABITS / rate), 2),
        ),
        causes=("sender_rate_limited",),
        verdicts=REVIEW,
        elsewhere=("bandwidth_limited",),
        verdicts_elsewhere=TRUST,
        holds=lambda a: used(a) > 0.85 * rate / on.rate and harmless(a),
    )
