"""The command lines of known programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trustbed.run.execution.commands import command_of, programs
from trustbed.scenario import Scenario, load

BASE = """
duration = "30s"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.w]
host = "client"
to = "server"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], Scenario]:
    def read(keys: str) -> Scenario:
        path = tmp_path / "study.toml"
        path.write_text(BASE + keys)
        return load(path).first

    return read


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('kind = "command"\ncommand = "ping -c 3 {server}"', "ping -c 3 10.77.0.2"),
        (
            'kind = "ab"\nobject = "1MB"',
            "ab -q -c 1 -t 30 -n 1000000 http://10.77.0.2:8000/bytes/1000000",
        ),
        (
            'kind = "ab"\nobject = "4KB"\nrequests = 100\nreuse = true\nconnections = 2',
            "ab -q -k -c 2 -n 100 http://10.77.0.2:8000/bytes/4000",
        ),
        (
            'kind = "wrk"\nobject = "4KB"\narguments = "-t 2"',
            "wrk -t 1 -c 1 -d 30s -t 2 http://10.77.0.2:8000/bytes/4000",
        ),
        (
            'kind = "httperf"\nobject = "1MB"\nrequests = 50',
            "httperf --hog --server 10.77.0.2 --port 8000 --uri /bytes/1000000 --num-conns 50",
        ),
        (
            'kind = "curl"\nobject = "1MB"\ntime_limit = "40s"',
            "curl -o /dev/null --max-time 40 http://10.77.0.2:8000/bytes/1000000",
        ),
        (
            'kind = "curl"\nobject = "1MB"\nrequests = 5\ntime_limit = "40s"',
            "curl -o /dev/null --max-time 40 http://10.77.0.2:8000/bytes/1000000?[1-5]",
        ),
        ('kind = "iperf3"', "iperf3 -c 10.77.0.2 -p 5201 -t 30 -P 1 -C cubic"),
        (
            'kind = "iperf3"\ndirection = "reverse"\nconnections = 4\narguments = "-w 64K"',
            "iperf3 -c 10.77.0.2 -p 5201 -t 30 -P 4 -C cubic -R -w 64K",
        ),
        (
            'kind = "iperf3"\narguments = ["-u", "-b", "10M"]',
            "iperf3 -c 10.77.0.2 -p 5201 -t 30 -P 1 -u -b 10M",
        ),
        (
            (
                'kind = "ab"\nservice = "web"\npath = "/x"\nrequests = '
                '1\n[services.web]\nhost = "server"\ncommand = "nginx"\nport = 80'
            ),
            "ab -q -c 1 -n 1 http://10.77.0.2:80/x",
        ),
    ],
)
def test_a_workload_becomes_a_command(
    scenario: Callable[[str], Scenario], keys: str, wanted: str
) -> None:
    found = scenario(keys)
    assert " ".join(command_of(found.workloads[0], found)) == wanted


def test_what_must_be_installed_is_known_before_the_run(
    scenario: Callable[[str], Scenario],
) -> None:
    keys = (
        'kind = "ab"\nservice = "web"\npath = "/x"\n[services.web]\nhost = "server"\ncommand '
        '= "nginx -g x"\nport = 80'
    )
    assert programs(scenario(keys)) == {"nginx": "services.web", "ab": "workload.w"}
    assert programs(scenario('kind = "bulk"')) == {}
