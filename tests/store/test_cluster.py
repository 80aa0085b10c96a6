"""Many captures on a cluster: what becomes of workers that are killed, full, slow or others'.

One test starts a real cluster of processes; the others play one, so that each thing happens exactly
when the test says so.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.store.conftest import HOW, ROOT
from trustbed.store import captures as captures_module
from trustbed.store import cluster, parts, sweep, tasks, workers
from trustbed.store.captures import (
    READ_TOPIC,
    Division,
    How,
    Job,
    Outcome,
    Reading,
    jobs_of,
    store_capture,
)
from trustbed.store.cluster import Cluster
from trustbed.store.errors import StoreError
from trustbed.store.store import open_store
from trustbed.store.tasks import ATTEMPTS, Limits, Tasks

JOBS = [Job((f"/captures/{number}.pcap",), 100) for number in range(6)]


def test_a_cluster_stores_what_one_process_stores_though_workers_are_killed(
    tmp_path: Path,
) -> None:
    jobs = sorted(jobs_of([ROOT / "recordings"]), key=attrgetter("size_bytes"))[:12]
    alone, shared = (open_store(tmp_path / name, create=True).url for name in ("one", "two"))
    for _ in sweep.carry_out(jobs, alone, HOW):
        pass
    there = [store_capture(job, shared, HOW).name for job in jobs[:2]]
    killed: list[int] = []
    outcomes = []
    where = Cluster(where="local", processes=2, memory=1 << 30)
    for one in cluster.carry_out(jobs, shared, HOW, where):
        outcomes.append(one)
        process = int(one.worker.rpartition(":")[2])
        if len(killed) < 2 and process not in killed:
            killed.append(process)
            os.kill(process, signal.SIGKILL)
    assert len(killed) == 2
    assert Counter(one.name for one in outcomes) == Counter(job.name for job in jobs)
    assert {one.state for one in outcomes} <= {"stored", "present"}
    assert {one.state for one in outcomes if one.name in there} == {"present"}
    one, two = open_store(alone), open_store(shared)
    for name in ("transfers", "verdicts", "phases", "findings"):
        assert whole(two.view(name).table()).equals(whole(one.view(name).table()))
    assert len(two.manifests) == len(jobs)


def test_a_divided_capture_is_stored_like_another_though_a_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs_of([ROOT / "recordings" / "random-loss.sender.pcap.gz"])
    alone, shared = (open_store(tmp_path / name, create=True).url for name in ("one", "two"))
    assert [one.state for one in sweep.carry_out([job], alone, HOW)] == ["stored"]
    measured: list[Outcome] = []
    taken = tasks.Tasks._go_on

    def go_on(self: Any, capture: Any, one: Outcome) -> None:  # noqa: ANN401
        taken(self, capture, one)
        if one.state == "measured" and not measured:
            os.kill(int(one.worker.rpartition(":")[2]), signal.SIGKILL)
        measured.append(one)

    monkeypatch.setattr(tasks.Tasks, "_go_on", go_on)
    limits = Limits(divided_bytes=1)
    where = Cluster(where="local", processes=2, memory=1 << 30, limits=limits)
    (found,) = cluster.carry_out([job], shared, HOW, where)
    assert found.state == "stored"
    assert [one.state for one in measured] == ["begun", "measured", "measured"]
    one, two = open_store(alone), open_store(shared)
    for name in ("transfers", "verdicts", "phases", "findings"):
        assert two.view(name).table().equals(one.view(name).table())
    assert not (tmp_path / "two" / "parts").exists()


def whole(table: pa.Table) -> pa.Table:
    return table.sort_by([("capture", "ascending")]).combine_chunks()


# A played cluster.


@dataclass(eq=False)
class Future:
    """A task that has an outcome, an error, or nothing yet."""

    key: str
    jobs: list[Job]
    worker: str
    status: str = "pending"
    division: Division | None = None
    measured: bool = False
    found: Outcome | list[Outcome] | None = None
    error: Exception | None = None
    ended: list[Callable[[Any], object]] = field(default_factory=list)

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        self.ended.append(call)
        if self.status != "pending":
            call(self)

    def result(self) -> Outcome | list[Outcome]:
        assert self.found is not None
        return self.found

    def exception(self) -> Exception | None:
        return self.error

    def cancel(self) -> None:
        self.status = "cancelled"

    def end(self, status: str) -> None:
        self.status = status
        for call in self.ended:
            call(self)


class KilledWorker(Exception):
    """What Dask raises for a task whose workers were all killed."""


class Played:
    """A client of workers that do what the test says: a word per worker, or per capture."""

    def __init__(self, **workers: str) -> None:
        self.workers = workers
        self.status = "running"
        self.begun: list[tuple[str, str]] = []
        self.tasks: list[tuple[object, ...]] = []
        self.fails: dict[str, list[str]] = {}
        self.futures: dict[str, Future] = {}
        self.turn = 0

    def subscribe_topic(self, topic: str, handler: Callable[[Any], object]) -> None:
        assert topic == READ_TOPIC
        self.tell = handler

    def scheduler_info(self, n_workers: int = 5) -> Any:  # noqa: ANN401
        if self.status != "running":
            raise OSError("connection refused")
        about = {"nthreads": 1, "memory_limit": 1 << 28}
        return {"workers": dict.fromkeys(self.workers, about)}

    def run(self, function: object, workers: Iterable[str], on_error: str) -> dict[str, object]:
        versions = {"other": "0.0.1", "without": ModuleNotFoundError("trustbed")}
        return {name: versions.get(self.workers[name], HOW.version) for name in workers}

    def submit(
        self,
        function: Callable[..., Outcome],
        what: Job | list[Job],
        url: str,
        how: object,
        *arguments: Any,  # noqa: ANN401
        key: str,
        pure: bool,
        workers: list[str] | None,
    ) -> Future:
        chosen = workers or list(self.workers)
        self.turn += 1
        worker = chosen[self.turn % len(chosen)]
        jobs = what if isinstance(what, list) else [what]
        future = Future(key, jobs, worker)
        self.futures[key] = future
        self.begun += [(job.name, worker) for job in jobs]
        self.tasks += [(job.name, function.__name__, *arguments[1:]) for job in jobs]
        if function is parts.begin:
            future.division = arguments[0]
        elif function is parts.measure:
            future.measured = True
        fails = self.fails.get(function.__name__)
        self.act(future, fails.pop(0) if fails else self.workers[worker])
        return future

    def act(self, future: Future, word: str) -> None:
        outcomes = [
            Outcome(
                name=job.name,
                state="begun" if future.division else "measured" if future.measured else "stored",
                size_bytes=job.size_bytes,
                seconds=1e-6,
                division=future.division,
            )
            for job in future.jobs
        ]

        def finished(**more: Any) -> None:  # noqa: ANN401
            found = [replace(one, **more) for one in outcomes]
            future.found = found if len(found) > 1 else found[0]
            future.end("finished")

        if word in ("lost", "changed"):
            problem: Any = "lost" if word == "lost" else "capture"
            finished(state="failed", problem=problem, message=word)
        elif word in ("fit", "other", "without"):
            finished()
        elif word == "full":
            message = f"no space left on worker {future.worker}"
            finished(state="failed", problem="full", message=message)
        elif word in ("store", "absent"):
            finished(state="failed", problem=word, message=f"{word} of {future.worker}")
        elif word == "killed":
            future.error = KilledWorker()
            future.end("error")
        elif word == "cancelled":
            future.end("cancelled")
        elif word == "dies":
            self.status = "closed"
        else:
            assert word == "slow"

    def who_has(self, futures: list[Future]) -> dict[str, tuple[str, ...]]:
        return {one.key: (one.worker,) for one in futures}

    def processing(self) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(k for k, one in self.futures.items() if one.worker == name)
            for name in self.workers
        }


def carried_out(
    played: Played, reports: list[str] | None = None, jobs: list[Job] = JOBS, **options: float
) -> list[Outcome]:
    return list(tasks_of(played, jobs, reports, **options).outcomes())


def tasks_of(
    played: Played,
    jobs: list[Job],
    reports: list[str] | None = None,
    *,
    how: How = HOW,
    reading: Reading = lambda read: None,
    **options: float,
) -> Tasks:
    report = (reports if reports is not None else []).append
    there = workers.Workers(played, "played:1", how.version, report)
    return Tasks(there, jobs, "store", how, Limits(**options), reading)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at a played cluster all the time."""
    monkeypatch.setattr(workers, "TICK", 0.001)


