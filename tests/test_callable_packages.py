"""``trustbed.run`` and ``trustbed.campaign`` are callable packages, in any order of use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import trustbed
from tests.campaign.runner.conftest import PlayedHosts, PlayedRound, study_of
from tests.report.run_directories import make_run
from trustbed.campaign.judge import judge_round
from trustbed.campaign.runner import CampaignDirectory, Runner
from trustbed.errors import TrustbedError
from trustbed.findings import Finding


@pytest.mark.parametrize(
    "program",
    [
        "import trustbed; assert callable(trustbed.run); import trustbed.run.directory",
        "import trustbed.run.directory; assert callable(trustbed.run)",
        "from trustbed import run; assert callable(run)",
        "import trustbed; trustbed.run.__call__; import trustbed.run.api; "
        "assert callable(trustbed.run) and trustbed.run.api.run",
        "import trustbed; assert callable(trustbed.campaign); import trustbed.campaign.results",
        "import trustbed.compare.judge; assert callable(trustbed.compare)",
        "from trustbed import campaign; from trustbed.campaign import Schedule; "
        "assert callable(campaign)",
    ],
)
def test_a_package_can_be_called_whatever_was_imported_before(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("verb", ["run", "campaign"])
def test_a_call_is_that_of_the_api(verb: str, tmp_path: Path) -> None:
    with pytest.raises(TrustbedError, match=r"none\.toml"):
        getattr(trustbed, verb)(tmp_path / "none.toml", out=tmp_path / "out")


def test_a_campaign_is_a_frozen_object_with_rows_findings_and_a_report(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=2, period='"100ms"', pings=0)
    directory = CampaignDirectory(tmp_path / "out")
    about = {"version": "1"}
    Runner(
        study, directory, PlayedHosts(study), judge=judge_round, about=about, carrier=PlayedRound
    ).carry_out()
    found = trustbed.open_campaign(tmp_path / "out")
    assert [row["pair"] for row in found.rows()] == ["a-b"]
    assert [row["host"] for row in found.rows("hosts")] == ["a", "b"]
    assert {row["pair"] for row in found.rows("connections")} == {"a-b"}
    assert set(found.tables) == {"pairs", "hosts", "connections", "findings"}
    assert found.findings == list(found.rows("findings"))
    found.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000
    with pytest.raises(AttributeError):
        found.path = tmp_path  # type: ignore[misc]


def test_findings_of_a_run_are_objects(tmp_path: Path) -> None:
    found = trustbed.open_run(make_run(tmp_path / "run").path)
    assert found.findings
    assert all(isinstance(one, Finding) for one in found.findings)
    assert [one.repetition for one in found.findings] == [
        row["repetition"] for row in found.rows("findings")
    ]
