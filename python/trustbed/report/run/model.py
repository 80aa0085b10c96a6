"""The model of a run: what every report shows and ``trustbed report --json`` prints.

    run          name, question, seed; how many repetitions are complete, judged, to be discarded
    factors      what was varied
    cells        each with its results (workloads), background, pipes, repetitions by use
    repetitions  each with its use and why, its findings, its emulator's departure error
    queues       one repetition of each cell over time

Repetitions that are to be discarded do not count, unless a cell has no others:
``only_discarded`` is then true. Numbers are in base units, unknown is null. Judges nothing:
verdicts and findings are those of the repetitions' files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from trustbed.report.records import Row
from trustbed.report.run import queue as run_queue
from trustbed.report.run.reading import SECOND, Repetition, Run
from trustbed.report.run.records import (
    Background,
    Burstiness,
    CellOverTime,
    CellResults,
    Emulator,
    Limit,
    Pipe,
    RepetitionSummary,
    RunModel,
    RunSummary,
    Users,
    WorkloadOutcome,
)
from trustbed.report.run.results import result
from trustbed.workload import mean, mean_interval

SCHEMA_VERSION = 1
"""Increased when a field changes its meaning or is removed, not when one is added."""

CHARTED = 16
"""The number of cells for which one repetition is shown over time."""


def read_model(path: Path) -> RunModel:
    """The model of a run, whatever its state.

    Raises:
        RunDirectoryError: There is no run, or a file of it is damaged.
    """
    run = Run(path)
    chosen = {cell["number"]: _counted(run.of(cell["number"])) for cell in run.cells}
    cells = [_cell(run, cell, chosen) for cell in run.cells]
    return RunModel(
        schema_version=SCHEMA_VERSION,
        run=_about(run),
        host=dict(run.host),
        factors=list(run.manifest.get("factors") or ()),
        cells=cells,
        repetitions=[_repetition(one, run) for one in run.repetitions],
        queues=_queues(run, chosen),
    )


def _about(run: Run) -> RunSummary:
    scenario = run.manifest.get("scenario") or {}
    uses = Counter(one.use for one in run.repetitions)
    return RunSummary(
        directory=run.path.resolve().name,
        **{key: scenario.get(key) for key in ("name", "about", "file", "sha256")},
        seed=run.manifest.get("seed"),
        rounds=run.manifest.get("repetitions"),
        planned=len(run.repetitions),
        complete=sum(one.complete for one in run.repetitions),
        judged=sum(one.judged for one in run.repetitions),
        uses=dict(sorted(uses.items())),
        inputs=list(run.manifest.get("inputs") or ()),
        sessions=list(run.manifest.get("sessions") or ()),
        failed_workloads=sum(
            one.get("outcome") not in (None, "complete")
            for each in run.repetitions
            for one in each.workloads
        ),
    )


def _counted(repetitions: Sequence[Repetition]) -> list[Repetition]:
    """The repetitions whose numbers count; without any, all complete ones."""
    return [one for one in repetitions if one.counts] or [
        one for one in repetitions if one.complete
    ]


def _cell(run: Run, cell: Row, chosen: Mapping[int, Sequence[Repetition]]) -> CellResults:
    own, counted = run.of(cell["number"]), chosen[cell["number"]]
    baseline = _baseline(run, cell)
    quiet = chosen.get(baseline, ()) if baseline is not None else None
    seed = int(run.manifest.get("seed") or 0)
    return CellResults(
        number=cell["number"],
        label=cell["label"],
        levels=dict(cell.get("levels") or {}),
        baseline=baseline,
        planned=len(own),
        counted=len(counted),
        only_discarded=bool(counted) and not any(one.counts for one in counted),
        uses=dict(sorted(Counter(one.use for one in own).items())),
        workloads=[
            replace(
                result(name, kind, counted, quiet, seed=seed),
                transfers=_limits(counted, name),
                rtt_mean_seconds=_rtt(counted, name),
            )
            for name, kind in _workloads(counted)
        ],
        backgrounds=_backgrounds(counted),
        pipes=_pipes(counted),
        burstiness=_burstiness(counted),
    )


def _baseline(run: Run, cell: Row) -> int | None:
    """The number of a cell's baseline; ``None`` if no other cell is compared with it."""
    baseline = cell.get("baseline")
    others = sum(one.get("baseline") == baseline for one in run.cells)
    return baseline if baseline is not None and others > 1 else None


