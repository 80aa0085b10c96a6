"""Kinds of simulated transfers, and what is true of each.

A kind draws a path and the one thing that limits the transfer on it, and states the accepted
answers and how the simulation's own account must look for them to be true. A draw whose limit had
no effect is no transfer of that kind and is drawn again. Pure.

Three families of networks differ in their rates, delays, congestion controls and roles, so that
rules may be developed on one and tried on another: *near*, *far*, and *plain*, which keeps what
ns-3 has by default where it differs most from Linux (short segments, an RTO of at least 1 s).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Family: TypeAlias = Literal["near", "far", "plain"]
Arguments: TypeAlias = dict[str, str | int | float | bool]
Account: TypeAlias = Mapping[str, Any]

HEADER_BYTES: Final = 52
FAR_SEEDS: Final = 100
PLAIN_SEEDS: Final = 200
"""Seeds above these numbers belong to the families *far* and *plain*."""
MOST_MEGABITS: Final = 160.0
"""A transfer carries about this much at most, which keeps its captures small."""

_TRUST: Final = ("trust",)
_REVIEW: Final = ("review",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One transfer to be made.

    ``holds`` says from the simulation's account whether the causes are true of it.
    """

    arguments: Arguments
    causes: tuple[str, ...]
    verdicts: tuple[str, ...]
    holds: Callable[[Account], bool]
    elsewhere: tuple[str, ...] = ()
    """Causes that are accepted as well where the capture is not the sender's."""
    verdicts_elsewhere: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Net:
    """A path, and the draws that a kind makes on it."""

    family: Family
    draw: random.Random
    rate: float
    """Mbit/s of the bottleneck."""
    delays: tuple[float, float, float]
    """One way of access, bottleneck and exit, ms."""
    mss: int = 1448
    arguments: Arguments = field(default_factory=dict)

    @property
    def rtt(self) -> float:
        """Round trip without queues, s."""
        return 2 * sum(self.delays) / 1000

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, bytes."""
        return self.rate * 1e6 / 8 * self.rtt

    @property
    def packet_bytes(self) -> int:
        """A full packet."""
        return self.mss + HEADER_BYTES

    def seconds(self, longest: float = 12.0) -> float:
        """How long to send: long against the round trip, short enough for small captures."""
        return round(min(longest, MOST_MEGABITS / self.rate), 2)

    def queue(self, least: float, greatest: float, floor: int = 4) -> int:
        """A queue in packets, from its size in bandwidth-delay products."""
        return max(floor, round(self.draw.uniform(least, greatest) * self.bdp / self.packet_bytes))

    def path(self, packets: int, **more: str | int | float | bool) -> Arguments:
        """Arguments of a bulk transfer over a drop-tail queue of this many packets."""
        buffer = int(2.5 * (self.bdp + packets * self.packet_bytes) + 150_000)
        return (
            self.arguments
            | {
                "queue": f"FifoQueueDisc:MaxSize={packets}p",
                "sndbuf": buffer,
                "rcvbuf": max(1_000_000, 2 * buffer),
                "seconds": self.seconds(),
            }
            | more
        )


_FAMILIES: Final[
    Mapping[Family, tuple[tuple[float, float], tuple[float, float], tuple[str, ...]]]
] = {
    "near": ((4.0, 40.0), (0.012, 0.06), ("TcpCubic", "TcpNewReno", "TcpCubic")),
    "far": ((2.0, 80.0), (0.05, 0.18), ("TcpLinuxReno", "TcpCubic", "TcpLinuxReno")),
    "plain": ((1.0, 20.0), (0.008, 0.12), ("TcpCubic", "TcpNewReno", "TcpLinuxReno")),
}
"""Ranges of Mbit/s at the bottleneck and of seconds there and back; congestion controls."""


def _family(seed: int) -> Family:
    return "plain" if seed > PLAIN_SEEDS else "far" if seed > FAR_SEEDS else "near"


def net(kind: str, seed: int, attempt: int) -> Net:
    """The path of a transfer."""
    draw = random.Random(f"{kind}-{seed}-{attempt}")
    family = _family(seed)
    rates, rtts, controls = _FAMILIES[family]
    rate = round(rates[0] * (rates[1] / rates[0]) ** draw.random(), 2)
    one_way = 500 * rtts[0] * (rtts[1] / rtts[0]) ** draw.random()
    parts = [draw.uniform(0.05, 0.3), 0.6, draw.uniform(0.05, 0.3)]
    delays = tuple(round(one_way * part / sum(parts), 3) for part in parts)
    control = draw.choice(controls)
    if kind in WITH_BBR and draw.random() < 0.2:
        control = "TcpBbr"
    found = Net(family=family, draw=draw, rate=rate, delays=(delays[0], delays[1], delays[2]))
    found.arguments = {
        "seed": draw.randrange(1, 1_000_000),
        "rate": rate,
        "accessDelay": delays[0],
        "delay": delays[1],
        "exitDelay": delays[2],
        "accessRate": draw.choice((100, 1000)) if rate < 60 else 1000,
        "exitRate": draw.choice((100, 1000)) if rate < 60 else 1000,
        "tcp": control,
        "sack": draw.random() < 0.8,
        "delayedAcks": draw.choice((1, 2, 2, 2)) if family == "near" else draw.choice((2, 2, 4)),
        "delayedAckTimeout": 0.04 if family == "near" else 0.2,
        "middle": "in" if draw.random() < 0.5 else "out",
        "download": family == "far" and draw.random() < 0.6,
        "start": round(0.5 + draw.random(), 3),
    }
    if family == "plain":
        found.mss = draw.choice((536, 536, 1000, 1448))
        found.arguments |= {"mss": found.mss, "minRto": 1.0, "delayedAckTimeout": 0.2}
    return found


def _share(account: Account, *names: str) -> float:
    """Share of the transfer's time in these states."""
    ticks = float(sum(account.get(f"{name}_ticks", 0) for name in names))
    return ticks / max(1.0, float(account["ticks"]))


