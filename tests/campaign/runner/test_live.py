"""Campaigns between real hosts.

This machine, a command, namespaces with an emulated link between them, a real sshd.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shlex
import signal
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from tests.campaign.runner.conftest import study_of, text_of
from tests.testbed.conftest import Machine, agent, machine
from tests.testbed.test_remote_ssh import Serves, home, serves
from trustbed.campaign import Round
from trustbed.campaign.api import measure
from trustbed.campaign.model import CampaignModel
from trustbed.campaign.records import RoundRecord
from trustbed.campaign.results import read_model
from trustbed.campaign.runner import CampaignDirectory, RoundListener
from trustbed.campaign.runner.journal import HostLine
from trustbed.scenario.campaign import CampaignFile

__all__ = ["agent", "home", "machine", "serves"]

THROUGH_SHELL = ["sh", "-c", 'exec "$@"', "sh"]
"""A prefix that runs a command, as ``docker exec -i web`` does."""


def carry_out(
    study: CampaignFile, path: Path, listener: RoundListener | None = None
) -> CampaignModel:
    """Carries it out with real hosts; its results."""
    directory = CampaignDirectory(path)
    measure(study, directory, about={"version": "1"}, listener=listener)
    return read_model(path)


def measured(model: CampaignModel, pair: str) -> dict[str, int]:
    """How many rounds of a pair came to what."""
    (found,) = (one for one in model.pairs if one.pair == pair)
    return {name: count for name, count in found.rounds.items() if name not in ("asked", "running")}


@pytest.mark.quiet
def test_a_round_between_this_machine_and_itself_is_complete(tmp_path: Path, cache: Path) -> None:
    hosts = (
        (
            '[hosts.a]\nlocal = true\nmeasure = "127.0.0.1"\n[hosts.b]\nmeasure = '
            '"127.0.0.2"\ncommand = '
        )
        + json.dumps(THROUGH_SHELL)
        + "\n"
    )
    study = study_of(tmp_path, "a-b", hosts=hosts, count=1, period='"60s"', pings=3)
    model = carry_out(study, tmp_path / "out")
    assert measured(model, "a-b") == {"complete": 1}
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    record, judged = round_directory.record(), round_directory.judged()
    assert record.warnings == []
    assert (record.ping.read.interface, len(record.ping.read.round_trips_ns)) == ("lo", 3)
    assert record.start_spread_ns >= 0
    assert set(record.watched) == {
        "sender.samples",
        "receiver.samples",
        "sender.capture",
        "receiver.capture",
    }
    assert record.watched["sender.capture"].whole["complete"]
    assert [(row.number, row.role) for row in judged.connections] == list(
        itertools.product(range(3), ("probe", "data"))
    )
    for row in judged.connections:
        assert (row.failure, row.received_bytes) == (None, row.size_bytes)
        assert row.transfer is not None, "it was found in the capture"
        assert row.segments > 0
        assert 0 < row.window_max_bytes <= row.window_clamp_bytes
    assert judged.flags == []
    for host in ("a", "b"):
        facts = json.loads((tmp_path / "out" / record.hosts[host]).read_text())
        assert facts["host"]["way"] == ("local" if host == "a" else " ".join(THROUGH_SHELL))
    assert not list(cache.glob("session-*")), "hosts are left as they were"


def test_a_host_that_dies_in_a_round_costs_that_round_and_comes_back(
    tmp_path: Path, cache: Path, judged_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed with its transport in the middle of its first round.

    Another pair continues meanwhile.
    """
    monkeypatch.setattr("trustbed.campaign.runner.runner.RETRY_SECONDS", 0.1)
    hosts = "".join(
        f'[hosts.{name}]\nlocal = true\nmeasure = "127.0.0.{number}"\n'
        for number, name in enumerate("acd", 1)
    )
    mark = tmp_path / "mark"
    cut = ["sh", "-c", f'echo $$ > {shlex.quote(str(mark))}; exec "$@"', "sh"]
    hosts += f'[hosts.b]\nmeasure = "127.0.0.9"\ncommand = {json.dumps(cut)}\n'
    study = study_of(
        tmp_path,
        "a-b",
        "c-d",
        hosts=hosts,
        count=60,
        period='"1500ms"',
        pings=10,
        ping_interval='"50ms"',
    )

    class Cuts(RoundListener):
        done = False
        came: ClassVar[set[str]] = set()

        def on_waiting(self, until_ns: int | None, running: int) -> None:
            if running and not self.done:
                self.done = True
                # The inventory's words precede every command: the last one that began there has
                # begun the session.
                begun = mark.read_text().strip()
                for pid in (
                    *Path(f"/proc/{begun}/task/{begun}/children").read_text().split(),
                    begun,
                ):
                    with contextlib.suppress(ProcessLookupError):  # a shell ends with its child
                        os.kill(int(pid), signal.SIGKILL)

        def on_ended(self, one: Round, record: RoundRecord) -> None:
            if self.done and record.outcome == "complete":
                self.came.add(one.pair.name)
            if self.came == {"a-b", "c-d"}:
                raise KeyboardInterrupt  # enough

    with pytest.raises(KeyboardInterrupt):
        carry_out(study, tmp_path / "out", Cuts())
    model = read_model(tmp_path / "out")
    one, other = measured(model, "a-b"), measured(model, "c-d")
    assert one.get("failed", 0) + one.get("partial", 0) >= 1, "the running round has failed"
    assert one["complete"] >= 1, "it came back"
    assert other["complete"] >= 1
    assert set(other) <= {"complete", "overrun", "missed", "interrupted"}, (
        "the other pair has lost no round to it"
    )
    assert any(
        isinstance(line, HostLine) and not line.up
        for line in CampaignDirectory(tmp_path / "out").journal.lines()
    )


