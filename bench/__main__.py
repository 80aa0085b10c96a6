"""`python -m bench [quick] [long] [PART…]`.

Prints figures beside what they should be, and keeps them in bench-data/results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

from bench import (
    campaign_load,
    controller,
    delay,
    emulate,
    equivalence,
    estimators,
    explained,
    generators,
    hostile,
    judging,
    many,
    mix,
    model_traffic,
    sensitivity,
    tracing,
    watch,
)
from bench.burst import measure_engine, measure_files
from bench.captures import DIRECTORY, Captures
from bench.compare import inconsistent, measure_chains
from bench.compare import lines as chain_lines
from bench.compare import targets as chain_targets
from bench.flood import flood
from bench.memory import measure_flood, measure_peaks
from bench.process import ProgramFailed, program, run
from bench.speed import (
    Costs,
    Target,
    compare,
    compare_workers,
    measure_cpu,
    programs,
    slopes,
    start_up,
)

MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large the bench is.

    Attributes:
        block: Packets of the block that the captures repeat.
        sizes: Packets of the three captures.
        tshark_sizes: Packets of the two captures that tshark reads.
        rounds: Repetitions of every figure.
        half_open: Connections of the flood.
        probes: Test packets whose delays are compared.
        paths: Paths of the estimators, half a minute to some minutes each.
        users_seconds: How long users of a model are generated.
        hostile: Packets of the hostile captures; twice as many are analysed as well.
        short: Connections of ten packets whose JSON is written.
        many: Captures that are stored by a cluster.
        sweeps: How often that is done while workers are killed.
        made: Differences between testbeds that are carried out and explained, two minutes each.
        hosts: Simulated hosts of a campaign's controller.
        periods: Minutes in which each of them has a round.
        large: Packets of the one that workers share.
        zoomed: Packets of the transfer that is looked at in a browser.
    """

    block: int
    sizes: tuple[int, int, int]
    tshark_sizes: tuple[int, int]
    rounds: int
    half_open: int
    probes: int
    paths: int
    users_seconds: int
    hostile: int
    short: int
    many: int
    sweeps: int
    made: int
    hosts: int
    periods: int
    large: int
    zoomed: int


FULL = Scale(
    block=MILLION,
    sizes=(MILLION, 4 * MILLION, 16 * MILLION),
    tshark_sizes=(MILLION, 2 * MILLION),
    rounds=5,
    half_open=5 * MILLION,
    probes=8000,
    paths=50,
    users_seconds=95,
    hostile=200_000,
    short=100_000,
    many=400,
    sweeps=20,
    made=10,
    hosts=1000,
    periods=3,
    large=16 * MILLION,
    zoomed=5 * MILLION,
)
QUICK = Scale(
    block=250_000,
    sizes=(250_000, MILLION, 4 * MILLION),
    tshark_sizes=(250_000, 500_000),
    rounds=3,
    half_open=MILLION,
    probes=2000,
    paths=5,
    users_seconds=15,
    hostile=50_000,
    short=20_000,
    many=60,
    sweeps=2,
    made=2,
    hosts=100,
    periods=1,
    large=2 * MILLION,
    zoomed=MILLION,
)