def _used(account: Account) -> float:
    """Share of the bottleneck's capacity that the transfer used."""
    return float(account["own_bytes"]) / max(1.0, float(account["capacity_bytes"]))


def _others(account: Account) -> float:
    return float(account["other_bytes"]) / max(1.0, float(account["capacity_bytes"]))


def _harmless(account: Account) -> bool:
    return not account["lost"] and not account["queue_drops"]


def _kept_below(account: Account) -> bool:
    """Whether its queue cut a lone transfer again and again, and it used most of its link."""
    cuts = account["recoveries"] + account["timeouts"]
    return (
        account["queue_drops"] >= 4
        and cuts >= 3
        and _share(account, "cwnd") > 0.8
        and _used(account) > 0.5
    )


def _mostly_idle(account: Account) -> bool:
    """Whether pauses with nothing to send cost more than losses and slow start."""
    empty = _share(account, "empty")
    rest = 1 - empty - _used(account)
    return (
        empty > 0.3 and not account["lost"] and (not account["queue_drops"] or empty > 1.5 * rest)
    )


def window_limited(on: Net) -> Draft:
    """The receiver's buffer is smaller than the bandwidth-delay product."""
    smallest = 3 * on.mss if on.family == "plain" else 6 * on.mss
    window = max(smallest, on.draw.uniform(0.15, 0.7) * on.bdp)
    if on.family == "plain":
        window = max(smallest, window / on.draw.uniform(1, 5))
    return Draft(
        arguments=on.path(on.queue(1, 2, 50), rcvbuf=int(window)),
        causes=("window_limited",),
        verdicts=_TRUST,
        holds=lambda a: (
            _share(a, "rwnd") > 0.8
            and _harmless(a)
            and _used(a) < 0.85
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
            _share(a, "rwnd") > 0.8
            and _harmless(a)
            and 1000 * a["own_bytes"] / a["ticks"] < 0.5 * segments * on.mss / on.rtt
        ),
    )


def send_buffer(on: Net) -> Draft:
    """The sender's buffer is smaller than the bandwidth-delay product."""
    buffer = max(8 * on.mss, on.draw.uniform(0.15, 0.7) * on.bdp)
    return Draft(
        arguments=on.path(on.queue(1, 2, 50), sndbuf=int(buffer)),
        causes=("send_buffer_limited",),
        verdicts=_REVIEW,
        elsewhere=("sender_application_limited",),
        holds=lambda a: _share(a, "sndbuf") > 0.6 and _harmless(a) and _used(a) < 0.85,
    )


def deep_queue(on: Net) -> Draft:
    """A lone transfer fills its link and a drop-tail queue of 0.5 to 4 BDP."""
    return Draft(
        arguments=on.path(on.queue(0.5, 4, 20)),
        causes=("bandwidth_limited",),
        verdicts=_TRUST,
        holds=lambda a: _used(a) > 0.85 and a["queued"] > 0.6,
    )


