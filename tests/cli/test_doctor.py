"""``trustbed doctor``: requests to the agent, output, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trustbed.host_check.check
from tests.host_check.host_facts import GOOD, Facts, changed
from trustbed.agent.client import AgentError
from trustbed.cli import main


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Facts:
    """The facts of the host; `requests` are the options of each request."""
    report: Facts = {"facts": GOOD, "requests": []}

    def ask(**options: Any) -> Facts:  # noqa: ANN401 - as the function's
        report["requests"].append(options)
        if isinstance(report["facts"], Exception):
            raise report["facts"]
        return report["facts"]  # type: ignore[no-any-return]

    monkeypatch.setattr(trustbed.host_check.check, "facts_of_this_host", ask)
    return report


@pytest.mark.parametrize(
    ("changes", "fail_on", "code"),
    [
        ({}, None, 0),
        ({}, "review", 0),
        ({"permissions__capture": False}, None, 0),
        ({"permissions__capture": False}, "discard", 0),
        ({"permissions__capture": False}, "review", 3),
        ({"live__spinning__share": 0.5}, None, 0),
        ({"live__spinning__share": 0.5}, "discard", 4),
        ({"live__spinning__share": 0.5}, "review", 4),
    ],
)
def test_how_it_ends(
    changes: Facts, fail_on: str | None, code: int, facts: Facts, capsys: pytest.CaptureFixture[str]
) -> None:
    facts["facts"] = changed(**changes)
    assert main(["doctor", *(("--fail-on", fail_on) if fail_on else ())]) == code
    out, err = capsys.readouterr()
    assert out.startswith("bench · Linux 6.12.0")
    assert err == ""


def test_json_holds_findings_and_the_facts_behind_them(
    facts: Facts, capsys: pytest.CaptureFixture[str]
) -> None:
    facts["facts"] = changed(network__congestion_control="bbr")
    assert main(["doctor", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["trustbed"]["command"] == "trustbed doctor --json"
    (host,) = written["hosts"]
    assert host["facts"] == facts["facts"]
    assert [(one["code"], one["severity"]) for one in host["findings"]] == [
        ("machine_congestion_control", "info")
    ]
    assert host["fitness"] == "fit"
    assert {"message", "value", "threshold", "unit", "evidence", "meaning", "next_step"} <= set(
        host["findings"][0]
    )


def test_quick_tries_nothing_and_quiet_prints_nothing(
    facts: Facts, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--quick", "--quiet"]) == 0
    assert main(["doctor", "--quiet"]) == 0
    assert [one["live"] for one in facts["requests"]] == [False, True]
    assert capsys.readouterr() == ("", "")


def test_an_agent_that_cannot_is_an_error_with_a_hint(
    facts: Facts, capsys: pytest.CaptureFixture[str]
) -> None:
    facts["facts"] = AgentError("there is no agent at /nowhere", "install trustbed again")
    assert main(["doctor"]) == 1
    assert (
        capsys.readouterr().err
        == "error: there is no agent at /nowhere\nhint: install trustbed again\n"
    )


def test_a_host_needs_an_inventory_with_its_transport(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "alpha"]) == 2
    assert "trustbed doctor --inventory hosts.toml alpha beta" in capsys.readouterr().err


def test_an_inventory_without_the_host_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text("[hosts.here]\nlocal = true\n", encoding="utf-8")
    assert main(["doctor", "--inventory", str(file), "hare"]) == 1
    err = capsys.readouterr().err
    assert "no host and no group named hare" in err
    assert "here" in err.splitlines()[1]
