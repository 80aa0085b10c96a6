"""The model holds what a scenario file states."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.scenario.conftest import Read
from trustbed.scenario import Direction, load
from trustbed.scenario.model import Jitter, Loss, Queue, Reorder

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND

LINK = """
[hosts.client]
[hosts.server]
[workload.transfer]
kind = "bulk"
host = "client"
to = "server"
[link]
"""


def link(read: Read, keys: str) -> tuple[Direction, Direction | None]:
    found = read(LINK + keys).first.links[0]
    return found.forward, found.backward


def test_two_hosts_and_a_link_are_enough(read: Read, small: str) -> None:
    scenario = read(small).first
    assert [(host.name, host.addresses) for host in scenario.hosts] == [
        ("client", ("10.77.0.1",)),
        ("server", ("10.77.0.2",)),
    ]
    assert [(one.name, one.ends) for one in scenario.links] == [("link", ("client", "server"))]
    assert (
        scenario.links[0].forward
        == scenario.links[0].backward
        == Direction(rate=20_000_000, delay_ns=10 * MILLISECOND)
    )
    assert (scenario.name, scenario.seed, scenario.repetitions, scenario.duration_ns) == (
        "study",
        1,
        1,
        10 * SECOND,
    )


def test_a_bulk_transfer_has_its_congestion_control_set(read: Read, small: str) -> None:
    workload = read(small).first.workloads[0]
    assert (workload.congestion_control, workload.judged_as, workload.data_from) == (
        "cubic",
        "bulk",
        "client",
    )
    assert workload.duration_ns < workload.limit_ns


def test_up_and_down_change_only_what_they_name(read: Read) -> None:
    up, down = link(
        read, 'rate = "20Mbit/s"\nqueue = "50p"\nup.loss = "1%"\ndown.rate = "5Mbit/s"\n'
    )
    assert up == Direction(
        rate=20_000_000, queue=Queue(packets=50), loss=Loss(model="independent", probability=0.01)
    )
    assert down == Direction(rate=5_000_000, queue=Queue(packets=50))


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('queue = "50p"', Direction(queue=Queue(packets=50))),
        ('queue = "64KiB"', Direction(queue=Queue(bytes=65_536))),
        ('queue = "unlimited"', Direction(queue=Queue(discipline="unlimited"))),
        (
            'queue = { discipline = "codel", target = "5ms" }',
            Direction(queue=Queue(discipline="codel", target_ns=5 * MILLISECOND)),
        ),
        (
            'queue = { discipline = "red", low = 5, high = 15, limit = "50p" }',
            Direction(
                queue=Queue(
                    discipline="red",
                    low_packets=5,
                    high_packets=15,
                    packets=50,
                    probability=0.1,
                    weight=0.002,
                )
            ),
        ),
        ("loss = 0.001", Direction(loss=Loss(model="independent", probability=0.001))),
        ('loss = "0%"', Direction()),
        (
            'loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "30%" }',
            Direction(
                loss=Loss(
                    model="gilbert-elliott", to_bad=0.01, to_good=0.3, in_good=0.0, in_bad=1.0
                )
            ),
        ),
        (
            'loss = { model = "periodic", every = 100 }',
            Direction(loss=Loss(model="periodic", every=100, first=100)),
        ),
        (
            'delay = "2ms"\njitter = "2ms"',
            Direction(
                delay_ns=2 * MILLISECOND,
                jitter=Jitter(distribution="uniform", spread_ns=2 * MILLISECOND),
            ),
        ),
        (
            'delay = "9ms"\n'
            'jitter = { distribution = "normal", spread = "2ms", keep_order = false }',
            Direction(
                delay_ns=9 * MILLISECOND,
                jitter=Jitter(distribution="normal", spread_ns=2 * MILLISECOND, keep_order=False),
            ),
        ),
        (
            'reorder = { probability = "1%", delay = "5ms" }',
            Direction(reorder=Reorder(probability=0.01, delay_ns=5 * MILLISECOND)),
        ),
        ('duplicate = "0.5%"', Direction(duplicate=0.005)),
    ],
)
def test_every_part_of_a_link_is_read(read: Read, keys: str, wanted: Direction) -> None:
    assert link(read, keys) == (wanted, wanted)


def test_recorded_numbers_come_from_files_beside_the_scenario(read: Read, tmp_path: Path) -> None:
    (tmp_path / "rates.txt").write_text("0\n5\n5\n")
    (tmp_path / "delays.txt").write_text("# milliseconds\n1.5\n\n20us\n")
    (tmp_path / "lost.txt").write_text("3\n4\n")
    up, _ = link(
        read,
        (
            'rate_trace = "rates.txt"\ndelay_trace = { file = "delays.txt", step = "10ms" '
            '}\nloss = { trace = "lost.txt" }\n'
        ),
    )
    assert up.rate_trace is not None
    assert up.rate_trace.values == (0, 5, 5)
    assert up.delay_trace is not None
    assert (up.delay_trace.delays.values, up.delay_trace.step_ns) == (
        (1_500_000, 20_000),
        10 * MILLISECOND,
    )
    assert up.loss is not None
    assert up.loss.lost is not None
    assert up.loss.lost.values == (3, 4)
    assert [file.name for file in load(tmp_path / "study.toml").inputs] == [
        "delays.txt",
        "lost.txt",
        "rates.txt",
    ]


def test_a_thousand_hosts_get_default_addresses(read: Read, small: str) -> None:
    text = small.replace(
        "[hosts.client]",
        (
            '[hosts.client]\ncount = 1000\naccess = { delay = "1ms" }\n[hosts.more]\naddress '
            '= "10.77.0.2"'
        ),
    )
    links = "".join(f'[links.{end}]\nbetween = ["{end}", "middle"]\n' for end in ("more", "server"))
    scenario = read(
        f'[topology]\nrouters = ["middle"]\n{links}'
        + text.replace("[link]", '[links.many]\nbetween = ["client", "middle"]')
    ).first
    addresses = [address for host in scenario.hosts for address in host.addresses]
    assert len(addresses) == len(set(addresses)) == 1002
    assert scenario.host("client").router == "client-access"
    assert scenario.links[-1].ends == ("client-access", "middle")


def test_addresses_can_be_taken_from_a_network(read: Read, small: str) -> None:
    scenario = read(
        small.replace("[hosts.client]", '[hosts.client]\ncount = 2\naddresses = "10.1.0.0/24"')
    ).first
    assert scenario.hosts[0].addresses == ("10.1.0.1", "10.1.0.2")


def test_a_dumbbell_puts_its_hosts_behind_two_routers(read: Read) -> None:
    text = """
