"""What has its name is whole: verbs that are killed, or find the disk full, at a write.

The tracer of system calls fails one of them: of writes the first, one in the middle and the last,
of renames the first and the last, of others the last. It kills the program at the last write, and
at the first and the last rename: no other kill leaves anything else behind. That is done to one
verb of each way of placing output; the others place theirs by the same functions, and are failed at
the last write and killed at the last rename. Runs have ``tests/run/test_directory.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest

import trustbed
from tests.canary_directories import fetch
from tests.compare.testbeds import Made, make_testbed
from tests.patience import PATIENCE
from tests.report.run_directories import STUDY, make_run
from tests.traffic.frames import pcap
from trustbed.report.placing import MANIFEST
from trustbed.traffic.model import load

pytestmark = pytest.mark.timeout(600)

CALLS = ("write", "fsync", "rename", "mkdir", "ftruncate")
STRACE = """\
101 10:00:00.000001 read(3, "x", 100) = 1 <0.000009>
101 10:00:00.000020 read(3, "", 100) = 0 <0.000002>
"""


@dataclass(frozen=True)
class Verb:
    """A command, and the names under which it puts its output.

    Attributes:
        every: Whether it suffers every fault, as the one that stands for its way of placing.
    """

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    every: bool = False


VERBS = {
    "analyze": Verb(
        ("analyze", "a.pcap", "--out", "tables", "--junit", "j.xml"),
        ("tables", "j.xml"),
        every=True,
    ),
    "annotate": Verb(
        (
            *("analyze", "a.pcap", "--report", "page.html"),
            *("--annotate", "a.pcapng", "--wireshark-profile", "profile"),
        ),
        ("page.html", "a.pcapng"),
    ),
    "burst": Verb(("burst", "a.pcap", "--report", "page.html", "--out", "t"), ("page.html", "t")),
    "model": Verb(("model", "extract", "a.pcap", "-o", "a.model"), ("a.model",), every=True),
    "report": Verb(("report", "study", "-o", "page.html"), ("page.html",)),
    "trace": Verb(
        ("trace", "--import", "s.txt", "-o", "calls.parquet"), ("calls.parquet",), every=True
    ),
    "compare": Verb(
        ("compare", "one.run", "two.run", "-o", "c.html", "--junit", "j.xml"), ("c.html", "j.xml")
    ),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    pcap(directory / "a.pcap", fetch())
    (directory / "s.txt").write_text(STRACE, encoding="utf-8")
    make_run(directory / "study", STUDY.partition("[background")[0], repetitions=1)
    make_testbed(directory / "one.run", Made(), repetitions=2)
    make_testbed(directory / "two.run", Made(slower=1.3), repetitions=2)
    return directory


def traced(verb: Verb, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb there under the tracer of system calls; no bytecode is written meanwhile."""
    calls = ",".join(CALLS)
    tracer = ["strace", "-f", "-qq", "-o", "log", "-e", f"trace={calls}"]
    if not any("signal=" in one for one in options):  # strace 6.1 sends none from its filter
        tracer.append("--seccomp-bpf")
    return subprocess.run(
        [*tracer, *options, sys.executable, "-B", "-m", "trustbed", *verb.words, "--quiet"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def check(path: Path) -> None:
    """Raises unless the output is whole."""
    if path.is_dir():
        files = sorted(one.name for one in path.iterdir())
        assert MANIFEST in files
        assert len(files) > 3
        for one in path.glob("*.parquet"):
            pyarrow.parquet.read_table(one)
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    elif path.suffix == ".xml":
        xml.etree.ElementTree.parse(path)
    elif path.suffix == ".parquet":
        assert pyarrow.parquet.read_table(path).num_rows == 2
    elif path.suffix == ".pcapng":
        capture = trustbed.analyze(path)
        assert capture.facts["records"] == len(fetch())
        assert capture.facts["problems"] == []
    else:
        assert load(path).header.sha256


def check_order(log: Path) -> None:
    """Raises unless output is on the disk before it has its name, and its name before the end."""
    calls = [
        line.split(maxsplit=1)[1].partition("(")[0]
        for line in log.read_text(encoding="utf-8").splitlines()
    ]
    before, *between, after = " ".join(calls).split("rename")
    assert "fsync" in before
    assert all("fsync" in one for one in between)
    assert "fsync" in after


def faults(log: Path, *, every: bool) -> Iterator[tuple[str, int, str]]:
    """Calls that fail or are the last, by their kind and number, and what happens at them."""
    counts = Counter(
        line.split(maxsplit=1)[1].partition("(")[0]
        for line in log.read_text(encoding="utf-8").splitlines()
    )
    assert counts["write"], "output is written"
    assert counts["rename"], "output gets its name by a rename"
    if not every:
        yield "write", counts["write"], "error=ENOSPC"
        yield "rename", counts["rename"], "signal=KILL"
        return
    for call in CALLS:
        number = counts[call]
        chosen = {"write": {1, (number + 1) // 2, number}, "rename": {1, number}}
        yield from (
            (call, one, "error=ENOSPC") for one in sorted(chosen.get(call, {number})) if one
        )
    for call, number in {("write", counts["write"]), ("rename", 1), ("rename", counts["rename"])}:
        yield call, number, "signal=KILL"


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_name_is_that_of_something_whole(verb: Verb, inputs: Path, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (Debian: apt install strace)")

    def place(name: str) -> Path:
        directory = tmp_path / name
        shutil.copytree(inputs, directory)
        return directory

    undisturbed = place("undisturbed")
    ended = traced(verb, undisturbed)
    if "PTRACE" in ended.stderr:
        pytest.skip(f"programs cannot be traced here: {ended.stderr.strip()}")
    assert ended.returncode in (0, 3, 4), ended.stderr
    for name in verb.outputs:
        check(undisturbed / name)
    check_order(undisturbed / "log")
    for call, number, fault in faults(undisturbed / "log", every=verb.every):
        directory = place(f"{call}-{number}-{fault}")
        ended = traced(verb, directory, "-e", f"inject={call}:{fault}:when={number}")
        said = f"{call} {number} {fault}: {ended.stderr}"
        there = [directory / name for name in verb.outputs if (directory / name).exists()]
        for path in there:
            check(path)
        if fault == "signal=KILL":
            assert ended.returncode in (-9, 137), said
        elif ended.returncode:
            error, hint = ended.stderr.splitlines()
            assert error.startswith("error: "), said
            assert hint.startswith("hint: "), said
            left = [one.name for one in directory.iterdir() if one.name.startswith(".")]
            assert left == [], said
        else:
            assert len(there) == len(verb.outputs), said
        shutil.rmtree(directory)
