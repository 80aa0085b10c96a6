"""The tracer against strace, its markers, its losses, and what it does not trace."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE, wait_until
from trustbed.agent.client import Agent, AgentError
from trustbed.calls.errors import CallsError
from trustbed.calls.importing import import_trace
from trustbed.run import calls, tracing
from trustbed.run.tracing import Whose, record, record_command

COMMANDS: dict[str, Sequence[str]] = {
    "true": ("/bin/true",),
    "dd": ("dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=300", "status=none"),
    # One writer to cat, which of several would read as many lines at once as have been written.
    "shell": (
        "sh",
        "-c",
        "for i in 1 2 3; do /bin/echo $i >/dev/null; done; /bin/echo 4 | cat >/dev/null",
    ),
    "threads": (
        sys.executable,
        "-S",
        "-E",
        "-c",
        "import _thread, os\n"
        "def work(lock):\n"
        "    for _ in range(50): os.stat('/')\n"
        "    lock.release()\n"
        "for _ in range(3):\n"
        "    lock = _thread.allocate_lock(); lock.acquire()\n"
        "    _thread.start_new_thread(work, (lock,)); lock.acquire()\n",
    ),
}
"""Programs that make the same calls whenever they run."""
_WAITS = frozenset(
    {"futex", "wait4", "clock_nanosleep", "rt_sigreturn", "mmap", "mprotect", "munmap", "madvise"}
)
"""Of threads that race: how often they wait, and whose stack they get, depends on who is first."""


@pytest.fixture(scope="module", autouse=True)
def _may_trace() -> None:
    """Requires that system calls can be traced here."""
    try:
        Agent.start("trace", {}).close()
    except AgentError as error:
        pytest.skip(f"system calls cannot be traced here: {error.message}")


def threads(table: Path) -> list[list[tuple[str, int | None]]]:
    """Call and kind of result of every thread; threads that race have no order."""
    found: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
    for row in pyarrow.parquet.read_table(table).to_pylist():
        result = row["result"]
        # Addresses, numbers of processes and of descriptors differ from run to run.
        is_error = result is not None and -4096 < result < 0
        found[row["tid"]].append((row["call"], result if is_error else None))
    return sorted(found.values(), key=str)


def told(thread: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """What a thread does whoever is first; the process may end before its last thread does."""
    done = [call for call in thread if call[0] not in _WAITS]
    while done and done[-1][0] in ("rt_sigprocmask", "exit"):
        done.pop()
    return done


@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_is_there_in_order_as_strace_has_it(name: str, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    command = COMMANDS[name]
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    text = tmp_path / "strace.txt"
    recorded = record_command(command, ours)
    subprocess.run(
        ["strace", "-f", "-tt", "-T", "-o", text, *command],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    import_trace(text, theirs)
    assert recorded.exit_code == 0
    assert recorded.report["complete"]
    mine, other = threads(ours), threads(theirs)
    if name in ("threads", "shell"):
        mine, other = (sorted((told(one) for one in both), key=str) for both in (mine, other))
    assert mine == other


def test_markers_are_seen_and_nothing_of_the_tracer(tmp_path: Path) -> None:
    recorded = record_command(["/bin/true"], tmp_path / "calls.parquet")
    report = recorded.report
    assert report["markers_made"] > 0
    assert report["markers_seen"] == report["markers_made"]
    assert (report["lost"], report["complete"]) == (0, True)
    table = pyarrow.parquet.read_table(tmp_path / "calls.parquet")
    assert len(table) == report["calls"] == report["rows"]["rows"]
    assert set(table["tid"].to_pylist()) == {one["tid"] for one in report["threads"]}


DESCRIPTORS = """
import os, select, socket, time
page = os.open("/etc/passwd", os.O_RDONLY)
os.read(page, 7)
near, far = socket.socketpair()
near.send(b"hello")
far.recv(3)
out, into = os.pipe()
os.write(into, b"12345678")
os.read(out, 8)
null = os.open("/dev/null", os.O_WRONLY)
os.write(null, b"gone")
os.write(os.dup(near.fileno()), b"again")
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN)
os.close(page)
page = os.open("/", os.O_RDONLY)
time.sleep(0.3)
"""


def test_calls_are_about_descriptors_that_stand_for_something(tmp_path: Path) -> None:
    target = tmp_path / "calls.parquet"
    command = [sys.executable, "-S", "-E", "-c", DESCRIPTORS]
    report = record_command(command, target, descriptors=True).report
    rows = pyarrow.parquet.read_table(target).to_pylist()

    def kinds(call: str, result: int) -> set[str | None]:
        return {row["kind"] for row in rows if (row["call"], row["result"]) == (call, result)}

    assert kinds("read", 7) == {"file"}
    assert kinds("sendto", 5) == {"socket"}
    assert kinds("recvfrom", 3) == {"socket"}
    assert kinds("write", 8) == {"pipe"}
    assert kinds("write", 4) == {"device"}
    assert kinds("write", 5) == {"socket"}, "through another descriptor of it"
    assert {row["kind"] for row in rows if row["call"] == "epoll_ctl"} == {"epoll"}
    assert {row["fd"] for row in rows if row["call"] == "execve"} == {None}
    opened = next(row["result"] for row in rows if row["call"] == "openat" and row["result"] > 2)
    assert opened in {row["fd"] for row in rows if row["call"] in ("read", "fstat")}
    used = report["descriptors"]
    assert used["pipe"] == {"calls": 2, "read_bytes": 8, "written_bytes": 8}
    assert (used["socket"]["read_bytes"], used["socket"]["written_bytes"]) == (3, 10)
    plain = tmp_path / "plain.parquet"
    assert "descriptors" not in record_command(["/bin/true"], plain).report
    assert "fd" not in pyarrow.parquet.read_schema(plain).names


def test_descendants_are_traced_and_strangers_are_not(tmp_path: Path) -> None:
    command = ["sh", "-c", "(sleep 0.05; /bin/true) & sh -c 'sleep 0.05; :' ; wait"]
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import os\nwhile True: os.getppid()"], stdout=subprocess.DEVNULL
    )
    try:
        record_command(command, tmp_path / "calls.parquet")
    finally:
        stranger.kill()
        stranger.wait(PATIENCE)
    rows = pyarrow.parquet.read_table(tmp_path / "calls.parquet").to_pylist()
    processes = {row["pid"] for row in rows}
    executed = [row for row in rows if row["call"] == "execve" and row["result"] == 0]
    assert stranger.pid not in processes
    # The shell, its two children, and what they start.
    assert len(processes) >= 5
    assert len(executed) == 5


def test_what_a_small_ring_has_no_room_for_is_counted_exactly(tmp_path: Path) -> None:
    count = 200_000
    busy = f"import os, sys\nsys.stdin.readline()\nfor _ in range({count}): os.getppid()\n"
    process = subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, text=True)
    rows = tmp_path / "calls.rows"
    config: dict[str, Any] = {
        "path": str(rows),
        "select": {"processes": [process.pid]},
        "ring_rows": 64,
    }
    wait_until(lambda: is_reading(process.pid), "the program reads its standard input")
    with Agent.start("trace", config) as agent:
        agent.begin()
        process.communicate("\n", timeout=PATIENCE)
        report = agent.stop(PATIENCE)
    assert report["lost"] > 0
    assert not report["complete"]
    assert sum(report["lost_by_cpu"]) == report["lost"]
    calls.convert(rows, tmp_path / "calls.parquet")
    kept = report["by_call"]
    others = sum(number for call, number in kept.items() if call != "getppid")
    # Calls that the interpreter makes besides are some hundred at most.
    assert count <= kept.get("getppid", 0) + report["lost"] + others <= count + 2000


def is_reading(pid: int) -> bool:
    """Whether a process waits in ``read`` (call 0 of x86_64, 63 of aarch64)."""
    text = Path(f"/proc/{pid}/syscall").read_text(encoding="ascii")
    return text.split()[0] in ("0", "63") and text.split()[1] == "0x0"


def test_counting_counts_what_recording_records(tmp_path: Path) -> None:
    command = COMMANDS["dd"]
    counted = record_command(command, None).report
    recorded = record_command(command, tmp_path / "calls.parquet").report
    assert counted["by_call"] == recorded["by_call"]
    assert counted["by_call"]["read"] >= 300
    assert [one["calls"] for one in counted["threads"]] == [recorded["calls"]]
    assert counted["reads"]["calls"] == recorded["reads"]["calls"]
    assert (counted["reads"]["bytes"], counted["rows"]) == (None, None)
    assert recorded["reads"]["bytes"] >= 300 * 1024


def test_a_command_is_known_by_its_name(tmp_path: Path) -> None:
    config = {
        "path": str(tmp_path / "calls.rows"),
        "select": {"command": {"name": "dd", "below": None}},
    }
    with Agent.start("trace", config) as agent:
        agent.begin()
        subprocess.run(["/bin/true"], check=True)
        subprocess.run(COMMANDS["dd"], check=True, timeout=PATIENCE)
        report = agent.stop(PATIENCE)
    assert report["by_call"]["read"] >= 300
    assert report["by_call"]["exit_group"] >= 1


def test_a_call_that_has_not_returned_is_the_last_of_its_thread(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sh", "-c", "read -r _; exec sleep 1000"], stdin=subprocess.PIPE)
    try:
        config = {"path": str(tmp_path / "calls.rows"), "select": {"processes": [sleeper.pid]}}
        with Agent.start("trace", config) as agent:
            agent.begin()
            assert sleeper.stdin is not None
            sleeper.stdin.write(b"\n")
            sleeper.stdin.close()
            wait_until(lambda: is_asleep(sleeper.pid), "sleep sleeps")
            report = agent.stop(PATIENCE)
    finally:
        sleeper.kill()
        sleeper.wait(PATIENCE)
    calls.convert(tmp_path / "calls.rows", tmp_path / "calls.parquet")
    last = pyarrow.parquet.read_table(tmp_path / "calls.parquet").to_pylist()[-1]
    assert report["unreturned"] == 1
    assert (last["call"], last["result"], last["duration_ns"]) == ("clock_nanosleep", None, None)


def is_asleep(pid: int) -> bool:
    """Whether a process has become ``sleep`` and waits in a call."""
    name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    call = Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0]
    return name == "sleep" and call in ("230", "115")


def test_a_program_that_cannot_be_run_is_a_command_that_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "no-interpreter"
    script.write_text("echo\n", encoding="utf-8")
    script.chmod(0o755)
    recorded = record_command([str(script)], tmp_path / "calls.parquet")
    assert recorded.exit_code == 126
    assert capfd.readouterr().err == f"trustbed: cannot run {script}: Exec format error\n"
    assert (tmp_path / "calls.parquet").is_file()


def test_a_command_has_the_signals_of_everybody() -> None:
    # Python ignores SIGPIPE, and a shell cannot undo what was ignored when it began.
    recorded = record_command(["sh", "-c", "kill -PIPE $$; exit 7"], None)
    assert recorded.exit_code == 128 + signal.SIGPIPE


def test_a_signal_ends_a_recording_and_loses_nothing(tmp_path: Path) -> None:
    words = ["--command", "nobody", "--duration", "1h", "-o", "calls.parquet", "--quiet"]
    for seconds in (0.2, 1.0, 5.0, 25.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "trustbed", "trace", *words], cwd=tmp_path
        )
        try:
            wait_until(lambda: [*tmp_path.glob(".trustbed-*/calls.rows")], "it begins to record")
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
        if code == 0:
            break
        # A machine with much else to do: it had not begun yet, and leaves nothing.
        assert (code, [*tmp_path.iterdir()]) == (130, [])
    assert [one.name for one in tmp_path.iterdir()] == ["calls.parquet"]


def test_a_signal_is_the_commands_as_soon_as_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, release = tmp_path / "there", tracing._Held._release

    def terminated_at_once(held: tracing._Held) -> None:
        release(held)
        wait_until(there.exists, "the command runs")
        os.kill(os.getpid(), signal.SIGTERM)

    def ours(number: int, frame: object) -> None:
        pytest.fail("the signal did not reach the command")

    monkeypatch.setattr(tracing._Held, "_release", terminated_at_once)
    waits = f"trap 'exit 9' TERM; : > {there}; while :; do sleep 0.05; done"
    before = signal.signal(signal.SIGTERM, ours)
    try:
        recorded = tracing.record_command(["sh", "-c", waits], None)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert recorded.exit_code == 9


def test_a_signal_is_the_commands(tmp_path: Path) -> None:
    waits = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    words = ["-o", "calls.parquet", "--quiet", "--", "sh", "-c", waits]
    command = [sys.executable, "-m", "trustbed", "trace", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 9
        finally:
            process.kill()
    assert [one.name for one in tmp_path.iterdir()] == ["calls.parquet"]


def test_a_command_that_runs_another_ends_with_that(tmp_path: Path) -> None:
    config = {
        "path": str(tmp_path / "calls.rows"),
        "select": {"command": {"name": "sh", "below": os.getpid()}},
    }
    with Agent.start("trace", config) as agent:
        agent.begin()
        command = [shutil.which("dd"), *COMMANDS["dd"][1:]]
        subprocess.run(["sh", "-c", f"exec {' '.join(map(str, command))}"], check=True)
        report = agent.stop(PATIENCE)
    assert report["by_call"].get("read", 0) < 300
    assert report["by_call"]["execve"] == 1
    assert report["unreturned"] == 0


def test_what_cannot_be_traced_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="no process 4194303") as unknown:
        record(Whose(processes=[4_194_303]), tmp_path / "calls.parquet", seconds=0)
    assert "ps -e" in unknown.value.hint
    with pytest.raises(AgentError, match="cgroup"):
        record(Whose(cgroup=tmp_path / "none"), tmp_path / "calls.parquet", seconds=0)
    with pytest.raises(CallsError, match="no such program"):
        record_command(["no-such-program"], tmp_path / "calls.parquet")
    with pytest.raises(AgentError, match="ring_rows: 3"):
        Agent.start("trace", {"ring_rows": 3})
    assert not list(tmp_path.iterdir())
