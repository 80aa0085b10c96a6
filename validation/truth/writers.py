"""How each kind of disturbance is written into a scenario.

Rates are dosed by what the undisturbed network gives, times by its round trip, so that "half" means
the same everywhere. A function that writes a dose changes the scenario of the undisturbed twin and
nothing else. The doses are in `disturbances`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

from validation.truth.networks import PACKET_BYTES, Network
from validation.truth.scenario import CLIENT, FILES, OTHER, ROUTER, SERVER, TRANSFER, Values

Parameters: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[Values, Network, Parameters, Random], None]

BULK_PORT, HTTP_PORT = 5001, 8080
"""The port of the first workload, and that of the server of requests."""


# Links.


def _wire(values: Values, network: Network) -> Values:
    """The narrow link."""
    link: Values = values["links"][network.narrow]
    return link


def _some_wire(values: Values, random: Random) -> Values:
    link: Values = values["links"][random.choice(("near", "far"))]
    return link


def random_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Independent loss of data on one of the two links."""
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}


def bursty_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Loss of data in bursts on one of the two links."""
    loss = {
        "model": "gilbert-elliott",
        "to_bad": dose["to_bad"],
        "to_good": dose["to_good"],
        "in_bad": "50%",
    }
    _some_wire(values, random)["up"] = {"loss": loss}


def ecn_marks(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Both kernels use ECN, and the receiver's marks packets that may be marked (RFC 3168).

    The emulator does not mark. The marks are set behind the receiver's capture, which sees only
    what the receiver makes of them.
    """
    mark = (
        f"iptables -t mangle -A PREROUTING -p tcp --dport {BULK_PORT} -m ecn --ecn-ip-ect 2 "
        f"-m statistic --mode random --probability {dose['probability']} -j TOS --or-tos 0x03"
    )
    use = "sysctl -qw net.ipv4.tcp_ecn=1"
    for host, command in ((CLIENT, use), (SERVER, f"{use} && {mark}")):
        _prepared(values, network, host, command)


def _prepared(values: Values, network: Network, host: str, command: str) -> None:
    """A shell command on a host, done before the transfer begins."""
    seconds = network.seconds + 1
    values["duration"] = f"{seconds:g}s"
    values["workload"][TRANSFER] |= {"start": "500ms", "duration": f"{network.seconds:g}s"}
    values["workload"][f"prepare-{host}"] = {
        "kind": "command",
        "host": host,
        "command": ["sh", "-c", f"{command} && exec sleep {seconds:g}"],
        "duration": f"{seconds + 1:g}s",
    }


def policer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A token bucket that drops, on one of the two links."""
    rate = network.expected_megabits * dose["share"]
    _some_wire(values, random)["up"] = {
        "policer": {"rate": _rate(rate), "burst": f"{_burst(rate, dose)}B"}
    }


def shaper(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A token bucket that delays.

    Its wire is the narrow link; what waits behind it waits in that link's queue.
    """
    rate = network.expected_megabits * dose["share"]
    octets = (
        dose["burst_share"] * rate * 1e6 / 8 * network.seconds
        if "burst_share" in dose
        else 2 * PACKET_BYTES
    )
    _wire(values, network)["up"] = {
        "shaper": {"rate": _rate(rate), "burst": f"{max(int(octets), 2 * PACKET_BYTES)}B"}
    }


def _burst(megabits: float, dose: Parameters) -> int:
    return max(int(megabits * 1e6 / 8 * dose["burst_seconds"]), 5 * PACKET_BYTES)


