"""`python -m studies endurance`.

A campaign over six hosts, with everything happening to it that happens to campaigns; 32 minutes.

The SSH session to a host is cut, a host is killed and restarted, a disk runs full, a host is
starved, the campaign is interrupted and then killed, and goes on by the same command each time.
Its report is compared with what was done, round by round.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from studies import pages
from studies.field import endurance_page as page
from studies.field.hosts import Field, standing
from studies.field.private import carried_out, options_of, start_campaign
from trustbed.report import words

NAME = "endurance"
MINUTES = 32.0
HOSTS = ("a", "b", "c", "d", "e", "f")
PAIRS = (("a", "b"), ("c", "d"), ("e", "f"), ("f", "a"))
PERIOD_SECONDS = 30
_LINK = {
    "rate_bits_per_second": 50_000_000,
    "delay_ns": 10_000_000,
    "queue": {"kind": "drop_tail", "limit_packets": 300},
}
_DISK_BYTES = 40_000_000
_STARVED_SHARE = 0.006
_STARVED_PERIOD_US = 500_000


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that happens: from when to when, in shares of the whole, to whom."""

    kind: str
    host: str | None
    begin: float
    end: float


FAULTS = (
    Fault(kind="SSH cut", host="b", begin=0.10, end=0.10),
    Fault(kind="host killed", host="d", begin=0.18, end=0.30),
    Fault(kind="disk full", host="e", begin=0.36, end=0.46),
    Fault(kind="starved", host="a", begin=0.52, end=0.66),
    Fault(kind="campaign interrupted", host=None, begin=0.74, end=0.78),
    Fault(kind="campaign killed", host=None, begin=0.88, end=0.89),
)


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when the campaign reported the story as it was, 1 when not, 2 when it could not be carried
    out.
    """
    options = _parse(words)
    # A shell that starts this in the background has it ignore interrupts, and with it the campaign
    # that is to be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not options.score_only:
        seconds = options.minutes * 60
        if not carried_out(
            [NAME, *words], options.directory, lambda: _carry_out(options.directory, seconds)
        ):
            return 2
    record = json.loads((options.directory / "told.json").read_text(encoding="utf-8"))
    rounds = page.rounds_of(options.directory / "out")
    checked = page.checked(record, rounds)
    text = page.render(record, rounds, checked)
    if options.print:
        print(text)
    else:
        pages.write(options.output, f"python -m studies {NAME}", text)
    for one in checked:
        print(f"{'holds ' if one.holds else 'MISSED'}  {one.what}: {one.found}", file=sys.stderr)
    return 0 if all(one.holds for one in checked) else 1


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = options_of(NAME, __doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="how long the campaign lasts (default: %(default)g)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=pages.page("field"),
        help="the page (default: studies/field/README.md)",
    )
    return parser.parse_args(words)


def topology() -> dict[str, Any]:
    """Every host has a link to one router: 40 ms from any to any and back."""
    pipes = [{"name": f"{host}.up", "from": host, "to": "hub", **_LINK} for host in HOSTS]
    pipes += [{"name": f"{host}.down", "from": "hub", "to": host, **_LINK} for host in HOSTS]
    return {"routers": ["hub"], "pipes": pipes}


def study(inventory: Path, seconds: float) -> str:
    """The campaign's file."""
    lines = ['name = "endurance"', f'inventory = "{inventory.name}"']
    for sender, receiver in PAIRS:
        lines += ["[[pairs]]", f'sender = "{sender}"', f'receiver = "{receiver}"']
    lines += [
        "[rounds]",
        f"count = {int(seconds // PERIOD_SECONDS)}",
        f'period = "{PERIOD_SECONDS}s"',
        "pings = 5",
        'ping_interval = "200ms"',
        "delay = { probes = 50 }",
    ]
    lines += [
        'table = [{ probe = "64KiB", data = "4MiB" }, { probe = "256KiB", data = "6MiB" }]',
        'windows = { probe = "16KiB", data = "64KiB" }',
        'time_limit = "60s"',
    ]
    return "\n".join(lines) + "\n"


