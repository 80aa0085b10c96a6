"""Every scenario error names file, line and key, and its hint says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.conftest import SMALL, Read, Write
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

# (scenario, the marked key's text in it — the line of which must be named —, key, message, hint)
CASES = [
    (
        SMALL + 'duratoin = "5s"\n',
        "duratoin",
        "workload.transfer.duratoin",
        "no such key",
        "did you mean duration?",
    ),
    (
        SMALL.replace('rate = "20Mbit/s"', 'rate = "20"'),
        "rate",
        "link.rate",
        "lacks a unit",
        '"20Mbit/s"',
    ),
    (
        SMALL.replace('rate = "20Mbit/s"', "rate = 20"),
        "rate",
        "link.rate",
        "lacks a unit",
        "in quotes",
    ),
    (SMALL.replace("20Mbit/s", "20Mbut/s"), "rate", "link.rate", "Mbut/s", "20Mbit/s"),
    (SMALL.replace("20Mbit/s", "0Mbit/s"), "rate", "link.rate", "carries nothing", "above 0"),
    (SMALL.replace('"10ms"', '"-10ms"'), "delay", "link.delay", "negative", "0 or more"),
    (
        SMALL.replace('kind = "bulk"', 'kind = "blk"'),
        "kind",
        "workload.transfer.kind",
        "'blk' is none of",
        "did you mean bulk?",
    ),
    (
        SMALL.replace('host = "client"', 'host = "cleint"'),
        "host =",
        "workload.transfer.host",
        "no host named cleint",
        "did you mean client?",
    ),
    (
        SMALL.replace('host = "client"', 'hots = "client"'),
        "hots",
        "workload.transfer.hots",
        "no such key, hots",
        "did you mean host?",
    ),
    (
        SMALL.replace("[hosts.", "[host."),
        "[host.client]",
        "host",
        "no such key, host",
        "did you mean hosts?",
    ),
    (
        SMALL.replace("[link]", "[lnik]"),
        "[lnik]",
        "lnik",
        "no such key, lnik",
        "did you mean link?",
    ),
    (
        SMALL.replace("[workload.", "[workloads."),
        "[workloads",
        "workloads",
        "no such key, workloads",
        "did you mean workload?",
    ),
    (
        SMALL.replace('host = "client"\n', ""),
        "[workload",
        "workload.transfer",
        "lacks host",
        'host = "client"',
    ),
    (
        SMALL.replace('to = "server"', 'to = "client"'),
        "to =",
        "workload.transfer.to",
        "talk to itself",
        "another host",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "10.1.0.300"'),
        "address",
        "hosts.server.address",
        "no IPv4",
        "10.1.0.5",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "10.1.0.1"').replace(
            "[hosts.client]", '[hosts.client]\naddress = "10.1.0.1"'
        ),
        "[hosts.server]\naddress",
        "hosts.server.address",
        "10.1.0.1 is the address of client too",
        "of its own",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "127.0.0.1"'),
        "address",
        "hosts.server.address",
        "cannot be",
        "private",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\naddress = "169.254.0.9"'),
        "address",
        "hosts.server.address",
        "cannot be",
        "private",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 2\naddresses = "127.0.0.0/24"'),
        "addresses",
        "hosts.server.addresses",
        "127.0.0.1 cannot be",
        "private",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 3\naddress = "10.1.0.1"'),
        "address",
        "hosts.server.address",
        "1 address",
        "3",
    ),
    (
        SMALL.replace("[hosts.server]", '[hosts.server]\ncount = 300\naddresses = "10.1.0.0/24"'),
        "addresses",
        "hosts.server.addresses",
        "room",
        "larger",
    ),
    (
        SMALL.replace("[hosts.server]", "[hosts.server]\ncount = 0"),
        "count",
        "hosts.server.count",
        "outside 1",
        "whole number",
    ),
    (
        SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.third]"),
        "[link]",
        "link",
        "does not say what it joins",
        "between",
    ),
    (
        SMALL.replace("[link]", '[link]\nbetween = ["client", "sever"]'),
        "between",
        "link.between",
        "named sever",
        "did you mean server?",
    ),
    (
        SMALL.replace("[link]", '[link]\nbetween = ["client", "client"]'),
        "between",
        "link.between",
        "to itself",
        "two different",
    ),
    (
        SMALL.replace("[link]", '[link]\nfrom = "client"\nto = "server"'),
        "[workload",
        "workload.transfer",
        "no way leads from server",
        "add a link",
    ),
    (
        SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.lonely]").replace(
            "[link]", '[link]\nbetween = ["client", "server"]'
        ),
        "[hosts.lonely]",
        "hosts.lonely",
        "no way leads from client to lonely",
        "add a link",
    ),
    (
        SMALL.replace(
            "[hosts.server]",
            (
                "[hosts.server]\ncount = 20000\n[hosts.b]\ncount = 20000\n[hosts.c]\ncount = "
                "20000\n[hosts.d]\ncount = 20000"
            ),
        ),
        "[hosts.d]\ncount",
        "hosts.d.count",
        "10.77.0.0/16 has no addresses left",
        "addresses",
    ),
    (
        SMALL
        + (
            'direction = "reverse"\n[services.web]\nhost = "client"\ncommand = "nginx"\nport '
            "= 5001\n"
        ),
        "[workload",
        "workload.transfer",
        "needs port 5001 on client",
        "another port",
    ),
    (
        SMALL.replace("[link]", '[link]\nrate_trace = "x"'),
        "rate_trace",
        "link.rate_trace",
        "not both",
        "leave one",
    ),
    (
        SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "gone.txt"'),
        "rate_trace",
        "link.rate_trace",
        "no such file",
        "relative to",
    ),
    (
        SMALL.replace("[link]", '[link]\nqueue = "0p"'),
        "queue",
        "link.queue",
        "passes nothing",
        "1p",
    ),
    (
        SMALL.replace("[link]", '[link]\nqueue = "0B"'),
        "queue",
        "link.queue",
        "hold no packet of full size",
        "1514B",
    ),
    (
        SMALL.replace("[link]", '[link]\nqueue = "99999999999p"'),
        "queue",
        "link.queue",
        "no depth of a queue",
        "4294967295p",
    ),
    (
        SMALL.replace("[link]", "[link]\nqueue = 100"),
        "queue",
        "link.queue",
        "no depth of a queue",
        '"100p"',
    ),
    (
        SMALL.replace("[link]", '[link]\nqueue = { discipline = "codel", limit = "1KB" }'),
        "queue",
        "link.queue.limit",
        "hold no packet of full size",
        "1514B",
    ),
    (
        SMALL.replace(
            "[link]", '[link]\nqueue = { discipline = "red", low = 5, high = 15, weight = 0 }'
        ),
        "queue",
        "link.queue.weight",
        "never changes",
        "0.002",
    ),
    (
        SMALL.replace("[link]", '[link]\nqueue = "50"'),
        "queue",
        "link.queue",
        "no depth of a queue",
        '"50p"',
    ),
    (
        SMALL.replace("[link]", '[link]\nloss = "120%"'),
        "loss",
        "link.loss",
        "no share of one",
        "0 to 1",
    ),
    (
        SMALL.replace("[link]", '[link]\nloss = { model = "gilbert" }'),
        "loss",
        "link.loss.model",
        "none of",
        "did you mean gilbert-elliott?",
    ),
    (
        SMALL.replace("[link]", "[links.link]\n[link]"),
        "[link]",
        "link",
        "two links of one name",
        "another name",
    ),
    (
        DUMBBELL.replace('["server"]', '["client"]') + SMALL,
        "right",
        "topology.right",
        "on both sides",
        "one of them",
    ),
    (
        DUMBBELL.replace('["server"]', "[]") + SMALL,
        "right",
        "topology.right",
        "is empty",
        "for example",
    ),
    (
        DUMBBELL + SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.third]"),
        "[topology]",
        "topology",
        "third is on neither side",
        "left",
    ),
    (
        DUMBBELL + SMALL.replace("[link]", "[links.a]\n[links.b]"),
        "shape",
        "topology.shape",
        "one link without ends, not 2",
        "access",
    ),
    (
        CHAIN.replace('"client", ', '"client", "one", ') + SMALL,
        "path",
        "topology.path",
        "3 places need 2 links",
        "in their order",
    ),
    (
        CHAIN.replace('"client", ', '"clinet", ') + SMALL,
        "path",
        "topology.path",
        "begins and ends with a host",
        "did you mean client?",
    ),
    (HTTP, "[workload", "workload.transfer", "lacks object", "built-in server"),
    (
        HTTP
        + (
            'service = "ngnix"\npath = "/"\n[services.nginx]\nhost = "server"\ncommand = '
            '"nginx"\nport = 80\n'
        ),
        "service =",
        "workload.transfer.service",
        "no service named ngnix",
        "did you mean nginx?",
    ),
    (
        HTTP + 'object = "1MB"\n[services.web]\nhost = "server"\ncommand = "nginx"\nport = 8000\n',
        "[workload",
        "workload.transfer",
        "needs port 8000",
        "another port",
    ),
    (
        COMMAND + 'command = "ping {sever}"\n',
        'command = "ping',
        "workload.transfer.command",
        "{sever} is the address of no host",
        "server",
    ),
    (
        COMMAND + 'command = "echo \'half"\n',
        'command = "echo',
        "workload.transfer.command",
        "no closing quotation",
        "close",
    ),
    (COMMAND, "[workload", "workload.transfer", "lacks command", "ping"),
    (
        COMMAND + "command = []\n",
        "command =",
        "workload.transfer.command",
        "is empty",
        "a program and its arguments",
    ),
    (
        COMMAND + 'command = ["", "-c"]\n',
        "command =",
        "workload.transfer.command",
        "is empty",
        "a program and its arguments",
    ),
    (
        COMMAND + 'command = ["a\\u0000b"]\n',
        "command =",
        "workload.transfer.command",
        "NUL",
        "leave it out",
    ),
    (
        SMALL + 'environment = { "A=B" = "c" }\n',
        "environment",
        "workload.transfer.environment.A=B",
        "is no name",
        "LANG",
    ),
    (
        SMALL + 'congestion_control = "cu bic"\n',
        "congestion",
        "workload.transfer.congestion_control",
        "is no name",
        "cubic",
    ),
    (SMALL + 'bytes = "0B"\n', "bytes", "workload.transfer.bytes", "is outside", "1B"),
    (
        SMALL + 'send_buffer = "8GiB"\n',
        "send_buffer",
        "workload.transfer.send_buffer",
        "is outside",
        "2147483647B",
    ),
    (
        SMALL + "connections = 5000\n",
        "connections",
        "workload.transfer.connections",
        "outside 1 to 4096",
        "4096",
    ),
    (
        SMALL
        + (
            '[faults.late]\nkind = "freeze"\nhost = "client"\nstopped = "5ms"\nevery = '
            '"10ms"\nstart = "1h"\n'
        ),
        "start",
        "faults.late.start",
        "every workload is over",
        "earlier",
    ),
    (
        SMALL + BACKGROUND + '[services.store]\nhost = "server"\ncommand = "minio"\nport = 9001\n',
        "port",
        "services.store.port",
        "9000 to 9001 are those of background traffic",
        "another port",
    ),
    (
        SMALL.replace("[hosts.client]", '[hosts.client]\nguest = "e1000"\n[hosts.client-inside]')
        .replace("[link]", '[links.other]\nbetween = ["server", "client-inside"]\n[link]')
        .replace("delay =", 'between = ["client", "server"]\ndelay ='),
        "[hosts.client-inside]",
        "hosts.client-inside",
        "the point of capture inside the guest client",
        "another name",
    ),
    (
        SMALL + 'time_limit = "1s"\n',
        "time_limit",
        "workload.transfer.time_limit",
        "before its duration",
        "more than",
    ),
    (
        SMALL + 'discard = "1h"\n',
        "discard",
        "workload.transfer.discard",
        "leaves nothing",
        "discard less",
    ),
    (
        SMALL + BACKGROUND.replace('"poisson"', '"posson"'),
        "model",
        "background.noise.model",
        "none of",
        "did you mean poisson?",
    ),
    (
        SMALL + BACKGROUND.replace('rate = "3.3Mbit/s"\n', ""),
        "[background",
        "background.noise",
        "lacks rate",
        "3.3Mbit/s",
    ),
    (
        SMALL + BACKGROUND.replace("3.3Mbit/s", "5bit/s") + "sources = 9\n",
        "sources",
        "background.noise.sources",
        "leaves some of 9 sources nothing",
        "fewer",
    ),
    (
        SMALL + BACKGROUND + 'release = "timer"\n',
        "release",
        "background.noise.release",
        "none of",
        "timer-",
    ),
    (
        SMALL + BACKGROUND + 'filter = "tcp"\n',
        "filter",
        "background.noise.filter",
        "says nothing about poisson",
        "playback",
    ),
    (
        SMALL + BACKGROUND.replace("poisson", "playback"),
        "[background",
        "background.noise",
        "lacks file",
        "trace.pcap",
    ),
    (
        SMALL + BACKGROUND.replace("poisson", "playback") + 'file = "study.toml"\nsources = 3\n',
        "sources",
        "background.noise.sources",
        "each of 3 sources would play all",
        "with its filter",
    ),
    (
        SMALL + BACKGROUND.replace("noise", "transfer"),
        "[background",
        "background.transfer",
        "a name in [workload] too",
        "another name",
    ),
    (
        SMALL + '[capture]\npoints = ["middle"]\n',
        "points",
        "capture.points",
        "no host or router named middle",
        "client",
    ),
    (
        SMALL.replace("[workload.transfer]", "[workload.2nd]"),
        "[workload",
        "workload.2nd",
        "is no name",
        "a letter first",
    ),
    ("seed = -1\n" + SMALL, "seed", "seed", "outside 0", "whole number"),
    (
        'repetitions = "10"\n' + SMALL,
        "repetitions",
        "repetitions",
        "a whole number, not '10'",
        "repetitions = 10",
    ),
    (
        "hosts = 3\n" + SMALL.replace("[hosts.client]\n[hosts.server]\n", ""),
        "hosts",
        "hosts",
        "must be a table, not 3",
        "[hosts]",
    ),
    # Factors.
    (
        SMALL + '[factors]\n"link.rte" = ["1Mbit/s"]\n',
        '"link.rte"',
        "link.rte (from factors.link.rte[0])",
        "no such key, rte",
        "did you mean rate?",
    ),
    (
        SMALL + '[factors]\n"lnk.rate" = ["1Mbit/s"]\n',
        '"lnk.rate"',
        "factors.lnk.rate",
        "there is no lnk",
        "did you mean link?",
    ),
    (
        SMALL + '[factors]\n"link.rate" = [\n"1Mbit/s",\n"5"]\n',
        '"5"]',
        "link.rate (from factors.link.rate[1])",
        "lacks a unit",
        "20Mbit/s",
    ),
    (
        SMALL + '[factors]\n"link.rate" = "5Mbit/s"\n',
        '"link.rate"',
        "factors.link.rate",
        "a list of values",
        '["5Mbit/s", "10Mbit/s"]',
    ),
    (
        SMALL + '[factors]\n"link.rate" = ["5Mbit/s", "5Mbit/s"]\n',
        '"link.rate"',
        "factors.link.rate",
        "stands twice",
        "once",
    ),
    (
        SMALL + "[factors]\nseed = [1, 2]\n",
        "seed = [",
        "factors.seed",
        "the same for the whole matrix",
        "vary",
    ),
    (
        SMALL + '[factors]\nlink = [{ rate = "1Mbit/s" }]\n"link.rate" = ["5Mbit/s"]\n',
        '"link.rate"',
        "factors.link.rate",
        "changes what link",
        "tables",
    ),
]


@pytest.mark.parametrize(
    ("text", "marked", "key", "message", "hint"),
    CASES,
    ids=lambda value: str(value)[:40] if "\n" not in str(value) else "",
)
def test_a_wrong_scenario_says_where_and_what_to_do(
    written: Write, text: str, marked: str, key: str, message: str, hint: str
) -> None:
    path = written(text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    error = caught.value
    assert marked in text
    line = text[: text.index(marked) + len(marked)].count("\n") + 1
    assert (error.file, error.line, error.key) == (path, line, key)
    assert error.message.startswith(f"{path}, line {line}, {key}: ")
    assert message in error.message
    assert hint in error.hint


def test_a_name_that_stands_twice_is_found_with_its_line(written: Write) -> None:
    with pytest.raises(ScenarioError, match="line 4") as caught:
        load(written(SMALL.replace("[hosts.server]", "[hosts.server]\n[hosts.client]")))
    assert "twice" in caught.value.message or "overwrite" in caught.value.message


def test_what_is_no_toml_says_so(written: Write) -> None:
    with pytest.raises(ScenarioError, match=r"study\.toml, line 2: ") as caught:
        load(written("[hosts.client]\nrate = 20Mbit/s\n"))
    assert "in quotes" in caught.value.hint


def test_a_relative_name_says_where_it_begins(written: Write) -> None:
    path = written(SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "none/gone.txt"'))
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert caught.value.hint.endswith(f"relative to {path.parent}")


def test_a_file_that_is_not_there_names_its_neighbour(written: Write) -> None:
    path = written(SMALL)
    with pytest.raises(ScenarioError, match="no such file") as caught:
        load(path.with_name("studdy.toml"))
    assert caught.value.hint == "did you mean study.toml?"


@pytest.mark.parametrize(
    ("octets", "message"),
    [(b"\xd4\xc3\xb2\xa1", "no UTF-8"), (b"\0" * (5 << 20), "is no scenario")],
)
def test_a_capture_is_no_scenario(tmp_path: Path, octets: bytes, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(octets)
    with pytest.raises(ScenarioError, match=message) as caught:
        load(path)
    assert "trustbed analyze" in caught.value.hint


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(tmp_path)


def test_a_recording_with_a_wrong_line_names_it(read: Read, tmp_path: Path) -> None:
    (tmp_path / "delays.txt").write_text("1\nsoon\n")
    with pytest.raises(ScenarioError, match=r"delays\.txt, line 2: 'soon'"):
        read(
            SMALL.replace("[link]", '[link]\ndelay_trace = "delays.txt"').replace(
                'delay = "10ms"\n', ""
            )
        )


@pytest.mark.parametrize(
    ("link", "name", "text", "line"),
    [
        ('rate_trace = "odd.txt"', "rate_trace", "5\n3\n", "line 2: 3 comes after 5"),
        ('loss.trace = "odd.txt"', "loss.trace", "5\n\n5\n", "line 3: 5 comes after 5"),
    ],
)
def test_a_recording_out_of_order_names_the_line(
    read: Read, tmp_path: Path, link: str, name: str, text: str, line: str
) -> None:
    (tmp_path / "odd.txt").write_text(text)
    with pytest.raises(ScenarioError, match=rf"link\.{name}: .*odd\.txt, {line}") as caught:
        read(SMALL.replace('rate = "20Mbit/s"', link))
    assert "in order" in caught.value.hint


def test_a_recording_without_time_says_so(read: Read, tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("0\n0\n")
    with pytest.raises(ScenarioError, match=r"link\.rate_trace: .*odd\.txt ends at 0"):
        read(SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "odd.txt"'))


def test_losses_are_repeated_behind_the_last_of_them(read: Read, tmp_path: Path) -> None:
    (tmp_path / "lost.txt").write_text("3\n7\n")
    with pytest.raises(ScenarioError, match=r"link\.loss\.period: 7 is outside 8 to"):
        read(SMALL.replace("[link]", '[link]\nloss = { trace = "lost.txt", period = 7 }'))


def test_a_name_that_no_file_can_have_is_named(read: Read) -> None:
    with pytest.raises(
        ScenarioError, match=r"line 6, link\.rate_trace: .* cannot be read: file name too long"
    ):
        read(SMALL.replace('rate = "20Mbit/s"', f'rate_trace = "{"a" * 300}"'))


def test_the_port_of_a_transfer_in_reverse_is_free_where_it_is_asked_for(read: Read) -> None:
    read(
        SMALL
        + 'direction = "reverse"\n[services.web]\nhost = "server"\ncommand = "nginx"\nport = 5001\n'
    )


def test_more_hosts_than_the_emulator_keeps_ways_for_are_refused(read: Read) -> None:
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
