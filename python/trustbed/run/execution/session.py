"""Carries out the missing repetitions of a run, which may be interrupted and continued.

Complete repetitions stay; incomplete ones are repeated from scratch with the same seeds. The
function that judges a repetition is an argument, since carrying out and judging are separate.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from trustbed.agent import client as agent
from trustbed.errors import HostLostError, HostNotStartedError
from trustbed.findings.words import count_words
from trustbed.run import calls, manifest, rows, samples
from trustbed.run.directory import RunDirectory
from trustbed.run.error import RunError
from trustbed.run.execution import ceiling, indicators, tracing
from trustbed.run.execution import environment as host
from trustbed.run.execution.clock import Clock, SystemClock
from trustbed.run.execution.commands import programs
from trustbed.run.execution.configurations import emulator_options, sampled
from trustbed.run.execution.execute import Execution, HostFailedError
from trustbed.run.execution.listener import Listener
from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import Repetition, order
from trustbed.run.record import FailureRecord, LedgerRecord, RepetitionRecord
from trustbed.scenario import Scenario, ScenarioError, ScenarioFile
from trustbed.scenario.description import topology
from trustbed.scenario.error import nearest
from trustbed.testbed import Host, Plan, Testbed, container, plan, prepare, qemu

if TYPE_CHECKING:
    from trustbed.testbed.remote import Machines

SECOND = 1_000_000_000
LEAST_FREE_BYTES = 64 << 20
"""The least free disk space for a repetition."""
MOST_FAILURES = 3
"""The number of consecutive failed repetitions after which a cell's others are left out."""
_RAW_LEDGER = "packets.rows"
_LACKING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})
"""Errors of this machine rather than of a repetition: with them the run ends."""

Judge = Callable[[RunDirectory, str, Scenario], Mapping[str, Any]]


