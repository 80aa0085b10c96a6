"""What ``burst --json`` prints is what docs/json.md and the schema beside the code say."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.burst.conftest import Run, pcap
from trustbed.report.burst import contract as burst_contract
from trustbed.report.burst import tables as burst_tables
from trustbed.report.columns import text_names

DOCUMENT = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SCHEMA = json.loads(burst_contract.HERE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    """What holds a document against the schema, which is looked at once."""
    kind = jsonschema.validators.validator_for(SCHEMA)
    kind.check_schema(SCHEMA)
    return kind(SCHEMA)


def test_the_shipped_schema_is_made_from_the_tables() -> None:
    assert burst_contract.HERE.read_text(encoding="utf-8") == burst_contract.text(), (
        "run: python -m trustbed.report.burst.contract"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--rate", "40Mbit/s"),
        ("--mode", "dynamic-previous", "--by", "flow"),
        ("--only", "gaps"),
        ("--wavelet", "haar", "--count", "packets", "--basis", "wire", "--offload", "as-captured"),
    ],
)
def test_real_captures_follow_it(
    run: Run, recordings: Path, schema: jsonschema.protocols.Validator, words: tuple[str, ...]
) -> None:
    schema.validate(run(recordings / "guest-quota.sender.pcap.gz", *words, "--json").model)


def test_captures_of_hardly_anything_follow_it(
    run: Run, schema: jsonschema.protocols.Validator
) -> None:
    for packets in ([], [(10**18, 60)], [(10**18, 0), (10**18 + 1, 0)]):
        schema.validate(run(pcap(packets), "--json").model)


def test_a_row_stands_on_a_line(run: Run, recordings: Path) -> None:
    ended = run(recordings / "guest-quota.sender.pcap.gz", "--json")
    assert sum(line.startswith('{"start_seconds": ') for line in ended.out.splitlines()) >= len(
        ended.model["windows"]
    )
    assert "NaN" not in ended.out
    assert "Infinity" not in ended.out


def test_the_page_names_every_member() -> None:
    section = DOCUMENT[DOCUMENT.index("# trustbed burst --json") :]
    missing = [name for name in SCHEMA["properties"] if f"`{name}`" not in section]
    assert missing == []


def test_columns_have_the_same_names_in_tables_and_json() -> None:
    # Times are seconds in both: nothing that is in the JSON document is known to the nanosecond.
    assert all(
        text_names(field) == [field.name]
        for name in burst_tables.TABLES
        for field in burst_tables.SCHEMAS[name]
    )
