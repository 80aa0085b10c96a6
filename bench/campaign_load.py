"""Whether campaign hosts keep sampling while their connections run at full speed.

Two hosts on a veth link, each reached as a network namespace; `trustbed campaign run` carries the
rounds out,
with its samples and captures. The rate of the data connections is what their receiver says of them.
A sample is due every second: those that a host skipped it counts itself, and how far apart those
that it wrote are is checked. What a capture lost is kept beside that: the kernel counts it.

Bias: both hosts, all their agents, and the program that carries the campaign out share the cores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.namespaces import Host, NoNamespaces, veth
from bench.process import ProgramFailed, program, run
from bench.speed import Target
from trustbed.campaign.records import RoundRecord
from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.run.samples import read_lines

WANTED_RATE = 10e9
"""Minimum total goodput of the data connections for a valid result, in bit/s."""
_INTERVAL_NS = 1_000_000_000
_APART = 1.5
"""Two samples that are further apart than so many intervals have one missing between them."""
_CAMPAIGN = """
name = "as fast as the machine can"
inventory = "hosts.toml"
[[pairs]]
sender = "near"
receiver = "far"
[rounds]
count = {rounds}
period = "{period}s"
table = [{{ probe = "16KiB", data = "{megabytes}MiB" }}]
pairs_at_once = {connections}
windows = {{ probe = "16KiB", data = "8MiB" }}
pings = 2
ping_interval = "100ms"
[recording]
capture = {capture}
"""
_CONNECTIONS = 2
_MEGABYTES = 16_384
_PERIOD_SECONDS = 40


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A round at full speed.

    Attributes:
        captured: Whether packets were captured meanwhile.
        bits_per_second: Payload of the data connections together, from the first's first byte to
            the last's last.
        samples: That both hosts wrote.
        missed: That they skipped, by their own count.
        gaps: Places where two are too far apart.
        frames: That both captures took.
        dropped: That the kernel did not get into them.
    """

    captured: bool
    bits_per_second: float
    samples: int
    missed: int
    gaps: int
    frames: int
    dropped: int

    @property
    def lost(self) -> int:
        """Samples that are not there."""
        return max(self.missed, self.gaps)


def measure(rounds: int) -> list[Loaded]:
    """So many rounds without captures, and as many with them."""
    try:
        with veth() as (near, far), tempfile.TemporaryDirectory() as name:
            return [
                one
                for captured in (False, True)
                for one in _campaign(near, far, Path(name), rounds, captured=captured)
            ]
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


def _campaign(
    near: Host, far: Host, directory: Path, rounds: int, *, captured: bool
) -> list[Loaded]:
    ends = {"near": (near, "10.0.0.1"), "far": (far, "10.0.0.2")}
    tables = [
        f'[hosts.{name}]\nnamespace = "/proc/{host.holder.pid}/ns/net"\nmeasure = "{address}"\n'
        for name, (host, address) in ends.items()
    ]
    (directory / "hosts.toml").write_text("".join(tables), encoding="utf-8")
    study, out = directory / f"campaign-{captured}.toml", directory / f"campaign-{captured}"
    what = {
        "rounds": rounds,
        "period": _PERIOD_SECONDS,
        "megabytes": _MEGABYTES,
        "connections": _CONNECTIONS,
    }
    study.write_text(_CAMPAIGN.format(**what, capture=str(captured).lower()), encoding="utf-8")
    run([program("trustbed"), "pairs", str(study), "--out", str(out), "--quiet"])
    return [
        loaded(
            one.record(),
            [_moments(one.path / f"{role}.samples.jsonl") for role in ("sender", "receiver")],
        )
        for one in sorted(CampaignDirectory(out).rounds())
    ]


def _moments(file: Path) -> list[int]:
    return [line["at_ns"] for line in read_lines(file).rows] if file.is_file() else []


def loaded(record: RoundRecord, samples: Sequence[Sequence[int]]) -> Loaded:
    """What a round's record, and the moments of the samples of either host, say.

    Raises:
        ProgramFailed: The round was not carried out whole.
    """
    if record.outcome != "complete" or record.received is None:
        raise ProgramFailed(
            f"a round at full speed was {record.outcome}: {record.error or record.connections}"
        )
    data = [row for row in record.received.read.connections if row.role == "data"]
    lasted = max(row.last_byte_ns or 0 for row in data) - min(row.accepted_ns or 0 for row in data)
    watched = {name: one.whole for name, one in (record.watched or {}).items()}
    captures = [watched[key] for key in ("sender.capture", "receiver.capture") if key in watched]
    missing = [role for role in ("sender", "receiver") if f"{role}.samples" not in watched]
    if missing:
        raise ProgramFailed(f"there are no samples of {' and '.join(missing)}: {record.warnings}")
    return Loaded(
        captured=bool(captures),
        bits_per_second=8e9 * sum(row.payload_bytes for row in data) / lasted,
        samples=sum(len(moments) for moments in samples),
        missed=sum(watched[f"{role}.samples"]["samples_missed"] for role in ("sender", "receiver")),
        gaps=sum(
            after - before > _APART * _INTERVAL_NS
            for moments in samples
            for before, after in pairwise(moments)
        ),
        frames=sum(one["frames"] for one in captures),
        dropped=sum(one["dropped_frames"] or 0 for one in captures),
    )


def line(one: Loaded) -> str:
    """A round for a person."""
    beside = f", captures took {one.frames} frames and lost {one.dropped}" if one.captured else ""
    return (
        f"{one.bits_per_second / 1e9:.1f} Gbit/s: {one.samples} samples, {one.missed} missed, "
        f"{one.gaps} gaps{beside}"
    )


def targets(found: Sequence[Loaded]) -> list[Target]:
    """What should be."""
    wanted = []
    for captured, words in ((False, "without captures"), (True, "with captures")):
        rounds = [one for one in found if one.captured is captured]
        rate = median(one.bits_per_second for one in rounds)
        if not captured:
            wanted.append(
                Target(
                    what=f"campaign at full speed, {words}",
                    value=rate / 1e9,
                    lower=WANTED_RATE / 1e9,
                    unit="Gbit/s",
                )
            )
        wanted.append(
            Target(
                what=f"campaign at full speed, {words}: samples that are missing",
                value=sum(one.lost for one in rounds),
                limit=0,
            )
        )
    return wanted