class Bench:
    """Runs parts and remembers every figure."""

    def __init__(self, scale: Scale, long_seconds: float) -> None:
        self._scale = scale
        self._long_seconds = long_seconds
        self._captures = Captures(block_packets=scale.block)
        self._targets: list[Target] = []
        self._facts: dict[str, object] = {
            "scale": asdict(scale),
            "templates": [template.name for template in self._captures.templates],
        }

    def speed(self) -> None:
        """CPU per packet against the other programs."""
        heading("CPU per packet (user and system, one worker, medians of rounds in turns)")
        costs = measure_cpu(
            self._captures,
            programs(self._scale.sizes, self._scale.tshark_sizes),
            self._scale.rounds,
        )
        self._facts["cpu_seconds"] = costs
        print_costs(costs)
        self._keep(compare(costs))

    def workers(self) -> None:
        """Wall time of two workers against one."""
        heading("two workers")
        one, two, target = compare_workers(
            self._captures.of(self._scale.sizes[-1]), self._scale.rounds
        )
        self._facts["wall_seconds"] = {"one worker": one, "two workers": two}
        print(f"  one worker {one:.2f} s, two workers {two:.2f} s, {os.cpu_count()} cores")
        self._keep([target])

    def judging(self) -> None:
        """What judging costs for each transfer, and JSON for each row."""
        heading("judging, and JSON of short connections (CPU, one worker)")
        capture = self._captures.of(self._scale.sizes[0])
        found = judging.measure(capture, self._scale.short, self._scale.rounds)
        for line in judging.lines(found):
            print(f"  {line}")
        self._facts["judging"] = asdict(found)
        self._keep(judging.targets(found))

    def mix(self) -> None:
        """Many short connections: CPU, workers, memory."""
        heading("a mix of connections (whole commands, one worker, medians of rounds in turns)")
        found = mix.measure(self._scale.rounds)
        if found is None:
            print("  left out: the captures that it is made of are not here (TRUSTBED_TRACES)")
            return
        one, two = found.wall_seconds
        self._facts["mix"] = {
            "packets": found.capture.packets,
            "connections": found.capture.connections,
            "cpu_seconds": found.cpu_seconds,
            "wall_seconds": {"one worker": one, "two workers": two},
        }
        for name, seconds in found.cpu_seconds.items():
            print(f"  {name:<19} {seconds:>8.2f} s")
        print(f"  one worker {one:.2f} s, two workers {two:.2f} s (wall time)")
        self._keep(found.targets)

    def start(self) -> None:
        """CPU of the start."""
        heading("start")
        self._keep([start_up(max(self._scale.rounds, 5))])

    def memory(self) -> None:
        """Peak memory over the sizes."""
        heading("memory (private)")
        self._keep(measure_peaks([self._captures.of(size) for size in self._scale.sizes]))

    def flood(self) -> None:
        """Peak memory and evictions on a flood."""
        heading("flood")
        result = measure_flood(flood(self._scale.half_open))
        self._facts["flood"] = {"evicted": result.evicted, "cpu_seconds": result.cost.cpu_seconds}
        for workers, evicted in result.evicted.items():
            print(
                f"  evicted and counted with {workers} "
                f"{'worker' if workers == 1 else 'workers'}: {evicted}"
            )
        different = len(set(result.evicted.values())) - 1
        self._keep(
            [
                result.peak,
                Target(
                    what="different counts of evictions for other numbers of workers",
                    value=different,
                    limit=0,
                ),
            ]
        )

    def hostile(self) -> None:
        """Captures that are made to cost as much as they can."""
        heading("hostile captures (user CPU of once and twice the packets, without the start)")
        found = []
        for one in hostile.measure(self._scale.hostile, min(3, self._scale.rounds)):
            print(f"  {hostile.line(one)}", flush=True)
            found.append(one)
        self._facts["hostile"] = [asdict(one) for one in found]
        self._keep(hostile.targets(found))

    def burst(self) -> None:
        """Burstiness and energy: the engine in memory, and the verb on files."""
        heading("burstiness, columns in memory (millions of packets per second)")
        rates, targets = measure_engine()
        self._facts["burst_millions_of_packets_per_second"] = rates
        for name, rate in rates.items():
            print(f"  {name:<24} {rate:>7.1f}")
        self._keep(targets)
        heading("burstiness, from a file")
        costs, targets = measure_files(self._captures, self._scale.sizes[:2], self._scale.rounds)
        self._facts["burst_cpu_seconds"] = costs
        print_costs(costs)
        self._keep(targets)

    def watch(self) -> None:
        """A live capture against a flood, and what it costs those it watches."""
        heading("watch: a flood of 60-byte frames from one core")
        with watch.hosts() as (near, far):
            flooded = watch.measure_flood(near, far)
            packets, share = flooded.frames_per_second, flooded.cpu_share
            print(
                f"  {packets / 1e3:.0f} thousand frames/s, {flooded.dropped} dropped, "
                f"watcher {share:.0%} of a core"
            )
            heading("watch: requests per second with ab (medians of rounds in turns)")
            loads = [
                watch.measure_load(near, far, size, 2 * self._scale.rounds + 1)
                for size in (watch.LARGE, watch.SMALL)
            ]
        for load in loads:
            print_load(load)
        self._facts["watch"] = {"flood": asdict(flooded), "loads": [asdict(load) for load in loads]}
        self._keep(watch.targets(flooded, loads))

    def emulate(self) -> None:
        """The emulator's error and speed, beside the kernel's token bucket."""
        heading("emulate (errors as seen by captures; medians of rounds in turns)")
        found = emulate.measure(self._scale.rounds, 2.0 * self._scale.rounds)
        for line in emulate.lines(found):
            print(f"  {line}")
        self._facts["emulate"] = asdict(found)
        self._keep(emulate.targets(found))

    def generators(self) -> None:
        """Senders against their schedules."""
        heading(
            "generators: 40 Mbit/s of 1500 bytes (errors as seen by a capture; medians of "
            "rounds in turns)"
        )
        found = generators.measure(2.0 * self._scale.rounds, self._scale.rounds, self._long_seconds)
        for line in generators.lines(found):
            print(f"  {line}", flush=True)
        self._facts["generators"] = asdict(found)
        self._keep(generators.targets(found))

    def traffic(self) -> None:
        """Users of a model, and learning one."""
        heading("traffic: users of a model on 1 Gbit/s, and the model of their capture")
        found = model_traffic.measure(self._scale.users_seconds, min(3, self._scale.rounds))
        for line in model_traffic.lines(found):
            print(f"  {line}", flush=True)
        self._facts["traffic"] = asdict(found)
        self._keep(model_traffic.targets(found))
        told, tried = sensitivity.told()
        print(f"  {told} of {tried} token buckets were told the time scale of their depth")
        self._keep([Target(what="sensitivity: buckets told their band", value=told, lower=11)])

    def delay(self) -> None:
        """One-way delays by test packets against the emulator's ledger."""
        heading(
            "delay: STAMP over 10 ms and a jitter of 1 ms (every packet against the "
            "ledger's own account of it)"
        )
        found = delay.measure(self._scale.probes)
        for name, way in found.items():
            print(f"  {delay.line(name, way)}", flush=True)
        self._facts["delay"] = {name: asdict(way) for name, way in found.items()}
        self._keep(delay.targets(found))

    def campaign(self) -> None:
        """Samples of hosts between which a campaign's connections go as fast as they can."""
        heading("campaign: connections as fast as the machine can, and the hosts' own samples")
        found = campaign_load.measure(self._scale.rounds)
        for one in found:
            print(f"  {campaign_load.line(one)}", flush=True)
        self._facts["campaign"] = [asdict(one) for one in found]
        self._keep(campaign_load.targets(found))

    def estimators(self) -> None:
        """Two estimators, pathload and pathChirp, on paths whose available bandwidth is known."""
        heading(
            f"estimators: {self._scale.paths} paths of 5 to 100 Mbit/s with cross traffic "
            f"at a constant rate"
        )
        virtuals = [
            estimators.virtual(cross, long_packets=long)
            for long in (False, True)
            for cross in estimators.CROSS_BYTES
        ]
        for one in virtuals:
            print(f"  {estimators.virtual_line(one)}", flush=True)
        readings: dict[str, list[estimators.Reading]] = {"pathload": [], "pathchirp": []}
        for both in estimators.measure(self._scale.paths):
            for reading in both:
                print(f"  {estimators.line(reading)}", flush=True)
                readings[reading.estimator].append(reading)
        judged = {name: estimators.judge(found) for name, found in readings.items()}
        for name, found in judged.items():
            print(f"  {estimators.summary(name, found)}")
        self._facts["estimators"] = {
            name: [asdict(reading) for reading in found] for name, found in readings.items()
        }
        self._facts["estimators_virtual"] = [asdict(one) for one in virtuals]
        self._keep(estimators.targets(judged, virtuals))

    def compare(self) -> None:
        """Chains of system calls, and whether known differences between testbeds are found."""
        heading("compare: chains of system calls, one core (millions of calls per second)")
        rates, inconsistent_calls = measure_chains(), inconsistent()
        for line in chain_lines(rates):
            print(f"  {line}")
        heading(f"compare: {equivalence.TRIES} pairs of testbeds of each kind, drawn")
        equal, found = equivalence.same(), equivalence.known()
        for line in equivalence.lines(equal, found):
            print(f"  {line}")
        self._facts["compare"] = {
            "chains_millions_of_calls_per_second": rates,
            "calls_inconsistent_with_their_own": inconsistent_calls,
            "equal_called_different": equal,
            "known": {name: asdict(one) for name, one in found.items()},
        }
        self._keep([*chain_targets(rates, inconsistent_calls), *equivalence.targets(equal, found)])
        self._tracing()

    def explain(self) -> None:
        """Differences made on emulated hosts, and which setting is named for each."""
        heading(f"explain: {self._scale.made} differences made on emulated hosts, two decoys each")
        found = explained.measure(self._scale.made)
        for line in explained.lines(found):
            print(f"  {line}", flush=True)
        self._facts["explained"] = [asdict(one) for one in found]
        self._keep(explained.targets(found))

    def many(self) -> None:
        """Many hosts; captures on a cluster into a store, questions to a large one, its pages."""
        self.controller()
        heading("many captures, and a store of a million transfers (wall time)")
        scale = self._scale
        found = many.measure(
            scale.many, scale.sweeps, MILLION, scale.large, scale.zoomed, scale.rounds
        )
        for line in many.lines(found):
            print(f"  {line}", flush=True)
        self._facts["many"] = asdict(found)
        self._keep(many.targets(found))

    def controller(self) -> None:
        """A campaign's controller and many hosts."""
        heading(f"controller of a campaign: {self._scale.hosts} simulated hosts over SSH")
        found = controller.measure(self._scale.hosts, self._scale.periods)
        for line in controller.lines(found):
            print(f"  {line}", flush=True)
        self._facts["controller"] = asdict(found)
        self._keep(controller.targets(found))

    def _tracing(self) -> None:
        if os.geteuid() != 0:
            print("tracing: left out, it needs root")
            return
        heading("compare: tracing system calls (nginx, objects of 500 B, in turns)")
        found = tracing.measure(2 * self._scale.rounds + 1)
        for line in tracing.lines(found):
            print(f"  {line}")
        self._facts["tracing"] = asdict(found)
        self._keep(tracing.targets(found))

    def _keep(self, targets: list[Target]) -> None:
        for target in targets:
            print("  " + sentence(target))
        self._targets += targets

    def finish(self) -> None:
        """Says which targets hold, and writes the results.

        A missed one is a result, not an error.
        """
        missed = [target for target in self._targets if not target.holds]
        heading(f"{len(self._targets) - len(missed)} of {len(self._targets)} targets hold")
        for target in missed:
            print("  " + sentence(target))
        kept = {
            "machine": machine(),
            **self._facts,
            "targets": [asdict(target) | {"holds": target.holds} for target in self._targets],
        }
        (DIRECTORY / "results.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def heading(text: str) -> None:
    """Prints a heading."""
    print(f"\n{text}", flush=True)


def sentence(target: Target) -> str:
    """A target in a line: what, how much, how much it should be, whether it is."""
    unit = f" {target.unit}" if target.unit else ""
    least, most = (
        None if bound is None else f"{bound:g}" for bound in (target.lower, target.limit)
    )
    asked = (
        f"≤ {most}{unit}"
        if least is None
        else f"≥ {least}{unit}"
        if most is None
        else f"{least} … {most}{unit}"
    )
    return (
        f"{'holds ' if target.holds else 'MISSED'}  {target.what}: {target.value:.3g}{unit} "
        f"(should be {asked})"
    )


def print_costs(costs: Costs) -> None:
    """A table of CPU seconds per program and size, and the slope."""
    per_packet = slopes(costs)
    for name, by_size in costs.items():
        seconds = "  ".join(f"{size / 1e6:g} M: {cpu:.2f} s" for size, cpu in by_size.items())
        print(f"  {name:<19} {per_packet[name]:>8.0f} ns a packet   ({seconds})")


def print_load(load: watch.Load) -> None:
    """The three medians, and what each looker costs."""
    runs = {"alone": load.alone, "watch": load.watch, "tcpdump": load.tcpdump}
    medians = {
        name: median(one.requests_per_second for one in found) for name, found in runs.items()
    }
    shown = ", ".join(f"{name} {value:.0f}/s" for name, value in medians.items())
    losses = f"watch costs {load.loss(load.watch):.1%}, tcpdump {load.loss(load.tcpdump):.1%}"
    print(f"  objects of {load.size} bytes: {shown}; {losses}")
    alone = 1e6 * median(one.cpu_per_request for one in load.alone)
    more = f"watch {load.more_cpu(load.watch):+.1%}, tcpdump {load.more_cpu(load.tcpdump):+.1%}"
    print(f"    CPU of a request, without what else the machine does: alone {alone:.0f} µs, {more}")


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "trustbed": run([program("trustbed"), "--version"], keep_output=True).output.strip(),
    }


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Speed and memory of trustbed, with their targets."
    )
    parts: dict[str, Callable[[Bench], None]] = {
        "speed": Bench.speed,
        "workers": Bench.workers,
        "judging": Bench.judging,
        "mix": Bench.mix,
        "start": Bench.start,
        "memory": Bench.memory,
        "flood": Bench.flood,
        "hostile": Bench.hostile,
        "burst": Bench.burst,
        "watch": Bench.watch,
        "emulate": Bench.emulate,
        "generators": Bench.generators,
        "traffic": Bench.traffic,
        "delay": Bench.delay,
        "campaign": Bench.campaign,
        "compare": Bench.compare,
        "explain": Bench.explain,
        "estimators": Bench.estimators,
        "many": Bench.many,
        "controller": Bench.controller,
    }
    said = f"quick, long (ten minutes for what may drift), or some of: {', '.join(parts)}"
    parser.add_argument(
        "words", nargs="*", choices=[*parts, "quick", "long", []], metavar="PART", help=said
    )
    words = parser.parse_args().words
    DIRECTORY.mkdir(exist_ok=True)
    try:
        bench = Bench(
            QUICK if "quick" in words else FULL, long_seconds=600.0 if "long" in words else 60.0
        )
        for name in [word for word in words if word in parts] or [*parts][:-1]:  # many has it
            parts[name](bench)
        bench.finish()
    except ProgramFailed as error:
        print(
            f"error: {error}\nhint: run it by hand; make setup installs what is missing",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
