"""How fast burstiness and energy are computed.

The engine on columns in memory, and `trustbed burst` on files.

The engine's figures come from the examples of `crates/burst`, which take turns with a plain pass
that sums the columns: what reading them costs. `trustbed burst` takes turns with tcpdump; its CPU
per packet is the slope between two sizes, as everywhere here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.captures import Captures
from bench.process import program, run
from bench.speed import Program, Target, measure_cpu, slopes

ROOT = Path(__file__).resolve().parent.parent

# 100 GbE carries 148.8 million frames of minimum size in a second.
LINE_RATE = 148.8
LEAST = {"static": LINE_RATE, "sigma48": 30.0, "haar_1ms": 100.0}
OF_TCPDUMP = 0.7


def example(name: str) -> dict[str, Any]:
    """What an example of the engine measured."""
    run(
        [
            "cargo",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "-p",
            "trustbed-burst",
            "--example",
            name,
        ]
    )
    answer: dict[str, Any] = json.loads(
        run([str(ROOT / "target" / "release" / "examples" / name)], keep_output=True).output
    )
    return answer


def measure_engine() -> tuple[dict[str, float], list[Target]]:
    """The engine on columns in memory: millions of packets per second, on one core and on two."""
    energy = example("energy_speed")
    rates: dict[str, float] = example("speed")["millions_of_packets_per_second"]
    rates |= {
        name: value["packets_per_second"] / 1e6
        for name, value in energy.items()
        if isinstance(value, dict)
    }
    targets = [
        Target(
            what=f"{name}: what is asked ({least:g} million packets/s) against what it does",
            value=least / rates[name],
            limit=1.0,
        )
        for name, least in LEAST.items()
    ]
    targets.append(
        Target(
            what="static against a plain pass over the columns",
            value=rates["plain"] / rates["static"],
            limit=4.0,
        )
    )
    rates |= {
        "sigma48: times the time of a plain pass": rates["plain"] / rates["sigma48"],
        "haar_1ms: times the time of a plain pass": rates["sum"] / rates["haar_1ms"],
        "plain pass, two cores: times one core": rates["plain_two_threads"] / rates["plain"],
    }
    targets += [
        Target(
            what=f"{name}, two cores: time against one core",
            value=rates[name] / rates[f"{name}_two_threads"],
            limit=1 / 1.8,
        )
        for name in ("static", "sigma48", "haar_1ms")
    ]
    return rates, targets


def measure_files(
    captures: Captures, sizes: tuple[int, ...], rounds: int
) -> tuple[dict[str, dict[int, float]], list[Target]]:
    """`trustbed burst` against tcpdump.

    Only the windows of one rate, and everything that it prints by default.
    """
    burst = [program("trustbed"), "burst", "FILE", "--rate", "1Gbit/s", "--quiet"]
    asked = [
        Program(name="burst, windows only", command=[*burst, "--only", "windows"], sizes=sizes),
        Program(name="burst", command=burst, sizes=sizes),
        Program(name="tcpdump", command=["tcpdump", "-r", "FILE", "-w", "/dev/null"], sizes=sizes),
    ]
    costs = measure_cpu(captures, asked, rounds)
    per_packet = slopes(costs)
    target = Target(
        what="CPU per packet of `burst --only windows` against tcpdump",
        value=per_packet["burst, windows only"] / per_packet["tcpdump"],
        limit=OF_TCPDUMP,
    )
    return costs, [target]