[topology]
shape = "dumbbell"
left = ["a", "b"]
right = ["c"]
[hosts.a]
[hosts.b]
access = { rate = "1Mbit/s" }
[hosts.c]
[links.middle]
rate = "20Mbit/s"
[workload.w]
kind = "bulk"
host = "a"
to = "c"
"""
    scenario = read(text).first
    assert [(host.name, host.router) for host in scenario.hosts] == [
        ("a", "left"),
        ("b", "left"),
        ("c", "right"),
    ]
    assert scenario.host("b").access_up == Direction(rate=1_000_000)
    assert scenario.routers == ("left", "right")
    assert scenario.links[0].ends == ("left", "right")


def test_a_chain_joins_its_nodes_in_order(read: Read, small: str) -> None:
    text = (
        '[topology]\nshape = "chain"\npath = ["client", "one", "two", "server"]\n'
        + small.replace("[link]", "[links.b]\n[links.a]\n[links.c]")
    )
    scenario = read(text).first
    assert scenario.routers == ("one", "two")
    assert [(one.name, one.ends) for one in scenario.links] == [
        ("b", ("client", "one")),
        ("a", ("one", "two")),
        ("c", ("two", "server")),
    ]


def test_a_graph_may_have_unidirectional_links(read: Read, small: str) -> None:
    pipes = (
        '[links.there]\nfrom = "client"\nto = "server"\n[links.back]\nfrom = "server"\nto = '
        '"client"\n'
    )
    scenario = read(small.replace("[link]", pipes)).first
    assert [one.backward for one in scenario.links] == [None, None]


def test_commands_are_split_into_words_as_a_shell_does(read: Read, small: str) -> None:
    text = (
        small.replace('"bulk"', '"command"')
        + 'command = "sh -c \'ping -c 1 {server}\'"\nenvironment = { LANG = "C" }\n'
    )
    workload = read(text).first.workloads[0]
    assert workload.command == ("sh", "-c", "ping -c 1 {server}")
    assert workload.environment == (("LANG", "C"),)
    assert workload.judged_as is None


def test_pages_come_from_the_built_in_server_or_from_a_service(read: Read, small: str) -> None:
    built_in = read(small.replace('"bulk"', '"http"') + 'object = "1MB"\n').first.workloads[0]
    assert (built_in.object_bytes, built_in.service, built_in.judged_as, built_in.data_from) == (
        1_000_000,
        None,
        "interactive",
        "server",
    )
    service = '[services.nginx]\nhost = "server"\ncommand = "nginx"\nport = 8080\n'
    text = (
        small.replace('"bulk"', '"ab"')
        + 'service = "nginx"\npath = "/index.html"\narguments = "-k"\n'
        + service
    )
    with_service = read(text).first.workloads[0]
    assert (with_service.port, with_service.path, with_service.command) == (
        8080,
        "/index.html",
        ("-k",),
    )


def test_packets_are_captured_at_the_sender_of_the_data(read: Read, small: str) -> None:
    assert read(small).first.capture.points == ("client",)
    assert read(small.replace('"bulk"', '"http"') + 'object = "1MB"\n').first.capture.points == (
        "server",
    )
    assert read(
        small + '[capture]\npoints = ["server", "client"]\nsnap = 96\n'
    ).first.capture.points == ("server", "client")
    assert read(small + "[capture]\npoints = []\n").first.capture.points == ()


def test_a_scenario_is_a_value(read: Read, small: str) -> None:
    first, second = read(small).first, read(small).first
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.seed = 2  # type: ignore[misc]


def test_a_byte_order_mark_is_ignored(read: Read, small: str) -> None:
    assert read("\ufeff" + small).sha256 == read(small).sha256
