"""Makes the models that come with trustbed: `python -m tools.background_suite [CAPTURE]`.

All but `web` are written down here. `web` is learned from smallFlows.pcap of tcpreplay
(https://tcpreplay.appneta.com/wiki/captures.html), and made only if that capture is named.

`python -m tools.background_suite --measure [NAME…]` generates every background, or those named, in
an emulated network, a minute each, and keeps what it looks like on the link (NAME.profile.json).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from trustbed.traffic import Model, extract
from trustbed.traffic.recipe import named
from trustbed.traffic.suite import SUITE, path, profile_path
from trustbed.traffic.synthetic import (
    ClassPlan,
    HostPlan,
    build,
    constant,
    exponential,
    lognormal,
    pareto,
    uniform,
)

OWN = "written for trustbed"
LICENCE = "Apache-2.0"
HOMES = HostPlan(
    number=60,
    latency=lognormal(0.008, 0.5),
    toward_rate=uniform(5e6, 40e6),
    from_rate=uniform(20e6, 100e6),
)
FARMS = HostPlan(number=30, latency=lognormal(0.02, 0.7), toward_rate=constant(200e6))


def bulk() -> Model:
    """Downloads of some megabytes, one a session."""
    return build(
        "bulk",
        [
            ClassPlan(
                name="HTTP",
                port=80,
                sessions_per_second=0.05,
                request=constant(250),
                response=lognormal(5e6, 0.8),
                server_think=lognormal(0.01, 0.5),
            )
        ],
        HOMES,
        FARMS,
        seconds=6000,
        seed=21,
        about="Downloads of 5 MB by the median (lognormal, sigma 0.8), one connection each; a new "
        "one every 20 s.",
        source=OWN,
        licence=LICENCE,
    )


def video() -> Model:
    """Players that fetch a chunk every four seconds."""
    return build(
        "video",
        [
            ClassPlan(
                name="HTTPS",
                port=443,
                sessions_per_second=0.02,
                pairs=uniform(15, 75),
                request=constant(700),
                response=lognormal(1.1e6, 0.25),
                user_think=uniform(3.2, 4.0),
                server_think=lognormal(0.015, 0.5),
            )
        ],
        HOMES,
        FARMS,
        seconds=6000,
        seed=22,
        about="Players that fetch a chunk of 1.1 MB by the median, 3.2 to 4 s after the one "
        "before, 15 to 75 times over one connection.",
        source=OWN,
        licence=LICENCE,
    )


def interactive() -> Model:
    """People at terminals."""
    return build(
        "interactive",
        [
            ClassPlan(
                name="SSH",
                port=22,
                sessions_per_second=0.3,
                pairs=uniform(40, 400),
                request=lognormal(48, 0.2),
                response=lognormal(120, 1.0),
                user_think=lognormal(0.35, 1.0),
                server_think=lognormal(0.003, 0.8),
            )
        ],
        HOMES,
        FARMS,
        seconds=300,
        seed=23,
        about="Requests of 48 bytes and answers of 120 bytes by the median, 0.35 s of thought by "
        "the median between them, 40 to 400 times over one connection.",
        source=OWN,
        licence=LICENCE,
    )


def heavy_tailed() -> Model:
    """On/off sources whose on-times are heavy-tailed."""
    return build(
        "heavy-tailed",
        [
            ClassPlan(
                name="HTTP",
                port=80,
                sessions_per_second=0.5,
                pairs=uniform(1, 12),
                request=constant(300),
                response=pareto(8_000, 1.4, 200e6),
                user_think=exponential(4.0),
                server_think=lognormal(0.008, 0.5),
            )
        ],
        replace(HOMES, from_rate=constant(2e6), toward_rate=constant(2e6)),
        FARMS,
        seconds=3000,
        seed=24,
        about="Responses with a Pareto tail of shape 1.4 over access links of 2 Mbit/s, with "
        "exponential thoughts of 4 s between them: on and off times whose sum is long-range "
        "dependent, Hurst parameter (3 − 1.4)/2 = 0.8 (Taqqu, Willinger and Sherman, CCR 1997).",
        source=OWN,
        licence=LICENCE,
    )


def web(capture: Path) -> Model:
    """An office at work, learned."""
    return extract(
        capture,
        name="web",
        about="Five minutes of an office of 2011: web pages, and what else was running.",
        source="smallFlows.pcap of tcpreplay (AppNeta), its sessions without addresses and payload",
        licence="Apache-2.0",
    )


def bursty(model: Model) -> Model:
    """The web with round trips of 4 ms."""
    header = msgspec.structs.replace(
        model.header,
        name="bursty",
        about=f"{model.header.about} Every round trip is 4 ms (HB of Vishwanath and Vahdat).",
    )
    return replace(model, header=header).with_steps(*named("HB"))


WRITTEN: dict[str, Callable[[], Model]] = {
    "bulk": bulk,
    "video": video,
    "interactive": interactive,
    "heavy-tailed": heavy_tailed,
}
"""The models that are written down, by name."""


MEASURED = ("--rate", "10Mbit/s", "--duration", "60s")
"""All at the same load, so that their energies can be compared."""


def measure(names: Sequence[str]) -> int:
    """Measures backgrounds and keeps their profiles; how many were disturbed and are not kept."""
    disturbed = 0
    for name in names or [one.name for one in SUITE if one.sends]:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / name
            command = [sys.executable, "-m", "trustbed", "model", "measure", name, *MEASURED]
            subprocess.run([*command, "-o", str(out), "--quiet"], check=True)
            found = out / "profile.json"
            if found.is_file():
                shutil.copyfile(found, profile_path(name))
                print(profile_path(name))
            else:
                disturbed += 1
                print(f"{name} was disturbed: measure it again on an idle machine", file=sys.stderr)
    return disturbed


def main(words: list[str]) -> int:
    """Writes the files of the suite."""
    if words[:1] == ["--measure"]:
        return min(1, measure(words[1:]))
    for name, make in WRITTEN.items():
        print(make().save(path(name)))
    if words:
        model = web(Path(words[0]))
        print(model.save(path("web")))
        print(bursty(model).save(path("bursty")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
