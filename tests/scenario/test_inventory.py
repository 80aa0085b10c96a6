"""Inventories.

What each key means, and what is said when something is wrong, with file, line and key.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from trustbed.scenario import ScenarioError
from trustbed.scenario.ansible import read_inventory
from trustbed.scenario.inventory import (
    Ignored,
    Inventory,
    InventoryHost,
    Jump,
    Local,
    Namespace,
    Prefix,
    Ssh,
    load,
)
from trustbed.scenario.metric_sources import CloudWatch, Prometheus

ROOT = Path(__file__).resolve().parents[2]
ONE = '[hosts.alpha]\nssh = "alpha.example.net"\n'
AMAZON = "cloudwatch = {{ region = {}, instance = {}{} }}\n"
PLAIN = "all:\n  hosts:\n    alpha:\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a key."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").touch()
    (tmp_path / "lab_known_hosts").touch()
    return tmp_path


def toml(directory: Path, text: str) -> Inventory:
    """An inventory of our own."""
    (directory / "hosts.toml").write_text(text, encoding="utf-8")
    return load(directory / "hosts.toml")


def ansible(directory: Path, text: str) -> Inventory:
    """An inventory of Ansible's."""
    (directory / "hosts.yml").write_text(text, encoding="utf-8")
    return load(directory / "hosts.yml")


