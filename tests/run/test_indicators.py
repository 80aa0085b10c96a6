"""Hosts that are watched by processes of their own.

Which agents are started, made targets of faults and ended, and the tables of their samples.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as pq
import pytest
from msgspec import to_builtins

from tests.run.fakes import FakeTestbed
from trustbed.run.directory import RAW_FOLDERS
from trustbed.run.execution import indicators
from trustbed.run.execution.execute import Execution
from trustbed.run.matrix import Repetition
from trustbed.scenario import ScenarioError, Watch, load

BASE = """
duration = "10s"
warm_up = "2s"
[hosts.client]
[hosts.server]
[link]
delay = "10ms"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
"""
WATCHED = '[samples]\nwakeups = "1ms"\nspin = "100ms"\n'
QUOTA = '[faults.slow]\nkind = "cpu-quota"\nhost = "client"\nshare = "30%"\n'
SENT = {"lasts": 10.0, "report_with": {"transfers": [{"outcome": "complete"}]}}
DONE = {"begun_ns": 5, "ended_ns": 9}
MS = 1_000_000

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Carries out the keys of a scenario on a testbed."""
    for name in RAW_FOLDERS:
        (tmp_path / name).mkdir()

    def carry_out(keys: str, testbed: FakeTestbed) -> dict[str, Any]:
        (tmp_path / "study.toml").write_text(BASE + keys)
        repetition = Repetition(number=0, cell=0, round=0, seed=7)
        known: Any = testbed
        scenario = load(tmp_path / "study.toml").first
        record = Execution(
            known,
            scenario,
            repetition,
            directory=tmp_path,
            clock=testbed.clock,
            emulator={"seed": 1},
        ).carry_out()
        return to_builtins(record)

    return carry_out


def watchers(testbed: FakeTestbed) -> list[Any]:
    return [
        agent
        for agent in testbed.started
        if agent.verb == "spin" or "wakeup_interval_ns" in agent.config
    ]


def test_the_sender_is_watched_from_second_zero_until_the_workloads_are_over(
    run: Run, tmp_path: Path
) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT})
    record = run(WATCHED, testbed)
    wakeups, spin = watchers(testbed)
    assert (wakeups.where, spin.where) == ("client", "client")
    assert wakeups.config == {
        "path": str(tmp_path / "samples/client.wakeups.jsonl"),
        "wakeup_interval_ns": MS,
        "sockets": False,
    }
    assert spin.config["path"] == str(tmp_path / "samples/client.spin.jsonl")
    assert spin.config["window_ns"] == 100 * MS
    assert (
        wakeups.begun
        == spin.begun
        == pytest.approx((record["epoch_ns"] - 1_700_000_000_000_000_000) / 1e9)
    )
    order = [what for what, _ in testbed.log]
    assert order.index("stop bulk") < order.index("stop spin") < order.index("stop capture")
    assert [(one["verb"], one["where"]) for one in record["watchers"]] == [
        ("sample", "client"),
        ("spin", "client"),
    ]
    assert [one["where"] for one in record["samples"]] == ["client", "server"]


def test_the_seed_decides_where_windows_lie_and_a_continuous_monitor_has_none(run: Run) -> None:
    seeds = []
    for spin in ("100ms", "100ms", "1s"):
        testbed = FakeTestbed(agents={"bulk send": SENT})
        run(f'[samples]\nspin = "{spin}"\n', testbed)
        (watcher,) = watchers(testbed)
        seeds.append(watcher.config["seed"])
    assert len(set(seeds)) == 1
    assert "window_ns" not in watcher.config


def test_the_faults_of_a_host_apply_to_its_indicators(run: Run, tmp_path: Path) -> None:
    testbed = FakeTestbed(
        agents={"bulk send": SENT, "inject": {"report_with": DONE}}, groups=tmp_path / "cgroups"
    )
    record = run(WATCHED + QUOTA, testbed)
    (sender,) = [agent for agent in testbed.started if agent.config.get("role") == "send"]
    (group,) = testbed.created_groups
    wakeups, spin = watchers(testbed)
    assert group.joined == [sender.pid, wakeups.pid, spin.pid]
    assert wakeups.config["cgroups"] == [str(tmp_path / "cgroups" / "slow")]
    # Samples cover the processes of workloads only: of several processes of a host the one that
    # missed most speaks for all.
    assert [one["process"] for one in record["processes"] if one["host"] == "client"] == [
        sender.pid
    ]


def test_hosts_that_are_named_are_watched_and_no_others(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT, "inject": {"report_with": DONE}})
    run('[samples]\nwakeups = "2ms"\nhosts = ["server"]\n', testbed)
    assert [(agent.verb, agent.where) for agent in watchers(testbed)] == [("sample", "server")]


