"""What is true of a transfer.

Decided by its disturbance *and* by what that cost against its undisturbed twin.

A disturbance that took less than 5 % of the throughput is *healthy*: the network's own limit is its
cause. One that took 5 to 15 % is *slight* and scored apart, because either name is right. A
transfer without a twin that was made, or on a network that did not give what it was built to give,
is *unclear* and counts for nothing.

Bias: twins vary by some percent, guests by more, so that near the two borders a label may be one
class off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, TypeAlias

from validation.truth.carry import MADE
from validation.truth.kinds import KINDS, TRUST, UNDISTURBED, Wanted
from validation.truth.networks import Network
from validation.truth.scenario import payload_megabits

Standing: TypeAlias = Literal["healthy", "slight", "disturbed", "unclear"]
Knowledge: TypeAlias = Literal["capture", "known", "away", "inside"]

SLIGHT, CLEAR = 0.05, 0.15
BUILT_SHARE, BUILT_SHARE_OF_GUEST, BUILT_SHARE_OF_DROPS = 0.7, 0.8, 0.4
"""Something else limits an undisturbed transfer below this share of what its network can give; a
guest's processor is emulated and soon does. A queue that drops early costs of itself."""
COMPARABLE_SHARE_OF_GUEST = 0.5
"""A guest whose emulated processor was slow is still what its disturbed twin is compared with,
where the disturbance cost much of even that."""
_DROPPING = frozenset({"shallow-queue", "codel", "red"})

_OF_RECEIVER = frozenset({"receiver_limited", "receiver_stalled"})

Stored = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is true of a transfer.

    ``made`` is the cause; ``cost`` the share of throughput that it took, where it has a twin.
    """

    standing: Standing
    made: str
    cost: float | None
    wanted: Mapping[Knowledge, Wanted]


class Twins:
    """What undisturbed transfers came to, by network."""

    def __init__(self, transfers: Iterable[Stored]) -> None:
        found: dict[Network, list[float]] = {}
        windows: dict[Network, list[float]] = {}
        for stored in transfers:
            rate = throughput(stored)
            if stored["outcome"] == MADE and stored["kind"] in UNDISTURBED and rate is not None:
                found.setdefault(network_of(stored), []).append(rate)
                if (offered := window(stored)) is not None:
                    windows.setdefault(network_of(stored), []).append(offered)
        self._rates = {network: median(rates) for network, rates in found.items()}
        self._windows = {network: median(sizes) for network, sizes in windows.items()}

    def rate(self, network: Network) -> float | None:
        """Bits of payload per second.

        ``None`` where none was made or the network is not what it was built to be.
        """
        rate = self._rates.get(network)
        return (
            rate
            if rate is not None and _is_as_built(network, rate, self._windows.get(network))
            else None
        )

    def comparable_rate(self, network: Network) -> float | None:
        """The same, also of a guest that was slower than its network."""
        rate = self._rates.get(network)
        least = COMPARABLE_SHARE_OF_GUEST * payload_megabits(network) * 1e6
        is_slow_guest = network.guest is not None and rate is not None and rate >= least
        return rate if is_slow_guest else self.rate(network)

    def window(self, network: Network) -> float | None:
        """The largest window that was offered, in bytes."""
        return self._windows.get(network)

    @property
    def unlike(self) -> dict[str, float]:
        """Networks that gave less than they were built to give, with the share that they gave."""
        return {
            network.name: rate / 1e6 / payload_megabits(network)
            for network, rate in self._rates.items()
            if not _is_as_built(network, rate, self._windows.get(network))
        }


def _is_as_built(network: Network, rate: float, offered: float | None) -> bool:
    """A receiver may offer another window than configured.

    Then that one is what the network gives.
    """
    if network.limit == "window" and offered is not None:
        network = replace(network, window_bytes=int(offered))
    share = (
        BUILT_SHARE_OF_DROPS
        if network.kind in _DROPPING
        else BUILT_SHARE_OF_GUEST
        if network.guest
        else BUILT_SHARE
    )
    return network.limit == "short" or rate >= share * payload_megabits(network) * 1e6


def _window_share(stored: Stored, twins: Twins) -> float:
    """The receiver's window was smaller than its twin's by chance.

    The kernel does not always let it grow to where it is held.

    That part is not what the disturbance cost, unless it is what a disturbance of the receiver
    does.
    """
    own, theirs = window(stored), twins.window(network_of(stored))
    if (
        own is None
        or theirs is None
        or network_of(stored).limit != "window"
        or _OF_RECEIVER & set(KINDS[stored["kind"]].capture.causes)
    ):
        return 1.0
    return min(1.0, own / theirs)


def window(stored: Stored) -> float | None:
    """The largest window that the receiver offered, in bytes."""
    row = ((stored.get("captures") or {}).get("sender") or {}).get("row") or {}
    size = row.get("window_max_bytes")
    return None if size is None else float(size)


def throughput(stored: Stored) -> float | None:
    """Bits of payload per second, as the capture beside the sender shows them.

    The number that is judged.
    """
    row = ((stored.get("captures") or {}).get("sender") or {}).get("row") or {}
    rate = row.get("throughput_bytes_per_second")
    return None if rate is None else float(rate) * 8


def network_of(stored: Stored) -> Network:
    """The network of a stored transfer."""
    return Network(**stored["network"])


def label(stored: Stored, twins: Twins) -> Label:
    """What is true of a transfer that was made."""
    kind, network, rate = KINDS[stored["kind"]], network_of(stored), throughput(stored)
    own: dict[Knowledge, Wanted] = {
        "capture": kind.capture,
        "known": kind.known,
        "away": kind.away,
        "inside": kind.inside,
    }
    if kind.costs == "most":
        return Label(standing="disturbed", made=kind.cause, cost=None, wanted=own)
    if kind.costs == "nothing":
        clear = rate is not None and _is_as_built(network, rate, window(stored))
        return Label(
            standing="healthy" if clear else "unclear", made=kind.cause, cost=None, wanted=own
        )
    twin = twins.comparable_rate(network)
    if twin is None or rate is None:
        return Label(standing="unclear", made=kind.cause, cost=None, wanted=own)
    cost = 1 - rate / (twin * _window_share(stored, twins))
    if cost >= CLEAR:
        return Label(standing="disturbed", made=kind.cause, cost=cost, wanted=own)
    if twins.rate(network) is None:
        return Label(standing="unclear", made=kind.cause, cost=cost, wanted=own)
    base = KINDS[network.kind]
    healthy = cost < SLIGHT
    wanted: dict[Knowledge, Wanted] = {
        name: _healthy(theirs, ours) if healthy else _either(theirs, ours)
        for name, theirs, ours in zip(
            own, (base.capture, base.known, base.away, base.inside), own.values(), strict=True
        )
    }
    made = base.cause if healthy else kind.cause
    return Label(standing="healthy" if healthy else "slight", made=made, cost=cost, wanted=wanted)


def _healthy(undisturbed: Wanted, disturbed: Wanted) -> Wanted:
    """The network's own limit; the disturbance may be named if it is the network's, too."""
    more = tuple(cause for cause in disturbed.causes if disturbed.allowed(cause) == (TRUST,))
    return Wanted(causes=_union(undisturbed.causes, more), verdicts=undisturbed.verdicts)


def _either(undisturbed: Wanted, disturbed: Wanted) -> Wanted:
    return Wanted(
        causes=_union(undisturbed.causes, disturbed.causes),
        verdicts=_union(undisturbed.verdicts, disturbed.verdicts),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
