"""A mix of connections, as the uplink of a network sees it: most are short, few are elephants.

Small real captures of the traffic of many users, copied many times. Each copy has addresses of its
own and starts a second after the one before, so that all of them run at once.
"""

from __future__ import annotations

import os
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.block import build_block
from bench.captures import DIRECTORY, ROOT, Capture, fingerprint, write_capture
from bench.judging import MOST_JSON
from bench.memory import measure_peaks
from bench.process import run
from bench.speed import Program, Target, compare_workers, programs, trustbed_command, warm
from bench.templates import SNAP_LENGTH, Template, read_templates

COPIES = 66
SHIFT_NS = 1_000_000_000
LONGEST_NS = 600 * 1_000_000_000
FOLDERS = ("aggregate", "sessions", "pathology")
LIMITS = {"tcpdump": 3.5, "tcptrace": 0.25}
"""CPU at most, against other programs."""
# One packet a connection, and more connections than all others have.
SCAN = "synscan.pcap"


def mix_templates() -> list[Template]:
    """The captures that are copied; none where they do not lie beside the checkout."""
    elsewhere = Path(os.environ.get("TRUSTBED_TRACES", ROOT.parent / "shared" / "traces"))
    folders = [folder for name in FOLDERS if (folder := elsewhere / name).is_dir()]
    return [one for one in read_templates(folders, LONGEST_NS) if one.name != SCAN]


def mix(copies: int = COPIES) -> Capture | None:
    """The capture; built when it is not there, None where there is nothing to build it of."""
    templates = mix_templates()
    if not templates:
        return None
    packets = sum(len(one.since_start_ns) for one in templates)
    name = f"mix-{fingerprint(templates, packets, Path(__file__))}"
    path, count = DIRECTORY / f"{name}-{copies}.pcap", DIRECTORY / f"{name}.counts"
    if not (path.exists() and count.exists()):
        for outdated in DIRECTORY.glob("mix-*"):
            if not outdated.name.startswith(name):
                outdated.unlink()
        block = build_block(templates, packets)
        write_capture(
            path,
            block.overlapping(copies, SHIFT_NS),
            expected_bytes=copies * packets * (16 + SNAP_LENGTH),
        )
        count.write_text(f"{block.connections}\n", encoding="ascii")
    connections = int(count.read_text(encoding="ascii"))
    return Capture(path=path, packets=copies * packets, connections=copies * connections)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the mix cost.

    Attributes:
        capture: The capture.
        cpu_seconds: Median CPU seconds of each program, from its start to its end.
        wall_seconds: Median wall seconds of one worker and of two.
        targets: The figures that should be something.
    """

    capture: Capture
    cpu_seconds: dict[str, float]
    wall_seconds: tuple[float, float]
    targets: list[Target]


def measure(rounds: int) -> Measured | None:
    """The mix with trustbed, tcpdump and tcptrace in turns; None where there is none."""
    capture = mix()
    if capture is None:
        return None
    warm(capture)
    asked = programs((capture.packets,), ())
    seconds: dict[str, list[float]] = {one.name: [] for one in asked if one.sizes}
    for number in range(rounds):
        print(f"  round {number + 1} of {rounds}", file=sys.stderr)
        for one in asked:
            if one.sizes:
                seconds[one.name].append(run(one.on(capture)).cpu_seconds)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    quiet = trustbed_command(1)
    json = Program(name="trustbed --json", command=[*quiet[:-1], "--json"], sizes=())
    medians[json.name] = statistics.median(run(json.on(capture)).cpu_seconds for _ in range(rounds))
    one_worker, two_workers, target = compare_workers(capture, rounds)
    targets = [
        Target(
            what=f"mix: CPU against {name}, whole command",
            value=medians["trustbed"] / medians[name],
            limit=limit,
        )
        for name, limit in LIMITS.items()
        if name in medians
    ]
    targets.append(
        Target(
            what="mix: CPU, JSON against quiet",
            value=medians[json.name] / medians["trustbed"],
            limit=MOST_JSON,
        )
    )
    targets.append(replace(target, what=f"mix: {target.what}"))
    targets += [replace(peak, what=f"mix: {peak.what}") for peak in measure_peaks([capture])]
    return Measured(
        capture=capture,
        cpu_seconds=medians,
        wall_seconds=(one_worker, two_workers),
        targets=targets,
    )