def test_the_former_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'{BASE}[samples]\nnaps = "2ms"\n')
    assert load(tmp_path / "study.toml").first.watch.wakeups_ns == 2 * MS


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('wakeups = "100us"', "1 ms to 1 s apart"),
        ('wakeups = "2s"', "1 ms to 1 s apart"),
        ('spin = "1100ms"', "1 s at most"),
        ('spin = "0s"', "not a positive duration"),
        ('wakeups = "1ms"\nhosts = ["clint"]', "no host named clint"),
        ('hosts = ["client"]', "no monitor is enabled for them"),
        ('enabled = false\nwakeups = "1ms"', "are samples too"),
        ('enabled = false\nsockets = "10ms"', "are samples too"),
        ('sockets = "5ms"', "10 ms to 1 s"),
        ('sockets = "2s"', "10 ms to 1 s"),
    ],
)
def test_what_cannot_be_watched_is_refused(tmp_path: Path, keys: str, message: str) -> None:
    (tmp_path / "study.toml").write_text(f"{BASE}[samples]\n{keys}\n")
    with pytest.raises(ScenarioError, match=message) as refused:
        load(tmp_path / "study.toml")
    assert refused.value.hint


NAPPED = {
    "count": 900,
    "missed": 100,
    "late": 3,
    "late_ns": 5,
    "late_share": 0.1,
    "late_max_ns": 7,
    "departure_error": {"15": 900},
    "used_ns": 6,
}
LOOKED = {
    "at_ns": 10,
    "after_ns": 1,
    "late_ns": 0,
    "interval_ns": 1_000_000_000,
    "wakeups": NAPPED,
    "cgroups": [
        {
            "cgroup": "/outer",
            "periods": 10,
            "throttled_periods": 2,
            "throttled_ns": 20,
            "used_ns": None,
        },
        {
            "cgroup": "/inner",
            "periods": 10,
            "throttled_periods": 8,
            "throttled_ns": 80,
            "used_ns": None,
        },
    ],
}
SPUN = {
    "at_ns": 5,
    "until_ns": 15,
    "thread": 0,
    "watched_ns": 10,
    "lost_ns": 4,
    "share": 0.6,
    "availability_percent": 30.0,
    "gaps": 1,
    "longest_gap_ns": 4,
    "starved": True,
    "charged": {
        "elapsed_ns": 10,
        "used_ns": 6,
        "share": 0.6,
        "excess_share": 0.0,
        "in_vain": False,
    },
}


def test_lines_become_tables(tmp_path: Path) -> None:
    head = json.dumps({"trustbed": "0.1.0", "start_ns": 1})
    (tmp_path / "client.wakeups.jsonl").write_text(f'{head}\n{json.dumps(LOOKED)}\n{{"at_ns": 1')
    silent = {
        **SPUN,
        "watched_ns": 0,
        "lost_ns": 0,
        "share": None,
        "starved": None,
        "charged": None,
    }
    (tmp_path / "client.spin.jsonl").write_text(
        f"{head}\n{json.dumps(SPUN)}\n{json.dumps(silent)}\n"
    )
    watch = Watch(hosts=("client", "server"), wakeups_ns=MS, spin_ns=100 * MS)
    assert indicators.convert(tmp_path, watch) == {"client.wakeups.jsonl": 1}
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "client.spin.parquet",
        "client.wakeups.parquet",
    ]
    (row,) = pq.read_table(tmp_path / "client.wakeups.parquet").to_pylist()
    assert (
        row["wakeups"],
        row["wakeups_late_share"],
        row["wakeup_latency_most_ns"],
        row["wakeups_used_ns"],
    ) == (
        900,
        0.1,
        7,
        6,
    )
    assert (row["throttled_ns"], row["throttled_periods"]) == (80, 8)
    first, second = pq.read_table(tmp_path / "client.spin.parquet").to_pylist()
    assert (
        first["from_ns"],
        first["until_ns"],
        first["share"],
        first["starved"],
        first["charged_excess_share"],
    ) == (5, 15, 0.6, True, 0.0)
    assert (second["share"], second["charged_excess_share"]) == (None, None)


def test_without_a_quota_throttling_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "client.wakeups.jsonl").write_text(
        json.dumps({**LOOKED, "cgroups": [], "wakeups": None}) + "\n"
    )
    indicators.convert(tmp_path, Watch(hosts=("client",), wakeups_ns=MS))
    (row,) = pq.read_table(tmp_path / "client.wakeups.parquet").to_pylist()
    assert (row["throttled_ns"], row["wakeups"], row["wakeups_late_share"]) == (None, None, None)


@pytest.mark.parametrize("schema", indicators.SCHEMAS.values(), ids=indicators.SCHEMAS)
def test_every_column_has_a_meaning_and_numbers_a_unit(schema: pyarrow.Schema) -> None:
    for field in schema:
        assert field.metadata[b"meaning"]
        assert field.metadata[b"unit"] or field.type in (pyarrow.string(), pyarrow.bool_())
