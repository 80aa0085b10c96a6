"""The load generators whose output can be read: the options that they need, and their parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import pyarrow as pa

from trustbed.workload import ab, curl, httperf, iperf3, wrk
from trustbed.workload.errors import read_as_output_of

Tables = dict[str, pa.Table]
"""Tables by name: ``summary``, ``times``, ``requests``, ``percentiles``, ``intervals``.

Each program has some of them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A command whose output can be read.

    Attributes:
        tool: The program's name in :data:`TOOLS`.
        command: The command with the options that it lacked.
        files: The files that the program will write beside its output.
    """

    tool: str
    command: tuple[str, ...]
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A known program.

    Attributes:
        name: The name of its executable.
        prepare: Adds the options that its command lacks; None if its output cannot be read.
        read: Converts standard output, standard error and files to tables.
    """

    name: str
    prepare: Callable[[Sequence[str], Path], Prepared | None]
    read: Callable[[str, str, Mapping[str, str]], Tables]


def prepare(command: Sequence[str], directory: Path) -> Prepared | None:
    """The command with the options that make its results readable; files go to ``directory``.

    None for unknown programs, and for commands of known ones without readable results (a server, a
    custom format).

    >>> prepare(["wrk", "-d10s", "http://server/"], Path("logs")).command
    ('wrk', '--latency', '-d10s', 'http://server/')
    >>> prepare(["sleep", "1"], Path("logs")) is None
    True
    """
    tool = TOOLS.get(PurePath(command[0]).name) if command else None
    return tool.prepare(command, directory) if tool else None


def read(
    tool: str, *, stdout: str, stderr: str = "", files: Mapping[str, str] | None = None
) -> Tables:
    """Converts the output of a program to tables.

    Args:
        tool: The program's name in :data:`TOOLS`.
        stdout: Its standard output.
        stderr: Its standard error.
        files: The text of the files that :func:`prepare` named.

    Raises:
        WorkloadError: The output is malformed, or reports a failure.
    """
    with read_as_output_of(tool):
        return TOOLS[tool].read(stdout, stderr, files or {})


def _with(
    tool: str, command: Sequence[str], *more: str, files: Mapping[str, Path] | None = None
) -> Prepared:
    return Prepared(tool=tool, command=(command[0], *more, *command[1:]), files=files or {})


def _value_of(command: Sequence[str], option: str) -> str | None:
    """The value of a one-letter option, in the same word or the next."""
    for index, word in enumerate(command[1:], start=1):
        if word == option:
            return command[index + 1] if index + 1 < len(command) else None
        if word.startswith(option) and not word.startswith("--"):
            return word[len(option) :]
    return None


def _prepare_ab(command: Sequence[str], directory: Path) -> Prepared | None:
    if "-w" in command:
        return None
    own = {
        "requests": ("-g", directory / "ab-requests.tsv"),
        "percentiles": ("-e", directory / "ab-percentiles.csv"),
    }
    more: list[str] = []
    files = {}
    for name, (option, path) in own.items():
        chosen = _value_of(command, option)
        if chosen is None:
            more += [option, str(path)]
        files[name] = path if chosen is None else Path(chosen)
    return _with("ab", command, *more, files=files)


def _read_ab(stdout: str, stderr: str, files: Mapping[str, str]) -> Tables:
    tables = {"summary": ab.summary(stdout + stderr), "times": ab.times(stdout)}
    if "requests" in files:
        tables["requests"] = ab.requests(files["requests"])
    if "percentiles" in files:
        completed = tables["summary"]["requests"].to_pylist()[0]
        tables["percentiles"] = ab.percentiles(files["percentiles"], completed=completed)
    return tables


def _prepare_wrk(command: Sequence[str], directory: Path) -> Prepared | None:
    return _with("wrk", command, *(() if {"--latency", "-L"} & set(command) else ("--latency",)))


def _read_wrk(stdout: str, stderr: str, files: Mapping[str, str]) -> Tables:
    return {"summary": wrk.summary(stdout or stderr), "percentiles": wrk.percentiles(stdout)}


def _prepare_httperf(command: Sequence[str], directory: Path) -> Prepared | None:
    return _with("httperf", command)


def _read_httperf(stdout: str, stderr: str, files: Mapping[str, str]) -> Tables:
    return {"summary": httperf.summary(stdout or stderr)}


def _prepare_iperf3(command: Sequence[str], directory: Path) -> Prepared | None:
    if not any(word.startswith(("-c", "--client")) for word in command[1:]):
        return None
    return _with("iperf3", command, *(() if {"-J", "--json"} & set(command) else ("--json",)))


def _read_iperf3(stdout: str, stderr: str, files: Mapping[str, str]) -> Tables:
    text = stdout or stderr
    return {"summary": iperf3.summary(text), "intervals": iperf3.intervals(text)}


def _prepare_curl(command: Sequence[str], directory: Path) -> Prepared | None:
    own = any(word.startswith(("-w", "--write-out")) for word in command[1:])
    return None if own else _with("curl", command, "-sS", "-w", curl.WRITE_OUT)


def _read_curl(stdout: str, stderr: str, files: Mapping[str, str]) -> Tables:
    return {"requests": curl.requests(stderr)}


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(name="ab", prepare=_prepare_ab, read=_read_ab),
        Tool(name="curl", prepare=_prepare_curl, read=_read_curl),
        Tool(name="httperf", prepare=_prepare_httperf, read=_read_httperf),
        Tool(name="iperf3", prepare=_prepare_iperf3, read=_read_iperf3),
        Tool(name="wrk", prepare=_prepare_wrk, read=_read_wrk),
    )
}
"""All known programs, by name."""
