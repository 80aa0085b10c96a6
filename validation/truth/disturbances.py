"""How each kind of disturbance is written into a scenario, and how strongly: from what stops a transfer down to what it does not feel.

A dose is one setting of one kind. Rates are dosed by what the undisturbed network gives, times by its round trip, so that "half" means the
same everywhere. A function that writes a dose changes the scenario of the undisturbed twin and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from validation.truth.networks import PACKET_BYTES, Limit, Network
from validation.truth.scenario import CLIENT, OTHER, ROUTER, SERVER, TRANSFER, Values

Parameters = Mapping[str, Any]
Write = Callable[[Values, Network, Parameters, Random], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A kind with its doses, the networks that it is done on, and how many transfers of it a whole run has."""

    kind: str
    transfers: int
    limits: tuple[Limit, ...]
    doses: tuple[Parameters, ...]
    write: Write
    guest: bool = False
    least_trip_ms: float = 0.0
    most_trip_ms: float = 1e9
    small_buffer: bool = False
    """Whether the sender's buffer is to be small: else a kernel carries its process through every pause."""
    tiny_window: bool = False
    """Whether the window is to hold a few segments only."""
    shared: bool = False
    """Whether others must be able to share the narrow link."""


# Links.


def _wire(values: Values, network: Network) -> Values:
    """The narrow link."""
    link: Values = values["links"][network.narrow]
    return link


def _some_wire(values: Values, random: Random) -> Values:
    link: Values = values["links"][random.choice(("near", "far"))]
    return link


def _random_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}


def _bursty_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    loss = {"model": "gilbert-elliott", "to_bad": dose["to_bad"], "to_good": dose["to_good"], "in_bad": "50%"}
    _some_wire(values, random)["up"] = {"loss": loss}


def _policer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    rate = network.expected_megabits * dose["share"]
    _some_wire(values, random)["up"] = {"policer": {"rate": _rate(rate), "burst": f"{_burst(rate, dose)}B"}}


