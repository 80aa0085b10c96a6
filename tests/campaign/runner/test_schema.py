"""The stored JSON Schemas are those of the types, and stored manifests keep to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.runner.conftest import study_of
from tests.conftest import Refuses
from trustbed.campaign.runner import CampaignDirectory, schema
from trustbed.run.owned_directory import RunDirectoryError


def test_the_stored_schemas_are_current() -> None:
    assert schema.FILE.read_text(encoding="utf-8") == schema.text(), (
        "run python -m trustbed.campaign.runner.schema"
    )


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=1)
    directory = CampaignDirectory(tmp_path / "out")
    directory.begin(study, began_ns=5, about={"version": "1"})
    manifest = directory.check_readable()
    assert (manifest.began_ns, manifest.campaign.pairs[0].sender) == (5, "a")
    assert manifest.campaign.sha256 == study.sha256


@pytest.mark.parametrize(
    ("key", "value"), [("format", 2), ("kind", "run"), ("began_ns", "soon"), ("campaign", [])]
)
def test_a_manifest_of_another_form_is_an_error(
    tmp_path: Path, key: str, value: object, refuses: Refuses
) -> None:
    directory = CampaignDirectory(tmp_path / "out")
    directory.begin(study_of(tmp_path, "a-b", count=1), began_ns=5, about={"version": "1"})
    directory.write_manifest({**directory.manifest(), key: value})
    with refuses(RunDirectoryError):
        directory.check_readable()
