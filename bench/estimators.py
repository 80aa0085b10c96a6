"""pathload and pathChirp between two agents, over emulated links of known available bandwidth.

Two hosts on veth links to a middle, where `trustbed-agent emulate` has a link between them; `send`
takes a part of it at a constant rate; what is left is what the estimators should find. They run one
after the other, with the same cross traffic.

Bias: emulator, senders and receiver share the cores. What was late is reported beside what was
found, and readings of a run in which the machine was too busy are told apart (``Reading.invalid``);
nothing else is left out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from bench.emulate import emulator
from bench.generators import Agent
from bench.namespaces import Host, NoNamespaces, address, star
from bench.process import ProgramFailed, run
from bench.speed import Target

NEAR, FAR = address(1, 0), address(2, 0)
NONCE = 0x7472757374626564
HEADER_BYTES = 28
"""Of IPv4 and UDP."""
TOLERATED = 0.05
"""An interval may miss what was available by so much of the capacity."""
STOOD_NS = 20_000_000
"""Anything that is late by this much stalled: longer than any stream here at 20 Mbit/s and more."""
EMULATOR_P99_NS = 500_000
"""An emulator that is late by so much in one packet of a hundred makes delays of its own."""
DISCARDED_SHARE = 0.25
"""A sender that was late in so many of its runs sent the others on the brink."""
PATHLOAD: Mapping[str, Any] = {"kind": "pathload"}
CHIRP_SECONDS = 15.0
_LEAST, _MOST = 5e6, 100e6
"""Capacities of the bench, in bit/s."""
_LOAD_MOST = 0.8


@dataclass(frozen=True, kw_only=True)
class Path:
    """A link, and what is on it.

    Attributes:
        capacity: Of the link, in bit/s of IP packets.
        cross: Rate of the cross traffic, in bit/s of IP packets.
        cross_bytes: Length of its packets. The longer they are, the more delays rise and fall by
            them alone.
        delay_ns: One way.
    """

    capacity: int
    cross: int
    cross_bytes: int = 500
    delay_ns: int = 5_000_000

    @property
    def available(self) -> int:
        """What cross traffic leaves, in bit/s of IP packets."""
        return self.capacity - self.cross


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What an estimator said of a path. Rates in bit/s of IP packets.

    Attributes:
        path: The path.
        estimator: Which.
        low: Lower bound of pathload; of pathChirp the mean of its estimates less their standard
            deviation. None where there is none.
        high: Upper bound of pathload; of pathChirp the mean and the deviation. None where there is
            none.
        report: All that the sender said.
        invalid: Why the machine was too busy for it to mean something; none if it was not.
    """

    path: Path
    estimator: str
    low: float | None
    high: float | None
    report: Mapping[str, Any] = field(repr=False)
    invalid: str | None

    @property
    def holds(self) -> bool:
        """Whether the interval, widened by 5 % of the capacity, holds what was available."""
        tolerated = TOLERATED * self.path.capacity
        return (
            self.low is not None
            and self.high is not None
            and self.low - tolerated <= self.path.available <= self.high + tolerated
        )

    @property
    def error(self) -> float | None:
        """The middle's distance from what was available, as a part of that.

        None without both bounds.
        """
        if self.low is None or self.high is None:
            return None
        return (self.low + self.high) / 2 / self.path.available - 1


def pathchirp(path: Path, seconds: float) -> dict[str, Any]:
    """Settings of pathChirp for a path.

    Rates around its capacity, and chirps that load it by a twentieth, so that a run is short.
    """
    rates = {
        "lowest_bits_per_second": path.capacity / 8,
        "highest_bits_per_second": path.capacity * 2.5,
    }
    often = {"mean_bits_per_second": path.capacity / 20, "coalescence_ns": 2_000, "adapts": False}
    return {"kind": "pathchirp", **rates, **often, "duration_ns": int(seconds * 1e9)}


@contextlib.contextmanager
def hosts() -> Iterator[tuple[Host, Host, Host]]:
    """The middle, the near and the far host.

    Raises:
        NoNamespaces: Why there cannot be any.
    """
    with star(["near", "far"]) as (middle, (near, far)):
        yield middle, near, far


