"""Writes the pages of docs/ that follow from the code, and outputs in README.md and the tutorial.

Columns, units and meanings come from the schemas of the tables, findings and rules from
`trustbed.diagnose` and `trustbed.host_check`. A test compares the pages with what this makes.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from tools.pages import PAGES as DIAGNOSIS
from trustbed.calls.table import CALLS, DESCRIPTORS
from trustbed.campaign.metrics import table as resources
from trustbed.report import schemas
from trustbed.report.burst import tables as burst_tables
from trustbed.report.columns import text_names
from trustbed.report.transfer.contract import engine_schemas
from trustbed.run.execution import indicators
from trustbed.store import tables as store_tables
from trustbed.traffic import model

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
MADE = "<!-- Made by `make docs` from the schemas of the tables. Do not edit. -->"

_INTRODUCTION = """\
`trustbed analyze CAPTURE --out DIR` writes these tables as Parquet (and, with `--csv`, as CSV
beside it);
`trustbed.analyze(CAPTURE)` gives the same ones as Arrow tables. Unit and meaning of a column also
stand in the metadata of its schema.

Unknown is null, never 0. Parquet and Arrow hold times as integer nanoseconds in columns that end in
`_ns`; JSON and CSV hold them as
seconds under the name given in brackets. Shares are 0…1."""


_BURST_INTRODUCTION = """\
# Tables of burstiness

`trustbed burst CAPTURE --out DIR` writes these; `trustbed.burst(CAPTURE)` gives them as `.windows`,
`.sigma`, `.queue`, `.delay`, `.energy`
and `.rates`. Times are seconds here: none of them is known to the nanosecond."""


_WATCHED_INTRODUCTION = """\
# Tables of watched hosts

`trustbed run` writes these below `samples/` of a repetition, as `HOST.wakeups.parquet` and
`HOST.spin.parquet`,
where the scenario asks for them."""


_MODEL_INTRODUCTION = """\
# Tables of a traffic model

`trustbed model extract` writes them into the file of a model, a ZIP archive, as
`connections.parquet`, `units.parquet` and `hosts.parquet`. Beside them `profiles.json` has what the
traffic looked like on the link: [Traffic models](cli.md#traffic-models)."""

_MODEL_TABLES = {
    "connections": "One row per connection with data, by class, session, exchange and start.",
    "units": "What was said in the connections, in order.",
    "hosts": "One row per host: clients, then servers. A host that is both is two.",
}


_CALLS_INTRODUCTION = """\
# Tables of system calls

`trustbed run` writes one for every `[trace.NAME]` of the scenario, as `tables/NAME.calls.parquet`;
`trustbed trace` writes one of a command, of processes, or of another tool's trace. The rows of a
thread are in the order of its calls, those of different threads in the order of returns. The
metadata of the file has the `architecture` by whose numbers calls were named."""

_RESOURCES_INTRODUCTION = """\
# Table of resources

`trustbed campaign status DIRECTORY --resources FILE.parquet` writes it for a campaign, with
`--round PAIR/NUMBER` for one of its rounds;
`trustbed.campaign.metrics.campaign_resources(DIRECTORY)` gives it round by round."""


STORE_TABLES: Mapping[str, pa.Schema] = {
    "partitions": pa.schema([*store_tables.PARTITIONS, store_tables.SOURCE]),
    "runs": store_tables.RUNS,
    "campaigns": store_tables.CAMPAIGNS,
    "results": store_tables.RESULTS,
}
_STORE_TABLES_ABOUT = {
    **store_tables.ABOUT,
    "partitions": "Columns of the paths, and the one that tables of captures begin with.",
}

_STORE_INTRODUCTION = """\
# Tables of a store

`trustbed analyze --store` and `trustbed store add` write them ([store.md](store.md)). In a store
`transfers`, `phases` and `findings` begin with the column `source`; `verdicts` has the columns
`VERDICTS` of `transfers`. Paths have three more columns, which views put first."""


def tables_page() -> str:
    """The page on every table and column."""
    engine = engine_schemas()
    engine["transfers"] = pa.schema([*engine["transfers"], *schemas.VERDICT_FIELDS])
    every = {**engine, "findings": schemas.FINDINGS, "skips": schemas.SKIPS}
    parts = [f"{MADE}\n\n# Tables", _INTRODUCTION]
    for name, about in schemas.ABOUT.items():
        parts += [f"## {name}", about, _table(every[name])]
    parts.append(_MODEL_INTRODUCTION)
    for name, schema in model.schemas().items():
        parts += [f"## model_{name}", _MODEL_TABLES[name], _table(schema)]
    parts.append(_BURST_INTRODUCTION)
    for name, about in burst_tables.ABOUT.items():
        parts += [f"## burst_{name}", about, _table(burst_tables.SCHEMAS[name])]
    parts.append(_WATCHED_INTRODUCTION)
    for name, about in indicators.ABOUT.items():
        parts += [f"## {name}", about, _table(indicators.SCHEMAS[name])]
    names = ", ".join(f"`{name}`" for name in store_tables.VERDICTS)
    parts.append(_STORE_INTRODUCTION.replace("`VERDICTS`", names))
    for name, schema in STORE_TABLES.items():
        parts += [f"## store_{name}", _STORE_TABLES_ABOUT[name], _table(schema)]
    parts += [_CALLS_INTRODUCTION, "## calls", "One row per system call.", _table(CALLS)]
    parts += ["With `--descriptors`, or `descriptors = true` in a scenario:", _table(DESCRIPTORS)]
    parts += [
        _RESOURCES_INTRODUCTION,
        "## resources",
        resources.ABOUT,
        _table(resources.RESOURCES),
        _metrics(),
    ]
    return "\n\n".join(parts) + "\n"


def _metrics() -> str:
    """What can stand in the column ``metric`` of the table of resources."""
    lines = ["| metric | unit | meaning |", "| --- | --- | --- |"]
    return "\n".join(
        [
            *lines,
            *(
                f"| `{name}` | {unit} | {meaning} |"
                for name, (unit, meaning) in resources.METRICS.items()
            ),
        ]
    )


def _table(schema: pa.Schema) -> str:
    lines = ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
    for field in schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        in_text = ", ".join(f"`{name}`" for name in text_names(field) if name != field.name)
        shown = f"`{field.name}`" + (f" [{in_text}]" if in_text else "")
        cells = (shown, str(field.type), metadata["unit"], metadata["meaning"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


PAGES: Mapping[str, Callable[[], str]] = {**DIAGNOSIS, "tables.md": tables_page}
"""File name → what makes its text."""


def with_outputs(text: str) -> str:
    """The text with every `output of` block filled with what its command prints."""
    return re.sub(
        r"(<!-- output of: (.*?) -->\n```text\n)(.*?)(```)", _filled, text, flags=re.DOTALL
    )


def _filled(block: re.Match[str]) -> str:
    name, *words = shlex.split(block[2])
    command = [str(Path(sys.executable).with_name(name)), *words]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return f"{block[1]}$ {block[2]}\n{printed}{block[4]}"


def main() -> None:
    """Writes every page, and the outputs shown in README.md and the tutorial."""
    for page in (README, TUTORIAL):
        page.write_text(with_outputs(page.read_text(encoding="utf-8")), encoding="utf-8")
    for name, made in PAGES.items():
        (ROOT / "docs" / name).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
