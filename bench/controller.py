"""What a campaign's controller costs: many simulated hosts, each in one round a minute.

`trustbed campaign run` reaches every host over SSH and carries out real rounds, with captures and
samples; hosts are played by another process (:mod:`bench.simulated_hosts`), which repeats a real
round between two namespaces. Measured once all hosts are connected:

- the CPU time of the controller and, apart, of the processes in which it judges;
- their memory (`Pss` of /proc, polled);
- how late rounds begin, by their records.

Bias: controller and simulated hosts share the machine, so lateness is over-, never
under-estimated. The rounds' captures are small; what judging costs grows with their packets.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.namespaces import NoNamespaces, veth
from bench.process import ROOT, ProgramFailed, program, run
from bench.simulated_hosts import address_of
from bench.speed import Target
from trustbed.campaign.runner.directory import JOURNAL, CampaignDirectory
from trustbed.campaign.runner.journal import EndedLine, HostLine, Journal, SkippedLine

PERIOD_SECONDS = 60
_PINGS = 5
_TRANSFER_SECONDS = 10.0
_START_SECONDS = 300.0
_POLL_SECONDS = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDS = """
[rounds]
count = {count}
period = "{period}s"
table = [{{ probe = "16KiB", data = "256KiB" }}]
pings = {pings}
ping_interval = "{interval}"
"""


@dataclass(frozen=True, kw_only=True)
class Controlled:
    """What a campaign cost.

    Attributes:
        hosts: How many hosts took part.
        connect_seconds: From the start until all were connected.
        seconds: How long was measured then.
        rounds: Rounds that ended meanwhile.
        complete: Rounds of the whole campaign that were carried out whole.
        skipped: Rounds that were skipped once all hosts were connected, by the reason.
        controller_seconds: CPU time of the controller meanwhile.
        judging_seconds: CPU time of the processes that it judges in.
        peak_bytes: Most memory of all of them together, of the whole campaign.
        late_seconds: How late the rounds began: the median, and the latest.
    """

    hosts: int
    connect_seconds: float
    seconds: float
    rounds: int
    complete: int
    skipped: dict[str, int]
    controller_seconds: float
    judging_seconds: float
    peak_bytes: int
    late_seconds: tuple[float, float]


def measure(hosts: int, periods: int) -> Controlled:
    """A campaign of so many hosts, over so many periods after all of them are connected.

    Raises:
        ProgramFailed: The controller, or what plays the hosts, failed.
    """
    with tempfile.TemporaryDirectory(prefix="controller-") as name:
        directory = Path(name)
        for key in ("host_key", "user_key"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / key)]
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        _record(directory)
        words = [str(directory), str(hosts), str(_TRANSFER_SECONDS)]
        with _playing(words) as port:
            return _campaign(directory, hosts, periods, port)


def _record(directory: Path) -> None:
    """One real round, between two namespaces."""
    try:
        with veth() as ends:
            inventory = "".join(
                f'[hosts.{name}]\nnamespace = "/proc/{end.holder.pid}/ns/net"\n'
                f'measure = "{address}"\n'
                for name, end, address in zip(
                    ("near", "far"), ends, ("10.0.0.1", "10.0.0.2"), strict=True
                )
            )
            study = _study(directory / "real.toml", inventory, [("near", "far")], 1, "100ms")
            out = directory / "real"
            run([program("trustbed"), "campaign", "run", str(study), "--out", str(out), "--quiet"])
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error
    (real,) = CampaignDirectory(out).rounds()
    if (outcome := real.record().outcome) != "complete":
        raise ProgramFailed(f"the round that hosts are to repeat is {outcome}")
    shutil.copytree(real.path, directory / "round")


def _study(
    file: Path, inventory: str, pairs: Sequence[tuple[str, str]], count: int, interval: str
) -> Path:
    listed = "".join(f'[[pairs]]\nsender = "{one}"\nreceiver = "{two}"\n' for one, two in pairs)
    rounds = _ROUNDS.format(count=count, period=PERIOD_SECONDS, pings=_PINGS, interval=interval)
    file.write_text(inventory + listed + rounds, encoding="utf-8")
    return file


@contextlib.contextmanager
def _playing(words: Sequence[str]) -> Iterator[int]:
    """Plays the hosts; their port."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.simulated_hosts", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as playing:
        assert playing.stdout is not None
        first = playing.stdout.readline().split()
        if first[:1] != ["port"]:
            raise ProgramFailed("the simulated hosts do not listen")
        try:
            yield int(first[1])
        finally:
            playing.kill()