def shallow_queue(on: Net) -> Draft:
    """A lone transfer cut by a drop-tail queue of 0.05 to 0.25 BDP."""
    return Draft(
        arguments=on.path(on.queue(0.05, 0.25)),
        causes=("bandwidth_limited", "network_congestion"),
        verdicts=_TRUST,
        holds=_kept_below,
    )


def _managed(on: Net, queue: str, *, ecn: bool = False) -> Draft:
    if ecn:
        return Draft(
            arguments=on.path(300, queue=f"{queue};UseEcn=true", ecn=True),
            causes=("mark_limited", "bandwidth_limited", "network_congestion"),
            verdicts=("trust", "review"),
            holds=lambda a: (
                a["marks"] >= 4 and a["marks"] > 2 * a["queue_drops"] and _used(a) > 0.5
            ),
        )
    return Draft(
        arguments=on.path(300, queue=queue),
        causes=("bandwidth_limited", "network_congestion"),
        verdicts=_TRUST,
        holds=_kept_below,
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
        verdicts=_REVIEW,
        holds=lambda a: a["lost"] >= 8 and not a["queue_drops"] and _used(a) < 0.75,
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
        verdicts=_REVIEW,
        holds=lambda a: (
            a["lost"] >= 8 and not a["queue_drops"] and _used(a) < 0.6 and a["timeouts"] < 60
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
        verdicts=_TRUST,
        holds=lambda a: _others(a) > 0.2 and _used(a) + _others(a) > 0.75 and a["queued"] > 0.3,
    )


def cross_tcp(on: Net) -> Draft:
    """One to four other TCP transfers share the bottleneck from the beginning."""
    flows = ",".join(
        f"{0.2 + on.draw.random():.3f}:200:4000000" for _ in range(on.draw.randint(1, 4))
    )
    return Draft(
        arguments=on.path(on.queue(0.5, 2, 30), crossTcp=flows),
        causes=("network_congestion", "bandwidth_limited"),
        verdicts=_TRUST,
        holds=lambda a: _others(a) > 0.3 and _used(a) + _others(a) > 0.85 and a["queued"] > 0.5,
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
        holds=lambda a: _others(a) > 0.15 and _used(a) + _others(a) > 0.85,
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
        verdicts=_TRUST,
        holds=lambda a: a["reverse_queued"] > 0.5 and 0.1 < _used(a) < 0.9 and not a["lost"],
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
        verdicts=_REVIEW,
        holds=lambda a: _used(a) > 0.75 and not a["lost"],
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
        verdicts=_REVIEW,
        holds=lambda a: _share(a, "rwnd") > 0.7 and not a["queue_drops"],
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
        verdicts=_REVIEW,
        holds=_mostly_idle,
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
        verdicts=_REVIEW,
        holds=lambda a: _share(a, "sent", "empty") > 0.8 and _harmless(a) and _used(a) < 0.65,
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
        verdicts=_REVIEW,
        holds=lambda a: _share(a, "rwnd") > 0.6 and not a["lost"],
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
        verdicts=_REVIEW,
        holds=lambda a: a["longest_silence"] > 3 and a["fallen"] > 0,
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
        holds=lambda a: not a["left_slow_start"] and _harmless(a) and _used(a) < 0.7,
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
        verdicts=_TRUST,
        holds=_mostly_idle,
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
        verdicts=_REVIEW,
        holds=_mostly_idle,
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
        verdicts=_REVIEW,
        elsewhere=("bandwidth_limited",),
        verdicts_elsewhere=_TRUST,
        holds=lambda a: _used(a) > 0.85 * rate / on.rate and _harmless(a),
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
        verdicts=_TRUST,
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
        holds=lambda a: a["queued"] > 0.5 and _used(a) * on.rate > 0.9 * rate,
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
        holds=lambda a: a["held"] >= 20 and a["recoveries"] >= 5 and _used(a) < 0.75,
    )


KINDS: Final[Mapping[str, Callable[[Net], Draft]]] = {
    each.__name__: each
    for each in (
        window_limited,
        delayed_acks,
        send_buffer,
        deep_queue,
        shallow_queue,
        codel,
        red,
        fq_codel,
        ecn,
        random_loss,
        bursty_loss,
        cross_udp,
        cross_tcp,
        joining,
        reverse,
        rate_change,
        route_change,
        app_pauses,
        paced_writes,
        slow_reader,
        outage,
        short,
        requests,
        server_think,
        sender_interface,
        policer,
        shaper,
        reordering,
    )
}
WITH_BBR: Final = frozenset(
    {"window_limited", "deep_queue", "app_pauses", "paced_writes", "requests", "short", "outage"}
)