def estimate(
    middle: Host, near: Host, far: Host, path: Path, estimators: Sequence[Mapping[str, Any]]
) -> list[Reading]:
    """One run: the estimators one after the other over the same path."""
    link = {"rate_bits_per_second": path.capacity, "delay_ns": path.delay_ns}
    ends = [{"name": "near", "addresses": [NEAR]}, {"name": "far", "addresses": [FAR]}]
    topology = {"chain": {"ends": ends, "up": [link], "down": [{"delay_ns": path.delay_ns}]}}
    with contextlib.ExitStack() as stack:
        moved = stack.enter_context(emulator(middle, topology))
        agents = Agents(stack)
        if path.cross:
            sink = agents.start(
                far, "sink", {"listen": [{"transport": "udp", "address": f"{FAR}:9"}]}
            )
            model = {
                "kind": "cbr",
                "rate_bits_per_second": path.cross,
                "packet_bytes": path.cross_bytes,
            }
            source = {"name": "cross", "transport": "udp", "to": f"{FAR}:9", "model": model}
            cross = agents.start(near, "send", {"sources": [source]})
        receiver = agents.start(
            far, "estimate", {"role": "receive", "listen": f"{FAR}:0", "peer": NEAR, "nonce": NONCE}
        )
        to = {"role": "send", "to": receiver.ready["listening"], "from": NEAR, "nonce": NONCE}
        reports = [
            agents.start(near, "estimate", {**to, "estimator": dict(one)}).report()
            for one in estimators
        ]
        receiver.stop()
        sent = cross.stop() if path.cross else None
        if path.cross:
            sink.stop()
    return [_reading(path, report, moved, sent) for report in reports]


class Agents:
    """Agents that end with a run."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack

    def start(self, host: Host, verb: str, configuration: dict[str, Any]) -> Agent:
        """Starts one."""
        agent = Agent(host, verb, configuration)
        self._stack.callback(agent.end)
        agent.start()
        return agent


def _reading(
    path: Path, report: Mapping[str, Any], moved: Mapping[str, Any], cross: Mapping[str, Any] | None
) -> Reading:
    found = report[report["estimator"]] or {}
    if report["estimator"] == "pathload":
        low, high = found.get("low_bits_per_second"), found.get("high_bits_per_second")
    else:
        low, high = _about(found)
    return Reading(
        path=path,
        estimator=report["estimator"],
        low=low,
        high=high,
        report=report,
        invalid=invalid(report, moved["departure_error"], cross),
    )


def _about(found: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Mean and deviation of pathChirp's estimates as an interval, in bit/s of IP packets.

    The tool counts payload.
    """
    mean = found.get("mean_ip_bits_per_second")
    if mean is None:
        return None, None
    deviation = (
        (found.get("deviation_bits_per_second") or 0.0) * mean / found["mean_bits_per_second"]
    )
    return mean - deviation, mean + deviation