def _shaper(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Its wire is the narrow link; what waits behind it waits in that link's queue."""
    rate = network.expected_megabits * dose["share"]
    octets = dose["burst_share"] * rate * 1e6 / 8 * network.seconds if "burst_share" in dose else 2 * PACKET_BYTES
    _wire(values, network)["up"] = {"shaper": {"rate": _rate(rate), "burst": f"{max(int(octets), 2 * PACKET_BYTES)}B"}}


def _burst(megabits: float, dose: Parameters) -> int:
    return max(int(megabits * 1e6 / 8 * dose["burst_seconds"]), 5 * PACKET_BYTES)


def _reordering(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    held = max(network.round_trip_ms * dose["trips"], 0.5)
    _some_wire(values, random)["up"] = {"reorder": {"probability": dose["share"], "delay": f"{held:g}ms"}}


def _route_change(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    link = values["links"]["far"]
    before = float(link["delay"].removesuffix("ms"))
    after = before + network.round_trip_ms * (dose["trips"] - 1)
    at = network.seconds * random.uniform(0.3, 0.6)
    steps = [{"at": "0s", "delay": f"{before:g}ms"}, {"at": f"{at:.2f}s", "delay": f"{after:g}ms"}]
    link["up"] = {"delay": {"steps": steps}}


def _outage(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    at = network.seconds * random.uniform(0.2, 0.4)
    dead = [{"at": f"{at:.2f}s", "lasts": dose["lasts"]}]
    values["links"][random.choice(("near", "far"))] |= {"up": {"outages": dead}, "down": {"outages": dead}}


def _nic_stall(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    values["duration"] = f"{dose['stalls'] * 13 + 6}s"
    values["workload"][TRANSFER]["connections"] = dose["connections"]
    values["faults"] = {"stall": {"kind": "nic-stall", "host": CLIENT, "start": "2s", "duration": f"{dose['stalls'] * 13}s"}}


# Others on the way.


def _another(values: Values) -> None:
    """Another host behind the router, on the side of the sender, that shares what lies beyond it."""
    values["hosts"][OTHER] = {}
    values["links"]["beside"] = {"between": [OTHER, ROUTER], "delay": "1ms"}
    values["warm_up"] = "300ms"


def _greedy(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _another(values)
    values["workload"]["others"] = {
        "kind": "bulk",
        "host": OTHER,
        "to": SERVER,
        "congestion_control": random.choice(("reno", "cubic")),
        "connections": dose["flows"],
        "duration": f"{network.seconds:g}s",
    }


def _steady(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _another(values)
    values["background"] = {
        "others": {"model": dose["model"], "from": OTHER, "to": SERVER, "rate": _rate(network.rate_megabits * dose["share"])}
    }


def _reverse(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _another(values)
    values["background"] = {
        "others": {"model": "poisson", "from": SERVER, "to": OTHER, "rate": _rate(network.rate_megabits * dose["share"])}
    }


# Hosts.


def _fault(**keys: str) -> Write:
    """A fault of the sending host, by the scenario's own keys; those of the dose come on top."""

    def write(values: Values, network: Network, dose: Parameters, random: Random) -> None:
        values["faults"] = {"fault": {**keys, "host": CLIENT, **dose}}

    return write


def _freeze_and_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}
    values["faults"] = {"fault": {"kind": "freeze", "host": CLIENT, "stopped": dose["stopped"], "every": dose["every"]}}


def _quota_and_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}
    values["faults"] = {"fault": {"kind": "cpu-quota", "host": CLIENT, "share": dose["share"], "period": "10ms"}}


def _loss_and_queue(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    _greedy(values, network, dose, random)
    values["links"]["near"].setdefault("up", {})["loss"] = dose["loss"]


# Applications.


def _slow_reader(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    values["workload"][TRANSFER]["read"] = {"rate": _rate(network.expected_megabits * dose["share"])}


def _bursty_writer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """So much that the application's own mean is this share of what the network gives."""
    pause_ms = max(network.round_trip_ms * dose["trips"], 5.0)
    rate = network.expected_megabits * 1e6 / 8
    writing = pause_ms / 1e3 * dose["share"] / (1 - dose["share"])
    burst = max(int(rate * writing), PACKET_BYTES)
    values["workload"][TRANSFER]["write"] = {"burst": f"{burst}B", "pause": f"{pause_ms:g}ms"}


def _send_buffer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    octets = max(int(network.expected_megabits * 1e6 / 8 * network.round_trip_ms / 1e3 * dose["paths"]), 8192)
    values["workload"][TRANSFER]["send_buffer"] = f"{octets}B"


def _delayed_ack(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    values["workload"][TRANSFER]["delayed_ack"] = dose["delayed"]


def _rate(megabits: float) -> str:
    return f"{max(round(megabits * 1000), 50)}kbit/s"


def _doses(**settings: tuple[Any, ...]) -> tuple[Parameters, ...]:
    """Every combination of the settings."""
    found: list[dict[str, Any]] = [{}]
    for key, values in settings.items():
        found = [{**one, key: value} for one in found for value in values]
    return tuple(found)


_STOPS = ({"stopped": "5ms", "every": "50ms"}, {"stopped": "35ms", "every": "50ms"}, {"stopped": "70ms", "every": "100ms"})
_LONG_STOPS = ({"stopped": "140ms", "every": "200ms"}, {"stopped": "300ms", "every": "400ms"}, {"stopped": "500ms", "every": "1s"})
_BOTH: tuple[Limit, ...] = ("window", "link")

DISTURBANCES: tuple[Disturbance, ...] = (
    Disturbance(
        kind="loss-random",
        transfers=60,
        limits=_BOTH,
        doses=_doses(loss=("0.02%", "0.1%", "0.3%", "1%", "3%")),
        write=_random_loss,
    ),
    Disturbance(
        kind="loss-bursty",
        transfers=30,
        limits=_BOTH,
        doses=_doses(to_bad=("0.05%", "0.2%", "1%"), to_good=("10%", "30%")),
        write=_bursty_loss,
    ),
    Disturbance(
        kind="cross-greedy", transfers=40, limits=_BOTH, doses=_doses(flows=(1, 2, 4, 6)), write=_greedy, shared=True, least_trip_ms=5
    ),
    Disturbance(
        kind="cross-steady",
        transfers=40,
        limits=_BOTH,
        doses=_doses(share=(0.03, 0.3, 0.6, 0.9), model=("cbr", "poisson")),
        write=_steady,
        shared=True,
    ),
    Disturbance(kind="reverse", transfers=24, limits=_BOTH, doses=_doses(share=(0.3, 0.8, 0.97, 1.1)), write=_reverse, shared=True),
    Disturbance(
        kind="policer",
        transfers=48,
        limits=("link",),
        doses=_doses(share=(0.2, 0.5, 0.8, 1.1), burst_seconds=(0.005, 0.03, 0.2)),
        write=_policer,
    ),
    Disturbance(
        kind="shaper-burst",
        transfers=32,
        limits=("link",),
        doses=_doses(share=(0.2, 0.4, 0.6), burst_share=(0.15, 0.3, 0.6)),
        write=_shaper,
    ),
    Disturbance(kind="shaper", transfers=16, limits=("link",), doses=_doses(share=(0.3, 0.6, 0.8)), write=_shaper),
    Disturbance(
        kind="reordering",
        transfers=36,
        limits=_BOTH,
        doses=_doses(share=("0.2%", "1%", "5%", "20%"), trips=(0.1, 0.5, 1.2)),
        write=_reordering,
    ),
    Disturbance(
        kind="route-change",
        transfers=30,
        limits=("window",),
        doses=_doses(trips=(1.05, 1.5, 2.5, 4.0)),
        write=_route_change,
        least_trip_ms=5,
        most_trip_ms=100,
    ),
    Disturbance(kind="outage", transfers=24, limits=_BOTH, doses=_doses(lasts=("100ms", "1s", "2s")), write=_outage),
    Disturbance(
        kind="nic-stall", transfers=10, limits=("window",), doses=_doses(stalls=(1,), connections=(3, 6)), write=_nic_stall, least_trip_ms=5
    ),
    Disturbance(
        kind="quota",
        transfers=16,
        limits=("window",),
        doses=_doses(share=("10%", "30%", "70%"), period=("10ms", "100ms")),
        write=_fault(kind="cpu-quota"),
        small_buffer=True,
    ),
    Disturbance(
        kind="spinner",
        transfers=16,
        limits=("window",),
        doses=_doses(busy=("3ms", "8ms"), every=("10ms",), policy=("normal", "realtime")),
        write=_fault(kind="spinner"),
        small_buffer=True,
    ),
    Disturbance(
        kind="freeze",
        transfers=110,
        limits=("window",),
        doses=(*_STOPS, *_LONG_STOPS),
        write=_fault(kind="freeze"),
        least_trip_ms=5,
        most_trip_ms=50,
        small_buffer=True,
    ),
    Disturbance(
        kind="slow-reader",
        transfers=40,
        limits=("window",),
        doses=_doses(share=(0.1, 0.4, 0.7, 0.9, 1.3)),
        write=_slow_reader,
    ),
    Disturbance(
        kind="bursty-writer",
        transfers=44,
        limits=_BOTH,
        doses=_doses(share=(0.1, 0.4, 0.8), trips=(0.3, 1.5, 5.0)),
        write=_bursty_writer,
    ),
    Disturbance(
        kind="send-buffer", transfers=30, limits=_BOTH, doses=_doses(paths=(0.15, 0.4, 0.8, 2.0)), write=_send_buffer, least_trip_ms=10
    ),
    Disturbance(
        kind="delayed-ack", transfers=16, limits=("window",), doses=_doses(delayed=("always",)), write=_delayed_ack, tiny_window=True
    ),
    Disturbance(
        kind="loss-and-queue",
        transfers=16,
        limits=("link",),
        doses=_doses(loss=("0.3%", "1%"), flows=(2, 4)),
        write=_loss_and_queue,
        shared=True,
        least_trip_ms=5,
    ),
    Disturbance(
        kind="freeze-and-loss",
        transfers=16,
        limits=("window",),
        doses=_doses(loss=("0.3%", "1%"), stopped=("140ms",), every=("200ms",)),
        write=_freeze_and_loss,
        least_trip_ms=5,
        most_trip_ms=50,
        small_buffer=True,
    ),
    Disturbance(
        kind="guest-quota",
        transfers=56,
        limits=("window",),
        doses=_doses(share=("10%", "20%", "40%", "90%"), period=("10ms",)),
        write=_fault(kind="cpu-quota"),
        guest=True,
    ),
    Disturbance(
        kind="guest-freeze",
        transfers=56,
        limits=("window",),
        doses=({"stopped": "2ms", "every": "50ms"}, *_STOPS[1:], _LONG_STOPS[0]),
        write=_fault(kind="freeze"),
        guest=True,
    ),
    Disturbance(
        kind="guest-spinner",
        transfers=12,
        limits=("window",),
        doses=_doses(busy=("7ms", "9ms"), every=("10ms",), policy=("realtime",)),
        write=_fault(kind="spinner"),
        guest=True,
    ),
    Disturbance(
        kind="guest-quota-and-loss",
        transfers=12,
        limits=("window",),
        doses=_doses(share=("10%", "20%"), loss=("0.3%", "1%")),
        write=_quota_and_loss,
        guest=True,
    ),
)
