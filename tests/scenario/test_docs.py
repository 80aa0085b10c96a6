"""The pages on file formats are correct.

The examples of scenarios are read, and every key that the readers know is on one of the pages.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.scenario.conftest import SMALL, Read

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
INVENTORIES = (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")
CAMPAIGNS = (ROOT / "docs" / "campaign.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TAKERS = {
    "text",
    "choice",
    "flag",
    "whole",
    "number",
    "rate",
    "rate_above_zero",
    "span",
    "span_above_zero",
    "size",
    "binary_size",
    "probability",
    "file",
    "texts",
    "table",
    "tables",
    "depth",
    "part",
    "must",
}


def known_keys() -> set[str]:
    """Every key that a reader asks a table for, found in the readers themselves."""
    found = set()
    for file in (ROOT / "python" / "trustbed" / "scenario").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            taken = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in TAKERS
                and node.args
            )
            if (
                taken
                and isinstance(node, ast.Call)
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                found.add(node.args[0].value)
    return found


def test_there_are_keys_to_look_for() -> None:
    assert {"rate", "hosts", "discipline", "packet_bytes"} <= known_keys()


@pytest.mark.parametrize("key", sorted(known_keys()))
def test_every_key_is_on_the_page(key: str) -> None:
    assert re.search(rf"(?<![a-z_]){key}(?![a-z_])", PAGE + INVENTORIES + CAMPAIGNS), key


def test_the_first_example_is_a_scenario(read: Read) -> None:
    study = read(EXAMPLES[0])
    assert len(study.cells) == 9
    assert study.first.repetitions == 10


def test_the_example_of_an_estimator_is_a_workload(read: Read) -> None:
    (estimate,) = (text for text in EXAMPLES if 'kind = "pathload"' in text)
    assert [one.kind for one in read(SMALL + estimate).first.workloads] == ["bulk", "pathload"]


def test_the_example_of_a_fault_is_its_factor(read: Read) -> None:
    (fault,) = (text for text in EXAMPLES if "[faults." in text)
    undisturbed, starved = read(SMALL + fault).cells
    assert undisturbed.scenario.faults == ()
    assert [fault.stopped_ns for fault in starved.scenario.faults] == [140_000_000]


def test_the_last_example_is_its_factors(read: Read) -> None:
    pages = '[workload.pages]\nkind = "http"\nhost = "client"\nto = "server"\nobject = "1KB"\n'
    noise = '[background.noise]\nmodel = "none"\nfrom = "client"\nto = "server"\n'
    assert len(read(SMALL + pages + noise + EXAMPLES[-1]).cells) == 2 * 2 * 3
