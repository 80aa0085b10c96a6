"""`python -m studies papers`.

The paths that two papers measured, made anew and measured by campaigns; 16 minutes.

Four pairs of PlanetLab nodes and one of EC2 instances: their round-trip times, windows and losses
as printed, other traffic where the paper found congestion, and a sender that gets little of its
processor where it found one. What a campaign says of each stands beside what was published, in
examples/papers.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.field import papers_page as page
from studies.field.hosts import Field, standing
from studies.field.private import carried_out, options_of, start_campaign
from trustbed.campaign.results import read_model
from trustbed.report.campaign import text as campaign_text
from validation import captures

NAME = "papers"
_PACKETS = 1500
_CROSS_PORT = 9
_HUB = "hub"
_CONNECT_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class PaperPath:
    """A path of a paper: who sends to whom, and what lies between.

    Times in seconds, loss as a share, rates in bit/s.

    Attributes:
        starved: What the sender's host gets of a processor: a share, and the period in which it
            gets it, in microseconds.
        cross: What others send over the same link.
    """

    study: str
    sender: str
    receiver: str
    round_trip: float
    loss: float = 0.0
    rate: int = 100_000_000
    cross: int = 0
    starved: tuple[float, int] | None = None

    @property
    def pair(self) -> str:
        """Its name in the campaign."""
        return f"{self.sender}-{self.receiver}"


PATHS = (
    PaperPath(
        study="planetlab",
        sender="beta",
        receiver="alpha",
        round_trip=0.0428,
        loss=0.0004,
        rate=60_000_000,
        cross=33_000_000,
    ),
    PaperPath(study="planetlab", sender="delta", receiver="gamma", round_trip=0.0830, loss=0.00015),
    PaperPath(
        study="planetlab",
        sender="lambda",
        receiver="kappa",
        round_trip=0.0200,
        starved=(0.005, 400_000),
    ),
    PaperPath(
        study="planetlab", sender="nu", receiver="mu", round_trip=0.0900, starved=(0.006, 500_000)
    ),
    PaperPath(study="ec2", sender="client", receiver="instance", round_trip=0.2131, loss=0.0104),
)
_TABLES = {
    "planetlab": (180, 5, '"planetlab"'),
    # 8 and 16 MB; 32 MB do not come over within 300 s here.
    "ec2": (
        300,
        3,
        '[{ name = "I0", probe = "16KiB", data = "8MiB" }, { name = "I5", probe = "512KiB", '
        'data = "8MiB" }, '
        '{ name = "I8", probe = "1024KiB", data = "16MiB" }]',
    ),
}
"""Of each study the period in seconds, how many rounds, and the sizes."""
_PREAMBLE = (
    (
        "# Not to be carried out as it is: its hosts are namespaces that `python -m "
        "studies papers` makes, as it makes the inventory, and"
    ),
    (
        "# that stand only while it runs. For hosts of your own name an inventory of yours, "
        "and its hosts as senders and receivers."
    ),
)


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when every pair's cause is the published one, 1 when not, 2 when it could not be carried
    out.
    """
    options = _parse(words)
    if not options.score_only and not carried_out(
        [NAME, *words], options.directory, lambda: _carry_out(options.directory, options.rounds)
    ):
        return 2
    models = {name: read_model(options.directory / name) for name in _TABLES}
    found = [page.found(path.pair, models[path.study]) for path in PATHS]
    text = page.render(found)
    print(text)
    if not options.print:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "README.md").write_text(text, encoding="utf-8")
        for name, model in models.items():
            now = model.campaign.ends_ns
            (options.output / f"{name}.txt").write_text(
                campaign_text.render(model, now_ns=now), encoding="utf-8"
            )
            shutil.copy(options.directory / f"{name}.toml", options.output / f"{name}.toml")
    return 0 if all(one.as_published for one in found) else 1


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = options_of(NAME, __doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=captures.project() / "examples" / NAME,
        help="where the table goes (default: examples/papers)",
    )
    parser.add_argument("--rounds", type=int, help="of each pair (default: 5, and 3 of EC2)")
    return parser.parse_args(words)