def test_every_capture_has_one_outcome() -> None:
    found = carried_out(Played(a="fit", b="fit"))
    assert sorted(one.name for one in found) == [job.name for job in JOBS]


@pytest.mark.parametrize("word", ["other", "without"])
def test_a_worker_of_another_version_gets_no_captures(word: str) -> None:
    reports: list[str] = []
    played = Played(a="fit", b=word)
    assert len(carried_out(played, reports)) == 6
    assert {worker for _, worker in played.begun} == {"a"}
    assert len(reports) == 1
    assert "it gets no captures" in reports[0]
    with pytest.raises(StoreError, match=r"no worker has trustbed"):
        carried_out(Played(a=word, b=word))


def test_a_full_worker_costs_its_captures_again_and_nothing_else() -> None:
    reports: list[str] = []
    played = Played(a="full", b="fit")
    found = carried_out(played, reports)
    assert [one.state for one in found] == ["stored"] * 6
    after = [worker for _, worker in played.begun[-4:]]
    assert "a" not in after
    with pytest.raises(StoreError, match="no space left on worker"):
        carried_out(Played(a="full", b="full"))


def test_several_full_workers_end_nothing_while_another_has_room() -> None:
    for order in itertools.permutations("abc"):
        played = Played(**{name: "full" for name in order}, d="fit")
        assert [one.state for one in carried_out(played)] == ["stored"] * 6