def reordering(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Some data packets are held back, on one of the two links."""
    held = max(network.round_trip_ms * dose["trips"], 0.5)
    _some_wire(values, random)["up"] = {
        "reorder": {"probability": dose["share"], "delay": f"{held:g}ms"}
    }


def route_change(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The far link takes longer from some moment in the middle on."""
    link = values["links"]["far"]
    before = float(link["delay"].removesuffix("ms"))
    after = before + network.round_trip_ms * (dose["trips"] - 1)
    at = network.seconds * random.uniform(0.3, 0.6)
    steps = [{"at": "0s", "delay": f"{before:g}ms"}, {"at": f"{at:.2f}s", "delay": f"{after:g}ms"}]
    link["up"] = {"delay": {"steps": steps}}


def outage(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """One of the two links is down, in both directions, after the beginning."""
    at = network.seconds * random.uniform(0.2, 0.4)
    dead = [{"at": f"{at:.2f}s", "lasts": dose["lasts"]}]
    values["links"][random.choice(("near", "far"))] |= {
        "up": {"outages": dead},
        "down": {"outages": dead},
    }


def nic_stall(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Every link of the sender is down for some resets of 13 s, while several transfers run."""
    values["duration"] = f"{dose['stalls'] * 13 + 6}s"
    values["workload"][TRANSFER]["connections"] = dose["connections"]
    values["faults"] = {
        "stall": {
            "kind": "nic-stall",
            "host": CLIENT,
            "start": "2s",
            "duration": f"{dose['stalls'] * 13}s",
        }
    }


def far_outage(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The far link is down for long, while several transfers run.

    Retransmissions back off: the first that passes may come as late again as the outage lasted.
    """
    lasts = dose["lasts"]
    values["duration"] = f"{2 + 2 * lasts + 4}s"
    values["workload"][TRANSFER]["connections"] = 3
    values["links"]["far"]["outages"] = [{"at": "2s", "lasts": f"{lasts}s"}]


def rate_step(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The rate of the narrow link changes: shares of it, each from its share of the time on.

    A trace begins with the emulator, up to two seconds before the transfer on a busy machine, so
    the transfer lasts long enough to see every change.
    """
    seconds = max(network.seconds, _CHANGES_SECONDS)
    values["duration"] = f"{seconds:g}s"
    moved = random.uniform(-0.05, 0.05)
    steps = [
        ((share + moved) * seconds if share else 0.0, network.rate_megabits * level)
        for share, level in dose["steps"]
    ]
    _traced(values, network, steps)


def cellular(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The rate of the narrow link walks at random, in steps of a fifth of a second."""
    seconds = max(network.seconds, _STEPS_SECONDS)
    values["duration"] = f"{seconds:g}s"
    level, steps = 1.0, []
    for number in range(int(seconds / _WALK_SECONDS)):
        steps.append((number * _WALK_SECONDS, network.rate_megabits * level))
        level = min(1.5, max(0.25, level * math.exp(random.gauss(0, dose["spread"]))))
    _traced(values, network, steps)


_STEPS_SECONDS, _CHANGES_SECONDS, _WALK_SECONDS, _SPARE_SECONDS = 5.0, 8.0, 0.2, 10.0


def _traced(values: Values, network: Network, steps: Sequence[tuple[float, float]]) -> None:
    """Makes (seconds, Mbit/s) the narrow link's rate trace; the last rate lasts.

    The trace goes on after the transfer: it would repeat otherwise.
    """
    end = float(values["duration"].removesuffix("s")) + _SPARE_SECONDS
    link = _wire(values, network)
    rate = link.pop("rate")
    values[FILES] = {"rate.trace": [*steps, (end, 0.0)]}
    link["up"], link["down"] = {"rate_trace": "rate.trace"}, {"rate": rate}


def own_qdisc(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A token bucket at the sender's own interface, in place before the transfer begins."""
    rate = _rate(network.expected_megabits * dose["share"]).removesuffix("/s")
    bucket = f"rate {rate} burst {_OWN_BURST}"
    add = {
        "tbf": f"tc qdisc replace dev eth0 root tbf {bucket} latency 100ms",
        "htb": (
            "tc qdisc replace dev eth0 root handle 1: htb default 1 && "
            f"tc class add dev eth0 parent 1: classid 1:1 htb {bucket}"
        ),
    }[dose["qdisc"]]
    _prepared(values, network, CLIENT, add)


_OWN_BURST = "16kb"


# Other traffic on the path.


def _another(values: Values) -> None:
    """Another host behind the router, on the sender's side, that shares what lies beyond."""
    values["hosts"][OTHER] = {}
    values["links"]["beside"] = {"between": [OTHER, ROUTER], "delay": "1ms"}
    values["warm_up"] = "300ms"


def greedy(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """TCP transfers of another host."""
    _another(values)
    values["workload"]["others"] = {
        "kind": "bulk",
        "host": OTHER,
        "to": SERVER,
        "congestion_control": random.choice(("reno", "cubic")),
        "connections": dose["flows"],
        "duration": f"{network.seconds:g}s",
    }


def second_flow(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A flow with a fixed window joins midway."""
    _another(values)
    seconds = max(network.seconds, _STEPS_SECONDS)
    at = seconds * random.uniform(0.3, 0.5)
    values["duration"] = f"{seconds:g}s"
    window = max(
        int((network.path_bytes + network.queue_packets * PACKET_BYTES) * dose["paths"]), 8192
    )
    values["workload"]["others"] = {
        "kind": "bulk",
        "host": OTHER,
        "to": SERVER,
        "congestion_control": "cubic",
        "window_clamp": f"{window}B",
        "start": f"{at:.2f}s",
        "duration": f"{seconds - at:.2f}s",
    }


def parallel_flows(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Several flows of the sender in a small queue."""
    values["workload"][TRANSFER]["connections"] = dose["flows"]
    packets = max(round(network.path_bytes / PACKET_BYTES * dose["queue_paths"]), 4)
    _wire(values, network)["queue"] = f"{packets}p"


def steady(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """UDP of another host, in the same direction."""
    _another(values)
    values["background"] = {
        "others": {
            "model": dose["model"],
            "from": OTHER,
            "to": SERVER,
            "rate": _rate(network.rate_megabits * dose["share"]),
        }
    }


def reverse(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """UDP to another host, against the data."""
    _another(values)
    values["background"] = {
        "others": {
            "model": "poisson",
            "from": SERVER,
            "to": OTHER,
            "rate": _rate(network.rate_megabits * dose["share"]),
        }
    }


# Hosts.


def fault(**keys: str) -> Write:
    """A fault of the sending host, or of the one that is named, by the scenario's own keys.

    Those of the dose come on top.
    """
    return partial(_fault, keys)


def _fault(
    keys: Mapping[str, str], values: Values, network: Network, dose: Parameters, random: Random
) -> None:
    values["faults"] = {"fault": {"host": CLIENT, **keys, **dose}}


def freeze_and_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Stops of the sender, and loss."""
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}
    values["faults"] = {
        "fault": {
            "kind": "freeze",
            "host": CLIENT,
            "stopped": dose["stopped"],
            "every": dose["every"],
        }
    }


def quota_and_loss(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A share of a processor for the sender, and loss."""
    _some_wire(values, random)["up"] = {"loss": dose["loss"]}
    values["faults"] = {
        "fault": {"kind": "cpu-quota", "host": CLIENT, "share": dose["share"], "period": "10ms"}
    }


def loss_and_queue(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Loss, and TCP transfers of another host."""
    greedy(values, network, dose, random)
    values["links"]["near"].setdefault("up", {})["loss"] = dose["loss"]


# Applications.


def slow_reader(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The receiving application takes so much in a second and no more."""
    values["workload"][TRANSFER]["read"] = {
        "rate": _rate(network.expected_megabits * dose["share"])
    }


def bursty_writer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """So much at once that the application's own mean is this share of what the network gives."""
    pause_ms = max(network.round_trip_ms * dose["trips"], 5.0)
    rate = network.expected_megabits * 1e6 / 8
    writing = pause_ms / 1e3 * dose["share"] / (1 - dose["share"])
    burst = max(int(rate * writing), PACKET_BYTES)
    values["workload"][TRANSFER]["write"] = {"burst": f"{burst}B", "pause": f"{pause_ms:g}ms"}


def long_bursts(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Pauses of a fixed length; in between as much as the network takes in its share of time."""
    pause_ms, share = dose["pause_ms"], dose["share"]
    burst = network.expected_megabits * 1e3 / 8 * pause_ms * share / (1 - share)
    values["duration"] = f"{max(network.seconds, _STEPS_SECONDS):g}s"
    values["workload"][TRANSFER]["write"] = {
        "burst": f"{max(int(burst), PACKET_BYTES)}B",
        "pause": f"{pause_ms}ms",
    }


def small_writes(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A few kilobytes every few milliseconds, over a path with jitter."""
    values["workload"][TRANSFER]["write"] = {
        "burst": f"{dose['bytes']}B",
        "pause": f"{dose['pause_ms']}ms",
    }
    for link in values["links"].values():
        delay = float(link["delay"].removesuffix("ms"))
        link["jitter"] = f"{delay * dose['jitter']:g}ms"


def exchanges(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """Requests and responses over one connection, with think times of either side.

    The server, which sends, is the client host of the other kinds: captures keep their names.
    """
    size = max(int(network.expected_megabits * 1e6 / 8 * dose["seconds"]), 20_000)
    control = values["workload"][TRANSFER]["congestion_control"]
    seconds = max(network.seconds, _STEPS_SECONDS)
    values["duration"] = f"{seconds + 3:g}s"
    values["services"] = {
        "answers": {
            "host": CLIENT,
            "port": HTTP_PORT,
            "command": [
                *_python("answer.py"),
                f"{HTTP_PORT}",
                f"{size}",
                f"{dose.get('server_ms', 0)}",
                control,
            ],
        }
    }
    values["workload"][TRANSFER] = {
        "kind": "command",
        "host": SERVER,
        "to": CLIENT,
        "service": "answers",
        "command": [
            *_python("ask.py"),
            f"{{{CLIENT}}}",
            f"{HTTP_PORT}",
            f"{dose.get('client_ms', 0)}",
            f"{seconds:g}",
        ],
    }


def _python(program: str) -> list[str]:
    return ["python3", f"PROGRAMS/{program}"]


def send_buffer(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """A send buffer of this share of the undisturbed data in flight."""
    octets = max(
        int(network.expected_megabits * 1e6 / 8 * network.round_trip_ms / 1e3 * dose["paths"]), 8192
    )
    values["workload"][TRANSFER]["send_buffer"] = f"{octets}B"


def delayed_ack(values: Values, network: Network, dose: Parameters, random: Random) -> None:
    """The receiver's acknowledgements wait for its timer."""
    values["workload"][TRANSFER]["delayed_ack"] = dose["delayed"]


def _rate(megabits: float) -> str:
    return f"{max(round(megabits * 1000), 50)}kbit/s"
