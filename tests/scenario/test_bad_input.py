"""Every scenario error names file, line and key, with a hint at what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, Write, refusals
from trustbed.scenario import ScenarioError, load

DUMBBELL = """
[topology]
shape = "dumbbell"
left = ["client"]
right = ["server"]
"""
CHAIN = """
[topology]
shape = "chain"
path = ["client", "server"]
"""
HTTP = SMALL.replace('"bulk"', '"http"')
COMMAND = SMALL.replace('"bulk"', '"command"')
BACKGROUND = (
    '\n[background.noise]\nmodel = "poisson"\nfrom = "client"\nto = "server"\nrate = "3.3Mbit/s"\n'
)

WRONG = [
    SMALL + 'duratoin = "5s"\n',
    SMALL.replace('rate = "20Mbit/s"', 'rate = "20"'),
    SMALL.replace('rate = "20Mbit/s"', "rate = 20"),
    SMALL.replace("20Mbit/s", "20Mbut/s"),
    SMALL.replace("20Mbit/s", "0Mbit/s"),
    SMALL.replace('"10ms"', '"-10ms"'),
    SMALL.replace('kind = "bulk"', 'kind = "blk"'),
    SMALL.replace('host = "client"', 'host = "cleint"'),
    SMALL.replace('host = "client"', 'hots = "client"'),
    SMALL.replace("[hosts.", "[host."),
    SMALL.replace("[link]", "[lnik]"),
    SMALL.replace("[workload.", "[workloads."),
    SMALL.replace('host = "client"\n', ""),
    SMALL.replace('to = "server"', 'to = "client"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "10.1.0.300"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "10.1.0.1"').replace(
        "[hosts.client]", '[hosts.client]\naddress = "10.1.0.1"'
    ),
    SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "127.0.0.1"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "169.254.0.9"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 2\naddresses = "127.0.0.0/24"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 3\naddress = "10.1.0.1"'),
    SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 300\naddresses = "10.1.0.0/24"'),
    SMALL.replace("[hosts.server]", "[hosts.server]\ncount = 0"),
    SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.third]"),
    SMALL.replace("[link]", '[link]\nbetween = ["client", "sever"]'),
    SMALL.replace("[link]", '[link]\nbetween = ["client", "client"]'),
    SMALL.replace("[link]", '[link]\nfrom = "client"\nto = "server"'),
    SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.lonely]").replace(
        "[link]", '[link]\nbetween = ["client", "server"]'
    ),
    SMALL.replace(
        "[hosts.server]",
        (
            "[hosts.server]\ncount = 20000\n[hosts.b]\ncount = 20000\n[hosts.c]\ncount = "
            "20000\n[hosts.d]\ncount = 20000"
        ),
    ),
    SMALL
    + ('direction = "reverse"\n[services.web]\nhost = "client"\ncommand = "nginx"\nport = 5001\n'),
    SMALL.replace("[link]", '[link]\nrate_trace = "x"'),
    SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "gone.txt"'),
    SMALL.replace("[link]", '[link]\nqueue = "0p"'),
    SMALL.replace("[link]", '[link]\nqueue = "0B"'),
    SMALL.replace("[link]", '[link]\nqueue = "99999999999p"'),
    SMALL.replace("[link]", "[link]\nqueue = 100"),
    SMALL.replace("[link]", '[link]\nqueue = { discipline = "codel", limit = "1KB" }'),
    SMALL.replace(
        "[link]", '[link]\nqueue = { discipline = "red", low = 5, high = 15, weight = 0 }'
    ),
    SMALL.replace("[link]", '[link]\nqueue = "50"'),
    SMALL.replace("[link]", '[link]\nloss = "120%"'),
    SMALL.replace("[link]", '[link]\nloss = { model = "gilbert" }'),
    SMALL.replace("[link]", "[links.link]\n[link]"),
    DUMBBELL.replace('["server"]', '["client"]') + SMALL,
    DUMBBELL.replace('["server"]', "[]") + SMALL,
    DUMBBELL + SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.third]"),
    DUMBBELL + SMALL.replace("[link]", "[links.a]\n[links.b]"),
    CHAIN.replace('"client", ', '"client", "one", ') + SMALL,
    CHAIN.replace('"client", ', '"clinet", ') + SMALL,
    HTTP,
    HTTP
    + (
        'service = "ngnix"\npath = "/"\n[services.nginx]\nhost = "server"\ncommand = '
        '"nginx"\nport = 80\n'
    ),
    HTTP + 'object = "1MB"\n[services.web]\nhost = "server"\ncommand = "nginx"\nport = 8000\n',
    COMMAND + 'command = "ping {sever}"\n',
    COMMAND + 'command = "echo \'half"\n',
    COMMAND,
    COMMAND + "command = []\n",
    COMMAND + 'command = ["", "-c"]\n',
    COMMAND + 'command = ["a\\u0000b"]\n',
    SMALL + 'environment = { "A=B" = "c" }\n',
    SMALL + 'congestion_control = "cu bic"\n',
    SMALL + 'bytes = "0B"\n',
    SMALL + 'send_buffer = "8GiB"\n',
    SMALL + "connections = 5000\n",
    SMALL
    + (
        '[faults.late]\nkind = "freeze"\nhost = "client"\nstopped = "5ms"\nevery = '
        '"10ms"\nstart = "1h"\n'
    ),
    SMALL + BACKGROUND + '[services.store]\nhost = "server"\ncommand = "minio"\nport = 9001\n',
    SMALL.replace("[hosts.client]", '[hosts.client]\nguest = "e1000"\n[hosts.client-inside]')
    .replace("[link]", '[links.other]\nbetween = ["server", "client-inside"]\n[link]')
    .replace("delay =", 'between = ["client", "server"]\ndelay ='),
    SMALL + 'time_limit = "1s"\n',
    SMALL + 'discard = "1h"\n',
    SMALL + BACKGROUND.replace('"poisson"', '"posson"'),
    SMALL + BACKGROUND.replace('rate = "3.3Mbit/s"\n', ""),
    SMALL + BACKGROUND.replace("3.3Mbit/s", "5bit/s") + "sources = 9\n",
    SMALL + BACKGROUND + 'release = "timer"\n',
    SMALL + BACKGROUND + 'filter = "tcp"\n',
    SMALL + BACKGROUND.replace("poisson", "playback"),
    SMALL + BACKGROUND.replace("noise", "transfer"),
    SMALL + '[capture]\npoints = ["middle"]\n',
    SMALL.replace("[workload.transfer]", "[workload.2nd]"),
    "seed = -1\n" + SMALL,
    'repetitions = "10"\n' + SMALL,
    "hosts = 3\n" + SMALL.replace("[hosts.client]\n[hosts.server]\n", ""),
    SMALL + '[factors]\n"link.rte" = ["1Mbit/s"]\n',
    SMALL + '[factors]\n"lnk.rate" = ["1Mbit/s"]\n',
    SMALL + '[factors]\n"link.rate" = [\n"1Mbit/s",\n"5"]\n',
    SMALL + '[factors]\n"link.rate" = "5Mbit/s"\n',
    SMALL + '[factors]\n"link.rate" = ["5Mbit/s", "5Mbit/s"]\n',
    SMALL + "[factors]\nseed = [1, 2]\n",
    SMALL + '[factors]\nlink = [{ rate = "1Mbit/s" }]\n"link.rate" = ["5Mbit/s"]\n',
]


def test_a_wrong_scenario_is_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(read, WRONG, tmp_path) == snapshot


def test_a_duplicate_name_is_an_error_with_its_line(written: Write) -> None:
    with pytest.raises(ScenarioError, match="line 4") as caught:
        load(written(SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.client]")))
    assert "twice" in caught.value.message or "overwrite" in caught.value.message


def test_invalid_toml_is_an_error(written: Write) -> None:
    with pytest.raises(ScenarioError, match=r"study\.toml, line 2: ") as caught:
        load(written("[hosts.client]\nrate = 20Mbit/s\n"))
    assert "in quotes" in caught.value.hint


def test_a_missing_file_error_names_the_nearest_file(written: Write) -> None:
    path = written(SMALL)
    with pytest.raises(ScenarioError, match="no such file") as caught:
        load(path.with_name("studdy.toml"))
    assert caught.value.hint == "did you mean study.toml?"


@pytest.mark.parametrize(
    ("octets", "message"),
    [(b"\xd4\xc3\xb2\xa1", "not UTF-8"), (b"\0" * (5 << 20), "too large for a scenario")],
)
def test_a_capture_is_not_a_scenario(tmp_path: Path, octets: bytes, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(octets)
    with pytest.raises(ScenarioError, match=message) as caught:
        load(path)
    assert "trustbed analyze" in caught.value.hint


def test_a_directory_is_not_a_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(tmp_path)


RECORDINGS = {
    "soon.txt": "1\nsoon\n",
    "rates.txt": "5\n3\n",
    "losses.txt": "5\n\n5\n",
    "still.txt": "0\n0\n",
    "lost.txt": "3\n7\n",
}
WITH_RECORDINGS = [
    SMALL.replace('delay = "10ms"', 'delay_trace = "soon.txt"'),
    SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "rates.txt"'),
    SMALL.replace('rate = "20Mbit/s"', 'loss.trace = "losses.txt"'),
    SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "still.txt"'),
    SMALL.replace("[link]", '[link]\nloss = { trace = "lost.txt", period = 7 }'),
    SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "none/gone.txt"'),
    SMALL.replace('rate = "20Mbit/s"', f'rate_trace = "{"a" * 300}"'),
]


def test_invalid_recordings_are_refused_with_their_line(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    for name, text in RECORDINGS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert refusals(read, WITH_RECORDINGS, tmp_path) == snapshot


def test_a_reverse_transfer_leaves_its_port_free_on_the_other_host(read: Read) -> None:
    scenario = read(
        SMALL
        + 'direction = "reverse"\n[services.web]\nhost = "server"\ncommand = "nginx"\nport = 5001\n'
    ).first
    assert [(service.host, service.port) for service in scenario.services] == [("server", 5001)]


def test_more_hosts_than_the_emulator_has_routes_for_are_refused(read: Read) -> None:
    hosts = "".join(f"[hosts.h{number}]\n" for number in range(1025))
    links = "".join(
        f'[links.l{number}]\nbetween = ["h{number}", "middle"]\n' for number in range(1025)
    )
    workload = '[workload.w]\nkind = "bulk"\nhost = "h0"\nto = "h1"\n'
    with pytest.raises(
        ScenarioError, match="hosts: 1025 ends of the network are too many"
    ) as caught:
        read(f'[topology]\nrouters = ["middle"]\n{hosts}{links}{workload}')
    assert "count" in caught.value.hint