def test_a_worker_that_does_not_reach_the_store_gets_no_more_captures() -> None:
    reports: list[str] = []
    found = carried_out(Played(a="store", b="fit"), reports, MANY)
    assert Counter(one.state for one in found) == {"stored": len(MANY)}
    assert reports == ["store of a: it gets no more captures"]
    with pytest.raises(StoreError, match="store of"):
        carried_out(Played(a="store", b="store"))


def test_a_capture_that_a_worker_does_not_see_is_read_by_another() -> None:
    played = Played(a="absent", b="fit")
    assert [one.state for one in carried_out(played)] == ["stored"] * 6
    nobody = carried_out(Played(a="absent", b="absent"))
    assert {(one.state, one.problem) for one in nobody} == {("failed", "absent")}


def test_without_workers_it_says_so_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    reports: list[str] = []
    with pytest.raises(StoreError, match="no worker has been connected"):
        carried_out(Played(), reports)
    assert reports == ["no worker is connected, played:1: waiting for one"]


def test_the_largest_captures_are_begun_first() -> None:
    jobs = [Job((f"/{name}",), size) for name, size in (("a", 10), ("b", 1000), ("c", 100))]
    played = Played(a="fit", b="fit")
    carried_out(played, jobs=jobs)
    assert [name for name, _ in played.begun] == ["b", "c", "a"]


def test_a_capture_that_kills_every_worker_fails_alone() -> None:
    played = Played(a="killed")
    found = carried_out(played)
    assert {(one.state, one.problem) for one in found} == {("failed", "lost")}
    assert Counter(name for name, _ in played.begun) == {job.name: ATTEMPTS for job in JOBS}
    assert "--worker-memory" in found[0].hint


def test_a_task_that_went_with_all_workers_is_begun_again() -> None:
    played = Played(a="fit", b="fit")
    played.fails["store_capture"] = ["cancelled", "cancelled"]
    assert [one.state for one in carried_out(played)] == ["stored"] * 6
    assert len(played.begun) == 8


MANY = [Job((f"/captures/{number:03}.pcap",), 100) for number in range(200)]


def handfuls(played: Played) -> list[int]:
    """How many captures each task had."""
    return [len(future.jobs) for future in played.futures.values()]


def test_small_captures_are_handed_out_by_the_handful() -> None:
    played = Played(a="fit", b="fit")
    found = carried_out(played, None, MANY)
    assert sorted(one.name for one in found) == [job.name for job in MANY]
    # So many that every worker has several, and one by one at the end.
    assert handfuls(played)[:4] == [tasks.HANDFUL] * 4
    assert handfuls(played)[-1] == 1
    assert len(played.futures) < 40
    large = [replace(job, size_bytes=tasks.HANDFUL_BYTES) for job in MANY]
    played = Played(a="fit", b="fit")
    carried_out(played, None, large)
    assert handfuls(played) == [1] * len(MANY)


@pytest.mark.parametrize("word", ["cancelled", "killed", "lost"])
def test_what_was_lost_together_is_begun_again_by_itself(word: str) -> None:
    played = Played(a="fit", b="fit")
    played.fails["store_captures"] = [word]
    found = carried_out(played, None, MANY)
    assert Counter(one.state for one in found) == {"stored": len(MANY)}
    begun = Counter(name for name, _ in played.begun)
    again = {name for name, count in begun.items() if count == 2}
    assert len(again) == tasks.HANDFUL
    assert {task[1] for task in played.tasks[tasks.HANDFUL :] if task[0] in again} == {
        "store_capture"
    }
    assert set(begun.values()) == {1, 2}


