"""Processes that keep to some processors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.patience import PATIENCE
from trustbed.testbed import Host, Testbed, TestbedError, plan
from trustbed.testbed.netns.pinning import pinned

SHOW = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]


def test_a_process_inherits_the_processors_and_we_keep_ours() -> None:
    before = os.sched_getaffinity(0)
    with pinned([max(before)]):
        shown = subprocess.run(SHOW, check=True, capture_output=True, text=True).stdout
    assert shown == f"[{max(before)}]\n"
    assert os.sched_getaffinity(0) == before


def test_a_processor_that_is_not_here_is_refused() -> None:
    with pytest.raises(TestbedError, match="processor 60000 here"), pinned([60_000]):
        pass


def test_programs_and_ends_of_workloads_are_pinned_and_samplers_are_not(
    networks: None, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUSTBED_RUNTIME", f"{tmp_path}/records")
    every = os.sched_getaffinity(0)
    hosts = [
        Host(name="near", addresses=("10.77.0.1",)),
        Host(name="far", addresses=("10.77.0.2",), pin=(max(every),)),
    ]
    with Testbed(plan(hosts)) as testbed:
        assert testbed.run("far", SHOW, seconds=PATIENCE).stdout == f"[{max(every)}]\n"
        with testbed.start_agent("serve", {"listen": ["10.77.0.2:80"]}, where="far") as server:
            assert os.sched_getaffinity(server.pid) == {max(every)}
        with testbed.start_agent("sample", {"path": f"{tmp_path}/s"}, where="far") as sampler:
            assert os.sched_getaffinity(sampler.pid) == every
