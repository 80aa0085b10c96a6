"""The frozen model of a campaign.

Which hosts exchange connection pairs, how often, of which sizes, and what is stored.

A connection pair is a short transfer, the probe, and a long one, the data, between the same two
hosts; pairs exist to predict the second from the first. Rounds, windows and sizes after
C. Lee, H. Abe, T. Hirotsu, K. Umemura, *Traffic Anomaly Analysis and Characteristics on a
Virtualized Network Testbed*, and the same authors' *Internet Traffic Characteristics of Virtual
Machine on Amazon EC2*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trustbed.scenario.inventory import Address, Inventory, InventoryHost
from trustbed.scenario.model import SECOND

TableName = Literal["bulk", "planetlab", "ec2"]
Order = Literal["cyclic", "random"]
Arrangement = Literal["concurrent", "sequential"]
Ping = Literal["icmp", "tcp", "auto"]
Role = Literal["probe", "data"]
Estimator = Literal["pathload", "pathchirp"]

TABLE_NAMES: tuple[TableName, ...] = ("bulk", "planetlab", "ec2")
ORDERS: tuple[Order, ...] = ("cyclic", "random")
ARRANGEMENTS: tuple[Arrangement, ...] = ("concurrent", "sequential")
PINGS: tuple[Ping, ...] = ("icmp", "tcp", "auto")
ROLES: tuple[Role, ...] = ("probe", "data")
ESTIMATORS: tuple[Estimator, ...] = ("pathload", "pathchirp")

PUBLISHED_WINDOWS = 16 << 10, 64 << 10
"""Windows of probe and data in the papers, after the Network Weather Service; their tables of
sizes imply them (bytes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPair:
    """Two hosts between which rounds take place.

    ``address`` is what the sender connects to, if it differs from the inventory.
    """

    name: str
    sender: str
    receiver: str
    address: Address | None = None

    @property
    def hosts(self) -> tuple[str, str]:
        """Both; neither takes part in another round meanwhile."""
        return self.sender, self.receiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A row of a table of sizes: how much the probe and the data of a connection pair send."""

    name: str
    probe_bytes: int
    data_bytes: int

    def size_of(self, role: Role) -> int:
        """What a connection of that role sends, in bytes."""
        return self.probe_bytes if role == "probe" else self.data_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """STAMP test packets (RFC 8762) before the connections, at times of a Poisson process."""

    probes: int = 100
    mean_gap_ns: int = 20_000_000

    @property
    def longest_ns(self) -> int:
        """What they may take: twice as long as they do on average; later ones are not sent."""
        return 2 * self.probes * self.mean_gap_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """What a round consists of, and how often it runs.

    Attributes:
        count: Rounds of every pair of hosts, including skipped ones: one per period.
        period_ns: From one scheduled round of a pair to the next.
        table: Sizes that rounds iterate over: the name of a published table, or a custom one.
        order: In the order of the table, or shuffled for every pass.
        arrangement: All connections at once, or probes first.
        pairs_at_once: Connection pairs of a round; each has two connections.
        probe_window_bytes: The window clamp of a probe at the receiver; None leaves it to the
            kernel's autotuning.
        data_window_bytes: The same for the data.
        pings: Number of pings before the connections.
        ping_interval_ns: From one ping to the next.
        ping: ICMP, a TCP handshake, or whichever of the two gets an answer.
        limit_ns: Time limit of a connection; one that takes longer has failed.
        delay: One-way delays, measured after the pings; None unless enabled.
        bandwidth: Estimators of available bandwidth, run in turn after those, each with its time
            limit.
        long_packets: Whether the estimators are adapted to cross traffic in long packets, instead
            of following their authors.
    """

    count: int
    period_ns: int = 300 * SECOND
    table: TableName | tuple[Index, ...] = "bulk"
    order: Order = "cyclic"
    arrangement: Arrangement = "concurrent"
    pairs_at_once: int = 3
    probe_window_bytes: int | None = None
    data_window_bytes: int | None = None
    pings: int = 10
    ping_interval_ns: int = SECOND
    ping: Ping = "auto"
    limit_ns: int = 300 * SECOND
    delay: Delay | None = None
    bandwidth: tuple[tuple[Estimator, int], ...] = ()
    long_packets: bool = False

    @property
    def pinging_ns(self) -> int:
        """Duration of the pings of a round."""
        return self.pings * self.ping_interval_ns

    @property
    def before_ns(self) -> int:
        """The longest duration of everything before the connections."""
        return (
            self.pinging_ns
            + (0 if self.delay is None else self.delay.longest_ns)
            + sum(limit for _, limit in self.bandwidth)
        )

    @property
    def longest_ns(self) -> int:
        """From the first ping to the time limit of the last connection.

        The time to establish connections is not included.
        """
        return self.before_ns + self.limit_ns * (2 if self.arrangement == "sequential" else 1)

    def window_of(self, role: Role) -> int | None:
        """The window clamp of connections of that role, in bytes; None: no clamp."""
        return self.probe_window_bytes if role == "probe" else self.data_window_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is stored. ``disk_bytes`` is the limit of all of it; ``None`` is no limit."""

    capture: bool = True
    snap_bytes: int = 128
    disk_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How well means are to be known.

    An interval at ``level`` that reaches ``half_width`` of the mean to either side.
    """

    level: float = 0.95
    half_width: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Many pairs of hosts, measured for hours to weeks."""

    name: str
    inventory: Inventory
    pairs: tuple[HostPair, ...]
    rounds: Rounds
    about: str = ""
    seed: int = 1
    recording: Recording = field(default_factory=Recording)
    wanted: Wanted = field(default_factory=Wanted)

    @property
    def hosts(self) -> tuple[InventoryHost, ...]:
        """The hosts that take part, in the order of the inventory."""
        named = {host for pair in self.pairs for host in pair.hosts}
        return tuple(host for host in self.inventory.hosts if host.name in named)

    @property
    def lasts_ns(self) -> int:
        """From the beginning until the last period has passed."""
        return self.rounds.count * self.rounds.period_ns