def _campaign(directory: Path, hosts: int, periods: int, port: int) -> Controlled:
    public = (directory / "host_key.pub").read_text(encoding="ascii")
    known = directory / "known_hosts"
    known.write_text(
        "".join(f"[{address_of(number)}]:{port} {public}" for number in range(hosts)),
        encoding="ascii",
    )
    head = (
        f'known_hosts = "{known}"\n[defaults]\nuser = "bench"\nkeys = ["{directory}/user_key"]\n'
        f"port = {port}\n"
    )
    described = "".join(
        f'[hosts.h{number:04}]\nssh = "{address_of(number)}"\n' for number in range(hosts)
    )
    pairs = [(f"h{number:04}", f"h{number + 1:04}") for number in range(0, hosts - 1, 2)]
    # Connecting may take some periods.
    study = _study(directory / "study.toml", head + described, pairs, periods + 10, "1s")
    out = directory / "out"
    command = [program("trustbed"), "campaign", "run", str(study), "--out", str(out), "--quiet"]
    home = {**os.environ, "HOME": str(directory), "SSH_AUTH_SOCK": ""}
    with subprocess.Popen(command, cwd=ROOT, env=home, stderr=subprocess.PIPE) as controller:
        try:
            return _watched(controller, out, hosts, periods)
        finally:
            controller.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                controller.wait(60)
            controller.kill()


def _watched(
    controller: subprocess.Popen[bytes], out: Path, hosts: int, periods: int
) -> Controlled:
    began, peak = time.monotonic(), 0
    journal = Journal(out / JOURNAL)
    connected = 0.0
    before = (0.0, 0.0)
    since_ns = 0
    while True:
        time.sleep(_POLL_SECONDS)
        if controller.poll() is not None:
            assert controller.stderr is not None
            why = controller.stderr.read().decode(errors="replace").strip()[-500:]
            raise ProgramFailed(f"the controller has ended: {why}")
        peak = max(peak, sum(_pss(pid) for pid in _tree(controller.pid)))
        now = time.monotonic()
        if not connected:
            up = {line.host: line.up for line in journal.lines() if isinstance(line, HostLine)}
            if sum(up.values()) == hosts:
                connected, since_ns, before = now, time.time_ns(), _times(controller.pid)
            elif now - began > _START_SECONDS:
                raise ProgramFailed(f"{sum(up.values())} of {hosts} hosts are connected")
        elif now - connected > periods * PERIOD_SECONDS:
            break
    spent = [after - first for after, first in zip(_times(controller.pid), before, strict=True)]
    lines = list(journal.lines())
    late = sorted(
        (record.began_ns - record.due_ns) / 1e9
        for record in (one.record() for one in CampaignDirectory(out).rounds())
        if record.began_ns is not None and record.due_ns and record.began_ns > since_ns
    )
    skipped: Counter[str] = Counter()
    for line in lines:
        if isinstance(line, SkippedLine) and line.at_ns > since_ns:
            skipped[line.reason] += line.count
    return Controlled(
        hosts=hosts,
        connect_seconds=connected - began,
        seconds=now - connected,
        rounds=sum(isinstance(line, EndedLine) and line.at_ns > since_ns for line in lines),
        complete=sum(isinstance(line, EndedLine) and line.outcome == "complete" for line in lines),
        skipped=dict(skipped),
        controller_seconds=spent[0],
        judging_seconds=spent[1],
        peak_bytes=peak,
        late_seconds=(late[len(late) // 2], late[-1]),
    )


def _tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _times(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of its descendants, those that have ended included."""
    own, others = 0.0, 0.0
    for one in _tree(pid):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            user, system, ended_user, ended_system = (int(field) / _TICKS for field in stat[11:15])
            if one == pid:
                own = user + system
                others += ended_user + ended_system
            else:
                others += user + system + ended_user + ended_system
    return own, others


def lines(found: Controlled) -> Iterator[str]:
    """The figures, in words."""
    rounds = max(1, found.rounds)
    yield f"{found.hosts} hosts connected within {found.connect_seconds:.0f} s"
    skipped = ", ".join(f"{count} {reason}" for reason, count in found.skipped.items())
    yield (
        f"{found.rounds} rounds ended in {found.seconds:.0f} s, skipped: {skipped or 'none'}; "
        f"{1000 * found.controller_seconds / rounds:.0f} ms of CPU a round, "
        f"{1000 * found.judging_seconds / rounds:.0f} ms for judging it"
    )
    median, latest = found.late_seconds
    yield f"rounds began {median:.3f} s late in the median, {latest:.2f} s at most"


def targets(found: Controlled) -> list[Target]:
    """What should hold."""
    what = f"controller of {found.hosts} hosts, one round a minute each"
    share = found.controller_seconds / found.seconds
    return [
        Target(what=f"{what}: CPU", value=100 * share, limit=50, unit="% of a core"),
        Target(
            what=f"{what}: CPU with judging",
            value=100 * share + 100 * found.judging_seconds / found.seconds,
            limit=100,
            unit="% of a core",
        ),
        Target(what=f"{what}: memory", value=found.peak_bytes / 1e6, limit=600, unit="MB"),
        Target(what=f"{what}: latest round", value=found.late_seconds[1], limit=2, unit="s"),
        Target(what=f"{what}: rounds skipped", value=sum(found.skipped.values()), limit=0),
    ]