def _carry_out(directory: Path, seconds: float) -> None:
    with standing(
        directory, HOSTS, topology(), seed=1, idle="halt", disk_bytes=_DISK_BYTES
    ) as field:
        file = directory / "endurance.toml"
        file.write_text(study(field.inventory(), seconds), encoding="utf-8")
        campaign = _Campaign(file, directory)
        began = time.time()
        done: list[dict[str, Any]] = []
        with ExitStack() as stack:
            stack.callback(campaign.kill)
            campaign.start()
            for moment, act in _acts(field, campaign, began, seconds, done):
                campaign.wait(moment)
                act()
                _write(directory, began, seconds, None, done)
            code = campaign.wait(began + seconds + 600)
        _write(directory, began, seconds, code, done)


def _write(
    directory: Path, began: float, seconds: float, code: int | None, done: Sequence[dict[str, Any]]
) -> None:
    """What was done so far, whatever comes."""
    record = {
        "began": began,
        "seconds": seconds,
        "code": code,
        "pairs": PAIRS,
        "period": PERIOD_SECONDS,
        "faults": done,
    }
    (directory / "told.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


class _Campaign:
    """The command that carries the campaign out."""

    def __init__(self, file: Path, directory: Path) -> None:
        self._file, self._out = file, directory / "out"
        self._log = directory / "pairs.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = start_campaign(self._file, self._out, self._log)

    def wait(self, until: float) -> int | None:
        """Until it ends, or a moment; its code."""
        if self._process is None:
            time.sleep(max(0.0, until - time.time()))
            return None
        try:
            return self._process.wait(max(0.0, until - time.time()))
        except subprocess.TimeoutExpired:
            return None

    def end(self, number: int) -> int | None:
        """Ends it by a signal, and waits."""
        assert self._process is not None, "it was started"
        self._process.send_signal(number)
        code = self._process.wait(120)
        self._process = None
        return code

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _acts(
    field: Field, campaign: _Campaign, began: float, seconds: float, done: list[dict[str, Any]]
) -> Iterator[tuple[float, Callable[[], None]]]:
    """What is done, and when; as it is done, it is written down."""
    for fault in FAULTS:
        record: dict[str, Any] = {**asdict(fault), "begin": None, "end": None, "note": None}

        def begin(fault: Fault = fault, record: dict[str, Any] = record) -> None:
            record["begin"] = time.time()
            record["note"] = _begin(field, campaign, fault)
            done.append(record)

        def end(fault: Fault = fault, record: dict[str, Any] = record) -> None:
            _end(field, campaign, fault)
            record["end"] = time.time()

        yield began + fault.begin * seconds, begin
        yield began + fault.end * seconds, end


def _begin(field: Field, campaign: _Campaign, fault: Fault) -> str | None:
    host = None if fault.host is None else field.hosts[fault.host]
    match fault.kind, host:
        case "SSH cut", one if one is not None:
            with _in_a_round(field.directory / "out", one.name):
                return words.counted(one.cut(), "session")
        case "host killed", one if one is not None:
            return words.counted(one.kill(), "process", "processes")
        case "disk full", one if one is not None:
            one.fill()
        case "starved", one if one is not None:
            one.starve(_STARVED_SHARE, _STARVED_PERIOD_US)
            return (
                f"{_STARVED_SHARE:.1%} of a processor, given every {_STARVED_PERIOD_US // 1000} ms"
            )
        case "campaign interrupted", _:
            return f"ended with code {campaign.end(signal.SIGINT)}"
        case "campaign killed", _:
            campaign.end(signal.SIGKILL)
    return None


def _end(field: Field, campaign: _Campaign, fault: Fault) -> None:
    host = None if fault.host is None else field.hosts[fault.host]
    match fault.kind, host:
        case "host killed", one if one is not None:
            one.start()
        case "disk full", one if one is not None:
            one.empty()
        case "starved", one if one is not None:
            one.starve(None)
        case (("campaign interrupted" | "campaign killed"), _):
            campaign.start()


@contextmanager
def _in_a_round(out: Path, host: str) -> Iterator[None]:
    """Waits until a host's round is two seconds old, so that its transfers are running."""
    pairs = {f"{one}-{other}" for one, other in PAIRS if host in (one, other)}
    deadline = time.monotonic() + 2 * PERIOD_SECONDS
    while time.monotonic() < deadline:
        lines = [
            json.loads(line)
            for line in (out / "journal.jsonl").read_text(encoding="utf-8").splitlines()
            if line.endswith("}")
        ]
        own = [
            line
            for line in lines
            if line.get("pair") in pairs and line["event"] in ("began", "ended", "skipped")
        ]
        if own and own[-1]["event"] == "began":
            time.sleep(3.0)
            break
        time.sleep(0.2)
    yield
