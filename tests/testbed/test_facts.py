"""The agent's facts about a host.

Of this machine, of a network namespace, as an ordinary user; and the few seconds of trying.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE
from tests.testbed.conftest import Machine
from trustbed.agent.client import Agent, AgentError
from trustbed.cli import main
from trustbed.host_check.check import judge_host

SHORT = {"sleeping_ns": 60_000_000, "spinning_ns": 20_000_000, "packets": 50}


def facts(**options: Any) -> dict[str, Any]:  # noqa: ANN401 - as the verb's configuration
    with Agent.start("facts", options) as agent:
        agent.begin()
        return agent.report(PATIENCE)


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


def test_facts_are_what_the_kernel_s_files_contain() -> None:
    found = facts()
    assert (found["system"]["kernel"], found["system"]["machine"]) == (
        platform.release(),
        platform.machine(),
    )
    assert found["processors"]["allowed"] == sorted(os.sched_getaffinity(0))
    assert found["network"]["congestion_control"] == text(
        "/proc/sys/net/ipv4/tcp_congestion_control"
    )
    assert found["network"]["tcp_receive_memory_bytes"] == [
        int(word) for word in text("/proc/sys/net/ipv4/tcp_rmem").split()
    ]
    assert found["network"]["receive_buffer_most_bytes"] == int(text("/proc/sys/net/core/rmem_max"))
    assert found["live"] is None
    names = [one["name"] for one in found["interfaces"]]
    assert [name for name in text("/proc/net/dev").replace(":", " ").split() if name in names]
    assert len(names) == len(text("/proc/net/dev").splitlines()) - 2
    assert judge_host(found).host == platform.node()


NOTHING = {
    "hypervisor",
    "container",
    "processor_quota",
    "quota_periods",
    "throttled_periods",
    "throttled_ns",
    "boost",
}
NOTHING |= {
    "memory_limit_bytes",
    "memory_used_bytes",
    "open_files",
    "open_files_most",
    "realtime_runtime_ns",
    "swap_used_bytes",
}
NOTHING |= {"capture_refused", "realtime_refused", "namespaces_refused"}
"""For these, null means that there is none."""


def test_every_null_is_explained_unless_it_means_none() -> None:
    found = facts()
    noted = {note["what"] for note in found["unavailable"]}
    assert all(note["why"] for note in found["unavailable"])

    def unexplained(key_path: str, value: object) -> list[str]:
        if key_path in noted or key_path.rpartition(".")[2] in NOTHING:
            return []
        if isinstance(value, dict):
            return [
                one
                for key, inner in value.items()
                for one in unexplained(f"{key_path}.{key}", inner)
            ]
        return [key_path] if value is None else []

    parts = [part for part in found if part not in ("interfaces", "live")]
    assert [one for part in parts for one in unexplained(part, found[part])] == []


def test_trying_is_bounded_and_counts_what_it_did() -> None:
    found = facts(live=SHORT)["live"]
    for one in (found["sleeping"], found["sleeping_exactly"], found["sleeping_polling"]):
        assert 1 <= one["sleeps"] <= 19
        assert one["sleeps"] + one["missed"] >= 19
        assert 0 <= one["late_p50_ns"] <= one["late_p99_ns"] <= one["late_most_ns"]
    assert found["spinning"]["lasted_ns"] >= SHORT["spinning_ns"]
    assert 0 <= found["spinning"]["share"] <= 1
    if found["loopback"] is None:
        pytest.skip("no packet may be captured here")
    assert found["loopback"]["sent"] == SHORT["packets"]
    assert found["loopback"]["captured"] + found["loopback"]["dropped"] >= SHORT["packets"]


def test_stopped_early_it_reports_what_it_has() -> None:
    with Agent.start(
        "facts", {"live": {"sleeping_ns": 60_000_000_000, "spinning_ns": 0, "packets": 0}}
    ) as agent:
        agent.begin()
        found = agent.stop(PATIENCE)
    assert found["ended_early"]
    assert found["system"]["kernel"] == platform.release()
    slept = [
        found["live"][name] or {"sleeps": 0, "missed": 0}
        for name in ("sleeping", "sleeping_exactly", "sleeping_polling")
    ]
    assert sum(one["sleeps"] + one["missed"] for one in slept) < 59_000, "it slept on"


@pytest.mark.parametrize(
    "options",
    [
        {"live": {**SHORT, "spinning_ns": 60_000_000_001}},
        {"live": {**SHORT, "packets": 100_001}},
        {"live": {"packets": 1}},
        {"rot": "/"},
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], refuses: Refuses) -> None:
    with refuses(AgentError):
        Agent.start("facts", options)


def test_files_of_another_root_are_reported(tmp_path: Path) -> None:
    directory = tmp_path / "sys/devices/system/clocksource/clocksource0"
    directory.mkdir(parents=True)
    (directory / "current_clocksource").write_text("hpet\n", encoding="utf-8")
    found = facts(root=str(tmp_path))
    assert found["clock"]["source"] == "hpet"
    assert found["clock"]["available"] is None
    assert {"clock.available", "load.since_start"} <= {
        note["what"] for note in found["unavailable"]
    }


ASK = """
import json, sys
from trustbed.host_check.check import facts_of_this_host
print(json.dumps(facts_of_this_host(live=False)))
"""


def test_of_a_namespace_the_interfaces_are_its_own(machine: Machine) -> None:
    machine.run("ip", "link", "add", "near", "mtu", "1234", "type", "veth", "peer", "name", "far")
    machine.run("ip", "link", "set", "near", "up")
    machine.run("ip", "link", "set", "far", "up")
    machine.run(
        "tc",
        "qdisc",
        "add",
        "dev",
        "near",
        "root",
        "tbf",
        "rate",
        "10mbit",
        "burst",
        "10kb",
        "latency",
        "50ms",
    )
    found = json.loads(machine.run(*python_words(ASK)).stdout)
    interfaces = {one["name"]: one for one in found["interfaces"]}
    assert "near" in interfaces
    assert "eth0" not in interfaces
    near = interfaces["near"]
    assert (near["kind"], near["driver"], near["mtu_bytes"], near["up"], near["loopback"]) == (
        "veth",
        "veth",
        1234,
        True,
        False,
    )
    assert [(qdisc["kind"], qdisc["root"]) for qdisc in near["qdiscs"]] == [("tbf", True)]
    codes = {(one.code, one.scope) for one in judge_host(found).findings}
    assert {("machine_shaped", "near"), ("machine_small_mtu", "near")} <= codes
    assert ("machine_shaped", "far") not in codes


def test_what_an_ordinary_user_may_not_do_is_reported(user: Machine) -> None:
    found = json.loads(user.run(*python_words(ASK)).stdout)
    permissions = found["permissions"]
    assert permissions["user_id"] != 0
    assert permissions["capabilities"] == []
    assert not permissions["capture"]
    assert "permitted" in permissions["capture_refused"]
    assert permissions["namespaces"], permissions["namespaces_refused"]
    assert "machine_capture_refused" in {one.code for one in judge_host(found).findings}


def test_the_whole_command_answers_in_a_namespace(machine: Machine) -> None:
    ended = machine.trustbed("doctor", "--quick", "--json")
    written = json.loads(ended.stdout)
    assert written["summary"]["hosts"] == 1
    assert written["hosts"][0]["facts"]["facts_version"] == 1
    assert written["hosts"][0]["facts"]["live"] is None


def test_of_several_hosts_one_that_cannot_be_reached_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "hosts.toml"
    file.write_text(
        '[hosts.gone]\ncommand = "false"\n\n[hosts.here]\nlocal = true\n', encoding="utf-8"
    )
    assert main(["doctor", "--quick", "--json", "--inventory", str(file)]) == 1
    gone, here = json.loads(capsys.readouterr().out)["hosts"]
    assert (gone["host"], gone["fitness"], gone["findings"]) == ("gone", "unknown", [])
    assert gone["error"]["message"]
    assert gone["error"]["hint"]
    assert (here["host"], here["error"], here["facts"]["system"]["host"]) == (
        "here",
        None,
        platform.node(),
    )


def python_words(code: str) -> tuple[str, ...]:
    return (sys.executable, "-W", "error", "-c", code)
