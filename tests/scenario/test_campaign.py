"""Campaign files.

What each key means; wrong files are refused with file, line and key.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import refusals
from trustbed.scenario import ScenarioError
from trustbed.scenario.campaign import CampaignFile, load
from trustbed.scenario.campaign_model import (
    PUBLISHED_WINDOWS,
    Campaign,
    Delay,
    HostPair,
    Index,
    Recording,
    Rounds,
    Wanted,
)
from trustbed.scenario.inventory import Ssh

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "campaign.md").read_text(encoding="utf-8")
HOSTS = "[hosts.alpha]\n[hosts.beta]\n"
PAIR = '[[pairs]]\nsender = "alpha"\nreceiver = "beta"\n'
LASTS = '[rounds]\nlasts = "24h"\n'
SMALL = HOSTS + PAIR + LASTS
SECOND = 10**9


def read(directory: Path, text: str) -> Campaign:
    return written(directory, text).campaign


def written(directory: Path, text: str) -> CampaignFile:
    (directory / "study.toml").write_text(text, encoding="utf-8")
    return load(directory / "study.toml")


def test_the_defaults_are_plain_bulk(tmp_path: Path) -> None:
    found = written(tmp_path, SMALL)
    campaign = found.campaign
    assert found.sha256 == hashlib.sha256(SMALL.encode()).hexdigest()
    assert (campaign.name, campaign.about, campaign.seed) == ("study", "", 1)
    assert campaign.pairs == (HostPair(name="alpha-beta", sender="alpha", receiver="beta"),)
    assert campaign.rounds == Rounds(
        count=288,
        period_ns=300 * SECOND,
        table="bulk",
        order="cyclic",
        arrangement="concurrent",
        pairs_at_once=3,
        probe_window_bytes=None,
        data_window_bytes=None,
        pings=10,
        ping_interval_ns=SECOND,
        ping="auto",
        limit_ns=300 * SECOND,
    )
    assert campaign.rounds.longest_ns == 310 * SECOND
    assert campaign.lasts_ns == 24 * 3600 * SECOND
    assert campaign.recording == Recording(capture=True, snap_bytes=128, disk_bytes=None)
    assert campaign.wanted == Wanted(level=0.95, half_width=0.05)


def test_the_documented_campaign_is_read(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text(HOSTS + "[hosts.idle]\n", encoding="utf-8")
    example = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert example is not None
    campaign = read(tmp_path, example.group(1))
    assert (campaign.name, campaign.seed) == ("four hosts, two weeks", 7)
    assert campaign.inventory.file == tmp_path / "hosts.toml"
    assert [host.name for host in campaign.hosts] == ["alpha", "beta"]
    assert campaign.pairs == (
        HostPair(name="alpha-beta", sender="alpha", receiver="beta"),
        HostPair(
            name="back", sender="beta", receiver="alpha", address=ipaddress.ip_address("10.2.0.4")
        ),
    )
    assert campaign.rounds == Rounds(
        count=14 * 288,
        table="ec2",
        order="random",
        probe_window_bytes=16 << 10,
        data_window_bytes=64 << 10,
    )
    assert campaign.recording.disk_bytes == 40 * 10**9
    assert campaign.wanted.half_width == 0.02


def test_hosts_can_be_written_into_the_campaign(tmp_path: Path) -> None:
    campaign = read(tmp_path, '[defaults]\nuser = "alice"\n' + SMALL + '[groups]\nfar = ["beta"]\n')
    assert [host.transport for host in campaign.hosts] == [
        Ssh(address=name, user="alice") for name in ("alpha", "beta")
    ]
    assert campaign.inventory.groups == (("far", ("beta",)),)


def test_a_custom_table_has_sizes_and_names(tmp_path: Path) -> None:
    table = """table = [
        { probe = "16KiB", data = "8MiB" },
        { name = "long", probe = "1500B", data = "1.5MiB" },
        { probe = "2kB", data = "1GiB" },
    ]
    """
    assert read(tmp_path, SMALL + table).rounds.table == (
        Index(name="1", probe_bytes=16 << 10, data_bytes=8 << 20),
        Index(name="long", probe_bytes=1500, data_bytes=3 << 19),
        Index(name="3", probe_bytes=2000, data_bytes=1 << 30),
    )


def test_sizes_are_those_of_scenarios(tmp_path: Path) -> None:
    windows = 'windows = { probe = "64kB", data = "64KiB" }\n'
    rounds = read(tmp_path, SMALL + windows).rounds
    assert (rounds.probe_window_bytes, rounds.data_window_bytes) == (64_000, 65_536)


def test_every_key_of_rounds_has_an_effect(tmp_path: Path) -> None:
    keys = """[rounds]
    count = 7
    period = "40s"
    order = "random"
    arrangement = "sequential"
    pairs_at_once = 1
    windows.probe = "64KiB"
    pings = 3
    ping_interval = "200ms"
    ping = "tcp"
    time_limit = "15s"
    delay.probes = 50
    bandwidth.pathload = "10s"
    bandwidth.long_packets = true
    """
    rounds = read(tmp_path, HOSTS + PAIR + keys).rounds
    assert rounds == Rounds(
        count=7,
        period_ns=40 * SECOND,
        order="random",
        arrangement="sequential",
        pairs_at_once=1,
        probe_window_bytes=65_536,
        pings=3,
        ping_interval_ns=SECOND // 5,
        ping="tcp",
        limit_ns=15 * SECOND,
        delay=Delay(probes=50, mean_gap_ns=SECOND // 50),
        bandwidth=(("pathload", 10 * SECOND),),
        long_packets=True,
    )
    assert rounds.pinging_ns == 600_000_000
    assert rounds.before_ns == 12_600_000_000, "probes take two seconds at most"
    assert rounds.longest_ns == 42_600_000_000
    assert (rounds.window_of("probe"), rounds.window_of("data")) == (65_536, None)


@pytest.mark.parametrize("table", ["planetlab", "ec2"])
def test_the_published_sizes_bring_their_windows(tmp_path: Path, table: str) -> None:
    rounds = read(tmp_path, SMALL + f'table = "{table}"\n').rounds
    assert (rounds.window_of("probe"), rounds.window_of("data")) == PUBLISHED_WINDOWS


def test_as_many_whole_periods_as_fit(tmp_path: Path) -> None:
    assert read(tmp_path, HOSTS + PAIR + '[rounds]\nlasts = "59min"\n').rounds.count == 11
    assert read(tmp_path, HOSTS + PAIR + '[rounds]\nlasts = "300s"\n').rounds.count == 1


WRONG = [
    PAIR + LASTS,
    HOSTS + LASTS,
    HOSTS + PAIR,
    HOSTS + PAIR + "[rounds]\n",
    'inventory = "none.toml"\n' + PAIR + LASTS,
    'inventory = "there.toml"\n' + SMALL,
    'inventory = "there.toml"\n[defaults]\nuser = "a"\n' + PAIR + LASTS,
    SMALL.replace('"beta"', '"betta"'),
    SMALL.replace('"beta"', '"alpha"'),
    SMALL.replace('sender = "alpha"\n', ""),
    SMALL.replace("sender", "sendr"),
    SMALL.replace("receiver", "reciever"),
    SMALL.replace("receiver", "source"),
    SMALL.replace("lasts", "last"),
    SMALL.replace("[rounds]", "[round]"),
    SMALL.replace("pairs", "pair"),
    'inventroy = "there.toml"\n' + PAIR + LASTS,
    SMALL.replace("[hosts.", "[host."),
    'inventory = "stud.toml"\n' + PAIR + LASTS,
    'inventory = "/none/hosts.toml"\n' + PAIR + LASTS,
    SMALL.replace('"24h"', "60"),
    SMALL.replace('"24h"', '"0s"'),
    HOSTS + PAIR + PAIR + LASTS,
    HOSTS + PAIR + 'name = "a/b"\n' + LASTS,
    HOSTS + PAIR + 'address = "beta.example"\n' + LASTS,
    HOSTS + PAIR + "port = 1\n" + LASTS,
    HOSTS + "[pairs]\n" + LASTS,
    SMALL + "count = 3\n",
    SMALL + 'period = "25h"\n',
    SMALL + 'period = "1us"\npings = 0\n',
    SMALL + 'period = "0s"\n',
    SMALL + 'table = "planet"\n',
    SMALL + "table = []\n",
    SMALL + 'table = [{ probe = "16KiB" }]\n',
    SMALL + 'table = [{ probe = "16KiB", data = "0B" }]\n',
    SMALL + 'table = [{ probe = "16Kb", data = "1B" }]\n',
    SMALL + 'table = [{ probe = "1B", data = "1B", size = 1 }]\n',
    SMALL
    + 'table = [\n{ name = "2", probe = "1B", data = "1B" },\n{ probe = "1B", data = "1B" }]\n',
    SMALL + 'table = [{ name = "a b", probe = "1B", data = "1B" }]\n',
    SMALL + 'order = "shuffled"\n',
    SMALL + 'windows = { probe = "2KiB" }\n',
    SMALL + 'windows = { dta = "64KiB" }\n',
    SMALL + "pings = 300\n",
    SMALL + 'period = "5s"\n',
    SMALL + 'delay.mean_gap = "1us"\n',
    SMALL + "delay.probes = 0\n",
    SMALL + "delay = { probe = 3 }\n",
    SMALL + "bandwidth = {}\n",
    SMALL + "bandwidth = { long_packets = true }\n",
    SMALL + 'bandwidth = { pathlod = "10s" }\n',
    SMALL + 'bandwidth = { pathchirp = "9s" }\n',
    SMALL + 'bandwidth = { pathload = "290s" }\n',
    SMALL + 'ping = "udp"\n',
    SMALL + "[recording]\ncapture = false\nsnap = 96\n",
    SMALL + '[recording]\ndisk = "1KiB"\n',
    SMALL + '[report]\nconfidence = "100%"\n',
    SMALL + "[report]\nhalf_width = 0\n",
    SMALL + "[workload.x]\n",
]


def test_a_wrong_campaign_is_refused_with_line_key_and_hint(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "there.toml").write_text(HOSTS, encoding="utf-8")
    assert refusals(lambda text: read(tmp_path, text), WRONG, tmp_path) == snapshot


def test_invalid_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(tmp_path, SMALL + "[more\n")
    assert (caught.value.line, caught.value.key) == (8, "")


def test_an_error_in_the_inventory_names_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text("[hosts.alpha]\nprot = 1\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="no such key, prot") as caught:
        read(tmp_path, 'inventory = "hosts.toml"\n' + PAIR + LASTS)
    assert caught.value.file == tmp_path / "hosts.toml"


def test_a_host_of_too_many_pairs_cannot_even_ping_all_of_them(tmp_path: Path) -> None:
    hosts = "".join(f"[hosts.h{number}]\n" for number in range(32))
    pairs = "".join(
        f'[[pairs]]\nsender = "h0"\nreceiver = "h{number}"\n' for number in range(1, 32)
    )
    with pytest.raises(
        ScenarioError,
        match=r"h0 is in 31 pairs, the pings of which take 310 s of a period of 300 s",
    ) as caught:
        read(tmp_path, hosts + pairs + LASTS)
    assert "a period of at least 310 s" in caught.value.hint
    assert len(read(tmp_path, hosts + pairs + LASTS + 'period = "310s"\n').pairs) == 31


def test_a_capture_is_not_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(b"\xd4\xc3\xb2\xa1\xff\xff")
    with pytest.raises(ScenarioError, match="not UTF-8 text") as caught:
        load(tmp_path / "a.pcap")
    assert "a capture to trustbed analyze" in caught.value.hint


@given(
    st.text(max_size=60),
    st.sampled_from(["rounds", "pairs", "report", "recording", "seed", "inventory", "hosts"]),
)
def test_any_file_is_read_or_refused_with_a_hint(
    tmp_path_factory: pytest.TempPathFactory, text: str, key: str
) -> None:
    directory = tmp_path_factory.mktemp("any")
    for attempt in (text, f"{key} = {text}\n" + SMALL, SMALL + text):
        assert read_or_refused(directory, attempt)


def read_or_refused(directory: Path, text: str) -> object:
    """The pairs of a campaign, or the hint of the error."""
    try:
        return read(directory, text).pairs
    except ScenarioError as error:
        return error.hint