def test_connections_to_an_unreachable_port_fail(
    tmp_path: Path, cache: Path, judged_here: None
) -> None:
    """The receiver listens where it is measured.

    This machine has no such address, which is the round's failure and no traceback.
    """
    hosts = '[hosts.a]\nlocal = true\n[hosts.b]\nlocal = true\nmeasure = "192.0.2.9"\n'
    model = carry_out(study_of(tmp_path, "a-b", hosts=hosts, count=1, pings=0), tmp_path / "out")
    assert measured(model, "a-b") == {"failed": 1}
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    assert "192.0.2.9" in round_directory.record().error.message


@pytest.mark.quiet
def test_over_ssh_the_results_are_the_same(
    tmp_path: Path, home: Path, serves: Serves, judged_here: None
) -> None:
    server = serves()
    near = '[hosts.a]\nlocal = true\nmeasure = "127.0.0.1"\n'
    hosts = (
        f'{near}[hosts.b]\nssh = "{server.address}"\nport = {server.port}\nmeasure = "127.0.0.2"\n'
    )
    model = carry_out(
        study_of(tmp_path, "a-b", "b-a", hosts=hosts, count=1, period='"8s"'), tmp_path / "out"
    )
    for pair in ("a-b", "b-a"):
        assert measured(model, pair) == {"complete": 1}
    assert {host.up for host in model.hosts} == {True}
    directories = list(CampaignDirectory(tmp_path / "out").rounds())
    for name in ("sender.pcapng", "receiver.pcapng"):
        assert all(
            (round_directory.path / name).stat().st_size > 1000 for round_directory in directories
        ), "captures are fetched"