def test_a_handful_that_others_overtook_says_nothing_of_another_capture() -> None:
    played = Played(a="fit", b="fit")
    played.fails["store_captures"] = ["slow"]
    found: list[Outcome] = []

    def watch(read: int) -> None:
        pending = [one for one in played.futures.values() if one.status == "pending"]
        handful = next((one for one in pending if len(one.jobs) > 1), None)
        if handful is None:
            return
        if (
            len(found) == len(MANY) - tasks.HANDFUL
        ):  # it is begun again: its first is slow there too
            played.fails.setdefault("store_capture", ["slow"])
        elif len(found) == len(MANY) - 1:  # all others have been overtaken, and taken
            played.act(handful, "fit")

    there = tasks_of(played, MANY, reading=watch, slow_seconds=0.01, slow_times=2.0)
    found.extend(there.outcomes())
    assert sorted(one.name for one in found) == [job.name for job in MANY]


def test_a_worker_that_is_full_is_said_once() -> None:
    reports: list[str] = []
    played = Played(a="full", b="fit")
    found = carried_out(played, reports, MANY)
    assert Counter(one.state for one in found) == {"stored": len(MANY)}
    assert len(reports) == 1


def test_a_slow_task_is_begun_on_a_second_worker_once_nothing_waits() -> None:
    reports: list[str] = []
    played = Played(a="fit", b="slow")
    found = carried_out(played, reports, slow_seconds=0.01, slow_times=2.0)
    assert [one.state for one in found] == ["stored"] * 6
    slow = {name for name, worker in played.begun if worker == "b"}
    assert slow
    assert all((name, "a") in played.begun for name in slow)
    assert len(reports) == len(slow)


def test_a_scheduler_that_dies_says_how_to_go_on() -> None:
    played = Played(a="fit", b="dies")
    with pytest.raises(StoreError, match=r"the scheduler went away after \d of 6") as refused:
        carried_out(played)
    assert "not done twice" in refused.value.hint


def test_tasks_of_workers_that_are_gone_are_begun_elsewhere() -> None:
    played = Played(a="slow", b="other")
    there = tasks_of(played, JOBS[:2])
    there._look()
    there._hand_out()
    assert [worker for _, worker in played.begun] == ["a", "a"]
    played.workers = {"b": "other", "c": "fit"}
    there._workers._looked = -1.0
    assert [one.state for one in there.outcomes()] == ["stored", "stored"]
    assert [worker for _, worker in played.begun[2:]] == ["c", "c"]


HUGE = Job(("/captures/huge.pcap",), 900)


def shares(played: Played) -> list[tuple[object, ...]]:
    """What was done for the huge capture: tasks, and of parts their numbers."""
    return [done for name, *done in played.tasks if name == "huge.pcap"]  # type: ignore[misc]


def test_a_capture_that_is_more_than_a_workers_share_is_divided() -> None:
    reports: list[str] = []
    played = Played(a="fit", b="fit", c="fit")
    found = carried_out(played, reports, [*JOBS[:3], HUGE], divided_bytes=500)
    assert [one.state for one in found] == ["stored"] * 4
    # 900 of 1200 bytes: two of three workers.
    assert shares(played) == [["begin"], ["measure", 0], ["measure", 1], ["finish"]]
    assert {task[1] for task in played.tasks if task[0] != "huge.pcap"} == {"store_capture"}
    assert reports == ["divided among 2 workers: huge.pcap"]


@pytest.mark.parametrize(
    ("jobs", "least"), [([HUGE], 1000), ([HUGE, replace(HUGE, files=("/other.pcap",))], 500)]
)
def test_others_are_one_task(jobs: list[Job], least: int) -> None:
    played = Played(a="fit", b="fit")
    assert len(carried_out(played, None, jobs, divided_bytes=least)) == len(jobs)
    assert {task[1] for task in played.tasks} == {"store_capture"}


def test_all_parts_have_the_memory_of_the_smallest_worker_or_what_was_given() -> None:
    for given, memory in ((None, 2 << 27), (1 << 29, 1 << 29)):
        played = Played(a="fit", b="fit")
        there = tasks_of(played, [HUGE], how=replace(HOW, memory=given), divided_bytes=1)
        assert [one.state for one in there.outcomes()] == ["stored"]
        (division,) = {one.division for one in played.futures.values() if one.division is not None}
        assert (division.parts, division.memory) == (2, memory)


