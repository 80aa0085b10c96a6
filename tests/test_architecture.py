"""ARCHITECTURE.md against what is built.

Edges, purity, layers, column meanings, findings, public names, no traces of machines.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import itertools
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tools.generate_docs import PAGES, STORE_TABLES
from tools.pages import CATALOGUE
from trustbed.campaign.metrics import table as resource_table
from trustbed.report import schemas
from trustbed.report.burst import tables as burst_tables
from trustbed.report.transfer.contract import engine_schemas

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PREFIX = "trustbed-"
# What a pure crate may use from outside: parsing, tables, seeded randomness and error types that
# touch neither clock nor file nor socket.
OUTSIDE_FOR_PURE = {"etherparse", "hashbrown", "rand_chacha", "rand_distr", "serde", "thiserror"}
Edge = tuple[str, str]


def block(name: str) -> str:
    """The fenced block of ARCHITECTURE.md whose info string is `name`."""
    found = re.search(rf"^```{name}\n(.*?)^```", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"ARCHITECTURE.md has no block named {name}"
    return found.group(1)


def written_edges() -> set[Edge]:
    """(user, used) for every `used ← user` of the block `edges`; braces hold several rooms."""
    edges = set()
    for line in block("edges").splitlines():
        groups = [re.findall(r"\w+", part) for part in line.split("←")]
        for used, users in itertools.pairwise(groups):
            edges |= {(user, one) for user in users for one in used}
    return edges


def closure(edges: set[Edge]) -> set[Edge]:
    """Everything that may be used directly or through others."""
    reached = set(edges)
    while (
        more := {
            (user, deeper) for user, used in reached for middle, deeper in reached if used == middle
        }
        - reached
    ):
        reached |= more
    return reached


@cache
def packages() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: list[dict[str, Any]] = json.loads(answer)["packages"]
    return found


def dependencies(package: dict[str, Any]) -> Iterator[str]:
    return (
        dependency["name"] for dependency in package["dependencies"] if dependency["kind"] is None
    )


def room(package: str) -> str:
    """The directory of a package: `trustbed-two-point` is `two_point`."""
    return package.removeprefix(PREFIX).replace("-", "_")


def built_edges() -> set[Edge]:
    return {
        (room(package["name"]), room(name))
        for package in packages()
        for name in dependencies(package)
        if name.startswith(PREFIX)
    }


def rooms(kind: str) -> set[str]:
    """The crates that the table of rooms calls PURE or EDGE."""
    return set(re.findall(rf"^\| `crates/(\w+)` \| {kind} ", ARCHITECTURE, re.MULTILINE))


def test_no_crate_uses_another_against_the_direction() -> None:
    assert built_edges() - closure(written_edges()) == set()


def test_every_edge_that_is_written_down_exists() -> None:
    assert written_edges() - built_edges() == set()


def test_every_crate_is_a_room() -> None:
    names = {room(package["name"]) for package in packages()}
    assert rooms("PURE") | rooms("EDGE") == names
    assert not rooms("PURE") & rooms("EDGE")


def test_no_pure_crate_uses_an_edge() -> None:
    assert {
        edge for edge in built_edges() if edge[0] in rooms("PURE") and edge[1] in rooms("EDGE")
    } == set()


def test_pure_crates_use_nothing_from_outside_that_could_act() -> None:
    for package in packages():
        if room(package["name"]) in rooms("PURE"):
            outside = {name for name in dependencies(package) if not name.startswith(PREFIX)}
            assert outside <= OUTSIDE_FOR_PURE, (
                f"{package['name']}: {sorted(outside - OUTSIDE_FOR_PURE)}"
            )


def test_pure_crates_ban_the_same_things_each_with_its_reason() -> None:
    bans = {}
    for room in rooms("PURE"):
        rules = tomllib.loads((ROOT / "crates" / room / "clippy.toml").read_text(encoding="utf-8"))
        entries = rules["disallowed-methods"] + rules["disallowed-types"]
        assert all(entry["reason"].startswith("pure crate: ") for entry in entries)
        bans[room] = {entry["path"] for entry in entries}
    wanted = {
        "std::time::Instant::now",
        "std::time::SystemTime::now",
        "std::thread::sleep",
        "std::env::var",
        "std::fs::File",
        "std::net::TcpStream",
    }
    assert all(wanted <= paths for paths in bans.values())
    assert len({frozenset(paths) for paths in bans.values()}) == 1


def test_python_layers_are_the_written_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    layers = [
        [name.removeprefix("trustbed.") for name in layer.split(" : ")]
        for layer in contract["layers"]
    ]
    assert layers == [line.split(", ") for line in block("layers").splitlines()]


def python_rooms() -> set[str]:
    """The packages and modules of the product that the table of rooms names."""
    return set(
        re.findall(r"^\| `python/trustbed/(\w+)(?:\.py)?` \| – ", ARCHITECTURE, re.MULTILINE)
    )


def test_every_layer_is_in_a_room() -> None:
    layers = [name for line in block("layers").splitlines() for name in line.split(", ")]
    assert {layer.split(".")[0] for layer in layers} <= python_rooms()
    missing = [layer for layer in layers if importlib.util.find_spec(f"trustbed.{layer}") is None]
    assert missing == []


def test_every_package_is_a_room() -> None:
    product = ROOT / "python" / "trustbed"
    packages = {path.parent.name for path in product.glob("*/__init__.py")}
    modules = {path.stem for path in product.glob("*.py") if not path.stem.startswith("_")}
    assert python_rooms() == packages | modules


def test_every_other_contract_of_imports_is_written_down() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    others = [
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] != "layers"
    ]
    edges = ARCHITECTURE[ARCHITECTURE.index("## Edges") : ARCHITECTURE.index("## How a packet")]
    for contract in others:
        for module in (*contract["source_modules"], *contract["forbidden_modules"]):
            assert f"`{module.removeprefix('trustbed.')}`" in edges, f"{contract['name']}: {module}"


def test_every_path_in_the_architecture_exists() -> None:
    named = re.findall(
        r"`((?:crates|python|tests|bench|tools|docs|recordings|fuzz|studies|validation)/[\w./-]*)`",
        ARCHITECTURE,
    )
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def all_tables() -> list[tuple[str, pa.Schema]]:
    tables = [*engine_schemas().items(), ("findings", schemas.FINDINGS), ("skips", schemas.SKIPS)]
    bursts = [(f"burst_{name}", schema) for name, schema in burst_tables.SCHEMAS.items()]
    resources = ("resources", resource_table.RESOURCES)
    stores = [(f"store_{name}", schema) for name, schema in STORE_TABLES.items()]
    verdicts = ("verdict columns", pa.schema(schemas.VERDICT_FIELDS))
    return [*tables, verdicts, *bursts, resources, *stores]


@pytest.mark.parametrize(
    ("name", "schema"), all_tables(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_column_has_a_unit_and_a_meaning(name: str, schema: pa.Schema) -> None:
    words = (pa.types.is_string, pa.types.is_boolean, pa.types.is_list)
    for field in schema:
        metadata = field.metadata or {}
        assert metadata.get(b"meaning"), f"{name}.{field.name} has no meaning"
        assert b"unit" in metadata, f"{name}.{field.name} has no unit"
        assert metadata[b"unit"] or any(is_kind(field.type) for is_kind in words), (
            f"{name}.{field.name} is a number without a unit"
        )


@pytest.mark.parametrize("page", sorted(PAGES))
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == PAGES[page](), "run: make docs"


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_finding_has_a_page_and_a_test(code: str) -> None:
    assert f"\n## {code}\n" in (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    assert any(
        re.search(rf"[\"']{code}[\"']", path.read_text(encoding="utf-8")) for path in tests
    ), f"no test names the finding {code}"


PACKAGES = [
    "trustbed",
    "trustbed.campaign",
    "trustbed.diagnose",
    "trustbed.findings",
    "trustbed.report",
    "trustbed.campaign.metrics",
    "trustbed.workload",
]


@pytest.mark.parametrize("module", PACKAGES)
def test_public_names_are_complete(module: str) -> None:
    package = importlib.import_module(module)
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    assert len(set(package.__all__)) == len(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trustbed")
        for alias in node.names
    }
    assert imported - set(package.__all__) == set()


def tracked_files() -> list[Path]:
    answer = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / name for name in answer.split("\0") if name]


def test_nothing_tracked_names_directories_of_one_machine() -> None:
    # Spelled in parts, so that this file passes.
    directories = re.compile(
        rb"/(?<![\w.]/)(?:"  # begins with a byte that is quickly found
        + rb"|".join((b"wo" + b"rk", b"ro" + b"ot", b"ho" + b"me/[a-z]+"))
        + rb")/"
    )
    found = []
    for path in tracked_files():
        if path.is_file() and path.suffix not in {".gz", ".pcap", ".pcapng", ".zst", ".png"}:
            found += [
                f"{path.relative_to(ROOT)}: {hit.group().decode()}"
                for hit in directories.finditer(path.read_bytes())
            ]
    assert found == []
