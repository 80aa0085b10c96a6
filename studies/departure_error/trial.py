"""One trial.

A group of links carried out as any repetition is, while the emulator is stopped now and then.

Starts processes, reads clocks. What it returns is plain data: how late each link was, and what came
of its transfer.
"""

import statistics
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import to_builtins

from studies.departure_error import cases, measures
from studies.departure_error.cases import Case, Trial
from studies.departure_error.measures import Sent, departure_error
from studies.departure_error.pauses import Pauses
from trustbed import analyze
from trustbed.agent.client import Agent
from trustbed.run import rows
from trustbed.run.directory import RAW_FOLDERS
from trustbed.run.execution.clock import SystemClock
from trustbed.run.execution.execute import Execution
from trustbed.run.execution.session import plan_of
from trustbed.run.matrix import Repetition
from trustbed.scenario import Scenario, load
from trustbed.scenario.description import topology
from trustbed.testbed import Plan, Testbed

_LEDGER = "packets.rows"
_AHEAD_SECONDS = 0.3
"""How long before the first packet the phase of the workload begins."""

Row = dict[str, Any]


class TrialError(Exception):
    """A trial that did not come to its end."""


class _InjectedTestbed(Testbed):
    """A testbed whose emulator is stopped, from the beginning of the workload to its end."""

    def __init__(self, plan: Plan, stops: list[tuple[float, float]]) -> None:
        super().__init__(plan, purpose="validation departure_error")
        self._stops = stops
        self._pauses: Pauses | None = None
        self.done: list[tuple[int, int]] = []

    def start_agent(
        self,
        verb: str,
        config: Mapping[str, Any],
        *,
        where: str,
        **options: Any,  # noqa: ANN401
    ) -> Agent:
        """As any testbed does."""
        agent = super().start_agent(verb, config, where=where, **options)
        if verb == "emulate" and self._stops:
            self._pauses = Pauses(agent.pid, self._stops)
        return agent

    def on_phase(self, name: str) -> None:
        """Begins and ends the disturbance."""
        if self._pauses is not None and name == "workload":
            self._pauses.begin()
        elif self._pauses is not None and name == "end":
            self.done = self._pauses.done()

    def close(self) -> None:
        """Ends the disturbance whatever happened, then everything else."""
        if self._pauses is not None:
            self._pauses.close()
        super().close()


def carry_out(trial: Trial) -> Row:
    """What came of it.

    Raises:
        TrialError: A workload or an agent failed.
    """
    with TemporaryDirectory(prefix="departure_error-") as name:
        directory = Path(name)
        for part in RAW_FOLDERS:
            (directory / part).mkdir()
        file = directory / "scenario.toml"
        file.write_text(cases.scenario(trial.group, trial.seed), encoding="utf-8")
        scenario = load(file).first
        stolen = _stolen()
        record, done = _run(trial, scenario, directory)
        if record["outcome"] != "complete":
            reasons = [failure["message"] for failure in record["failures"]]
            reasons += [one["reason"] for one in record["workloads"] if one["reason"]]
            raise TrialError(f"{trial.key}: {'; '.join(reasons)}")
        return {**_row(trial, record, done, directory), "steal_ticks": _stolen() - stolen}


def _run(trial: Trial, scenario: Scenario, directory: Path) -> tuple[Row, list[tuple[int, int]]]:
    # All trials of a seed have the same seeds inside: the same packets are lost to chance, the same
    # background is sent.
    repetition = Repetition(number=trial.number, cell=0, round=0, seed=trial.seed)
    planned = plan_of(scenario)
    ledger = {"path": str(directory / "ledger" / _LEDGER), "detail": "packets"}
    emulator = planned.emulator(
        topology(scenario),
        seed=repetition.seed_of("emulator"),
        ledger=ledger,
        priority=scenario.emulator.priority,
    )
    ahead = _AHEAD_SECONDS + cases.WARM_UP_SECONDS
    stops = trial.disturbance.stops(trial.seed, cases.TRANSFER_SECONDS) if trial.disturbance else []
    with _InjectedTestbed(planned, [(begin + ahead, length) for begin, length in stops]) as bed:
        execution = Execution(
            bed,
            scenario,
            repetition,
            directory=directory,
            clock=SystemClock(),
            emulator=emulator,
            on_phase=bed.on_phase,
        )
        return to_builtins(execution.carry_out()), bed.done