def test_a_part_that_is_lost_is_measured_again_and_nothing_else() -> None:
    played = Played(a="fit", b="fit")
    played.fails = {"measure": ["killed", "killed"]}
    (found,) = carried_out(played, None, [HUGE], divided_bytes=1)
    assert found.state == "stored"
    kinds = Counter(task[1] for task in played.tasks)
    assert kinds == {"begin": 1, "measure": 4, "finish": 1}


def test_a_capture_whose_parts_are_lost_begins_again() -> None:
    played = Played(a="fit", b="fit")
    played.fails = {"finish": ["lost"]}
    (found,) = carried_out(played, None, [HUGE], divided_bytes=1)
    assert found.state == "stored"
    kinds = Counter(task[1] for task in played.tasks)
    assert kinds == {"begin": 2, "measure": 4, "finish": 2}
    played = Played(a="fit", b="fit")
    played.fails = {"finish": ["lost"] * ATTEMPTS}
    (found,) = carried_out(played, None, [HUGE], divided_bytes=1)
    assert (found.state, found.problem) == ("failed", "lost")


def test_a_part_that_fails_ends_the_others() -> None:
    played = Played(a="fit", b="fit")
    played.fails = {"measure": ["slow", "changed"]}
    found = carried_out(played, None, [HUGE, *JOBS[:1]], divided_bytes=500)
    assert Counter(one.state for one in found) == {"failed": 1, "stored": 1}
    assert [future.status for future in played.futures.values() if future.measured] == [
        "cancelled",
        "finished",
    ]


def test_what_is_read_counts_before_a_capture_has_its_outcome() -> None:
    played = Played(a="fit", b="fit")
    played.fails = {"measure": ["fit", "slow"]}
    seen: list[int] = []

    def reading(read: int) -> None:
        seen.append(read)
        for slow in [one for one in played.futures.values() if one.status == "pending"]:
            if 675 in seen:
                played.act(slow, "fit")
            else:
                played.tell((0.0, [slow.key, 450]))

    (found,) = tasks_of(played, [HUGE], reading=reading, divided_bytes=1).outcomes()
    assert found.state == "stored"
    # Half of 900 bytes is measured, and half of the other half; then all of it.
    assert 675 in seen
    assert 900 in seen
    assert seen == sorted(seen)


def test_a_worker_tells_now_and_then_how_much_it_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    told: list[tuple[str, object]] = []
    names = {
        "get_current_task": lambda _: "huge-1",
        "log_event": lambda _, topic, said: told.append((topic, said)),
    }
    assert captures_module.progress_of() is None, "this is no worker"
    monkeypatch.setattr(distributed, "get_worker", type("Worker", (), names))
    tell = captures_module.progress_of()
    assert tell is not None
    tell(1, 9)
    assert told == [], "nothing in the first moment"
    monkeypatch.setattr(captures_module, "READ_SECONDS", 0.0)
    tell = captures_module.progress_of()
    assert tell is not None
    tell(5, 9)
    assert told == [(READ_TOPIC, ("huge-1", 5))]


def test_hosts_of_an_inventory_are_reached_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    file = tmp_path / "hosts.toml"
    file.write_text(
        'known_hosts = "keys"\n[hosts.a]\nssh = "10.0.0.1"\nuser = "ann"\nport = 2222\n'
        '[hosts.b]\nssh = "10.0.0.2"\n',
        encoding="utf-8",
    )
    (tmp_path / "keys").write_text("", encoding="utf-8")
    made: dict[str, object] = {}
    monkeypatch.setattr(
        distributed, "SSHCluster", lambda hosts, **options: made.update(options, hosts=hosts)
    )
    cluster._over_ssh(distributed, Cluster(where=f"ssh:{file}", memory=1 << 30))
    assert made["hosts"] == ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
    known = {"known_hosts": str(tmp_path / "keys")}
    first = {"username": "ann", "port": 2222, **known}
    assert made["connect_options"] == [first, first, known]
    assert made["worker_options"] == {"n_workers": 1, "nthreads": 1, "memory_limit": 1 << 30}
    file.write_text('[hosts.a]\ncommand = "docker exec -i web"\n', encoding="utf-8")
    with pytest.raises(StoreError, match="not every host is reached by SSH"):
        cluster._over_ssh(distributed, Cluster(where=f"ssh:{file}"))