class Session:
    """One call of ``trustbed run``."""

    def __init__(
        self,
        study: ScenarioFile,
        directory: RunDirectory,
        *,
        judge: Judge,
        about: Mapping[str, Any],
        repetitions: int | None = None,
        listener: Listener | None = None,
        clock: Clock | None = None,
        known_ceiling: ceiling.Ceiling | None = None,
    ) -> None:
        self.study = study
        self.directory = directory
        self.order = order(
            study.cells, repetitions=repetitions or study.first.repetitions, seed=study.first.seed
        )
        self._judge = judge
        self._about = about
        self._listener = listener or Listener()
        self._clock = clock or SystemClock()
        self._known_ceiling = known_ceiling
        self._largest = LEAST_FREE_BYTES
        self._failures: Counter[int] = Counter()
        self._last_failure: dict[int, tuple[str, str]] = {}
        self._left_out: Counter[int] = Counter()
        self._unjudged: dict[str, str] = {}

    def check(self) -> None:
        """Checks programs, the agent, names and rights before anything is measured."""
        check_programs(self.study)
        agent.binary()
        if not self.study.first.machines:
            plan_of(self.study.first)
        self._earlier()

    def _earlier(self) -> manifest.Manifest | None:
        """The manifest of the run to continue, if any; an error if it is of another scenario."""
        if not self.directory.exists:
            return None
        found = manifest.read(self.directory)
        manifest.check_same(found, self.study, self.order, self.directory.path)
        return found

    @property
    def forecast(self) -> Forecast:
        """The expected duration of the whole run."""
        return Forecast(
            [self._scenario(one).expected_ns / SECOND for one in self.order],
            finished=len(self._complete()),
        )

    def carry_out(self) -> None:
        """Carries out and judges the repetitions that are missing.

        One that cannot be judged, for whatever its programs and guests left, does not keep the
        others from being carried out.

        Raises:
            RunError: The run cannot continue, or is done but for what could not be judged.
        """
        if not self.study.first.machines:
            prepare()
        self.check()
        # The directory is locked from here on. Another call may have written to it meanwhile, so it
        # is read again; the ceiling, whose measurement loads the whole machine, is measured while
        # no other run of this directory is active.
        with self.directory.locked(), _disk_full_explained(self.directory.path):
            earlier = self._earlier()
            if earlier is not None:
                self._extend_order(earlier)
            guests, containers = self._guests(), self._containers()
            machines = self._machines()
            most = (
                ceiling.refuse_too_much(
                    [cell.scenario for cell in self.study.cells], self._known_ceiling
                )
                if self._missing()
                else None
            )
            facts = {**host.facts(), **ceiling.facts(most)}
            others = {"guests": guests, "containers": containers, "machines": machines}
            self._begin(earlier, {**facts, **others})
            forecast = self.forecast
            self._listener.on_begun(forecast)
            for repetition in self.order:
                self._run(repetition, forecast)
            self._complain_of_left_out()
            self._complain_of_unjudged()

    def _guests(self) -> Mapping[str, object] | None:
        """The hypervisor and images of guests, fetched before anything is measured.

        None without guests.
        """
        descriptions = {
            host.guest
            for cell in self.study.cells
            for host in cell.scenario.guests
            if host.guest is not None
        }
        return qemu.survey(descriptions) if descriptions else None

    def _containers(self) -> Mapping[str, object] | None:
        """The engines and images of containers; None without containers."""
        descriptions = {
            host.container
            for cell in self.study.cells
            for host in cell.scenario.containers
            if host.container is not None
        }
        return container.survey(descriptions) if descriptions else None

    def _machines(self) -> Mapping[str, object] | None:
        """The machines, each reached once; None where every host is made here."""
        if not self.study.first.machines:
            return None
        from trustbed.testbed.remote import survey  # loads what speaks SSH

        return survey([cell.scenario for cell in self.study.cells])

    def _extend_order(self, earlier: manifest.Manifest) -> None:
        """Extends the order to all complete rounds, if fewer repetitions are requested now."""
        rounds = manifest.rounds_begun(earlier, self.directory.is_complete)
        if rounds * len(self.study.cells) > len(self.order):
            self.order = order(self.study.cells, repetitions=rounds, seed=self.study.first.seed)

    def _begin(self, earlier: manifest.Manifest | None, facts: Mapping[str, object]) -> None:
        described = manifest.describe(
            self.study,
            self.order,
            session=self._about,
            path=self.directory.path,
            earlier=earlier,
        )
        if earlier is None:
            self.directory.begin(to_builtins(described), self.study.text, facts)
        elif described.order != earlier.order or self._missing():
            self.directory.write_manifest(to_builtins(described))

    def _run(self, repetition: Repetition, forecast: Forecast) -> None:
        cell = self.study.cells[repetition.cell]
        complete = self.directory.is_complete(repetition.directory)
        if complete and self.directory.is_judged(repetition.directory):
            return
        if self._failures[repetition.cell] >= MOST_FAILURES and not complete:
            self._left_out[repetition.cell] += 1
            return
        begun = self._clock.monotonic()
        self._listener.on_repetition(repetition, cell, forecast)
        if not complete:
            self._carry_out(repetition, cell.scenario)
        self._listener.on_phase("judging")
        findings = self._judged(repetition, cell.scenario)
        record = self.directory.record(repetition.directory)
        if not complete:
            forecast.on_finished(self._clock.monotonic() - begun)
        if findings is not None:
            self._listener.on_judged(repetition, cell, record, findings)
        self._count_failures(repetition, record)

    def _judged(self, repetition: Repetition, scenario: Scenario) -> Mapping[str, Any] | None:
        """The judgement of a repetition; None if judging it failed.

        Raises:
            OSError: This machine lacks a resource that every other repetition needs as well.
        """
        try:
            return self._judge(self.directory, repetition.directory, scenario)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _LACKING:
                raise
            why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            self._unjudged[repetition.directory] = why
            return None

    def _complain_of_unjudged(self) -> None:
        if not self._unjudged:
            return
        name, why = next(iter(self._unjudged.items()))
        others = len(self._unjudged) - 1
        more = f", and {others} more" if others else ""
        raise RunError(
            f"could not be judged, {self.directory.path / name}{more}: {why}",
            "the others are complete; the same command tries again, and if it fails again, "
            "this is a bug: report it with that directory",
        )

    def _carry_out(self, repetition: Repetition, scenario: Scenario) -> None:
        path = self.directory.begin_repetition(repetition.directory)
        # After the remains of an earlier attempt were removed, which may be what fills the disk.
        self._check_space()
        testbed, emulator = self._made(repetition, scenario, path)
        execution = Execution(
            testbed,
            scenario,
            repetition,
            directory=path,
            clock=self._clock,
            emulator=emulator,
            on_phase=self._listener.on_phase,
        )
        try:
            with testbed:
                record = execution.carry_out()
        except HostNotStartedError as error:
            record = execution.not_begun(error.host, error.message)
        except (HostFailedError, HostLostError) as error:
            record = execution.lost(error.message)
        self._listener.on_phase("records")
        self._collect(path, scenario, record)
        self.directory.finish_repetition(repetition.directory, to_builtins(record))
        self._largest = max(
            self._largest, sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        )

    def _made(
        self, repetition: Repetition, scenario: Scenario, path: Path
    ) -> tuple[Testbed | Machines, Mapping[str, Any] | None]:
        """The testbed of a repetition, and the configuration of its emulator, if it has one."""
        if scenario.machines:
            from trustbed.testbed.remote import Machines  # loads what speaks SSH

            return Machines(scenario, logs=path / "logs"), None
        planned = plan_of(scenario)
        ledger = {"path": str(path / "ledger" / _RAW_LEDGER), "detail": scenario.emulator.ledger}
        own = scenario.emulator
        emulator = {
            **planned.emulator(
                topology(scenario),
                seed=repetition.seed_of("emulator"),
                ledger=ledger,
                priority=own.priority,
                idle=own.idle,
            ),
            **emulator_options(scenario, path / "captures"),
        }
        testbed = Testbed(
            planned, purpose=f"{scenario.name}, {repetition.directory}", consoles=path / "logs"
        )
        return testbed, emulator

    def _collect(self, path: Path, scenario: Scenario, record: RepetitionRecord) -> None:
        """Converts the raw ledger and samples to Parquet."""
        ledger_error = ((record.emulator or {}).get("ledger") or {}).get("error")
        # Their disks are not ours.
        elsewhere = {host.name for host in (*scenario.guests, *scenario.machines)}
        messages = [
            *(one.message for one in record.failures if one.where not in elsewhere),
            *(one.reason for one in record.workloads if one.host not in elsewhere),
            ledger_error,
        ]
        if any("no space left" in text.lower() for text in messages if text is not None):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        ledger = path / "ledger" / _RAW_LEDGER
        if ledger.is_file():
            words = rows.lists(ledger)
            names = {
                column: words[plural]
                for column, plural in (("pipe", "pipes"), ("fate", "fates"))
                if words.get(plural)
            }
            stored = rows.convert(ledger, ledger.with_suffix(".parquet"), names=names)
            record.ledger = LedgerRecord(rows=stored.rows, cut_bytes=stored.cut_bytes)
            ledger.unlink()
        for trace in scenario.traces:
            raw = path / "samples" / f"{trace.name}{tracing.ROWS}"
            if raw.is_file():
                try:
                    calls.convert(raw, raw.with_name(f"{trace.name}{calls.TABLE}"))
                except rows.RowsError as error:
                    _spoil(record, "trace", trace.host, error.message)
                else:
                    raw.unlink()
        malformed = indicators.convert(path / "samples", scenario.watch)
        converted = samples.convert(
            path / "samples",
            sampled(scenario),
            guests=[host.name for host in scenario.guests],
            machines=[host.name for host in scenario.machines],
        )
        record.machine = converted.machine
        record.malformed_samples = {**malformed, **converted.malformed}
        for file, lines in record.malformed_samples.items():
            host, _, kind = file.removesuffix(".jsonl").partition(".")
            what = f"malformed and left out: {count_words(lines, 'line')} of {file}"
            _spoil(record, "spin" if kind == "spin" else "sample", host, what)

    def _check_space(self) -> None:
        free = shutil.disk_usage(self.directory.path).free
        if free < self._largest:
            raise RunError(
                (
                    f"no room for another repetition, {self.directory.path}: {free >> 20} MiB "
                    f"free, {self._largest >> 20} MiB needed"
                ),
                "free some space, then call the same command again: it continues",
            )

    def _count_failures(self, repetition: Repetition, record: Mapping[str, Any]) -> None:
        """Counts failures of a cell in a row: what fails again and again costs others no time."""
        if record["outcome"] == "not made":
            return  # a fault that cannot be applied: with others it can still be measured
        cell = repetition.cell
        self._failures[cell] = 0 if record["outcome"] == "complete" else self._failures[cell] + 1
        reasons = [
            *(one["reason"] for one in record["workloads"] if one["reason"]),
            *(one["message"] for one in record["failures"]),
            "see its record",
        ]
        self._last_failure[cell] = (repetition.directory, reasons[0])

    def _complain_of_left_out(self) -> None:
        if not self._left_out:
            return
        name, why = self._last_failure[next(iter(self._left_out))]
        others = len(self._left_out) - 1
        more = f"; so did {count_words(others, 'other cell')}" if others else ""
        left_out = count_words(self._left_out.total(), "repetition")
        raise RunError(
            f"{MOST_FAILURES} repetitions of a cell in a row failed, the last one, {name}: "
            f"{why}{more}",
            f"read {self.directory.path / name / 'logs'}; the same command continues with the "
            f"next repetition of what failed: {left_out} left out",
        )

    def _missing(self) -> list[Repetition]:
        return [one for one in self.order if not self.directory.is_judged(one.directory)]

    def _scenario(self, repetition: Repetition) -> Scenario:
        return self.study.cells[repetition.cell].scenario

    def _complete(self) -> list[Repetition]:
        return [one for one in self.order if self.directory.is_complete(one.directory)]


