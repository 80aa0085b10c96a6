"""The highest load that this machine's emulator and senders sustain; higher demands are refused.

Where the emulator cannot keep up, every result measures the emulator. The ceiling is measured by
short floods of full-size and of small packets through an unlimited link, and only for scenarios
that demand much.

Bias: one sender, the emulator and one receiver run at once, as in a run. Other load on the machine
while the ceiling is measured lowers it, so that scenarios are refused too early. The cost of a
packet is assumed to be linear in its length.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trustbed import _core
from trustbed.run.error import RunError
from trustbed.run.execution.demand import FULL_SIZE, Load, emulated, is_modest, offered
from trustbed.scenario import Background, Scenario
from trustbed.testbed import Host, Testbed, plan

SECOND = 1_000_000_000
SMALL = 64
"""Bytes of the smallest IP packets that background traffic can have."""
_FLOOD_PACKETS = 150_000
_FLOOD_NS = 250_000_000
_PORT = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodRates:
    """The packet rates reached in a flood of packets of one length."""

    packet_bytes: int
    sent_packets_per_second: float
    forwarded_packets_per_second: float

    @property
    def forwarded_bits_per_second(self) -> float:
        """The rate that the emulator forwarded."""
        return self.forwarded_packets_per_second * self.packet_bytes * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The highest packet rates of this machine."""

    full: FloodRates
    small: FloodRates

    def forwarded(self, packet_bytes: float) -> float:
        """Packets of a length that the emulator forwards per second."""
        return self._between(
            packet_bytes,
            self.small.forwarded_packets_per_second,
            self.full.forwarded_packets_per_second,
        )

    def sent(self, packet_bytes: float) -> float:
        """Packets of a length that a sender sends per second."""
        return self._between(
            packet_bytes, self.small.sent_packets_per_second, self.full.sent_packets_per_second
        )

    def _between(self, packet_bytes: float, small: float, full: float) -> float:
        share = (min(max(packet_bytes, SMALL), FULL_SIZE) - SMALL) / (FULL_SIZE - SMALL)
        return 1 / ((1 - share) / small + share / full)


def facts(ceiling: Ceiling | None) -> Mapping[str, int | None]:
    """The ceiling as ``host.json`` has it; null where it was not measured."""

    def number(value: Callable[[Ceiling], float]) -> int | None:
        return None if ceiling is None else int(value(ceiling))

    return {
        "emulator_ceiling_bits_per_second": number(lambda one: one.full.forwarded_bits_per_second),
        "emulator_ceiling_packets_per_second": number(
            lambda one: one.full.forwarded_packets_per_second
        ),
        "emulator_ceiling_small_packets_per_second": number(
            lambda one: one.small.forwarded_packets_per_second
        ),
        "sender_ceiling_packets_per_second": number(lambda one: one.full.sent_packets_per_second),
        "sender_ceiling_small_packets_per_second": number(
            lambda one: one.small.sent_packets_per_second
        ),
    }


def measure(packet_bytes: int) -> FloodRates:
    """Floods the emulator with packets of one length: the rates sent and forwarded."""
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
    with Testbed(planned, purpose="emulator ceiling") as testbed:
        emulator = testbed.start_agent(
            "emulate",
            planned.emulator({"hosts": described, "routers": [], "pipes": pipes}, seed=1),
            where="net",
        )
        emulator.begin()
        sink = testbed.start_agent(
            "sink", {"listen": [{"transport": "udp", "address": f"0.0.0.0:{_PORT}"}]}, where="far"
        )
        sink.begin()
        sender = testbed.start_agent("send", {"sources": [source]}, where="near")
        sender.begin()
        sending = sender.report(30.0)
        forwarding = emulator.stop()
    seconds = max(sending["end_ns"] - sending["start_ns"], 1) / SECOND
    return FloodRates(
        packet_bytes=packet_bytes,
        sent_packets_per_second=max(sum(one["sent_packets"] for one in sending["sources"]), 1)
        / seconds,
        forwarded_packets_per_second=max(forwarding["delivered_packets"], 1) / seconds,
    )


def refuse_too_much(scenarios: Sequence[Scenario], known: Ceiling | None = None) -> Ceiling | None:
    """Refuses scenarios beyond the ceiling; returns the ceiling if it was needed.

    It is measured unless it is ``known``: one that is measured twice differs, and a demand close
    to it would be refused now and not then.

    Raises:
        RunError: A scenario demands more than this machine sustains.
    """
    demanding = [
        scenario
        for scenario in scenarios
        if not is_modest(emulated(scenario, _recorded)) or not _senders_are_modest(scenario)
    ]
    if not demanding:
        return None
    ceiling = known or Ceiling(full=measure(FULL_SIZE), small=measure(SMALL))
    for scenario in demanding:
        _refuse_senders(scenario, ceiling)
        _refuse("links and background together", emulated(scenario, _recorded), ceiling)
    return ceiling


def refuse_link(load: Load) -> None:
    """Refuses a link whose load in one direction is beyond the ceiling.

    Raises:
        RunError: The load is more than this machine emulates.
    """
    full = measure(FULL_SIZE)
    _refuse("the link", [load], Ceiling(full=full, small=full))


def _senders_are_modest(scenario: Scenario) -> bool:
    return all(is_modest([load]) for _, load in offered(scenario, _recorded))


def _refuse_senders(scenario: Scenario, ceiling: Ceiling) -> None:
    for flow, load in offered(scenario, _recorded):
        most = ceiling.sent(load.packet_bytes)
        if load.packets_per_second > most:
            raise RunError(
                f"background.{flow.background.name} would send {_text(load)}, and this "
                f"machine sends at most "
                f"{_text(replace(load, bits_per_second=most * load.packet_bytes * 8))}",
                "lower its rate or lengthen its packets (packet_bytes), or use a faster machine",
            )


def _refuse(what: str, loads: Sequence[Load], ceiling: Ceiling) -> None:
    """Refuses loads that together exceed what the emulator forwards.

    A load takes the share of the emulator's time that its packet rate needs at its packet length.
    The maximum in the message is the same mix of packets at a lower rate.
    """
    share = sum(load.packets_per_second / ceiling.forwarded(load.packet_bytes) for load in loads)
    if share > 1:
        bits, packets = (
            sum(getattr(load, name) for load in loads)
            for name in ("bits_per_second", "packets_per_second")
        )
        demanded = Load(bits_per_second=bits, packet_bytes=bits / 8 / packets)
        most = Load(bits_per_second=bits / share, packet_bytes=demanded.packet_bytes)
        raise RunError(
            f"{what} would carry {_text(demanded)}, "
            f"and this machine emulates at most {_text(most)}",
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
    """The mean load of a recording; None with fewer than two packets or without time between."""
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