LINKED = """
from pathlib import Path
from trustbed.campaign.api import measure
from trustbed.campaign.results import as_json, read_model
from trustbed.campaign.runner import CampaignDirectory
from trustbed.scenario import campaign

directory = Path(sys.argv[1])
planned = plan(PAIR)
described = [{"name": host.name, "addresses": list(host.addresses)} for host in PAIR]
queue = {"kind": "drop_tail", "limit_packets": 200}
link = {"rate_bits_per_second": 20_000_000, "delay_ns": 10_000_000, "queue": queue}
pipes = [
    {"name": "up", "from": "near", "to": "far", **link},
    {"name": "down", "from": "far", "to": "near", **link},
]
with Testbed(planned, purpose="a campaign") as testbed:
    network = {"hosts": described, "routers": [], "pipes": pipes}
    emulator = testbed.start_agent("emulate", planned.emulator(network, seed=1), where="net")
    emulator.begin()
    text = (directory / "study.toml").read_text()
    for host in PAIR:
        text = text.replace(f"@{host.name}@", str(testbed.namespace(host.name)))
    (directory / "made.toml").write_text(text)
    study = campaign.load(directory / "made.toml")
    measure(study, CampaignDirectory(directory / "out"), about={"version": "1"})
    emulator.stop()
print(json.dumps(as_json(read_model(directory / "out"))))
"""


@pytest.mark.quiet
def test_a_campaign_measures_the_throughput_of_an_emulated_link(
    machine: Machine, tmp_path: Path
) -> None:
    hosts = "".join(
        f'[hosts.{name}]\nnamespace = "@{name}@"\nmeasure = "10.77.0.{number}"\n'
        for number, name in enumerate(("near", "far"), 1)
    )
    table = '[{ probe = "64KiB", data = "1MiB" }]'
    windows = '{ probe = "16KiB", data = "64KiB" }'
    (tmp_path / "study.toml").write_text(
        text_of(
            "near-far",
            hosts=hosts,
            count=2,
            period='"5s"',
            table=table,
            windows=windows,
            pairs_at_once=1,
            arrangement='"sequential"',
            ping_interval='"200ms"',
            delay='{ probes = 20, mean_gap = "10ms" }',
        )
    )
    model = msgspec.convert(machine.python(LINKED, str(tmp_path)), CampaignModel)
    assert measured(model, "near-far") == {"complete": 2}
    (pair,) = model.pairs
    found = {one.role: one for one in pair.aggregates}
    for row in found.values():
        # The window and the link's round trip of 20 ms bound the throughput on any machine.
        assert row.rtt_mean >= 0.02
        # X₀ is of the pings, which take longer on a busy machine; the bound is the link's own.
        assert row.throughput_mean <= 1.1 * row.x0 * row.rtt_base_mean / 0.02
        assert not row.exceeds_window_bound
    delay = pair.path.delay
    assert (delay.rounds, delay.failed_rounds, delay.sent_probes, delay.lost_share) == (
        2,
        0,
        40,
        0,
    )
    assert pair.path.bandwidth == ()
    assert delay.round_trip_least_seconds >= 0.02
    for direction in (delay.forward, delay.backward):
        assert (direction.lost_share, direction.jitter_mean_seconds >= 0) == (0, True)
    assert found["data"].x0 > 2 * found["probe"].x0, "the larger window allows more"
    for round_directory in CampaignDirectory(tmp_path / "out").rounds():
        trips = round_directory.record().ping.read.round_trips_ns
        assert all(trip is None or trip >= 20_000_000 for trip in trips), trips
        assert round_directory.record().ping.whole["method"] == "icmp"
        assert round_directory.judged().clocks.frames > 0
        for row in round_directory.judged().connections:
            # Where the machine stood still for longer than the retransmission timer, the sender
            # repeated what had arrived.
            assert row.lost_between == 0, "both ends were captured"
            assert (row.needless > 0) == (row.retransmitted > 0)
            assert row.path_p50_seconds >= 0.02, "there and back"


