"""Users of a traffic model beside the command of ``trustbed shell``.

The link then joins two routers: the near host and the users are behind the one, the far host and
the servers behind the other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustbed.agent.client import Agent
from trustbed.cli import arguments
from trustbed.report.words import duration, rate
from trustbed.scenario.description import direction
from trustbed.scenario.populations import links, numbered
from trustbed.testbed import Host, Testbed
from trustbed.traffic import suite
from trustbed.traffic.hosts import HostPath
from trustbed.traffic.model import load
from trustbed.traffic.offer import Load, Offer, load_of, offer

USERS, SERVERS = "users", "servers"
ROUTERS = ("left", "right")


def add(parser: argparse.ArgumentParser) -> None:
    """``--background`` and its rate."""
    group = parser.add_argument_group("background")
    group.add_argument(
        "--background",
        metavar="MODEL",
        help="users of a traffic model beside the command, on the same link: a file, or web, bulk, "
        "video, interactive, bursty or heavy-tailed. They download from behind the far end",
    )
    group.add_argument(
        "--background-rate",
        type=arguments.rate,
        metavar="RATE",
        help="their mean rate, if nothing slows them down (default: as in the model)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The users of a model, and where they are."""

    offer: Offer
    users: tuple[str, ...]
    servers: tuple[str, ...]
    seed: int

    def hosts(self) -> list[Host]:
        """The hosts of both sides, for the testbed."""
        return [
            Host(name=USERS, addresses=self.users),
            Host(name=SERVERS, addresses=self.servers),
        ]

    def topology(self, near: str, far: str, plain: Mapping[str, Any]) -> dict[str, Any]:
        """The network of ``plain``, whose two pipes now join routers."""
        access: dict[str, Any] = {"up": {}, "down": {}}
        ends = dict(zip((near, far), ROUTERS, strict=True))
        hosts = [
            {**host, "access": {"router": ends[host["name"]], **access}} for host in plain["hosts"]
        ]
        for name, addresses, paths, router in (
            (USERS, self.users, self.offer.clients, ROUTERS[0]),
            (SERVERS, self.servers, self.offer.servers, ROUTERS[1]),
        ):
            each = [_described(path) for path in paths]
            hosts.append(
                {
                    "name": name,
                    "addresses": list(addresses),
                    "access": {"router": router, **access, "each": each},
                }
            )
        pipes = [
            {**pipe, "from": ends[pipe["from"]], "to": ends[pipe["to"]]} for pipe in plain["pipes"]
        ]
        return {**plain, "hosts": hosts, "routers": list(ROUTERS), "pipes": pipes}

    def start(self, testbed: Testbed, directory: Path) -> Agent:
        """Starts the generator; its offer is written into ``directory``."""
        file = directory / "offer.json"
        file.write_text(json.dumps(self.offer.document()), encoding="utf-8")
        configuration = {
            "offer": str(file),
            "clients": list(self.users),
            "servers": list(self.servers),
            "server_namespace": str(testbed.namespace(SERVERS)),
            "seed": self.seed,
        }
        generator = testbed.start_agent("generate", configuration, where=USERS)
        generator.begin()
        return generator


def _described(path: HostPath) -> dict[str, Any]:
    up, down = links(path)
    return {"up": direction(up), "down": direction(down)}


def background(
    options: argparse.Namespace, taken: Sequence[str], carried: tuple[int, int]
) -> Background | None:
    """The users that the options ask for; None where they ask for none.

    ``carried`` is what the link carries to the far end and back in bit/s, 0 if it has no limit.

    Raises:
        UsageError: A rate without a model, users beside this host's network, or more of them than
            the link carries.
    """
    if options.background is None:
        if options.background_rate is not None:
            raise arguments.UsageError("--background-rate without --background", "--background web")
        return None
    if options.outside:
        raise arguments.UsageError(
            "--background and --outside exclude each other", "leave one of the two out"
        )
    name = options.background
    model = load(suite.located(name))
    wanted = options.background_rate
    whole = load_of(model)
    sessions = 1.0 if wanted is None else wanted / whole.larger
    _refuse_overload(whole.times(sessions), carried)
    found = offer(model, sessions=sessions)
    users, servers = numbered((len(found.clients), len(found.servers)), taken)
    return Background(offer=found, users=users, servers=servers, seed=options.seed)


def _refuse_overload(offered: Load, carried: tuple[int, int]) -> None:
    """Users who offer more than the link carries wait longer and longer."""
    sides = (("users", offered.client), ("servers", offered.server))
    for (who, bits), most in zip(sides, carried, strict=True):
        if most and bits > most:
            less = 0.99 * most / bits * offered.larger
            raise arguments.UsageError(
                f"the background's {who} offer {rate(bits / 8)} in the mean, and the link carries "
                f"{rate(most / 8)}",
                f"--background-rate {less // 1e3:.0f}kbit/s or less, or a link of a higher --rate",
            )


def summary(report: Mapping[str, Any]) -> str:
    """What the users did, in one line."""
    received = sum(report["client_received_bytes_per_second"])
    seconds = max(report["duration_ns"] / 1e9, 1e-9)
    late = report["start_error"]["p99_ns"]
    said = (
        f"background: {rate(received / seconds)} to users, "
        f"{report['connections']:,} connections, {report['failed_connections']:,} failed"
    )
    return said if late is None else f"{said} · requests late by {duration(late / 1e9)} (p99)"