def test_a_store_that_cannot_be_written_ends_all_of_it(disk: str, captures: list[Job]) -> None:
    with pytest.raises(StoreError, match="no store"):
        list(sweep.carry_out(captures, f"{disk}-nowhere", HOW))


def test_no_scheduler_is_an_error() -> None:
    import distributed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed, "Client", refuses)
        with pytest.raises(StoreError, match=r"no cluster, 127\.0\.0\.1:1: ") as refused:
            list(cluster.carry_out(JOBS, "x", HOW, Cluster(where="127.0.0.1:1")))
    assert "dask scheduler" in refused.value.hint


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nonsense", "neither local, ssh:INVENTORY nor HOST:PORT, nonsense"),
        ("10.0.0.1:99999", "neither local, ssh:INVENTORY nor HOST:PORT, "),
        ("foo://10.0.0.1:1", "neither local, ssh:INVENTORY nor HOST:PORT, "),
        ("tls://127.0.0.1:1", "Dask has no TLS keys, tls://127.0.0.1:1"),
    ],
)
def test_what_is_no_cluster_is_refused_at_once(where: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as refused:
        list(cluster.carry_out(JOBS, "x", HOW, Cluster(where=where)))
    assert refused.value.hint


def test_hosts_that_ssh_does_not_reach_are_the_inventorys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    file = tmp_path / "hosts.toml"
    file.write_text('[hosts.a]\nssh = "nowhere.invalid"\n', encoding="utf-8")
    monkeypatch.setattr(distributed, "SSHCluster", refuses)
    with pytest.raises(StoreError, match="no cluster, ssh:") as refused:
        list(cluster.carry_out(JOBS, "x", HOW, Cluster(where=f"ssh:{file}")))
    assert "every host of the inventory" in refused.value.hint


def refuses(*_: object, **__: object) -> None:
    raise OSError("Timed out trying to connect")


def test_memory_of_a_worker_bounds_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    from trustbed.store.captures import DEFAULT_MEMORY, LEAST_MEMORY, _budget

    assert _budget() is None
    for limit, budget in ((None, None), (1 << 30, 1 << 29), (8 << 30, DEFAULT_MEMORY), (9, None)):
        memory = type("Memory", (), {"memory_limit": limit})
        state = type("State", (), {"nthreads": 1})
        worker = type("Worker", (), {"memory_manager": memory, "state": state})
        monkeypatch.setattr(distributed, "get_worker", lambda w=worker: w)
        assert _budget() == (LEAST_MEMORY if limit == 9 else budget)


class Asked:
    """A client with workers that die while they are asked, whose connection breaks, that hang."""

    def __init__(self, *known: str) -> None:
        self.status, self.known, self.asked = "running", known, Counter[str]()
        self.ended = threading.Event()

    def scheduler_info(self, n_workers: int = 5) -> Any:  # noqa: ANN401
        return {"workers": {name: {"nthreads": 1} for name in self.known}}

    def run(self, _: object, *, workers: list[str], on_error: str) -> dict[str, object]:
        assert on_error == "return"
        (address,) = workers
        self.asked[address] += 1
        if address == "hangs":
            self.ended.wait()
        if address == "dies":
            raise OSError("Stream is closed")
        return {address: OSError("timed out") if address == "breaks" else HOW.version}


def test_a_worker_that_goes_while_it_is_asked_costs_no_other_and_is_asked_again() -> None:
    reported: list[str] = []
    client = Asked("dies", "breaks", "stays")
    there = workers.Workers(client, "local", HOW.version, reported.append)
    for _ in range(2):
        there.look(at_once=True)
        assert there.fit() == ["stays"]
    assert client.asked == {"dies": 2, "breaks": 2, "stays": 1}
    assert reported == []


def test_a_worker_that_hangs_when_it_is_asked_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "ANSWERED", 0.1)
    client = Asked("hangs", "stays")
    there = workers.Workers(client, "local", HOW.version, lambda line: None)
    for _ in range(2):
        there.look(at_once=True)
        assert there.fit() == ["stays"], "the other gets tasks"
    assert client.asked == {"hangs": 1, "stays": 1}
    client.ended.set()
    there._asked["hangs"].result()
    there.look(at_once=True)
    assert there.fit() == ["hangs", "stays"], "it may have tasks when it has answered"