TRANSLATED = r"""
set -e
# Two hosts behind one router, which translates the address of each: 10.1.0.2 is 192.0.2.1 to
# others, 10.2.0.2 is 192.0.2.2.
for name in near middle far; do ip netns add $name; ip -n $name link set lo up; done
for side in near:10.1.0 far:10.2.0; do
    host=${side%%:*} net=${side#*:}
    ip -n middle link add $host type veth peer name eth0 netns $host
    ip -n middle address add $net.1/24 dev $host
    ip -n middle link set $host up
    ip -n $host address add $net.2/24 dev eth0
    ip -n $host link set eth0 up
    ip -n $host route add default via $net.1
done
ip netns exec middle sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
for pair in 10.1.0.2:192.0.2.1 10.2.0.2:192.0.2.2; do
    ip netns exec middle iptables -t nat -A PREROUTING -d ${pair#*:} -j DNAT \
        --to-destination ${pair%%:*}
    ip netns exec middle iptables -t nat -A POSTROUTING -s ${pair%%:*} -j SNAT \
        --to-source ${pair#*:}
done
"""
MEASURED = """
from pathlib import Path
from trustbed.campaign.api import measure
from trustbed.campaign.results import as_json, read_model
from trustbed.campaign.runner import CampaignDirectory
from trustbed.scenario import campaign

directory = Path(sys.argv[1])
study = campaign.load(directory / "study.toml")
measure(study, CampaignDirectory(directory / "out"), about={"version": "1"})
print(json.dumps(as_json(read_model(directory / "out"))))
"""


def test_hosts_behind_a_translation_of_addresses_are_measured(
    machine: Machine, tmp_path: Path
) -> None:
    able = machine.run("iptables", "-t", "nat", "-S", check=False)
    if able.returncode != 0:
        pytest.skip(f"addresses cannot be translated here: {able.stderr.strip()}")
    machine.run("sh", "-c", TRANSLATED)
    hosts = "".join(
        (
            f'[hosts.{name}]\nnamespace = "{name}"\nmeasure = "192.0.2.{number}"\nprivate = '
            f'"10.{number}.0.2"\n'
        )
        for number, name in enumerate(("near", "far"), 1)
    )
    asked = {"delay": "{ probes = 20 }", "bandwidth": '{ pathchirp = "10s" }'}
    (tmp_path / "study.toml").write_text(
        text_of("near-far", hosts=hosts, count=1, period='"30s"', **asked)
    )
    model = msgspec.convert(machine.python(MEASURED, str(tmp_path)), CampaignModel)
    assert measured(model, "near-far") == {"complete": 1}
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    record = round_directory.record()
    assert record.warnings == []
    assert (
        record.delay.read.answered_probes,
        record.delay.whole["reflector"]["answered_packets"],
    ) == (20, 20)
    assert record.bandwidth["pathchirp"].read.chirps.sent > 0
    (estimate,) = model.pairs[0].path.bandwidth
    assert (estimate.estimator, estimate.rounds) == ("pathchirp", 1)
    assert {row["local"].rpartition(":")[0] for row in record.received.whole["connections"]} == {
        "10.2.0.2"
    }
    assert {row["peer"].rpartition(":")[0] for row in record.received.whole["connections"]} == {
        "192.0.2.1"
    }
    assert all(row.transfer for row in round_directory.judged().connections), (
        "found in the capture beside the sender"
    )
    assert (round_directory.path / "receiver.pcapng").stat().st_size > 10_000


def test_the_command_line_measures_and_reports_its_progress(
    tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from trustbed.cli import main

    study = study_of(tmp_path, "a-b", count=1)
    assert main(["pairs", str(study.file), "-o", str(tmp_path / "out"), "--no-color"]) == 0
    out, err = capfd.readouterr()
    assert "a-b  round 0" in err
    assert "1 complete" in out
    assert main(["status", str(tmp_path / "out")]) == 0
    assert (
        capfd.readouterr().out.replace("not at work", "at work").splitlines()[3:]
        == out.splitlines()[3:]
    )
    assert main(["status", str(tmp_path / "out"), "--json"]) == 0
    model = json.loads(capfd.readouterr().out)
    assert model["trustbed"]["version"]
    assert model["pairs"][0]["judged"] == 1
    assert main(["pairs", str(study.file), "-o", str(tmp_path / "out"), "-q"]) == 0, (
        "complete rounds are not repeated"
    )
    assert capfd.readouterr().out == ""
    assert len(list(CampaignDirectory(tmp_path / "out").rounds())) == 1