def invalid(
    report: Mapping[str, Any], moved: Mapping[str, Any], cross: Mapping[str, Any] | None
) -> str | None:
    """Why a run is invalid, judged by the departure errors of its programs.

    The programs are the sender, the emulator and the cross traffic.
    """
    # A stalled sender reports that itself: that run was not used.
    for who, late in (("emulator", moved), ("cross traffic", cross and cross["departure_error"])):
        if late and (late["max_ns"] or 0) > STOOD_NS:
            return f"the {who} stalled for {late['max_ns'] / 1e6:.0f} ms"
    if (moved["p99_ns"] or 0) > EMULATOR_P99_NS:
        return f"one packet in a hundred left the emulator {moved['p99_ns'] / 1e3:.0f} µs late"
    if cross is not None and cross["departure_error"]["generator_late"]:
        return "the cross traffic was late"
    runs = report["streams"] if report["estimator"] == "pathload" else report["chirps"]
    late = runs["discarded"]["sender_late"] + runs["discarded"]["no_room"]
    if late > DISCARDED_SHARE * runs["sent"]:
        return f"the sender was late in {late} of {runs['sent']} runs"
    return None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Readings of one estimator.

    Attributes:
        runs: All of them.
        invalid: Those in which the machine was too busy.
        judged: The others.
        held: Of those, intervals that hold what was available.
        mean_error: Mean of the errors of those that have one.
        mean_absolute_error: The same without signs.
        mean_seconds: How long one took.
        mean_bytes: What one sent.
    """

    runs: int
    invalid: int
    judged: int
    held: int
    mean_error: float | None
    mean_absolute_error: float | None
    mean_seconds: float | None
    mean_bytes: float | None

    @property
    def held_share(self) -> float | None:
        """Of those that were judged; none without any."""
        return self.held / self.judged if self.judged else None


def judge(readings: Sequence[Reading]) -> Judged:
    """Sums up readings; those of a machine that was too busy are only counted."""
    clean = [one for one in readings if one.invalid is None]
    errors = [one.error for one in clean if one.error is not None]
    return Judged(
        runs=len(readings),
        invalid=len(readings) - len(clean),
        judged=len(clean),
        held=sum(one.holds for one in clean),
        mean_error=_mean(errors),
        mean_absolute_error=_mean([abs(error) for error in errors]),
        mean_seconds=_mean([one.report["duration_ns"] / 1e9 for one in clean]),
        mean_bytes=_mean([float(one.report["sent_ip_bytes"]) for one in clean]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


@dataclass(frozen=True, kw_only=True)
class Virtual:
    """What became of both over links in virtual time, whose hosts have no faults.

    Attributes:
        cross_bytes: Length of the cross traffic's packets.
        long_packets: Whether both had their settings for long packets.
        runs: So many paths of 1 to 1000 Mbit/s, 1 to 200 ms there and back, up to 90 % of cross
            traffic.
        held: Intervals of pathload that hold what is available, as they are.
        mean_error: Of pathChirp.
        mean_absolute_error: The same without signs.
    """

    cross_bytes: int
    long_packets: bool
    runs: int
    held: int
    mean_error: float
    mean_absolute_error: float


_VIRTUAL = re.compile(
    r"pathload: (\d+) of (\d+) intervals .* mean error (\S+), mean absolute error (\S+)$"
)
CROSS_BYTES = (100, 500, 1500)
"""Packets of cross traffic from those of a voice to the longest.

