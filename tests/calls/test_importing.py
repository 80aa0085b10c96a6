"""Traces of other tools, as they print them, become the same table."""

from __future__ import annotations

import itertools
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from trustbed.calls import bpftrace, strace
from trustbed.calls.errors import CallsError
from trustbed.calls.importing import Imported, format_of, import_trace
from trustbed.calls.numbers import NAMES, name_of
from trustbed.calls.summary import architecture, by_call
from trustbed.calls.table import CALLS
from trustbed.calls.times import nanoseconds

ROOT = Path(__file__).resolve().parents[2]
SECOND = 1_000_000_000

STRACE = """\
strace: Process 102 attached
[pid   101] 23:59:59.000001 read(3,  <unfinished ...>
[pid   102] 23:59:59.000002 openat(AT_FDCWD, "/a) = 7", O_RDONLY) = -1 ENOENT (No such file or \
directory) <0.000004>
[pid   101] 23:59:59.000010 <... read resumed>"x", 100) = 1 <0.000009>
[pid   101] 23:59:59.500000 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 103 <0.000030>
[pid   103] 00:00:00.250000 mmap(NULL, 8192, PROT_READ) = 0x7f12a0000000 <0.000005>
[pid   102] 00:00:00.300000 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=9} ---
[pid   102] 00:00:00.400000 nanosleep({tv_sec=1, tv_nsec=0}, 0x7ffd) = ? ERESTART_RESTARTBLOCK \
(Interrupted by signal) <0.100000>
[pid   103] 00:00:00.500000 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>
[pid   101] 00:00:00.600000 exit_group(0)   = ?
[pid   103] 00:00:00.600001 <... futex resumed> <unfinished ...>) = ?
[pid   102] 00:00:00.700000 +++ exited with 0 +++
"""
PERF = """\
# captured on: Thu Nov 26
              dd  2001 [001]   100.000000001: raw_syscalls:sys_exit: NR 12 = 5
              dd  2001 [001]   100.000001:       raw_syscalls:sys_enter: NR 0 (3, 7ffd, 340)
   my worker   2002/2003 [000]   100.000002: raw_syscalls:sys_enter: NR 257 (ffffff9c, 7f)
              dd  2001 [000]   100.000003:       raw_syscalls:sys_exit: NR 0 = 832
   my worker   2002/2003 [000]   100.000004:       raw_syscalls:sys_exit: NR 257 = -2
              dd  2001 [000]   100.000005:       sched:sched_switch: prev_comm=dd
              dd  2001 [000]   100.000006:       syscalls:sys_enter_write: fd: 0x1, buf: 0x7ffd
              dd  2001 [000]   100.000009:       syscalls:sys_exit_write: 0x2
              dd  2001 [000]   100.000010: PERF_RECORD_LOST lost 17
              dd  2001 [000]   100.000011:       raw_syscalls:sys_enter: NR 231 (0, 0, 0, 0, 0, 0)
"""
SYSDIG = """\
1 15:01:21.000000001 0 cat (301) > openat dirfd=-100(AT_FDCWD) name=/none flags=1(O_RDONLY)
2 15:01:21.000000005 1 cat (301) < openat fd=-2(ENOENT) dirfd=-100(AT_FDCWD)
3 15:01:21.000000006 1 cat (301) > switch next=0 pgft_maj=0
4 15:01:21.000000007 1 cat (301) > read fd=3(<f>/etc/passwd) size=4096
5 15:01:21.000000019 0 cat (301) < read res=832 data=root:x:0
6 15:01:21.000000020 0 cat (301) > drop ratio=1
7 15:01:21.000000021 0 my cat (302) > write fd=1 size=1
"""
BPFTRACE = """\
Attaching 2 probes...
1000 40 40 > 0
1500 40 41 > 202
2000 40 40 < 0 -11
WARNING: Lost 3 events
3000 40 41 < 202 1
4000 40 40 > 60
"""


