"""Estimators of available bandwidth as workloads: keys, refusals, and what the agents are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.conftest import Read
from trustbed.run.execution.commands import programs
from trustbed.run.execution.configurations import client, listener
from trustbed.scenario import ScenarioError
from trustbed.scenario.model import EstimatorOptions
from trustbed.scenario.owners import owner

BASE = """
duration = "12s"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.w]
host = "client"
to = "server"
"""
PATHLOAD, PATHCHIRP = BASE + 'kind = "pathload"\n', BASE + 'kind = "pathchirp"\n'


def test_probes_flow_from_the_host_and_are_captured_where_they_arrive(read: Read) -> None:
    scenario = read(PATHLOAD).first
    (workload,) = scenario.workloads
    assert workload.data_from == "client"
    assert workload.judged_as is None
    assert workload.estimator == EstimatorOptions()
    assert scenario.capture.points == ("server",)
    assert programs(scenario) == {}


def test_both_agents_know_of_each_other(read: Read) -> None:
    scenario = read(PATHLOAD + 'resolution = "1Mbit/s"\nmajority = 0.7\n').first
    (workload,) = scenario.workloads
    sender, receiver = client(workload, scenario, Path()), listener(workload, scenario)
    assert sender is not None
    assert receiver is not None
    assert (sender.verb, sender.where) == ("estimate", "client")
    assert (receiver.verb, receiver.where) == ("estimate", "server")
    assert sender.configuration["to"] == receiver.configuration["listen"] == "10.77.0.2:8365"
    assert sender.configuration["from"] == receiver.configuration["peer"] == "10.77.0.1"
    assert sender.configuration["nonce"] == receiver.configuration["nonce"]
    assert sender.configuration["estimator"] == {
        "kind": "pathload",
        "long_packets": False,
        "time_limit_ns": 12_000_000_000,
        "resolution_bits_per_second": 1_000_000,
        "majority": 0.7,
    }


def test_a_chirp_has_rates_and_lasts_as_long_as_the_workload(read: Read) -> None:
    keys = 'lowest = "2Mbit/s"\nhighest = "40Mbit/s"\nmean_rate = "500kbit/s"\naveraged = 5\n'
    scenario = read(PATHCHIRP + keys + "long_packets = true\n").first
    sender = client(scenario.workloads[0], scenario, Path())
    assert sender is not None
    assert sender.configuration["estimator"] == {
        "kind": "pathchirp",
        "long_packets": True,
        "duration_ns": 12_000_000_000,
        "lowest_bits_per_second": 2_000_000,
        "highest_bits_per_second": 40_000_000,
        "mean_bits_per_second": 500_000,
        "averaged": 5,
    }


def test_its_control_connection_is_no_transfer_of_the_workload(read: Read) -> None:
    scenario = read(PATHLOAD).first
    assert owner(scenario, "10.77.0.1", 40_000, "10.77.0.2", 8365) is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (PATHLOAD + 'lowest = "2Mbit/s"\n', 11, "w.lowest: has no effect on pathload"),
        (PATHCHIRP + 'resolution = "2Mbit/s"\n', 11, "w.resolution: has no effect on pathchirp"),
        (PATHCHIRP + 'judge_as = "bulk"\n', 11, "w.judge_as: has no effect on an estimator"),
        (PATHCHIRP + 'highest = "5Mbit/s"\n', 11, "10 Mbit/s, is not below its highest, 5 Mbit/s"),
        (PATHCHIRP + 'lowest = "300Mbit/s"\n', 11, "is not below its highest, 200 Mbit/s"),
        (PATHLOAD + "majority = 0.4\n", 11, "majority"),
        (PATHLOAD + 'resolutoin = "1Mbit/s"\n', 11, "resolutoin"),
        (PATHLOAD.replace('to = "server"\n', ""), 7, "to"),
    ],
)
def test_what_makes_no_sense_is_refused(read: Read, text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(text)
    assert words in caught.value.message
    assert caught.value.line == line


def test_no_estimator_measures_from_a_guest(read: Read) -> None:
    text = PATHLOAD.replace("[hosts.server]", '[hosts.server]\nguest = "virtio-net"')
    with pytest.raises(ScenarioError, match="releases the packets of pathload in bursts"):
        read(text)
