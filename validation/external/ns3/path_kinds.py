"""Kinds of simulated transfers that the path limits: queues, losses, others, changes, policers.

Pure.
"""

from __future__ import annotations

from validation.external.ns3.accounts import kept_below, others, share, used
from validation.external.ns3.nets import MOST_MEGABITS, REVIEW, TRUST, Draft, Net


def deep_queue(on: Net) -> Draft:
    """A lone transfer fills its link and a drop-tail queue of 0.5 to 4 BDP."""
    return Draft(
        arguments=on.path(on.queue(0.5, 4, 20)),
        causes=("bandwidth_limited",),
        verdicts=TRUST,
        holds=lambda a: used(a) > 0.85 and a["queued"] > 0.6,
    )


def shallow_queue(on: Net) -> Draft:
    """A lone transfer cut by a drop-tail queue of 0.05 to 0.25 BDP."""
    return Draft(
        arguments=on.path(on.queue(0.05, 0.25)),
        causes=("bandwidth_limited", "network_congestion"),
        verdicts=TRUST,
        holds=kept_below,
    )


def _managed(on: Net, queue: str, *, ecn: bool = False) -> Draft:
    if ecn:
        return Draft(
            arguments=on.path(300, queue=f"{queue};UseEcn=true", ecn=True),
            causes=("mark_limited", "bandwidth_limited", "network_congestion"),
            verdicts=("trust", "review"),
            holds=lambda a: a["marks"] >= 4 and a["marks"] > 2 * a["queue_drops"] and used(a) > 0.5,
        )
    return Draft(
        arguments=on.path(300, queue=queue),
        causes=("bandwidth_limited", "network_congestion"),
        verdicts=TRUST,
        holds=kept_below,
    )


def _codel(on: Net) -> str:
    target = on.draw.choice((5, 5, 10))
    return f"CoDelQueueDisc:MaxSize=1000p;Target={target}ms;Interval={20 * target}ms"


def _red(on: Net) -> str:
    limit = on.queue(0.5, 2, 30)
    return (
        f"RedQueueDisc:MaxSize={limit}p;MinTh={max(5, limit // 6)};MaxTh={max(15, limit // 2)};"
        f"LinkBandwidth={on.rate}Mbps;LinkDelay={on.delays[1]}ms;Gentle=true"
    )


def _fq_codel(on: Net) -> str:
    return "FqCoDelQueueDisc:MaxSize=1000p"


def codel(on: Net) -> Draft:
    """A lone transfer cut by CoDel."""
    return _managed(on, _codel(on))


def red(on: Net) -> Draft:
    """A lone transfer cut by RED."""
    return _managed(on, _red(on))


def fq_codel(on: Net) -> Draft:
    """A lone transfer cut by FQ-CoDel."""
    return _managed(on, _fq_codel(on))


def ecn(on: Net) -> Draft:
    """A lone transfer whose packets an AQM marks instead of dropping them."""
    return _managed(on, on.draw.choice((_codel, _red))(on), ecn=True)


def random_loss(on: Net) -> Draft:
    """Independent loss that keeps the transfer well below its link's rate."""
    return Draft(
        arguments=on.path(on.queue(1, 2, 50), loss=round(0.003 * 10 ** on.draw.random(), 5)),
        causes=("network_loss",),
        verdicts=REVIEW,
        holds=lambda a: a["lost"] >= 8 and not a["queue_drops"] and used(a) < 0.75,
    )


def bursty_loss(on: Net) -> Draft:
    """Loss in bursts of two to six packets."""
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            badShare=round(0.008 * 4 ** on.draw.random(), 5),
            badLength=on.draw.randint(2, 6),
        ),
        causes=("network_loss",),
        verdicts=REVIEW,
        holds=lambda a: (
            a["lost"] >= 8 and not a["queue_drops"] and used(a) < 0.6 and a["timeouts"] < 60
        ),
    )


def cross_udp(on: Net) -> Draft:
    """Bursts of UDP share the bottleneck."""
    number = on.draw.randint(1, 3)
    longest = 1.5 if on.family == "plain" else 0.6
    bursts = ",".join(
        f"0.1:200:{on.rate * on.draw.uniform(0.6, 1.0) / number:.3f}"
        f":{on.draw.uniform(0.1, longest):.3f}:{on.draw.uniform(0.1, longest):.3f}"
        for _ in range(number)
    )
    return Draft(
        arguments=on.path(on.queue(0.5, 2, 30), udp=bursts),
        causes=("network_congestion", "bandwidth_limited"),
        verdicts=TRUST,
        holds=lambda a: others(a) > 0.2 and used(a) + others(a) > 0.75 and a["queued"] > 0.3,
    )


def cross_tcp(on: Net) -> Draft:
    """One to four other TCP transfers share the bottleneck from the beginning."""
    flows = ",".join(
        f"{0.2 + on.draw.random():.3f}:200:4000000" for _ in range(on.draw.randint(1, 4))
    )
    return Draft(
        arguments=on.path(on.queue(0.5, 2, 30), crossTcp=flows),
        causes=("network_congestion", "bandwidth_limited"),
        verdicts=TRUST,
        holds=lambda a: others(a) > 0.3 and used(a) + others(a) > 0.85 and a["queued"] > 0.5,
    )