def _workloads(repetitions: Iterable[Repetition]) -> list[tuple[str, str]]:
    found = {
        one["name"]: str(one.get("kind") or "") for each in repetitions for one in each.workloads
    }
    return list(found.items())


def _limits(repetitions: Iterable[Repetition], workload: str | None = None) -> list[Limit]:
    """What limited the transfers, the most frequent first; of one workload, or of all."""
    found = Counter(
        (row["cause"], row["verdict"])
        for each in repetitions
        for row in each.transfers
        if workload in (None, row["workload"])
    )
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Limit(cause=cause, verdict=verdict, count=count) for (cause, verdict), count in ordered]


def _rtt(repetitions: Iterable[Repetition], workload: str) -> float | None:
    """Mean over the workload's judged transfers of their mean RTT, in seconds."""
    rows = [row for each in repetitions for row in each.transfers if row["workload"] == workload]
    return _mean_of(rows, "rtt_mean_ns", SECOND)


# Background and links.


def _backgrounds(repetitions: Sequence[Repetition]) -> list[Background]:
    """Offered and received traffic of every background source, over all repetitions."""
    by_name: dict[str, list[Row]] = {}
    for each in repetitions:
        for one in each.record.get("backgrounds") or ():
            by_name.setdefault(one["name"], []).append(one)
    return [_background(name, rows) for name, rows in by_name.items()]


def _background(name: str, rows: Sequence[Row]) -> Background:
    sent = [row.get("send") or {} for row in rows]
    offered = _sum(one.get("offered_packets") for one in sent)
    arrived = _sum(_arrived(row) for row in rows)
    losses = [
        1 - got / gave
        for row in rows
        if (got := _arrived(row)) is not None and (gave := _left(row))
    ]
    over = mean_interval(losses)
    departure_error = [one.get("departure_error") or one.get("start_error") or {} for one in sent]
    rates = [rate for row in rows if (rate := _rate(row.get("send") or {})) is not None]
    return Background(
        name=name,
        from_=rows[0].get("from"),
        to=rows[0].get("to"),
        transport=rows[0].get("transport"),
        release=rows[0].get("release"),
        repetitions=len(rows),
        offered_packets=offered,
        arrived_packets=arrived,
        offered_bits_per_second=mean(rates),
        loss_share=mean(losses),
        loss_low=None if over is None else max(0.0, over.low),
        loss_high=None if over is None else min(1.0, over.high),
        late_p99_seconds=_most(one.get("p99_ns") for one in departure_error),
        late_max_seconds=_most(one.get("max_ns") for one in departure_error),
        users=_users([one for one in sent if "open_connections" in one]),
    )


def _users(sent: Sequence[Row]) -> Users | None:
    if not sent:
        return None
    return Users(
        sessions=_sum(one.get("sessions") for one in sent) or 0,
        connections=_sum(one.get("connections") for one in sent) or 0,
        failed=_sum(one.get("failed_connections") for one in sent) or 0,
        most_open=max(one.get("most_open_connections") or 0 for one in sent),
        server_bits_per_second=_payload_rate(sent, "server_sent_bytes_per_second"),
        client_bits_per_second=_payload_rate(sent, "client_sent_bytes_per_second"),
    )


def _payload_rate(sent: Sequence[Row], key: str) -> float | None:
    """Bits per second over the whole time of the generator, silent seconds included."""
    seconds = sum(one.get("duration_ns") or 0 for one in sent) / SECOND
    return 8 * sum(sum(one.get(key) or ()) for one in sent) / seconds if seconds else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(nanoseconds: Iterable[int | None]) -> float | None:
    known = [value for value in nanoseconds if value is not None]
    return max(known) / SECOND if known else None


def _left(row: Row) -> int:
    """Packets that left their host: what did not, no path has lost."""
    sent = row.get("send") or {}
    sources = sent.get("sources")
    if sources is None:
        return sent.get("offered_packets") or 0
    return sum(source.get("sent_packets") or 0 for source in sources)


def _arrived(row: Row) -> int | None:
    """Packets of a UDP source that its sink received. For TCP there is no such number."""
    sink = row.get("sink") or {}
    sources, sockets = sink.get("sources") or (), sink.get("sockets") or ()
    # The sink has a source from its first packet on: of a UDP socket without any, none arrived.
    if not sources and not any(one.get("transport") == "udp" for one in sockets):
        return None
    return sum(source.get("packets") or 0 for source in sources)


def _rate(send: Row) -> float | None:
    """Offered bits per second, over the complete seconds in which the source sent."""
    seconds = send.get("offered_ip_bytes_per_second") or ()
    complete = seconds[:-1] if len(seconds) > 1 else seconds
    return 8 * sum(complete) / len(complete) if complete else None