def _spoil(record: RepetitionRecord, verb: str, host: str, message: str) -> None:
    """Records that what a host wrote cannot be used: the repetition has failed, the run goes on."""
    record.failures.append(FailureRecord(verb=verb, where=host, message=message))
    if record.outcome == "complete":
        record.outcome = "failed"


def plan_of(scenario: Scenario) -> Plan:
    """The testbed that a scenario needs."""
    return plan(
        [
            Host(
                name=one.name,
                addresses=one.addresses,
                guest=one.guest,
                container=one.container,
                egress=one.egress,
                pin=one.pin,
            )
            for one in scenario.hosts
        ]
    )


def check_programs(study: ScenarioFile) -> None:
    """Raises an error for a missing program, with the key of the scenario that needs it."""
    needed: dict[str, str] = {}
    for cell in study.cells:
        needed |= {name: key for name, key in programs(cell.scenario).items() if name not in needed}
    for name, key in needed.items():
        if shutil.which(name) is None:
            hint = nearest(
                name,
                _installed(name),
                (
                    f"install it, or give its full path; it is looked for in "
                    f"{os.environ.get('PATH', '')}"
                ),
            )
            raise ScenarioError(f"no such program, {name}", hint, file=study.file, key=key)


def _installed(name: str) -> Sequence[str]:
    """The installed programs whose names begin with the same two letters."""
    found: set[str] = set()
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        with contextlib.suppress(OSError):
            found |= {entry for entry in os.listdir(directory or ".") if entry[:2] == name[:2]}  # noqa: PTH208 names are enough
    return sorted(found)


@contextlib.contextmanager
def _disk_full_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise RunError(
            f"no space left, {path}",
            "free some space, then call the same command again: it continues",
        ) from error
