"""Results of other programs as a testbed: a directory of files, each of which is one repetition.

Read are ``ab``, ``wrk``, ``httperf`` (their standard output), ``iperf3 --json``, flent's data
files, ``k8s-netperf --json``, ``owping`` (with ``-M`` or without) and ``ndt7-client -format json``.
Only what they report is in them; what else there is to compare is absent. Requests that failed do
not count as completed.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trustbed.compare.calls import WrittenCalls
from trustbed.compare.error import CompareError
from trustbed.compare.observing import COARSE, MEDIAN, Observation
from trustbed.compare.sources import Observed, Source, SourceCell
from trustbed.compare.work import MEGABYTE, answered, answered_per_second
from trustbed.compare.workloads import Asked
from trustbed.report.records import Row
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
from trustbed.workload.tables import Cell

_SECOND = 1e9
_SHOWN = 3
_MILLISECOND_NS = 1_000_000
_LEAST_GRAINS = 10
"""Of its tool, in a median that is compared."""
_MOST_BYTES = 256 << 20
"""What no program prints about one test, compressed or not."""
KINDS = (
    "ab, wrk, httperf, iperf3 --json, flent, k8s-netperf --json, owping, ndt7-client -format json"
)
_ABSENT = "only results of {tool} are there"
_HEADINGS = {"upload": "forward", "download": "reverse"}
"""Directions as a scenario has them: the client is the host of its workload."""


@dataclass(frozen=True, slots=True)
class _Requests:
    """How many requests a program counted, how many of these failed, and broken connections."""

    counted: int = 0
    failed: int = 0
    broken: int = 0


@dataclass(frozen=True, slots=True)
class _Result:
    """One test of one file."""

    tool: str
    test: str
    asked: Asked
    found: Observation
    requests: _Requests = _Requests()


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

    def points(self, workloads: Collection[str], warm_up: int) -> frozenset[str]:
        """There are no captures."""
        return frozenset()

    def observed(self, called: Mapping[str, str], point: str | None) -> list[Observed]:
        """As of :class:`~trustbed.compare.sources.Part`."""
        (prefix,) = called.values()
        return [
            Observed(name, number, _prefixed(found, prefix))
            for number, (name, found) in enumerate(self.results)
        ]

    def written(self, kept: Collection[str]) -> list[Mapping[str, WrittenCalls]]:
        """Nothing is traced."""
        return []


def _prefixed(found: Observation, prefix: str) -> Observation:
    if not prefix:
        return found
    return Observation(
        values={f"{prefix}.{key}": value for key, value in found.values.items()},
        per={f"{prefix}.{key}": unit for key, unit in found.per.items()},
        absent=found.absent,
        invalid=found.invalid,
    )


def read_results(path: Path, name: str, *, others: str = "") -> Source:
    """A directory of results, or a single file.

    Args:
        path: The directory, or the file.
        name: What it is called in the report.
        others: What else the caller can read, for the error's hint.

    Raises:
        CompareError: Nothing in it can be read, or it holds results of several programs.
    """
    files = [path] if path.is_file() else in_order(one for one in path.iterdir() if one.is_file())
    by_test: dict[str, list[tuple[str, _Result]]] = {}
    unread = []
    for file in files:
        results = list(_results(file))
        unread += [file.name] if not results else []
        for result in results:
            by_test.setdefault(result.test, []).append((file.name, result))
    tools = {result.tool for held in by_test.values() for _, result in held}
    # What broke before it could name its tests is missing in each of them.
    if len(by_test) > 1 and all(one.found.invalid for _, one in by_test.get("", [])):
        broken = by_test.pop("", [])
        by_test = {test: sorted([*held, *broken], key=_place) for test, held in by_test.items()}
    if not tools:
        raise CompareError(
            f"neither a run nor results that can be read, {path}",
            f"name a directory that trustbed run has made, or one with outputs of {KINDS}{others}",
        )
    if len(tools) > 1:
        raise CompareError(
            f"results of several programs, {path}: {', '.join(sorted(tools))}",
            "put those of each program into a directory of its own",
        )
    (tool,) = tools
    notes = list(_without_length(name, by_test))
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
    notes += _failures(name, tool, [one for held in by_test.values() for _, one in held])
    if unread:
        notes.append(beside(name, "results", unread))
    return Source(name=name, path=path, cells=cells, facts={"program": tool}, notes=notes)


def beside(name: str, what: str, others: Sequence[str]) -> str:
    """A note about files of a directory that could not be read."""
    more = len(others) - _SHOWN
    listed = ", ".join(others[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"{name}: beside its {what} there is what cannot be read, and is no repetition: {listed}"


def in_order(files: Iterable[Path]) -> list[Path]:
    """Files as they are numbered: ``2.txt`` comes before ``10.txt``."""
    return sorted(files, key=lambda file: numbered(file.name))


def numbered(name: str) -> list[tuple[int, int, str]]:
    """What sorts names by the numbers in them."""
    parts = re.split(r"([0-9]+)", name)
    return [(0, int(one), one) if one.isdecimal() else (1, 0, one) for one in parts]


def _place(held: tuple[str, _Result]) -> list[tuple[int, int, str]]:
    return numbered(held[0])


def _without_length(name: str, by_test: Mapping[str, list[tuple[str, _Result]]]) -> Iterator[str]:
    """Leaves out how long a page is that is now longer, now shorter; a word about it."""
    for held in by_test.values():
        lengths = {one.asked["object"] for _, one in held if "object" in one.asked}
        if len(lengths) > 1:
            held[:] = [
                (file, replace(one, asked={k: v for k, v in one.asked.items() if k != "object"}))
                for file, one in held
            ]
            yield f"{name}: the length of what was fetched varies: {', '.join(sorted(lengths)[:3])}"


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


def _failures(name: str, tool: str, results: Sequence[_Result]) -> Iterator[str]:
    """What of failed requests is to be kept in mind, over the results that count."""
    known = [one.requests for one in results if one.found.invalid is None]
    failed, broken = sum(one.failed for one in known), sum(one.broken for one in known)
    if failed:
        yield (
            f"{name}: {failed:,} of {sum(one.counted for one in known):,} requests of {tool} "
            f"failed, in {sum(one.failed > 0 for one in known)} of {len(known)} results: they do "
            "not count as completed and the rates are lowered by their share; response times "
            "include them"
        )
    if broken:
        yield (
            f"{name}: {broken:,} connections of {tool} failed or broke, in "
            f"{sum(one.broken > 0 for one in known)} of {len(known)} results: it does not count "
            "their requests"
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


def _broken(tool: str, why: str, test: str = "") -> _Result:
    return _Result(tool, test, {}, Observation(invalid=why))


def _asked(**settings: object) -> Asked:
    """What a program was asked for, in words; what it does not report is left out."""
    return {key: str(value) for key, value in settings.items() if value is not None}


def _bytes(size: Cell) -> str | None:
    return None if size is None else f"{size} B"


def _rate(bits_per_second: object) -> str | None:
    """A rate that iperf3 was asked for; 0 is none."""
    if not isinstance(bits_per_second, int) or not bits_per_second:
        return None
    return f"{bits_per_second / 1e6:g} Mbit/s"


def _whole_seconds(nanoseconds: Cell) -> str | None:
    """A duration as a scenario has it: programs measure a little more than they were asked for."""
    return f"{round(nanoseconds / _SECOND)} s" if isinstance(nanoseconds, int) else None


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
    totals = [one["median_ns"] for one in ab.times(text).to_pylist() if one["phase"] == "total"]
    asked = _asked(
        path=row["path"],
        object=_bytes(row["document_bytes"]),
        connections=row["concurrency"],
        keep_alive="no" if row["keep_alive_requests"] is None else "yes",
    )
    median = totals[0] if totals else None
    # In whole milliseconds: below ten of them two sides are equal, or a tenth apart, by chance.
    coarse = isinstance(median, int) and median < _LEAST_GRAINS * _MILLISECOND_NS
    found = _requests_of("ab", row, asked, None if coarse else median)
    if coarse:
        found.found.absent[MEDIAN] = COARSE
    yield found


def _wrk(text: str) -> Iterator[_Result]:
    row = _first(wrk.summary(text))
    shares = {one["share"]: one["response_ns"] for one in wrk.percentiles(text).to_pylist()}
    asked = _asked(
        threads=row["threads"],
        connections=row["connections"],
        duration=_whole_seconds(row["duration_ns"]),
    )
    broken = sum(row[key] or 0 for key in ("failed_connect", "failed_read", "failed_write"))
    yield _requests_of("wrk", row, asked, shares.get(0.5), broken)


def _httperf(text: str) -> Iterator[_Result]:
    row = _first(httperf.summary(text))
    if not row.get("replies"):
        yield _broken("httperf", "httperf got no reply")
        return
    yield _requests_of("httperf", row, _asked_of_httperf(text), None)


def _asked_of_httperf(text: str) -> Asked:
    """Of its command line, which it prints first, with all that is usual."""
    first = text.lstrip().partition("\n")[0]
    given = dict(re.findall(r"--([a-z-]+)=(\S+)", first))
    names = ("uri", "rate", "period", "num-conns", "num-calls", "wsess", "wlog")
    return {name: given[name] for name in names if name in given}


def _requests_of(tool: str, row: Row, asked: Asked, median_ns: Cell, broken: int = 0) -> _Result:
    """The result of a program that fetches objects, from the row of its summary."""
    counted, completed = row["requests"] or 0, answered(row) or 0
    if not completed:
        failed = f": all {counted} failed" if counted else ""
        return _broken(tool, f"{tool} completed no request{failed}")
    values = {
        "requests_per_second": answered_per_second(row),
        MEDIAN: median_ns / _SECOND if isinstance(median_ns, int) else None,
    }
    requests = _Requests(counted=counted, failed=counted - completed, broken=broken)
    return _Result(tool, "", asked, _observation(tool, values), requests)


def _iperf3(text: str) -> Iterator[_Result]:
    rows = iperf3.summary(text).to_pylist()
    start = json.loads(text)["start"].get("test_start", {})
    for row in rows:
        if not row["received_bytes"]:
            why = (
                f"iperf3 gave up: {row['error']}" if row["error"] else "iperf3 transferred nothing"
            )
            yield _broken("iperf3", why, row["direction"])
            continue
        # With -n or -k, iperf3 is asked for an amount instead of a duration, which is 0 then.
        asked = _asked(
            direction=_HEADINGS[row["direction"]],
            protocol=row["protocol"],
            connections=row["streams"],
            duration=f"{start['duration']} s" if start.get("duration") else None,
            bytes=_bytes(start.get("bytes") or None),
            blocks=start.get("blocks") or None,
            bitrate=_rate(start.get("target_bitrate")),
            # Of UDP it follows the path's MTU unless it is given.
            block=_bytes(start.get("blksize") or None) if row["protocol"] == "TCP" else None,
            omitted=f"{start['omit']} s" if start.get("omit") else None,
            bidirectional="yes" if len(rows) > 1 else "no",
        )
        yield _Result("iperf3", row["direction"], asked, _transfer(row))


def _transfer(row: Row) -> Observation:
    """One direction of iperf3: retransmissions per MB of TCP, the share of UDP packets lost."""
    again, packets, lost = row["retransmits"], row["packets"], row["lost_packets"]
    values: dict[str, Cell] = {"throughput_bits_per_second": row["received_bits_per_second"]}
    per = {}
    if again is not None:
        values["retransmissions"] = again / (row["received_bytes"] / MEGABYTE)
        per["retransmissions"] = "MB"
    if packets and lost is not None:
        # Below 0 where more packets arrive late than are lost: iperf3 takes those back.
        values["loss_share"] = max(0, lost) / packets
    return _observation("iperf3", values, per)


def _flent(text: str) -> Iterator[_Result]:
    row = _first(flent.summary(text))
    values: dict[str, Cell] = {"throughput_bits_per_second": row["throughput_bits_per_second"]}
    p50, p90 = row["ping_p50_ns"], row["ping_p90_ns"]
    if isinstance(p50, int) and isinstance(p90, int):
        values["rtt_spread_seconds"] = (p90 - p50) / _SECOND
    length = json.loads(text)["metadata"].get("LENGTH")
    asked = _asked(
        test=row["test"], duration=f"{length:g} s" if isinstance(length, (int, float)) else None
    )
    yield _Result("flent", "", asked, _observation("flent", values))


def _k8s_netperf(text: str) -> Iterator[_Result]:
    for row in k8s_netperf.summary(text).to_pylist():
        values = {
            key: row[key] for key in ("throughput_bits_per_second", "transactions_per_second")
        }
        asked = _asked(test=row["test"], duration=_whole_seconds(row["duration_ns"]))
        yield _Result("k8s-netperf", row["test"], asked, _observation("k8s-netperf", values))


def _owping(text: str) -> Iterator[_Result]:
    rows = owping.summary(text).to_pylist()
    # Both directions are there unless only one was asked for; owping reports the way out first.
    names = ["there", "back"] if len(rows) == 2 else [""] * len(rows)
    for name, row in zip(names, rows, strict=True):
        if not row["sent"]:
            yield _broken("owping", "owping sent no packet", name)
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
        asked = _asked(direction=_HEADINGS[row["direction"]])
        yield _Result("ndt7", row["direction"], asked, _observation("ndt7", values))


_READERS: Sequence[tuple[str, Callable[[str], bool], Callable[[str], Iterator[_Result]]]] = (
    ("flent", flent.is_flent, _flent),
    ("k8s-netperf", k8s_netperf.is_k8s_netperf, _k8s_netperf),
    ("ndt7", ndt7.is_ndt7, _ndt7),
    ("owping", owping.is_owping, _owping),
    ("iperf3", lambda text: text.lstrip().startswith("{") and '"intervals"' in text, _iperf3),
    ("ab", lambda text: "ApacheBench" in text, _ab),
    (
        "wrk",
        lambda text: (
            ("Requests/sec:" in text and " requests in " in text)
            or text.startswith("unable to connect to ")
        ),
        _wrk,
    ),
    ("httperf", lambda text: text.lstrip().startswith("httperf") or "Reply rate" in text, _httperf),
)
"""How a program's output is recognised and read, the most specific first."""
