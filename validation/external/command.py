"""`python -m validation external`: verdicts on networks that others made.

python -m validation external                   all parts; makes what is missing, then judges all
python -m validation external --only policing   one part: policing, ns3 or cellular
python -m validation external --kind ecn        simulated transfers of these kinds only
python -m validation external --score-only      makes nothing: judges what is there
python -m validation external --document        writes the section of docs/validation.md
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from validation import captures, sections
from validation.external import cellular, page, policing, simulated
from validation.external.ns3.kinds import KINDS
from validation.external.ns3.make import Maker, MissingError
from validation.external.policing import Connection
from validation.external.score import Case

SECTION: Final = "external"
COMMAND: Final = "make external"
PARTS: Final = ("policing", "ns3", "cellular")


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when something was scored, 1 when a transfer could not be made, 2 when nothing was scored.
    """
    options = _parse(words)
    failed = 0 if options.score_only else _make(options)
    connections = _policing(options)
    simulated_cases, cellular_cases = _simulated(options), _cellular(options)
    cases = [*(simulated_cases or ()), *(cellular_cases or ())]
    if not connections and not cases:
        print("error: nothing to score", file=sys.stderr)
        print(
            "hint: set TRUSTBED_POLICING to the captures, or install libns3-dev to simulate some",
            file=sys.stderr,
        )
        return 2
    text = page.text(
        policing=connections,
        simulated=simulated_cases,
        accepted=accepted(simulated_cases or ()),
        cellular=cellular_cases,
    )
    if options.document:
        docs = captures.project() / "docs"
        sections.write(docs / "validation.md", SECTION, COMMAND, text)
        write_rows(docs / "validation" / "external.parquet", connections or (), cases)
    else:
        sys.stdout.write(text)
    if options.wrong is not None:
        options.wrong.write_text(_wrong(connections or (), cases), encoding="utf-8")
    return 1 if failed else 0


def _parse(words: Sequence[str]) -> argparse.Namespace:
    words_of_module, examples = (__doc__ or "").split("\n\n", 1)
    parser = argparse.ArgumentParser(
        prog="python -m validation external",
        description=words_of_module,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="a part (repeatable)")
    parser.add_argument(
        "--kind", choices=tuple(KINDS), action="append", help="a simulated kind (repeatable)"
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=captures.project() / "external-data",
        help="directory of what was made (default: external-data)",
    )
    parser.add_argument("--score-only", action="store_true", help="make nothing")
    parser.add_argument(
        "--document", action="store_true", help="write the result into docs/validation.md"
    )
    parser.add_argument("--wrong", type=Path, metavar="FILE", help="list every wrong answer")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    options = parser.parse_args(words)
    options.only = options.only or list(PARTS)
    if options.document and (set(options.only) != set(PARTS) or options.kind):
        parser.error("--document writes all parts: leave out --only and --kind")
    return options


def _maker(options: argparse.Namespace) -> Maker:
    return Maker(options.directory / simulated.PART)


def _make(options: argparse.Namespace) -> int:
    """Makes what is missing; how many could not be made."""
    failed = 0
    if _wants(options, simulated.PART):
        plan = simulated.planned(options.kind)
        try:
            failed += simulated.make(_maker(options), plan, options.workers)
        except MissingError as error:
            print(f"warning: {error}: no transfer is simulated", file=sys.stderr)
            print(f"hint: {error.hint}", file=sys.stderr)
            failed += 1
    if _wants(options, cellular.PART):
        for seed in cellular.SEEDS:
            why_not = cellular.make(options.directory / cellular.PART, seed)
            if why_not is not None:
                print(f"warning: cellular link {seed}: {why_not}", file=sys.stderr)
                failed += 1
    return failed


def _wants(options: argparse.Namespace, part: str) -> bool:
    return part in options.only and (part == simulated.PART or not options.kind)


def _policing(options: argparse.Namespace) -> Sequence[Connection] | None:
    if not _wants(options, "policing"):
        return None
    return list(policing.connections(options.directory / "policing", options.workers))


def _simulated(options: argparse.Namespace) -> Sequence[Case] | None:
    if not _wants(options, simulated.PART):
        return None
    plan = simulated.planned(options.kind)
    return list(simulated.cases(_maker(options), plan, options.workers))


def _cellular(options: argparse.Namespace) -> Sequence[Case] | None:
    if not _wants(options, cellular.PART):
        return None
    return list(cellular.cases(options.directory / cellular.PART))


def accepted(cases: Sequence[Case]) -> dict[str, str]:
    """What is accepted of each kind, in words."""
    words = {
        (case.kind, case.point): f"{', '.join(case.accepted)} → {' or '.join(case.verdicts)}"
        for case in cases
    }
    found: dict[str, str] = {}
    for (kind, point), there in words.items():
        at_sender = words.get((kind, "sender"), there)
        if point == "sender" or kind not in found:
            found[kind] = at_sender
        if there != at_sender:
            found[kind] = f"{at_sender}; elsewhere {there}"
    return found


def rows(connections: Sequence[Connection], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Everything that was scored, a row per answer."""
    found = [
        asdict(case) | {"names": list(case.names), "is_right": case.is_right} for case in cases
    ]
    for row in found:
        row |= {key: list(row[key]) for key in ("accepted", "verdicts")}
    for one in connections:
        is_policed = one.group in ("alone", "sharing")
        found.append(
            {
                "part": "policing",
                "name": one.name,
                "kind": one.group,
                "family": "policed" if is_policed else "other",
                "point": "sender",
                "accepted": ["policed"] if is_policed else [],
                "verdicts": ["trust"] if is_policed else [],
                "names": list(one.answer.names) if one.answer else [],
                "verdict": one.answer.verdict if one.answer else "",
                "confidence": one.answer.confidence if one.answer else None,
                "is_right": one.is_policed_by_us == is_policed,
                "loss_share": one.loss_share,
                "objects": one.objects,
                "objects_policed_by_paper": one.objects_policed,
            }
        )
    return found


SCHEMA: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("part", "name", "kind", "family", "point")),
        *((name, pa.list_(pa.string())) for name in ("accepted", "verdicts", "names")),
        ("verdict", pa.string()),
        ("confidence", pa.float64()),
        ("is_right", pa.bool_()),
        ("loss_share", pa.float64()),
        ("objects", pa.int32()),
        ("objects_policed_by_paper", pa.int32()),
    ]
)


def write_rows(file: Path, connections: Sequence[Connection], cases: Sequence[Case]) -> None:
    """Writes what was scored, so that anybody can score again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows(connections, cases), schema=SCHEMA)
    pq.write_table(table, file, compression="zstd")


def _wrong(connections: Sequence[Connection], cases: Sequence[Case]) -> str:
    lines = [
        f"{row['name']} {row['point']}: {' or '.join(row['names'])} → {row['verdict']} "
        f"({row['confidence']}); {', '.join(row['accepted']) or 'not policed'} is true\n"
        for row in rows(connections, cases)
        if not row["is_right"]
    ]
    return "".join(lines)
