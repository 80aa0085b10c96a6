"""Inventories.

The meaning of each key; invalid files are refused with file, line and key.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import refusals
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
    """A trustbed inventory."""
    (directory / "hosts.toml").write_text(text, encoding="utf-8")
    return load(directory / "hosts.toml")


def ansible(directory: Path, text: str) -> Inventory:
    """An Ansible inventory."""
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


def test_the_documented_inventory_is_read(tmp_path: Path) -> None:
    key = tmp_path / ".ssh" / "id_ed25519"
    gate = Jump(address="gate.example.net", user="alice", port=2222)
    found = toml(tmp_path, documented("toml"))
    assert found.known_hosts == tmp_path / "lab_known_hosts"
    assert found.hosts == (
        InventoryHost(
            name="alpha",
            transport=Ssh(
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
            transport=Ssh(address="beta", user="alice", keys=(key,), jumps=()),
            directory="/var/tmp",
            cloudwatch=CloudWatch(
                region="eu-west-1", instance="i-0123456789abcdef0", period_ns=60_000_000_000
            ),
        ),
        InventoryHost(
            name="web", transport=Prefix(("docker", "exec", "-i", "web")), directory="/var/tmp"
        ),
        InventoryHost(name="here", transport=Local(), directory="/var/tmp"),
        InventoryHost(
            name="near", transport=Namespace(Path("/run/netns/lab-near")), directory="/var/tmp"
        ),
    )
    assert found.groups == (("far", ("alpha", "beta")),)
    assert str(gate) == "alice@gate.example.net:2222"


def test_the_documented_ansible_inventory_is_read(tmp_path: Path) -> None:
    found = ansible(tmp_path, documented("yaml"))
    key = tmp_path / ".ssh" / "id_ed25519"
    gate = Jump(address="gate.example.net", user="alice", port=2222)
    hosts = {host.name: host for host in found.hosts}
    assert hosts["alpha"] == InventoryHost(
        name="alpha",
        transport=Ssh(
            address="alpha.example.net", user="alice", port=2022, keys=(key,), jumps=(gate,)
        ),
        measured=ipaddress.ip_address("203.0.113.5"),
        private=ipaddress.ip_address("10.1.0.5"),
        directory="/var/tmp",
        prometheus=Prometheus(
            url="http://monitor.example.net:9090", instance="alpha.example.net:9100"
        ),
    )
    assert hosts["alpha"].outside == (hosts["alpha"].prometheus,)
    assert hosts["beta"].transport == Ssh(address="beta", user="alice", keys=(key,), jumps=(gate,))
    assert hosts["here"] == InventoryHost(name="here", transport=Local())
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


def test_what_is_not_given_is_not_guessed(tmp_path: Path) -> None:
    (host,) = toml(tmp_path, "[hosts.alpha]\n").hosts
    assert host == InventoryHost(
        name="alpha", transport=Ssh(address="alpha", user=None, port=None, keys=(), jumps=None)
    )


WRONG = [
    ONE + 'usr = "alice"\n',
    ONE + "local = true\n",
    "[hosts.alpha]\nlocal = true\nport = 22\n",
    "[hosts.alpha]\nlocal = false\n",
    "[hosts.alpha]\ncommand = []\n",
    '[hosts.alpha]\ncommand = "docker \'exec"\n',
    '[hosts.alpha]\nnamespace = ""\n',
    '[hosts.alpha]\nssh = "-oProxyCommand=x"\n',
    '[hosts.alpha]\nssh = "alice@alpha"\n',
    ONE + 'user = "a b"\n',
    ONE + "port = 70000\n",
    ONE + 'keys = ["~/.ssh/none"]\n',
    ONE + 'keys = ["none"]\n',
    "[host.alpha]\n",
    ONE + "prometheus = { ulr = 'http://m:9090', instance = 'a' }\n",
    ONE + 'jump = "gate:port"\n',
    ONE + 'jump = "gate:0"\n',
    ONE + 'measure = "alpha.example.net"\n',
    ONE + 'measure = "0.0.0.0"\n',
    ONE + 'private = "10.0.0.5"\n',
    ONE + 'measure = "192.0.2.5"\nprivate = "ten"\n',
    ONE + 'directory = "tmp"\n',
    '[hosts."a/b"]\n',
    "[hosts.all]\n",
    ONE + '[groups]\nfar = ["alhpa"]\n',
    ONE + '[groups]\nalpha = ["alpha"]\n',
    'known_hosts = "none"\n' + ONE,
    "[defaults]\nmeasure = '10.0.0.1'\n" + ONE,
    "hosts = 1\n",
    ONE + "prometheus = 'http://m:9090'\n",
    ONE + "prometheus = { url = 'http://m:9090' }\n",
    ONE + "prometheus = { instance = 'a' }\n",
    ONE + "prometheus = { url = 'http://m', instance = ' ' }\n",
    ONE + "prometheus = { url = 'm:9090', instance = 'a' }\n",
    ONE + "prometheus = { url = 'ftp://m', instance = 'a' }\n",
    ONE + "prometheus = { url = 'http://m:99999', instance = 'a' }\n",
    ONE + "prometheus = { url = 'http://m/?x=1', instance = 'a' }\n",
    ONE + "prometheus = { url = 'http://me:x@m', instance = 'a' }\n",
    ONE + "[hosts.alpha.prometheus]\nurl = 'http://m'\ninstance = 'a'\nlabel = 1\n",
    ONE + "cloudwatch = { instance = 'i-01234567' }\n",
    ONE + "cloudwatch = { region = 'eu-west-1' }\n",
    ONE + AMAZON.format("'Europe'", "'i-01234567'", ""),
    ONE + AMAZON.format("'eu-west-1'", "'web'", ""),
    ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", period = '30s'"),
    ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", period = 60"),
    ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", endpoint = 'x'"),
    ONE + AMAZON.format("'eu-west-1'", "'i-01234567'", ", profile = '-x'"),
]


def test_a_wrong_inventory_is_refused_with_line_key_and_hint(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(lambda text: toml(tmp_path, text), WRONG, tmp_path) == snapshot


def test_invalid_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        toml(tmp_path, "[hosts.alpha\n")
    assert (caught.value.line, caught.value.key) == (1, "")


WRONG_ANSIBLE = [
    PLAIN + "      ansible_password: x\n",
    PLAIN + "      ansible_ssh_extra_args: -v\n",
    PLAIN + "      ansible_connection: docker\n",
    PLAIN + '      ansible_ssh_common_args: "-o StrictHostKeyChecking=no"\n',
    PLAIN + "      ansible_ssh_common_args: -J gate -v\n",
    PLAIN + '      ansible_host: "{{ address }}"\n',
    PLAIN + "      ansible_host: 7\n",
    PLAIN + "      ansible_port: ssh\n",
    PLAIN + "      ansible_host: !vault x\n",
    PLAIN + "      ansible_user: a\n      ansible_user: b\n",
    PLAIN + "      <<: *other\n",
    "all:\n  hosts:\n    web[01:50].example.net:\n",
    "all:\n  hosts: alpha\n",
    "all:\n  hots:\n    alpha:\n",
    "all:\n  hosts:\n    1:\n",
    "all:\n  hosts:\n",
    "a:\n  children:\n    b:\n      children:\n        a:\n      hosts:\n        h:\n",
    "a:\n  hosts:\n    h:\n  vars:\n    ansible_user: x\nb:\n  hosts:\n    h:\n  "
    "vars:\n    ansible_user: y\n",
    PLAIN + "      trustbed_prometheus: http://m\n",
    PLAIN + "      trustbed_prometheus:\n        url: m\n        instance: a\n",
    PLAIN + "      trustbed_cloudwatch:\n        region: eu-west-1\n",
    "all: [\n",
    "a: &a [*a]\n",
]


def test_a_wrong_inventory_of_ansible_is_refused_with_its_line_and_hint(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(lambda text: ansible(tmp_path, text), WRONG_ANSIBLE, tmp_path) == snapshot


def test_hosts_override_groups_and_deeper_groups_override_outer_ones(tmp_path: Path) -> None:
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
    transports = {host.name: host.transport for host in found.hosts}
    assert transports["alpha"] == Ssh(address="alpha", user="inner", port=2)
    assert transports["beta"] == Ssh(address="beta", user="itself", port=2)
    assert found.groups == (("outer", ("alpha", "beta")), ("inner", ("alpha", "beta")))
    assert found.ignored == (
        Ignored(line=3, key="http_port"),
        Ignored(line=11, key="ansible_become"),
    )


def test_conflicting_groups_do_not_matter_to_a_host_with_its_own_value(tmp_path: Path) -> None:
    groups = "".join(
        f"{name}:\n  vars: {{ansible_user: {name}}}\n  hosts:\n    h: {{ansible_user: mine}}\n"
        for name in ("a", "b")
    )
    (host,) = ansible(tmp_path, groups).hosts
    assert host.transport == Ssh(address="h", user="mine")


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
    assert isinstance(host.transport, Ssh)
    assert host.transport.jumps == jumps


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


@settings(max_examples=50)
@given(VALUES)
@example({"all": {"children": {"a": {"children": {"b": {"hosts": {"a": None}}}}, "b": None}}})
def test_any_value_in_an_inventory_is_read_or_refused(value: object) -> None:
    file = Path("hosts.yaml")
    with contextlib.suppress(ScenarioError):
        assert read_inventory(file, yaml.safe_dump(value)).hosts != ()


@given(st.text(alphabet="all:\n hosts-&*!|>[]{}'\"#%@\\,?\t\0é", max_size=60))
def test_any_inventory_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ScenarioError):
        assert read_inventory(Path("hosts.yaml"), text).hosts != ()


def test_a_file_of_another_format_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[web]\nalpha\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is neither TOML nor YAML") as caught:
        load(tmp_path / "hosts.ini")
    assert "ansible-inventory --list --yaml" in caught.value.hint
    with pytest.raises(ScenarioError, match="no such file") as caught:
        load(tmp_path / "hsots.toml")
    assert "an inventory" in caught.value.hint