def _pipes(repetitions: Sequence[Repetition]) -> list[Pipe]:
    """Every pipe of the emulator: means over the repetitions, and the deepest queue of all."""
    by_name: dict[str, list[Row]] = {}
    for each in repetitions:
        for pipe in (each.record.get("emulator") or {}).get("pipes") or ():
            by_name.setdefault(pipe["name"], []).append(pipe)
    return [_pipe(name, rows) for name, rows in by_name.items()]


def _pipe(name: str, rows: Sequence[Row]) -> Pipe:
    delays = [row.get("queue_delay") or {} for row in rows]
    packets = sum(row.get("packets") or 0 for row in rows)
    dropped: Counter[str] = Counter()
    for row in rows:
        dropped.update(
            {cause: count for cause, count in (row.get("dropped") or {}).items() if count}
        )
    return Pipe(
        name=name,
        from_=rows[0].get("from"),
        to=rows[0].get("to"),
        packets=packets,
        carried_bits_per_second=_mean_of(rows, "carried_bits_per_second"),
        queue_p50_seconds=_mean_of(delays, "p50_ns", SECOND),
        queue_p99_seconds=_mean_of(delays, "p99_ns", SECOND),
        queue_max_seconds=_most(delay.get("max_ns") for delay in delays),
        deepest_queue_packets=max(
            (row.get("deepest_queue_packets") or 0 for row in rows), default=None
        ),
        dropped=dict(sorted(dropped.items())),
        dropped_share=sum(dropped.values()) / packets if packets else None,
    )


def _mean_of(rows: Iterable[Row], key: str, unit: float = 1.0) -> float | None:
    known = [value / unit for row in rows if (value := row.get(key)) is not None]
    return mean(known)


def _burstiness(repetitions: Sequence[Repetition]) -> list[Burstiness]:
    """The burstiness of the captures, a row per capture point: means over the repetitions."""
    by_name: dict[str, list[Row]] = {}
    for each in repetitions:
        table = each.table("burstiness")
        for row in table.to_pylist() if table is not None else ():
            by_name.setdefault(row["capture"], []).append(row)
    keys = (
        "mean_rate_bits_per_second",
        "max_q_mean_bytes",
        "max_q_max_bytes",
        "abw_max_bits_per_second",
    )
    return [
        Burstiness(capture=name, **{key: _mean_of(rows, key) for key in keys})
        for name, rows in by_name.items()
    ]


# Repetitions.


def _repetition(one: Repetition, run: Run) -> RepetitionSummary:
    label = next((cell["label"] for cell in run.cells if cell["number"] == one.cell), str(one.cell))
    departure_error = (one.record.get("emulator") or {}).get("departure_error") or {}
    return RepetitionSummary(
        directory=one.directory,
        number=one.number,
        cell=one.cell,
        label=label,
        round=one.round,
        seed=one.seed,
        complete=one.complete,
        outcome=one.record.get("outcome"),
        use=one.use,
        why=one.findings.get("why") or "",
        verdicts=dict(one.findings.get("verdicts") or {}),
        findings=list(one.findings.get("findings") or ()),
        transfers=_limits([one]),
        started=one.record.get("started"),
        seconds=one.record.get("seconds"),
        emulator=Emulator(
            p50_seconds=_most([departure_error.get("p50_ns")]),
            p99_seconds=_most([departure_error.get("p99_ns")]),
            max_seconds=_most([departure_error.get("max_ns")]),
            late_share=departure_error.get("late_by_more_than_a_packet_time"),
            overdue_share=departure_error.get("overdue_share"),
            priority=(one.record.get("emulator_ready") or {}).get("priority"),
        ),
        workloads=[
            WorkloadOutcome(**{key: each.get(key) for key in WorkloadOutcome.__struct_fields__})
            for each in one.workloads
        ],
    )


def _queues(run: Run, chosen: Mapping[int, Sequence[Repetition]]) -> list[CellOverTime]:
    """One repetition of each cell over time.

    The first that may be trusted, or else the first that counts.
    """
    found = []
    for cell in run.cells[:CHARTED]:
        counted = chosen[cell["number"]]
        one = next(
            (each for each in counted if each.use == "trust"), counted[0] if counted else None
        )
        shown = run_queue.over_time(one) if one is not None else None
        if shown is not None:
            found.append(CellOverTime(cell=cell["number"], label=cell["label"], shown=shown))
    return found