def _row(trial: Trial, record: Row, done: list[tuple[int, int]], directory: Path) -> Row:
    sent = _sent(directory / "ledger" / _LEDGER)
    disturbance = trial.disturbance
    begin = record["workload_start_ns"]
    span = (begin, begin + round(cases.TRANSFER_SECONDS * 1e9))
    found, unasked = {}, 0
    for case in cases.GROUPS[trial.group]:
        (workload,) = (one for one in record["workloads"] if one["name"] == case.name)
        rtt_ns = case.rtt_ms * 1_000_000
        late = departure_error(
            sent[case.name], megabits=case.megabits, rtt_ns=rtt_ns, begin=span[0], end=span[1]
        ).row
        unasked = max(
            unasked,
            measures.unasked(
                (one for one in sent[case.name] if span[0] <= one.due < span[1]), done
            ),
        )
        found[case.name] = {
            "late": late,
            "got": _got(case, workload, directory),
            "dropped": _dropped(case, record),
        }
    return {
        "key": trial.key,
        "seed": trial.seed,
        "number": trial.number,
        "group": trial.group,
        "stop_ms": disturbance.stop_ms if disturbance else None,
        "every_ms": disturbance.every_ms if disturbance else None,
        "stops": len(done),
        "stopped_p50_ns": statistics.median(end - start for start, end in done) if done else None,
        "stopped_share": sum(end - start for start, end in done) / 1e9 / cases.TRANSFER_SECONDS,
        "unasked_max_ns": unasked,
        "emulator": {**record["emulator"]["departure_error"], "own": record["emulator"]["own"]},
        "cases": found,
    }


def wait_for_calm(seconds: float) -> None:
    """Waits, at most so long, until the hypervisor leaves this machine alone for a second."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stolen = _stolen()
        time.sleep(1.0)
        if _stolen() - stolen <= 1:
            return


def _stolen() -> int:
    """Ticks that the hypervisor gave to others."""
    return int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8])


def _sent(ledger: Path) -> dict[str, list[Sent]]:
    """The packets that came out of every link, both directions together."""
    pipes = rows.lists(ledger)["pipes"]
    table = rows.read(ledger)
    found: dict[str, list[Sent]] = {pipe.rpartition(".")[0]: [] for pipe in pipes}
    links = [found[pipe.rpartition(".")[0]] for pipe in pipes]
    columns = (table.column(name).to_pylist() for name in ("pipe", "due_ns", "actual_ns", "length"))
    for pipe, due, done, length in zip(*columns, strict=True):
        if done is not None:
            links[pipe].append(Sent(due, done, length))
    return found


def _dropped(case: Case, record: Row) -> dict[str, int]:
    """What the link itself did not let through, both directions together."""
    total: Counter[str] = Counter()
    for pipe in record["emulator"]["pipes"]:
        if pipe["name"].rpartition(".")[0] == case.name:
            total.update(pipe["dropped"])
    return dict(total)


def _got(case: Case, workload: Row, directory: Path) -> Row:
    """What an experimenter would report of the transfer.

    Its rate, its round trips, its losses, its cause and verdict.
    """
    report = workload["report"]
    capture = analyze(
        directory / "captures" / f"{cases.sender(case)}.pcapng",
        at="sender",
        workload="interactive" if case.kind == "http" else "bulk",
        capacity=case.megabits * 1_000_000 * 1500 // cases.FRAME_BYTES,
        workers=1,
    )
    transfers = [one for one in capture.transfers.to_pylist() if one["cause"] is not None]
    transfers.sort(key=lambda one: -one["payload_bytes"])
    if case.kind == "http":
        causes, verdicts = (
            Counter(one[key] for one in transfers).most_common(1) for key in ("cause", "verdict")
        )
        return {
            "throughput": report["good_requests"] / cases.TRANSFER_SECONDS,
            "rtt_p50_ns": report["total"]["p50_ns"],
            "rtt_p99_ns": report["total"]["p99_ns"],
            "retransmitted": sum(one["retransmitted_packets"] for one in transfers),
            "cause": causes[0][0] if causes else None,
            "verdict": verdicts[0][0] if verdicts else None,
        }
    first = transfers[0]
    return {
        "throughput": report["transfers"][0]["goodput_bits_per_second"],
        "rtt_p50_ns": first["rtt_p50_ns"],
        "rtt_p99_ns": first["rtt_p99_ns"],
        "rtt_mean_ns": first["rtt_mean_ns"],
        "retransmitted": first["retransmitted_packets"],
        "cause": first["cause"],
        "verdict": first["verdict"],
    }
