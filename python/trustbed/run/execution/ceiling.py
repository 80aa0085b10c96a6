"""The most that this machine's emulator and senders sustain; demands beyond it are refused.

Behind an emulator that cannot keep up, everything measures the emulator. The ceiling is measured by
floods through a link without limits, of full-size packets and of small ones, each for a moment, and
only where much is asked for.

Bias: the ceiling is that of one sender, the emulator and one receiver at once, as a run has them; a
machine that is busy with other things while it is measured refuses too early. What a packet costs
is taken to grow evenly with its length.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trustbed import _core
from trustbed.run.error import RunError
from trustbed.run.execution.demand import FULL_SIZE, Load, emulated, is_modest, made
from trustbed.scenario import Background, Scenario
from trustbed.testbed import Host, Testbed, plan

SECOND = 1_000_000_000
SMALL = 64
"""Bytes of the smallest IP packets that background traffic can have."""
_FLOOD_PACKETS = 150_000
_FLOOD_NS = 250_000_000
_PORT = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What was reached in a flood of packets of one length."""

    packet_bytes: int
    made_packets_per_second: float
    carried_packets_per_second: float

    @property
    def carried_bits_per_second(self) -> float:
        """What the emulator passed on."""
        return self.carried_packets_per_second * self.packet_bytes * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What this machine can do at most."""

    full: Pace
    small: Pace

    def carried(self, packet_bytes: float) -> float:
        """Packets of a length that the emulator passes on in a second."""
        return self._between(
            packet_bytes,
            self.small.carried_packets_per_second,
            self.full.carried_packets_per_second,
        )

    def made(self, packet_bytes: float) -> float:
        """Packets of a length that a sender makes in a second."""
        return self._between(
            packet_bytes, self.small.made_packets_per_second, self.full.made_packets_per_second
        )

    def _between(self, packet_bytes: float, small: float, full: float) -> float:
        share = (min(max(packet_bytes, SMALL), FULL_SIZE) - SMALL) / (FULL_SIZE - SMALL)
        return 1 / ((1 - share) / small + share / full)


def facts(ceiling: Ceiling | None) -> Mapping[str, int | None]:
    """The same for readers of the run directory; nulls where nothing was measured."""

    def number(value: Callable[[Ceiling], float]) -> int | None:
        return None if ceiling is None else int(value(ceiling))

    return {
        "emulator_ceiling_bits_per_second": number(lambda one: one.full.carried_bits_per_second),
        "emulator_ceiling_packets_per_second": number(
            lambda one: one.full.carried_packets_per_second
        ),
        "emulator_ceiling_small_packets_per_second": number(
            lambda one: one.small.carried_packets_per_second
        ),
        "sender_ceiling_packets_per_second": number(lambda one: one.full.made_packets_per_second),
        "sender_ceiling_small_packets_per_second": number(
            lambda one: one.small.made_packets_per_second
        ),
    }


def measure(packet_bytes: int) -> Pace:
    """What a sender emits, and what an overloaded emulator forwards of it."""
    hosts = [
        Host(name="near", addresses=("10.77.0.1",)),
        Host(name="far", addresses=("10.77.0.2",)),
    ]
    planned = plan(hosts)
    pipes = [
        {"name": "up", "from": "near", "to": "far"},
        {"name": "down", "from": "far", "to": "near"},
    ]
    described = [{"name": host.name, "addresses": list(host.addresses)} for host in hosts]
    rate = _FLOOD_PACKETS * packet_bytes * 8 * SECOND // _FLOOD_NS
    source = {
        "name": "flood",
        "transport": "udp",
        "from": "10.77.0.1",
        "to": f"10.77.0.2:{_PORT}",
        "model": {"kind": "cbr", "rate_bits_per_second": rate, "packet_bytes": packet_bytes},
        "release": "unpaced",
        "seed": 1,
        "duration_ns": _FLOOD_NS,
    }
    with Testbed(planned, purpose="what the emulator carries") as bed:
        emulator = bed.start_agent(
            "emulate",
            planned.emulator({"hosts": described, "routers": [], "pipes": pipes}, seed=1),
            where="net",
        )
        emulator.begin()
        sink = bed.start_agent(
            "sink", {"listen": [{"transport": "udp", "address": f"0.0.0.0:{_PORT}"}]}, where="far"
        )
        sink.begin()
        sender = bed.start_agent("send", {"sources": [source]}, where="near")
        sender.begin()
        sent = sender.report(30.0)
        carried = emulator.stop()
    seconds = max(sent["end_ns"] - sent["start_ns"], 1) / SECOND
    return Pace(
        packet_bytes=packet_bytes,
        made_packets_per_second=max(sum(one["sent_packets"] for one in sent["sources"]), 1)
        / seconds,
        carried_packets_per_second=max(carried["delivered_packets"], 1) / seconds,
    )


def refuse_too_much(scenarios: Sequence[Scenario]) -> Ceiling | None:
    """Raises :class:`RunError` for a scenario beyond the ceiling.

    Returns the ceiling where it was measured.
    """
    demanding = [
        scenario
        for scenario in scenarios
        if not is_modest(emulated(scenario, _recorded)) or not _makes_little(scenario)
    ]
    if not demanding:
        return None
    ceiling = Ceiling(full=measure(FULL_SIZE), small=measure(SMALL))
    for scenario in demanding:
        _refuse_senders(scenario, ceiling)
        _refuse("links and background together", emulated(scenario, _recorded), ceiling)
    return ceiling


def refuse_link(load: Load) -> None:
    """The same for one link, filled in one direction."""
    full = measure(FULL_SIZE)
    _refuse("the link", [load], Ceiling(full=full, small=full))


def _makes_little(scenario: Scenario) -> bool:
    return all(is_modest([load]) for _, load in made(scenario, _recorded))


def _refuse_senders(scenario: Scenario, ceiling: Ceiling) -> None:
    for flow, load in made(scenario, _recorded):
        most = ceiling.made(load.packet_bytes)
        if load.packets_per_second > most:
            raise RunError(
                f"background.{flow.background.name} would send {_text(load)}, and this "
                f"machine makes at most "
                f"{_text(replace(load, bits_per_second=most * load.packet_bytes * 8))}",
                "lower its rate or lengthen its packets (packet_bytes), or use a faster machine",
            )


def _refuse(what: str, loads: Sequence[Load], ceiling: Ceiling) -> None:
    """All of it at once, each packet at what it costs.

    In the end the same packets, fewer of them.
    """
    share = sum(load.packets_per_second / ceiling.carried(load.packet_bytes) for load in loads)
    if share > 1:
        bits, packets = (
            sum(getattr(load, name) for load in loads)
            for name in ("bits_per_second", "packets_per_second")
        )
        asked = Load(bits_per_second=bits, packet_bytes=bits / 8 / packets)
        most = Load(bits_per_second=bits / share, packet_bytes=asked.packet_bytes)
        raise RunError(
            f"{what} would carry {_text(asked)}, and this machine emulates at most {_text(most)}",
            (
                "lower the rates (a link's can be left out where nothing is to be limited), "
                "or use a faster machine"
            ),
        )


def _text(load: Load) -> str:
    length = f"{load.packet_bytes:.0f} bytes"
    return (
        f"{load.bits_per_second / 1e9:.2f} Gbit/s ({load.packets_per_second:,.0f} packets/s "
        f"of {length})"
    )


@functools.cache
def _recorded(background: Background, reverse: bool) -> Load | None:
    """The mean of what is played.

    Nothing where there are not two packets, or no time between them.
    """
    chosen = background.reverse_filter if reverse else background.filter
    read = _core.arrivals(
        [str(background.file)], basis="ip", filter=chosen, offload="as-captured", by="interface"
    )
    if read.ends is None or read.ends[1] <= read.ends[0]:
        return None
    bytes_ = sum(stream[2] for stream in read.streams) + read.beyond[1]
    return Load(
        bits_per_second=bytes_ * 8 * SECOND / (read.ends[1] - read.ends[0]),
        packet_bytes=bytes_ / read.packets,
    )