def topology() -> dict[str, Any]:
    """A link for each pair; where others send, they and the pair share one.

    Losses are those of the forward direction.

    Every host has to reach every other: a hub joins them, over which nothing leads that has a
    shorter path.
    """
    routers = [_HUB]
    pipes: list[dict[str, Any]] = []
    for path in PATHS:
        queue = {"kind": "drop_tail", "limit_packets": 400}
        link: dict[str, Any] = {
            "rate_bits_per_second": path.rate,
            "delay_ns": round(path.round_trip * 1e9 / 2),
            "queue": queue,
        }
        lossy = link | (
            {"loss": {"kind": "independent", "probability": path.loss}} if path.loss else {}
        )
        first, second = path.sender, path.receiver
        joined = [(first, _HUB), (second, _HUB)]
        if path.cross:
            first, second = f"{path.pair}-in", f"{path.pair}-out"
            routers += [first, second]
            joined = [
                (path.sender, first),
                ("others", first),
                (path.receiver, second),
                ("elsewhere", second),
                (first, _HUB),
            ]
        for host, other in joined:
            pipes += [
                {"name": f"{host}.up", "from": host, "to": other},
                {"name": f"{host}.down", "from": other, "to": host},
            ]
        pipes.append({"name": f"{path.pair}.up", "from": first, "to": second, **lossy})
        pipes.append({"name": f"{path.pair}.down", "from": second, "to": first, **link})
    return {"routers": routers, "pipes": pipes}


def study(name: str, inventory: Path, rounds: int | None) -> str:
    """The file of a campaign."""
    period, count, table = _TABLES[name]
    lines = [*_PREAMBLE, f'name = "{name}"', f'inventory = "{inventory.name}"']
    for path in PATHS:
        if path.study == name:
            lines += ["[[pairs]]", f'sender = "{path.sender}"', f'receiver = "{path.receiver}"']
    return (
        "\n".join(
            [
                *lines,
                "[rounds]",
                f"count = {rounds or count}",
                f'period = "{period}s"',
                f"table = {table}",
            ]
        )
        + "\n"
    )


def _carry_out(directory: Path, rounds: int | None) -> None:
    names = [name for path in PATHS for name in (path.sender, path.receiver)] + [
        "others",
        "elsewhere",
    ]
    with standing(directory, names, topology(), seed=1) as field, ExitStack() as stack:
        for path in PATHS:
            if path.cross:
                _send(field, path, stack)
        inventory = field.inventory()
        running = []
        for name in _TABLES:
            file = directory / f"{name}.toml"
            file.write_text(study(name, inventory, rounds), encoding="utf-8")
            running.append(start_campaign(file, directory / name, directory / f"{name}.log"))
            stack.callback(_end, running[-1])
        _wait_for_pings(directory)
        for path in PATHS:
            if path.starved:
                field.hosts[path.sender].starve(*path.starved)
        for one in running:
            if code := one.wait():
                raise RuntimeError(f"a campaign ended with code {code}: see {directory}/*.log")


def _wait_for_pings(directory: Path) -> None:
    """Until every campaign's first round has begun: logging in to a starved host takes minutes."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    while not all(
        (file := directory / name / "journal.jsonl").is_file()
        and '"began"' in file.read_text(encoding="utf-8")
        for name in _TABLES
    ):
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"no round has begun after {_CONNECT_SECONDS:g} s: see {directory}/*.log"
            )
        time.sleep(0.2)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        process.wait(60)


def _send(field: Field, path: PaperPath, stack: ExitStack) -> None:
    """Traffic of others, from beside the sender to beside the receiver, until the end."""
    to = f"{field.hosts['elsewhere'].measured}:{_CROSS_PORT}"
    sink = field.bed.start_agent(
        "sink", {"listen": [{"transport": "udp", "address": to}]}, where="elsewhere"
    )
    sink.begin()
    model = {
        "kind": "poisson",
        "mode": "packets",
        "rate_bits_per_second": path.cross,
        "packet_bytes": _PACKETS,
    }
    source = {"name": "others", "transport": "udp", "to": to, "model": model, "seed": 1}
    sender = field.bed.start_agent("send", {"sources": [source]}, where="others")
    sender.begin()
    stack.callback(sender.close)
    stack.callback(sink.close)