def imported(tmp_path: Path, text: str) -> tuple[Imported, list[tuple[Any, ...]]]:
    source, target = tmp_path / "trace.txt", tmp_path / "calls.parquet"
    source.write_text(text, encoding="utf-8")
    found = import_trace(source, target, architecture="x86_64")
    table = pyarrow.parquet.read_table(target)
    assert table.schema.names == CALLS.names
    return found, [tuple(row.values()) for row in table.to_pylist()]


def test_strace_is_joined_over_interruptions_threads_and_midnight(tmp_path: Path) -> None:
    found, rows = imported(tmp_path, STRACE)
    late, early = 86_399 * SECOND, 86_400 * SECOND
    assert rows == [
        (late + 2000, 102, 102, "openat", -2, 4000, None),
        (late + 1000, 101, 101, "read", 1, 9000, None),
        (late + SECOND // 2, 101, 101, "clone3", 103, 30_000, None),
        (early + SECOND // 4, 101, 103, "mmap", 0x7F12A0000000, 5000, None),
        (early + 400_000_000, 102, 102, "nanosleep", -516, 100_000_000, None),
        (early + 600_000_000, 101, 101, "exit_group", None, None, None),
        (early + SECOND // 2, 101, 103, "futex", None, None, None),
    ]
    assert (found.format, found.calls, found.lost) == ("strace", 7, 0)
    assert found.skipped == {"exits": 1, "messages": 1, "signals": 1}


def test_what_a_call_read_is_not_its_result(tmp_path: Path) -> None:
    text = (
        "[pid 7] 10:00:00.000001 read(3,  <unfinished ...>\n"
        '[pid 7] 10:00:00.000005 <... read resumed>"if (x) = 3;", 4096) = 11 <0.000004>\n'
    )
    _, rows = imported(tmp_path, text)
    assert [row[3:6] for row in rows] == [("read", 11, 4000)]


def test_strace_prints_octal_lets_go_and_does_not_always_know_the_call(tmp_path: Path) -> None:
    text = (
        "100 10:00:00.000001 umask(077) = 022 <0.000004>\n"
        "100 10:00:00.000010 ????( <unfinished ...>\n"
        "100 10:00:00.000020 <... ???? resumed> <unfinished ...>) = ?\n"
        "101 10:00:00.000030 read(3,  <unfinished ...>\n"
        "101 10:00:00.000040 getpid() = 101 <0.000001>\n"
        "100 10:00:01.000001 epoll_wait(5,  <detached ...>\n"
    )
    found, rows = imported(tmp_path, text)
    assert [row[3:5] for row in rows] == [
        ("umask", 0o22), ("getpid", 101), ("read", None), ("epoll_wait", None),
    ]  # fmt: skip
    assert found.skipped == {"calls untold": 2}


def test_strace_without_times_is_refused_however_long_the_numbers_of_processes_are(
    tmp_path: Path,
) -> None:
    # strace -f -o FILE: it pads the process to five characters.
    text = (
        '12345 execve("/bin/true", ["true"], 0x7f) = 0\n'
        '12346 openat(AT_FDCWD, "/x", O_RDONLY) = 3\n'
        '12345 read(3, "", 1) = 0\n'
    )
    with pytest.raises(CallsError, match=r"trace\.txt:1: no time before '12345 exec") as refused:
        imported(tmp_path, text)
    assert "strace -f -tt" in refused.value.hint
    # strace -f --timestamps=unix -o FILE.
    timed = re.sub("^(.....)", r"\1 1700000000", text, flags=re.MULTILINE)
    assert [(row[0], row[2]) for row in imported(tmp_path, timed)[1]] == [
        (1_700_000_000 * SECOND, thread) for thread in (12345, 12346, 12345)
    ]


def test_strace_of_a_terminal_that_names_processes_now_and_then_is_refused(tmp_path: Path) -> None:
    text = (
        "12:00:00.2 clone(child_stack=NULL) = 101 <0.000001>\n"
        "[pid   100] 12:00:00.3 close(3) = 0 <0.000001>\n"
    )
    with pytest.raises(CallsError, match="with and without a process"):
        imported(tmp_path, text)


def test_a_signal_handler_returns_to_another_number(tmp_path: Path) -> None:
    text = (
        "a 7/7 [000] 1.000001: raw_syscalls:sys_enter: NR 15 (0, 0, 0, 0, 0, 0)\n"
        "a 7/7 [000] 1.000002: raw_syscalls:sys_exit: NR -1 = 8\n"
        "a 7/7 [000] 1.000003: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n"
        "a 7/7 [000] 1.000004: raw_syscalls:sys_exit: NR 1 = 8\n"
        "a 7/7 [000] 1.000005: raw_syscalls:sys_exit: NR 1 = 8\n"
    )
    found, rows = imported(tmp_path, text)
    assert [row[3:5] for row in rows] == [("rt_sigreturn", 8), ("read", None)]
    assert found.lost == 2, "a return of another call, and one whose entry is missing"


def test_tracepoints_have_the_names_of_strace(tmp_path: Path) -> None:
    text = (
        "a 7/7 [000] 1.000001: syscalls:sys_enter_newfstat: fd: 0x3\n"
        "a 7/7 [000] 1.000002: syscalls:sys_exit_newfstat: 0x0\n"
    )
    _, rows = imported(tmp_path, text)
    assert [row[3:5] for row in rows] == [("fstat", 0)]


def test_sysdig_that_reports_returns_only_is_read(tmp_path: Path) -> None:
    text = "".join(
        f"{number} 15:01:21.00000000{number} 0 a (301.301) < {call} res=1\n"
        for number, call in enumerate(("read", "pread", "write"), 1)
    )
    found, rows = imported(tmp_path, text)
    assert [row[3:6] for row in rows] == [("pread64", 1, None), ("write", 1, None)]
    assert (found.lost, found.skipped) == (0, {"returns alone": 1})


# One whose reader tries every space or mark again takes minutes for the first two, and for all of
# them as soon as they are longer.
LONG = 1_000_000
ONE = "1 12:00:00.0 getpid() = 1\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("before", "line", "kept"),
    [
        (ONE, f'1 12:00:00.0 write(1, "{" " * LONG}", 5) = 5', 2),
        (ONE, f"1 12:00:00.0 write(1, {' ' * LONG}<unfinished ...>", 2),
        (ONE, f"1 12:00:00.0 write(1{'<unfinished ...>) ' * (LONG // 20)}) = 5", 2),
        (ONE, f"1 12:00:00.0 write(1{')  =' * (LONG // 4)} 5", 2),
        (PERF, "PERF_RECORD_LOST " * (LONG // 17), 0),
        (PERF, "PERF_RECORD_LOST" + " lost" * (LONG // 5), 0),
        (PERF, "a " + "1 " * (LONG // 2), 0),
        (PERF, f"a{' ' * LONG}b", 0),
        (SYSDIG, f"1 15:01:21.1 0 {' (1' * (LONG // 3)}", 0),
        (SYSDIG, f"1 15:01:21.1 0 a ({'1' * LONG}", 0),
    ],
)  # fmt: skip
def test_a_long_line_is_read_in_a_time_that_grows_as_it_does(
    tmp_path: Path, before: str, line: str, kept: int
) -> None:
    if kept:
        assert imported(tmp_path, before + line + "\n")[0].calls == kept
    else:
        with pytest.raises(CallsError, match="no event"):
            imported(tmp_path, before + line + "\n")


def test_a_call_that_has_not_returned_is_cut_as_an_expression_would() -> None:
    slow = re.compile(
        r"(\w+)\((.*?) *<(?:unfinished|detached|pid changed to \d+) \.\.\.>(?:\) *= \?)?", re.DOTALL
    )
    pieces = ("read(", " ", "  ", "<", "unfinished", " ...>", "<detached ...>", ")", " = ?", "a")
    for text in map("".join, itertools.product(pieces, repeat=5)):
        found = slow.fullmatch(text)
        assert strace._unfinished(text) == (None if found is None else found.groups()), text


MANY = "9" * 5000
"""Digits: more than Python makes a number of."""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (STRACE, f"{MANY} 00:00:01.0 read(3, 0x7) = 1"),
        (STRACE, f"[pid {MANY}] 00:00:01.0 read(3, 0x7) = 1"),
        (STRACE, f"[pid 101] {MANY}.0 read(3, 0x7) = 1"),
        (STRACE, f"[pid 101] 00:00:01.0 read(3, 0x7) = {MANY}"),
        (PERF, f"dd {MANY} [000] 100.2: raw_syscalls:sys_enter: NR 1 (1)"),
        (PERF, f"dd {MANY}/1 [000] 100.2: raw_syscalls:sys_enter: NR 1 (1)"),
        (PERF, f"dd 1 [{MANY}] 100.2: raw_syscalls:sys_enter: NR 1 (1)"),
        (PERF, f"dd 1 [000] {MANY}.2: raw_syscalls:sys_enter: NR 1 (1)"),
        (PERF, f"dd 1 [000] 100.2: raw_syscalls:sys_enter: NR {MANY} (1)"),
        (PERF, f"dd 2001 [000]   100.000010: PERF_RECORD_LOST lost {MANY}"),
        (SYSDIG, f"9 15:01:21.1 {MANY} a (1) < read res=1"),
        (SYSDIG, f"9 15:01:21.1 0 a ({MANY}) < read res=1"),
        (SYSDIG, f"9 {MANY} 0 a (1) < read res=1"),
        (BPFTRACE, f"{MANY} 3 3 > 4"),
        (BPFTRACE, f"1 3 3 > {MANY}"),
        (BPFTRACE, f"1 3 3 < 4 -{MANY}"),
        (BPFTRACE, f"Lost {MANY} events"),
    ],
)
def test_numbers_of_thousands_of_digits_are_none_of_a_tracer(
    tmp_path: Path, text: str, line: str
) -> None:
    number = text.count("\n") + 1
    with pytest.raises(CallsError, match=rf"trace\.txt:{number}: "):
        imported(tmp_path, f"{text}{line}\n")
    assert nanoseconds(MANY) is None


def test_numbers_of_thousands_of_digits_beside_a_call_are_not_read(tmp_path: Path) -> None:
    text = (
        f"1 12:00:00.0 read(3) = -1 (errno {MANY})\n"
        f"1 12:00:00.1 +++ superseded by execve in pid {MANY} +++\n"
    )
    found, rows = imported(tmp_path, text)
    assert [row[4:6] for row in rows] == [(-1, None)]
    assert found.skipped == {"exits": 1}
    with pytest.raises(CallsError, match=r"trace\.txt:3: '9+' is no duration"):
        imported(tmp_path, f"{text}1 12:00:00.2 read(3) = 1 <{MANY}.1>\n")


def test_a_line_without_end_does_not_fill_memory(tmp_path: Path) -> None:
    source, target = tmp_path / "trace.txt", tmp_path / "calls.parquet"
    longest = 1 << 22
    with source.open("w", encoding="utf-8") as text:
        text.write(ONE)
        call = ONE[:-1].replace("(", '("')
        text.write(call.replace(")", f'{"x" * (longest - len(call) - 2)}")') + "\n")
    assert import_trace(source, target, architecture="x86_64").calls == 2
    size = 200 << 20
    with source.open("r+b") as text:
        text.truncate(size)  # zeros without an end of a line, which take no space on the disk
    tracemalloc.start()
    try:
        with pytest.raises(CallsError, match=r"trace\.txt:3: a line of more than 4,194,304 char"):
            import_trace(source, target, architecture="x86_64")
        assert tracemalloc.get_traced_memory()[1] < size // 2
    finally:
        tracemalloc.stop()


def test_lines_without_end_are_no_trace(tmp_path: Path) -> None:
    source = tmp_path / "padded.txt"
    source.write_text(" " * 5_000_000, encoding="utf-8")
    assert format_of(source) is None


def test_perf_script_names_numbers_and_counts_what_it_lost(tmp_path: Path) -> None:
    found, rows = imported(tmp_path, PERF)
    hundred = 100 * SECOND
    assert rows == [
        (hundred + 1000, 2001, 2001, "read", 832, 2000, 0),
        (hundred + 2000, 2002, 2003, "openat", -2, 2000, 0),
        (hundred + 6000, 2001, 2001, "write", 2, 3000, 0),
        (hundred + 11_000, 2001, 2001, "exit_group", None, None, None),
    ]
    assert (found.format, found.lost) == ("perf", 17)
    assert found.skipped == {"other events": 1, "returns alone": 1}


def test_sysdig_has_results_under_several_names(tmp_path: Path) -> None:
    found, rows = imported(tmp_path, SYSDIG)
    begin = (15 * 3600 + 60 + 21) * SECOND
    assert rows == [
        (begin + 1, 301, 301, "openat", -2, 4, 1),
        (begin + 7, 301, 301, "read", 832, 12, 0),
        (begin + 21, 302, 302, "write", None, None, None),
    ]
    assert (found.format, found.lost, found.skipped) == ("sysdig", 1, {"other events": 1})


def test_bpftrace_pairs_entries_with_returns_by_thread(tmp_path: Path) -> None:
    found, rows = imported(tmp_path, BPFTRACE)
    assert rows == [
        (1000, 40, 40, "read", -11, 1000, None),
        (1500, 40, 41, "futex", 1, 1500, None),
        (4000, 40, 40, "exit", None, None, None),
    ]
    assert (found.format, found.lost, found.skipped) == ("bpftrace", 3, {"messages": 1})


def test_bpftrace_prints_a_processor_after_the_other(tmp_path: Path) -> None:
    text = "100 5 5 > 0\n300 5 5 > 1\n400 5 5 < 1 7\n200 5 5 < 0 3\n"
    found, rows = imported(tmp_path, text)
    assert found.lost == 0
    assert [(row[0], row[3], row[4], row[5]) for row in rows] == [
        (100, "read", 3, 100),
        (300, "write", 7, 100),
    ]


def test_bpftrace_whose_times_do_not_grow_does_not_fill_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bpftrace, "_MOST_WAITING", 10)
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for read in range(1000):
            yield f"7 5 {read} > 60\n"

    calls = bpftrace.read(lines(), "trace.txt", Counter(), "x86_64")
    for number, call in enumerate(calls):
        assert call.tid == number
        assert read <= number + 10
    assert read == 999


def test_a_thread_that_is_not_the_first_executes(tmp_path: Path) -> None:
    # The others are no more, and it has the number of the first from then on.
    for begins in ("<pid changed to 1234 ...>", "<unfinished ...>"):
        found, rows = imported(
            tmp_path,
            "1234 10:00:00.1 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
            f'1235 10:00:00.2 execve("/bin/x", ["x"], 0x7f {begins}\n'
            "1234 10:00:00.3 +++ superseded by execve in pid 1235 +++\n"
            "1234 10:00:00.4 <... execve resumed>) = 0 <0.2>\n",
        )
        assert found.skipped == {"exits": 1}
        assert [row[2:6] for row in rows] == [
            (1234, "futex", None, None),
            (1234, "execve", 0, SECOND // 5),
        ]
    found, rows = imported(
        tmp_path,
        "a 1234/1234 [000] 1.000001: raw_syscalls:sys_enter: NR 202 (1, 2)\n"
        "a 1234/1235 [001] 1.000002: raw_syscalls:sys_enter: NR 59 (1, 2)\n"
        "b 1234/1234 [001] 1.000005: raw_syscalls:sys_exit: NR 59 = 0\n",
    )
    assert found.lost == 0
    assert [row[2:6] for row in rows] == [
        (1234, "futex", None, None),
        (1234, "execve", 0, 3000),
    ]


def test_a_line_that_was_cut_is_no_call(tmp_path: Path) -> None:
    whole = "101 10:00:00.1 read(3, 0x7f, 9) = 832 <0.1>\n"
    for cut in ('101 10:00:00.5 read(3, "ab', "101 10:00:00.5 read(3, 0x7f, 9) = 8"):
        found, rows = imported(tmp_path, whole + cut)
        assert (found.calls, found.skipped) == (1, {"cut lines": 1})
        assert rows[0][4] == 832


def test_errors_without_a_name_have_their_number(tmp_path: Path) -> None:
    text = (
        "101 10:00:00.1 ioctl(3, 1) = -1 ENOTSUPP (Unknown error 524) <0.1>\n"
        "101 10:00:00.2 ioctl(3, 1) = -1 (errno 525) <0.1>\n"
    )
    assert [row[4] for row in imported(tmp_path, text)[1]] == [-524, -525]


def test_sysdig_prints_addresses_without_their_sign(tmp_path: Path) -> None:
    printed = {
        "brk res=564D521B0000 vm_size=524": 0x564D521B0000,
        "brk res=1568000 vm_size=524": 0x1568000,
        "brk res=10665984": 10665984,
        "mmap res=140714228027392 vm_size=540": 140714228027392,
        "mmap res=-12(ENOMEM) vm_size=540": -12,
        "read res=1000 data=x": 1000,
    }
    text = "".join(
        f"{n} 15:01:21.00000000{n} 0 ls (1410) > {line.split()[0]} \n"
        f"{n} 15:01:22.00000000{n} 0 ls (1410) < {line}\n"
        for n, line in enumerate(printed)
    )
    assert [row[4] for row in imported(tmp_path, text)[1]] == list(printed.values())


def test_events_of_perf_that_have_no_system_are_skipped(tmp_path: Path) -> None:
    event = "nginx 12 [000] 1.000001:   1 context-switches:  ffffffff81 schedule+0x1\n"
    found, _ = imported(tmp_path, PERF + event)
    assert found.skipped["other events"] == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (STRACE + "garbage\n", 13),
        (STRACE + "[pid 101] 00:00:01.0 read(3, 0x7) = what?\n", 13),
        (PERF + "garbage\n", 12),
        (PERF + "dd 2001 [000] 100.2: raw_syscalls:sys_enter: NR x\n", 12),
        (SYSDIG + "garbage\n", 8),
        (BPFTRACE + "1 2 3 ? 4\n", 8),
    ],
)
def test_a_damaged_line_is_named_and_no_table_is_left(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(CallsError, match=f"trace.txt:{line}: "):
        imported(tmp_path, text)
    assert [one.name for one in tmp_path.iterdir()] == ["trace.txt"]


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallsError, match="no trace of"):
        imported(tmp_path, "hello\nworld\n")


def test_a_table_knows_its_counts_and_its_architecture(tmp_path: Path) -> None:
    imported(tmp_path, BPFTRACE)
    target = tmp_path / "calls.parquet"
    assert (architecture(target), by_call(target)) == (
        "x86_64",
        {"exit": 1, "futex": 1, "read": 1},
    )


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_both_architectures_number_calls_since_2011_alike(architecture: str) -> None:
    # include/uapi/asm-generic/unistd.h and syscall_64.tbl agree from 424 on.
    names = [name_of(number, architecture) for number in (424, 450, 451, 452, 454, 462)]
    assert names == [
        "pidfd_send_signal", "set_mempolicy_home_node", "cachestat", "fchmodat2", "futex_wake",
        "mseal",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_numbers_are_those_of_the_tracer(name: str) -> None:
    text = (ROOT / f"crates/agent/src/trace/calls/{name}.rs").read_text(encoding="utf-8")
    runs = re.findall(r'\(\s*(\d+),\s*"(.*?)",?\s*\)', text, re.DOTALL)
    tracer = {
        int(first) + at: one
        for first, run in runs
        for at, one in enumerate(run.replace("\\\n", " ").split())
    }
    assert tracer == NAMES[name]