def documented(language: str) -> str:
    """The example of the documentation."""
    found = re.search(
        rf"^```{language}\n(.*?)^```",
        (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None
    return found.group(1)


def test_the_documented_inventory_means_what_it_says(tmp_path: Path) -> None:
    key = tmp_path / ".ssh" / "id_ed25519"
    gate = Jump(address="gate.example.net", user="alice", port=2222)
    found = toml(tmp_path, documented("toml"))
    assert found.known_hosts == tmp_path / "lab_known_hosts"
    assert found.hosts == (
        InventoryHost(
            name="alpha",
            way=Ssh(
                address="alpha.example.net", user="alice", port=2022, keys=(key,), jumps=(gate,)
            ),
            measured=ipaddress.ip_address("203.0.113.5"),
            private=ipaddress.ip_address("10.1.0.5"),
            directory="/var/tmp",
            prometheus=Prometheus(
                url="http://monitor.example.net:9090", instance="alpha.example.net:9100"
            ),
        ),
        InventoryHost(
            name="beta",
            way=Ssh(address="beta", user="alice", keys=(key,), jumps=()),
            directory="/var/tmp",
            cloudwatch=CloudWatch(
                region="eu-west-1", instance="i-0123456789abcdef0", period_ns=60_000_000_000
            ),
        ),
        InventoryHost(
            name="web", way=Prefix(("docker", "exec", "-i", "web")), directory="/var/tmp"
        ),
        InventoryHost(name="here", way=Local(), directory="/var/tmp"),
        InventoryHost(
            name="near", way=Namespace(Path("/run/netns/lab-near")), directory="/var/tmp"
        ),
    )
    assert found.groups == (("far", ("alpha", "beta")),)
    assert str(gate) == "alice@gate.example.net:2222"


def test_the_documented_inventory_of_ansible_means_what_it_says(tmp_path: Path) -> None:
    found = ansible(tmp_path, documented("yaml"))
    key = tmp_path / ".ssh" / "id_ed25519"
    gate = Jump(address="gate.example.net", user="alice", port=2222)
    hosts = {host.name: host for host in found.hosts}
    assert hosts["alpha"] == InventoryHost(
        name="alpha",
        way=Ssh(address="alpha.example.net", user="alice", port=2022, keys=(key,), jumps=(gate,)),
        measured=ipaddress.ip_address("203.0.113.5"),
        private=ipaddress.ip_address("10.1.0.5"),
        directory="/var/tmp",
        prometheus=Prometheus(
            url="http://monitor.example.net:9090", instance="alpha.example.net:9100"
        ),
    )
    assert hosts["alpha"].outside == (hosts["alpha"].prometheus,)
    assert hosts["beta"].way == Ssh(address="beta", user="alice", keys=(key,), jumps=(gate,))
    assert hosts["here"] == InventoryHost(name="here", way=Local())
    assert found.groups == (("far", ("alpha", "beta")),)
    assert found.ignored == ()


def test_hosts_are_chosen_by_name_and_by_group(tmp_path: Path) -> None:
    found = toml(tmp_path, documented("toml"))
    assert [host.name for host in found.select(["here", "far", "alpha"])] == [
        "alpha",
        "beta",
        "here",
    ]
    assert found.select(["all"]) == found.hosts
    with pytest.raises(ScenarioError, match="no host and no group named betta") as caught:
        found.select(["betta"])
    assert caught.value.hint == "did you mean beta?"


def test_what_is_not_said_is_not_guessed(tmp_path: Path) -> None:
    (host,) = toml(tmp_path, "[hosts.alpha]\n").hosts
    assert host == InventoryHost(
        name="alpha", way=Ssh(address="alpha", user=None, port=None, keys=(), jumps=None)
    )


# (text, the line that must be named, key, message, hint)
WRONG = [
    (ONE + 'usr = "alice"\n', 3, "hosts.alpha.usr", "no such key", "did you mean user?"),
    (ONE + "local = true\n", 3, "hosts.alpha.local", "alpha has ssh too", "one way"),
    (
        "[hosts.alpha]\nlocal = true\nport = 22\n",
        3,
        "hosts.alpha.port",
        "belongs to SSH",
        "leave it out",
    ),
    ("[hosts.alpha]\nlocal = false\n", 2, "hosts.alpha.local", "says nothing", "leave it out"),
    ("[hosts.alpha]\ncommand = []\n", 2, "hosts.alpha.command", "is empty", "docker"),
    (
        '[hosts.alpha]\ncommand = "docker \'exec"\n',
        2,
        "hosts.alpha.command",
        "cannot be cut into words",
        "a list",
    ),
    ('[hosts.alpha]\nnamespace = ""\n', 2, "hosts.alpha.namespace", "is empty", "ip netns"),
    (
        '[hosts.alpha]\nssh = "-oProxyCommand=x"\n',
        2,
        "hosts.alpha.ssh",
        "is no name or address",
        "user and port",
    ),
    (
        '[hosts.alpha]\nssh = "alice@alpha"\n',
        2,
        "hosts.alpha.ssh",
        "is no name or address",
        "keys of their own",
    ),
    (ONE + 'user = "a b"\n', 3, "hosts.alpha.user", "is no name of a user", "log in"),
    (ONE + "port = 70000\n", 3, "hosts.alpha.port", "outside 1 to 65535", "whole number"),
    (
        ONE + 'keys = ["~/.ssh/none"]\n',
        3,
        "hosts.alpha.keys",
        "no such file",
        "name a file that is there",
    ),
    (ONE + 'keys = ["none"]\n', 3, "hosts.alpha.keys", "no such file", "relative to"),
    ("[host.alpha]\n", 1, "host", "no such key, host", "did you mean hosts?"),
    (
        ONE + "prometheus = { ulr = 'http://m:9090', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.ulr",
        "no such key",
        "mean url?",
    ),
    (
        ONE + 'jump = "gate:port"\n',
        3,
        "hosts.alpha.jump",
        "is no host to jump through",
        "user@host:port",
    ),
    (ONE + 'jump = "gate:0"\n', 3, "hosts.alpha.jump", "0 is no port", "from 1"),
    (
        ONE + 'measure = "alpha.example.net"\n',
        3,
        "hosts.alpha.measure",
        "is no IP address",
        "10.1.0.5",
    ),
    (
        ONE + 'measure = "0.0.0.0"\n',
        3,
        "hosts.alpha.measure",
        "is no address of a host",
        "measured",
    ),
    (
        ONE + 'private = "10.0.0.5"\n',
        3,
        "hosts.alpha.private",
        "stands for it outside is missing",
        "measure = ",
    ),
    (
        ONE + 'measure = "192.0.2.5"\nprivate = "ten"\n',
        4,
        "hosts.alpha.private",
        "is no IP address",
        "10.1.0.5",
    ),
    (ONE + 'directory = "tmp"\n', 3, "hosts.alpha.directory", "is no directory", "begin with /"),
    ('[hosts."a/b"]\n', 1, "hosts.a/b", "is no name for a host", "letters"),
    ("[hosts.all]\n", 1, "hosts.all", "is no name for a host", "letters"),
    (
        ONE + '[groups]\nfar = ["alhpa"]\n',
        4,
        "groups.far",
        "no host named alhpa",
        "did you mean alpha?",
    ),
    (ONE + '[groups]\nalpha = ["alpha"]\n', 4, "groups.alpha", "alpha is a host", "another name"),
    ('known_hosts = "none"\n' + ONE, 1, "known_hosts", "no such file", "relative to"),
    ("[defaults]\nmeasure = '10.0.0.1'\n" + ONE, 2, "defaults.measure", "no such key", ""),
    ("hosts = 1\n", 1, "hosts", "must be a table", "[hosts]"),
    (
        ONE + "prometheus = 'http://m:9090'\n",
        3,
        "hosts.alpha.prometheus",
        "must be a table",
        "[hosts.alpha.prometheus]",
    ),
    (
        ONE + "prometheus = { url = 'http://m:9090' }\n",
        3,
        "hosts.alpha.prometheus",
        "lacks instance",
        ":9100",
    ),
    (
        ONE + "prometheus = { instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus",
        "lacks url",
        "http://",
    ),
    (
        ONE + "prometheus = { url = 'http://m', instance = ' ' }\n",
        3,
        "hosts.alpha.prometheus.instance",
        "is no label",
        "Targets",
    ),
    (
        ONE + "prometheus = { url = 'm:9090', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.url",
        "is no URL of a server",
        "http://",
    ),
    (
        ONE + "prometheus = { url = 'ftp://m', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.url",
        "is no URL of a server",
        "http://",
    ),
    (
        ONE + "prometheus = { url = 'http://m:99999', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.url",
        "is no URL",
        "http://",
    ),
    (
        ONE + "prometheus = { url = 'http://m/?x=1', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.url",
        "behind its path",
        "http://",
    ),
    (
        ONE + "prometheus = { url = 'http://me:x@m', instance = 'a' }\n",
        3,
        "hosts.alpha.prometheus.url",
        "written down",
        "leave it out",
    ),
    (
        ONE + "[hosts.alpha.prometheus]\nurl = 'http://m'\ninstance = 'a'\nlabel = 1\n",
        6,
        "hosts.alpha.prometheus.label",
        "no such key",
        "",
    ),
    (
        ONE + "cloudwatch = { instance = 'i-01234567' }\n",
        3,
        "hosts.alpha.cloudwatch",
        "lacks region",
        "eu-west-1",
    ),
    (
        ONE + "cloudwatch = { region = 'eu-west-1' }\n",
        3,
        "hosts.alpha.cloudwatch",
        "lacks instance",
        "i-0",
    ),
    (
        ONE + AMAZON.format("'Europe'", "'i-01234567'", ""),
        3,
        "hosts.alpha.cloudwatch.region",
        "is not a region",
        "eu-west-1",
    ),
    (
        ONE + AMAZON.format("'eu-west-1'", "'web'", ""),
        3,
        "hosts.alpha.cloudwatch.instance",
        "is not a machine's number",
        "i-0",
    ),
    (
        ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", period = '30s'"),
        3,
        "hosts.alpha.cloudwatch.period",
        "no period",
        "60s",
    ),
    (
        ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", period = 60"),
        3,
        "hosts.alpha.cloudwatch.period",
        "lacks a unit",
        "quotes",
    ),
    (
        ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", endpoint = 'x'"),
        3,
        "hosts.alpha.cloudwatch.endpoint",
        "is no URL",
        "http://",
    ),
    (
        ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", profile = '-x'"),
        3,
        "hosts.alpha.cloudwatch.profile",
        "not a profile",
        "aws",
    ),
    ("[hosts.alpha\n", 1, "", "expected", "is TOML"),
]


