"""Results of other programs as a testbed: a directory of files, each of which is one repetition.

Read are ``ab``, ``wrk``, ``httperf`` (their standard output), ``iperf3 --json``, flent's data
files, ``k8s-netperf --json``, ``owping`` (with ``-M`` or without) and ``ndt7-client -format json``.
Only what they report is in them; what else there is to compare is absent.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.compare.error import CompareError
from trustbed.compare.observing import Observation
from trustbed.compare.sources import Observed, Source, SourceCell
from trustbed.compare.work import MEGABYTE
from trustbed.compare.workloads import Asked
from trustbed.workload import (
    WorkloadError,
    ab,
    flent,
    httperf,
    iperf3,
    k8s_netperf,
    ndt7,
    owping,
    wrk,
)  # fmt: skip
from trustbed.workload.errors import read_as_output_of
from trustbed.workload.tables import Cell, Row

_SECOND = 1e9
_MOST_BYTES = 256 << 20
"""What no program prints about one test, compressed or not."""
KINDS = (
    "ab, wrk, httperf, iperf3 --json, flent, k8s-netperf --json, owping, ndt7-client -format json"
)
_ABSENT = "only results of {tool} are there"


@dataclass(frozen=True, slots=True)
class _Result:
    """One test of one file."""

    tool: str
    test: str
    asked: Asked
    found: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPart:
    """The results of one test in a directory."""

    tool: str
    results: Sequence[tuple[str, Observation]]
    workloads: Mapping[str, Asked]
    preferred: Sequence[str] = ()
    dropped: str = ""

    @property
    def planned(self) -> int:
        """As of :class:`~trustbed.compare.sources.Part`."""
        return len(self.results)

    @property
    def points(self) -> frozenset[str] | None:
        """There are no captures."""
        return None

    def observed(self, called: Mapping[str, str], point: str | None) -> list[Observed]:
        """As of :class:`~trustbed.compare.sources.Part`."""
        (prefix,) = called.values()
        return [
            Observed(name, number, _prefixed(found, prefix))
            for number, (name, found) in enumerate(self.results)
        ]


def _prefixed(found: Observation, prefix: str) -> Observation:
    if not prefix:
        return found
    return Observation(
        values={f"{prefix}.{key}": value for key, value in found.values.items()},
        per={f"{prefix}.{key}": unit for key, unit in found.per.items()},
        absent=found.absent,
        invalid=found.invalid,
    )


def read_results(path: Path, name: str) -> Source:
    """A directory of results, or a single file.

    Raises:
        CompareError: Nothing in it can be read, or it holds results of several programs.
    """
    files = [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file())
    by_test: dict[str, list[tuple[str, _Result]]] = {}
    for file in files:
        for result in _results(file):
            by_test.setdefault(result.test, []).append((file.name, result))
    tools = {result.tool for held in by_test.values() for _, result in held}
    # What broke before it could name its tests is missing in each of them.
    if len(by_test) > 1 and all(one.found.invalid for _, one in by_test.get("", [])):
        broken = by_test.pop("", [])
        by_test = {test: sorted([*held, *broken], key=_file) for test, held in by_test.items()}
    if not tools:
        raise CompareError(
            f"neither a run nor results that can be read, {path}",
            f"name a directory that trustbed run has made, or one with outputs of {KINDS}",
        )
    if len(tools) > 1:
        raise CompareError(
            f"results of several programs, {path}: {', '.join(sorted(tools))}",
            "put those of each program into a directory of its own",
        )
    (tool,) = tools
    several = len(by_test) > 1
    cells = [
        SourceCell(
            levels={"test": test} if several else {},
            label=test,
            part=ImportedPart(
                tool=tool,
                results=[(file, result.found) for file, result in held],
                workloads={tool: next((one.asked for _, one in held if one.asked), {})},
            ),
        )
        for test, held in by_test.items()
    ]
    _check_same_asked(path, by_test)
    return Source(name=name, path=path, cells=cells, facts={"program": tool})


def _file(held: tuple[str, _Result]) -> str:
    return held[0]


def _check_same_asked(path: Path, by_test: Mapping[str, Sequence[tuple[str, _Result]]]) -> None:
    for results in by_test.values():
        held = [(file, result) for file, result in results if result.found.invalid is None]
        first, asked = (held[0][0], held[0][1].asked) if held else ("", {})
        for file, result in held:
            if result.asked != asked:
                raise CompareError(
                    f"{file} and {first} are not repetitions of one test, {path}",
                    "put the results of each test into a directory of its own",
                )


def _results(file: Path) -> Iterator[_Result]:
    """The tests of a file; none if it is of no known program."""
    text = _text(file)
    if text is None:
        return
    for tool, is_own, read in _READERS:
        if is_own(text):
            try:
                with read_as_output_of(tool):
                    found = list(read(text))
            except WorkloadError as error:
                found = [_broken(tool, error.message)]
            yield from found
            return


def _text(file: Path) -> str | None:
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            octets = stream.read(_MOST_BYTES + 1)
        return octets.decode() if len(octets) <= _MOST_BYTES else None
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error):
        return None


def _broken(tool: str, why: str) -> _Result:
    return _Result(tool, "", {}, Observation(invalid=why))


def _observation(
    tool: str, values: Mapping[str, Cell], per: Mapping[str, str] | None = None
) -> Observation:
    known = {key: float(value) for key, value in values.items() if isinstance(value, (int, float))}
    why = _ABSENT.format(tool=tool)
    absent = dict.fromkeys(("application", "system_calls", "network", "delay"), why)
    return Observation(values=known, per=dict(per or {}), absent=absent)


def _first(table: object) -> Row:
    rows: list[Row] = table.to_pylist()  # type: ignore[attr-defined] # pyarrow has no types
    return rows[0]


def _ab(text: str) -> Iterator[_Result]:
    row = _first(ab.summary(text))
    if not row["requests"]:
        yield _broken("ab", "ab completed no request")
        return
    totals = [one["median_ns"] for one in ab.times(text).to_pylist() if one["phase"] == "total"]
    median = totals[0] if totals else None
    values = {
        "requests_per_second": row["requests_per_second"],
        "response_median_seconds": None if median is None else median / _SECOND,
    }
    asked = {
        "object": f"{row['document_bytes']} B",
        "connections": str(row["concurrency"]),
    }
    yield _Result("ab", "", asked, _observation("ab", values))


def _wrk(text: str) -> Iterator[_Result]:
    row = _first(wrk.summary(text))
    if not row["requests"]:
        yield _broken("wrk", "wrk completed no request")
        return
    shares = {one["share"]: one["response_ns"] for one in wrk.percentiles(text).to_pylist()}
    median = shares.get(0.5)
    values = {
        "requests_per_second": row["requests_per_second"],
        "response_median_seconds": None if median is None else median / _SECOND,
    }
    asked = {"threads": str(row["threads"]), "connections": str(row["connections"])}
    yield _Result("wrk", "", asked, _observation("wrk", values))


def _httperf(text: str) -> Iterator[_Result]:
    row = _first(httperf.summary(text))
    if not row.get("replies"):
        yield _broken("httperf", "httperf got no reply")
        return
    values = {"requests_per_second": row.get("requests_per_second")}
    yield _Result("httperf", "", {}, _observation("httperf", values))


def _iperf3(text: str) -> Iterator[_Result]:
    row = _first(iperf3.summary(text))
    octets, again = row["received_bytes"], row["retransmits"]
    if not octets:
        yield _broken("iperf3", "iperf3 transferred nothing")
        return
    values: dict[str, Cell] = {"throughput_bits_per_second": row["received_bits_per_second"]}
    per = {}
    if isinstance(again, int) and isinstance(octets, int):
        values["retransmissions"] = again / (octets / MEGABYTE)
        per["retransmissions"] = "MB"
    asked = {key: str(row[key]) for key in ("direction", "protocol", "streams")}
    yield _Result("iperf3", "", asked, _observation("iperf3", values, per))


def _flent(text: str) -> Iterator[_Result]:
    row = _first(flent.summary(text))
    values: dict[str, Cell] = {"throughput_bits_per_second": row["throughput_bits_per_second"]}
    p50, p90 = row["ping_p50_ns"], row["ping_p90_ns"]
    if isinstance(p50, int) and isinstance(p90, int):
        values["rtt_spread_seconds"] = (p90 - p50) / _SECOND
    yield _Result("flent", "", {"test": str(row["test"])}, _observation("flent", values))


def _k8s_netperf(text: str) -> Iterator[_Result]:
    for row in k8s_netperf.summary(text).to_pylist():
        values = {
            key: row[key] for key in ("throughput_bits_per_second", "transactions_per_second")
        }
        asked = {"test": str(row["test"])}
        yield _Result("k8s-netperf", row["test"], asked, _observation("k8s-netperf", values))


def _owping(text: str) -> Iterator[_Result]:
    rows = owping.summary(text).to_pylist()
    # Both directions are there unless only one was asked for; owping reports the way out first.
    names = ["there", "back"] if len(rows) == 2 else [""] * len(rows)
    for name, row in zip(names, rows, strict=True):
        if not row["sent"]:
            yield _broken("owping", "owping sent no packet")
            continue
        jitter = row["jitter_ns"]
        values = {
            "loss_share": row["lost"] / row["sent"],
            "jitter_seconds": None if jitter is None else jitter / _SECOND,
        }
        yield _Result("owping", name, {"packets": str(row["sent"])}, _observation("owping", values))


def _ndt7(text: str) -> Iterator[_Result]:
    for row in ndt7.summary(text).to_pylist():
        values = {key: row[key] for key in ("throughput_bits_per_second", "retransmitted_share")}
        asked = {"direction": str(row["direction"])}
        yield _Result("ndt7", row["direction"], asked, _observation("ndt7", values))


_READERS: Sequence[tuple[str, Callable[[str], bool], Callable[[str], Iterator[_Result]]]] = (
    ("flent", flent.is_flent, _flent),
    ("k8s-netperf", k8s_netperf.is_k8s_netperf, _k8s_netperf),
    ("ndt7", ndt7.is_ndt7, _ndt7),
    ("owping", owping.is_owping, _owping),
    ("iperf3", lambda text: text.lstrip().startswith("{") and '"intervals"' in text, _iperf3),
    ("ab", lambda text: "ApacheBench" in text, _ab),
    ("wrk", lambda text: "Requests/sec:" in text and " requests in " in text, _wrk),
    ("httperf", lambda text: text.lstrip().startswith("httperf") or "Reply rate" in text, _httperf),
)
"""How a program's output is recognised and read, the most specific first."""