The longer they are, the more delays rise and fall by them alone.
"""


def virtual(cross_bytes: int, *, long_packets: bool, runs: int = 100) -> Virtual:
    """Both estimators over so many links in virtual time.

    Whatever machine it is, the same comes out.

    Raises:
        ProgramFailed: The program cannot be built or did not end well.
    """
    command = [
        "cargo",
        "run",
        "--release",
        "--quiet",
        "--locked",
        "--package",
        "trustbed-probe",
        "--example",
        "accuracy",
        "--",
    ]
    output = run(
        [*command, str(runs), str(cross_bytes), *(["long"] if long_packets else [])],
        keep_output=True,
    ).output
    if (found := _VIRTUAL.search(output.rstrip())) is None:
        raise ProgramFailed(f"the example accuracy ended with {output.splitlines()[-1:]}")
    held, of, error, absolute = found.groups()
    return Virtual(
        cross_bytes=cross_bytes,
        long_packets=long_packets,
        runs=int(of),
        held=int(held),
        mean_error=float(error),
        mean_absolute_error=float(absolute),
    )


def virtual_line(one: Virtual) -> str:
    """The same for a person."""
    errors = f"pathChirp off by {one.mean_error:+.1%} ({one.mean_absolute_error:.1%} without signs)"
    settings = "settings for long packets" if one.long_packets else "settings of the tools"
    return (
        f"in virtual time, {one.cross_bytes} bytes of cross traffic a packet, {settings}: "
        f"pathload holds {one.held} of {one.runs}, {errors}"
    )


def paths(count: int) -> Iterator[Path]:
    """So many paths that fill the space evenly, each a multiple of irrational numbers.

    Any number of them is spread alike.
    """
    for number in range(1, count + 1):
        capacity = _LEAST * (_MOST / _LEAST) ** (number * 0.618034 % 1)
        round_trip_ns = 2e6 * 20 ** (number * 0.414214 % 1)
        load = _LOAD_MOST * (number * 0.732051 % 1)
        yield Path(
            capacity=int(capacity), cross=int(capacity * load), delay_ns=int(round_trip_ns / 2)
        )


def measure(runs: int) -> Iterator[list[Reading]]:
    """Both estimators on so many paths, one after the other."""
    try:
        for path in paths(runs):
            # New ones for each: hosts last ten minutes.
            with hosts() as (middle, near, far):
                yield estimate(middle, near, far, path, [PATHLOAD, pathchirp(path, CHIRP_SECONDS)])
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


def line(reading: Reading) -> str:
    """A reading for a person."""
    path = reading.path
    what = f"{path.capacity / 1e6:5.1f} Mbit/s, {path.available / 1e6:5.1f} available"
    low, high = (
        "?" if bound is None else f"{bound / 1e6:.1f}" for bound in (reading.low, reading.high)
    )
    error = "" if reading.error is None else f" ({reading.error:+.0%})"
    spent = (
        f"{reading.report['duration_ns'] / 1e9:.0f} s, "
        f"{reading.report['sent_ip_bytes'] / 1e6:.1f} MB"
    )
    verdict = reading.invalid or ("holds" if reading.holds else "misses")
    return (
        f"{what}  {reading.estimator:<9} {low} … {high} Mbit/s{error}, "
        f"{reading.report['ending']}, {spent}: {verdict}"
    )


def summary(name: str, judged: Judged) -> str:
    """What became of an estimator, in a line."""
    if not judged.judged:
        return f"{name}: the machine was too busy in all of {judged.runs} runs"
    error = "no estimates"
    if judged.mean_error is not None:
        error = (
            f"mean error {judged.mean_error:+.1%} ({judged.mean_absolute_error:.1%} without signs)"
        )
    spent = f"{judged.mean_seconds:.0f} s and {(judged.mean_bytes or 0) / 1e6:.1f} MB each"
    return (
        f"{name}: {judged.held} of {judged.judged} hold what was available, {error}, {spent}; "
        f"{judged.invalid} more on a busy machine"
    )


def targets(judged: Mapping[str, Judged], virtuals: Sequence[Virtual]) -> list[Target]:
    """What should be.

    In virtual time cross traffic of small packets is what comes next to the fluid that both tools
    suppose; with settings for long packets any will do.
    """
    fluid = min((one for one in virtuals if not one.long_packets), key=lambda one: one.cross_bytes)
    found = []
    for one in (fluid, *(one for one in virtuals if one.long_packets)):
        which = (
            f"estimators in virtual time, {one.cross_bytes} bytes a "
            f"packet{', settings for long ones' if one.long_packets else ''}"
        )
        found.append(
            Target(
                what=f"{which}: share of pathload's intervals that hold",
                value=one.held / one.runs,
                lower=0.9,
            )
        )
        found.append(
            Target(
                what=f"{which}: mean error of pathChirp without signs",
                value=one.mean_absolute_error,
                limit=0.15,
            )
        )
    if (share := judged["pathload"].held_share) is not None:
        found.append(
            Target(
                what="estimators: share of pathload's intervals that hold what was available",
                value=share,
                lower=0.9,
            )
        )
    if all(one.judged for one in judged.values()):
        share = sum(one.held for one in judged.values()) / sum(
            one.judged for one in judged.values()
        )
        found.append(
            Target(
                what="estimators: the same of both, pathChirp's being a deviation to either side",
                value=share,
                lower=0.9,
            )
        )
    if (error := judged["pathchirp"].mean_absolute_error) is not None:
        found.append(
            Target(
                what="estimators: mean error of pathChirp without signs", value=error, limit=0.25
            )
        )
    return found