@pytest.mark.parametrize(("text", "line", "key", "message", "hint"), WRONG)
def test_what_is_wrong_is_said_with_its_line_and_key(
    tmp_path: Path, text: str, line: int, key: str, message: str, hint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        toml(tmp_path, text)
    error = caught.value
    assert (error.file, error.line, error.key) == (tmp_path / "hosts.toml", line, key)
    assert message.lower() in error.message.lower()
    assert hint in error.hint


WRONG_ANSIBLE = [
    (PLAIN + "      ansible_password: x\n", 4, "ansible_password is not read", "by a key"),
    (
        PLAIN + "      ansible_ssh_extra_args: -v\n",
        4,
        "changes how the host is reached",
        "~/.ssh/config",
    ),
    (
        PLAIN + "      ansible_connection: docker\n",
        4,
        "a connection by docker is not made",
        "command =",
    ),
    (
        PLAIN + '      ansible_ssh_common_args: "-o StrictHostKeyChecking=no"\n',
        4,
        "only ProxyJump",
        "~/.ssh/config",
    ),
    (PLAIN + "      ansible_ssh_common_args: -J gate -v\n", 4, "only ProxyJump", "~/.ssh/config"),
    (
        PLAIN + '      ansible_host: "{{ address }}"\n',
        4,
        "templates are not filled in",
        "ansible-inventory",
    ),
    (PLAIN + "      ansible_host: 7\n", 4, "must be a text", ""),
    (PLAIN + "      ansible_port: ssh\n", 4, "must be a whole number", "22"),
    (PLAIN + "      ansible_host: !vault x\n", 4, "the tag !vault is not read", "the value itself"),
    (
        PLAIN + "      ansible_user: a\n      ansible_user: b\n",
        5,
        "ansible_user stands here twice",
        "leave one",
    ),
    (PLAIN + "      <<: *other\n", 4, "undefined alias", "indentation"),
    ("all:\n  hosts:\n    web[01:50].example.net:\n", 3, "ranges of hosts", "every host"),
    ("all:\n  hosts: alpha\n", 2, "must be names with a colon", "one name"),
    ("all:\n  hots:\n    alpha:\n", 2, "no such part of a group", "did you mean hosts?"),
    ("all:\n  hosts:\n    1:\n", 3, "is no text", "in quotes"),
    ("all:\n  hosts:\n", None, "there is no host", "hosts:"),
    (
        "a:\n  children:\n    b:\n      children:\n        a:\n      hosts:\n        h:\n",
        3,
        "is a group within itself",
        "take it out",
    ),
    (
        (
            "a:\n  hosts:\n    h:\n  vars:\n    ansible_user: x\nb:\n  hosts:\n    h:\n  "
            "vars:\n    ansible_user: y\n"
        ),
        10,
        "h is in a too, where ansible_user is 'x'",
        "own variables",
    ),
    (PLAIN + "      trustbed_prometheus: http://m\n", 4, "must be a table", "keys below"),
    (
        PLAIN + "      trustbed_prometheus:\n        url: m\n        instance: a\n",
        5,
        "is no URL of a server",
        "http://",
    ),
    (PLAIN + "      trustbed_cloudwatch:\n        region: eu-west-1\n", 4, "lacks instance", "i-0"),
    ("all: [\n", 2, "expected the node content", "indentation"),
    ("a: &a [*a]\n", 1, "holds more than an inventory does", "aliases"),
]


@pytest.mark.parametrize(("text", "line", "message", "hint"), WRONG_ANSIBLE)
def test_what_is_wrong_with_an_inventory_of_ansible_is_said_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str, hint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        ansible(tmp_path, text)
    assert (caught.value.file, caught.value.line) == (tmp_path / "hosts.yml", line)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_hosts_win_over_groups_and_deep_groups_over_those_around_them(tmp_path: Path) -> None:
    found = ansible(
        tmp_path,
        """
        all:
          vars: {ansible_user: everybody, ansible_port: 1, http_port: 80}
          children:
            outer:
              vars: {ansible_user: outer, ansible_port: 2}
              children:
                inner:
                  vars: {ansible_user: inner}
                  hosts:
                    alpha: {ansible_become: true}
                    beta: {ansible_user: itself}
        """,
    )
    ways = {host.name: host.way for host in found.hosts}
    assert ways["alpha"] == Ssh(address="alpha", user="inner", port=2)
    assert ways["beta"] == Ssh(address="beta", user="itself", port=2)
    assert found.groups == (("outer", ("alpha", "beta")), ("inner", ("alpha", "beta")))
    assert found.ignored == (
        Ignored(line=3, key="http_port"),
        Ignored(line=11, key="ansible_become"),
    )


def test_groups_that_differ_do_not_matter_to_a_host_that_says_it_itself(tmp_path: Path) -> None:
    groups = "".join(
        f"{name}:\n  vars: {{ansible_user: {name}}}\n  hosts:\n    h: {{ansible_user: mine}}\n"
        for name in ("a", "b")
    )
    (host,) = ansible(tmp_path, groups).hosts
    assert host.way == Ssh(address="h", user="mine")


@pytest.mark.parametrize(
    ("text", "jumps"),
    [
        ("-J gate", (Jump(address="gate"),)),
        ("-J 'a@[fd00::1]:2,b'", (Jump(address="fd00::1", user="a", port=2), Jump(address="b"))),
        ("-oProxyJump=gate", (Jump(address="gate"),)),
        ("-o 'proxyjump gate'", (Jump(address="gate"),)),
        ("-o ProxyJump=none", ()),
        (" ", None),
    ],
)
def test_jump_hosts_are_read_as_ssh_takes_them(
    tmp_path: Path, text: str, jumps: tuple[Jump, ...] | None
) -> None:
    (host,) = ansible(tmp_path, f'{PLAIN}      ansible_ssh_common_args: "{text}"\n').hosts
    assert isinstance(host.way, Ssh)
    assert host.way.jumps == jumps


NAMES = st.sampled_from(
    [
        "all",
        "a",
        "b",
        "hosts",
        "children",
        "vars",
        "ansible_host",
        "ansible_port",
        "trustbed_measure",
        "x y",
        "",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["local", "10.0.0.1", "-J a@b:1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
@example({"all": {"children": {"a": {"children": {"b": {"hosts": {"a": None}}}}, "b": None}}})
def test_whatever_stands_in_an_inventory_is_read_or_refused_in_words(value: object) -> None:
    file = Path("hosts.yaml")
    with contextlib.suppress(ScenarioError):
        assert read_inventory(file, yaml.safe_dump(value)).hosts != ()


@given(st.text(alphabet="all:\n hosts-&*!|>[]{}'\"#%@\\,?\t\0é", max_size=60))
def test_whatever_text_an_inventory_is_it_is_read_or_refused_in_words(text: str) -> None:
    with contextlib.suppress(ScenarioError):
        read_inventory(Path("hosts.yaml"), text)


def test_a_file_of_another_kind_is_refused_with_the_way_to_make_it_one(tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[web]\nalpha\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is neither TOML nor YAML") as caught:
        load(tmp_path / "hosts.ini")
    assert "ansible-inventory --list --yaml" in caught.value.hint
    with pytest.raises(ScenarioError, match="no such file") as caught:
        load(tmp_path / "hsots.toml")
    assert "an inventory" in caught.value.hint