def joining(on: Net) -> Draft:
    """Other TCP transfers join midway: the share of the path changes."""
    seconds = on.seconds(14)
    flows = ",".join(
        f"{float(on.arguments['start']) + seconds * on.draw.uniform(0.3, 0.5):.3f}:200:4000000"
        for _ in range(on.draw.randint(1, 3))
    )
    return Draft(
        arguments=on.path(on.queue(0.7, 2, 30), crossTcp=flows, seconds=seconds),
        causes=("network_congestion", "bandwidth_limited", "rate_changed"),
        verdicts=("trust", "review"),
        holds=lambda a: others(a) > 0.15 and used(a) + others(a) > 0.85,
    )


def reverse(on: Net) -> Draft:
    """The path of the acknowledgements is congested."""
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            reverseTcp=on.draw.randint(1, 3),
            reverseQueue=f"FifoQueueDisc:MaxSize={on.queue(1, 3, 50)}p",
        ),
        causes=("network_congestion", "bandwidth_limited"),
        verdicts=TRUST,
        holds=lambda a: a["reverse_queued"] > 0.5 and 0.1 < used(a) < 0.9 and not a["lost"],
    )


def rate_change(on: Net) -> Draft:
    """The bottleneck's rate changes once or twice."""
    seconds = on.seconds(15)
    start = float(on.arguments["start"])
    factor = on.draw.choice((on.draw.uniform(0.25, 0.6), on.draw.uniform(1.7, 3)))
    steps = [(0.35, factor)] if on.draw.random() < 0.6 else [(0.3, factor), (0.65, 1.0)]
    return Draft(
        arguments=on.path(
            on.queue(0.7, 2, 30),
            seconds=seconds,
            sndbuf=int(4 * on.bdp + 200_000),
            rateSteps=",".join(
                f"{start + seconds * (at + on.draw.uniform(-0.05, 0.05)):.3f}:{on.rate * times:.3f}"
                for at, times in steps
            ),
        ),
        causes=("rate_changed",),
        verdicts=REVIEW,
        holds=lambda a: used(a) > 0.75 and not a["lost"],
    )


def route_change(on: Net) -> Draft:
    """The path's delay changes midway under a transfer that its window limits."""
    seconds = on.seconds(12)
    start = float(on.arguments["start"])
    step = on.delays[1] + 1000 * on.rtt * on.draw.uniform(0.5, 1.5)
    arguments = on.path(
        on.queue(1, 2, 50),
        seconds=seconds,
        rcvbuf=int(max(8 * on.mss, on.draw.uniform(0.3, 0.6) * on.bdp)),
    )
    at = start + seconds * on.draw.uniform(0.3, 0.5)
    if on.draw.random() < 0.4:
        arguments |= {"delay": round(step, 3), "delaySteps": f"{at:.3f}:{on.delays[1]}"}
    else:
        arguments |= {"delaySteps": f"{at:.3f}:{step:.3f}"}
    return Draft(
        arguments=arguments,
        causes=("route_change",),
        verdicts=REVIEW,
        holds=lambda a: share(a, "rwnd") > 0.7 and not a["queue_drops"],
    )


def outage(on: Net) -> Draft:
    """The link carries nothing for 3 to 20 s."""
    seconds = on.seconds(10)
    begin = float(on.arguments["start"]) + seconds * on.draw.uniform(0.3, 0.6)
    return Draft(
        arguments=on.path(
            on.queue(0.7, 2, 30),
            seconds=seconds + 20,
            bytes=int(on.rate * 1e6 / 8 * seconds * 0.8),
            outages=f"{begin:.3f}:{3 * 6.6 ** on.draw.random():.3f}",
        ),
        causes=("outage",),
        verdicts=REVIEW,
        holds=lambda a: a["longest_silence"] > 3 and a["fallen"] > 0,
    )


def policer(on: Net) -> Draft:
    """A token bucket drops what exceeds its rate."""
    rate = on.rate * on.draw.uniform(0.1, 0.35)
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 100),
            policedRate=round(rate, 3),
            policedBurst=int(max(8_000, rate * 1e6 / 8 * on.draw.uniform(0.02, 0.4))),
            seconds=round(min(20.0, MOST_MEGABITS / rate), 2),
        ),
        causes=("policed",),
        verdicts=TRUST,
        holds=lambda a: a["policed"] >= 25 and not a["queue_drops"],
    )


def shaper(on: Net) -> Draft:
    """A token bucket delays what exceeds its rate, after a burst at the link's rate."""
    rate = on.rate * on.draw.uniform(0.15, 0.4)
    seconds = round(min(12.0, MOST_MEGABITS / rate), 2)
    burst = int(rate * 1e6 / 8 * seconds * on.draw.uniform(0.15, 0.5))
    queue = on.queue(0.7, 2, 50)
    return Draft(
        arguments=on.path(
            queue,
            queue=f"TbfQueueDisc:MaxSize={queue}p;Burst={burst};Mtu=0;Rate={rate:.3f}Mbps",
            seconds=seconds,
        ),
        causes=("shaped",),
        verdicts=("trust", "review"),
        holds=lambda a: a["queued"] > 0.5 and used(a) * on.rate > 0.9 * rate,
    )


def reordering(on: Net) -> Draft:
    """Packets are held back and overtaken."""
    return Draft(
        arguments=on.path(
            on.queue(1, 2, 50),
            reorder=round(0.01 * 4 ** on.draw.random(), 4),
            held=round(on.rtt * on.draw.uniform(0.3, 0.8), 4),
        ),
        causes=("reordering",),
        verdicts=("trust", "review"),
        holds=lambda a: a["held"] >= 20 and a["recoveries"] >= 5 and used(a) < 0.75,
    )
