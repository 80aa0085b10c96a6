"""The hosts to measure between, and how each is reached.

A small TOML file, or an inventory written for Ansible.

This module opens no connection. A transport is SSH (OpenSSH's configuration decides whatever the
file leaves out), a command that runs others elsewhere (``docker exec -i web``), this machine, or a
network namespace of it. An entry that is not understood is an error with file, line and key, or is
listed in :attr:`Inventory.ignored`.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from trustbed.scenario.error import ScenarioError, nearest
from trustbed.scenario.metric_sources import (
    CloudWatch,
    Outside,
    Prometheus,
    read_cloudwatch,
    read_prometheus,
)
from trustbed.scenario.positions import Path as Key
from trustbed.scenario.positions import lines_of
from trustbed.scenario.table import Source, Table
from trustbed.scenario.text import Nature, read_text, read_toml

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

ALL = "all"
"""The group of all hosts."""
YAML_ENDINGS = (".yaml", ".yml")
NATURE = Nature(name="an inventory", endings=(".toml", *YAML_ENDINGS), otherwise="it names hosts")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_DESTINATION = re.compile(r"[A-Za-z0-9_:%][A-Za-z0-9._:%-]*")
_USER = re.compile(r"[^\s@:/\\'\"`$;&|<>-][^\s@:/\\'\"`$;&|<>]*")
_JUMP = re.compile(
    r"(?:(?P<user>[^@]+)@)?(?:\[(?P<bracketed>[^]]+)\]|(?P<address>[^:\[\]]+))"
    r"(?::(?P<port>[0-9]+))?"
)
_TRANSPORTS = ("ssh", "command", "local", "namespace")
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """A jump host. OpenSSH's configuration decides what is ``None``."""

    address: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        """As OpenSSH writes it."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        user = "" if self.user is None else f"{self.user}@"
        port = "" if self.port is None else f":{self.port}"
        return f"{user}{address}{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ssh:
    """A host that is reached by SSH.

    OpenSSH's configuration decides what is ``None`` or empty; no jump hosts at all are ``()``.
    """

    address: str
    user: str | None = None
    port: int | None = None
    keys: tuple[Path, ...] = ()
    jumps: tuple[Jump, ...] | None = None


@dataclass(frozen=True, slots=True)
class Prefix:
    """A host on which a command runs when these words precede it."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Local:
    """This machine."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A network namespace of this machine, by its file."""

    file: Path


Transport: TypeAlias = Ssh | Prefix | Local | Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryHost:
    """A host.

    ``measured`` is the address that experiments use, ``directory`` where files are copied to, if
    they were given.

    ``private`` is the host's own address if it differs: behind a one-to-one translation of
    addresses (NAT, RFC 3022). ``prometheus`` and ``cloudwatch`` describe other sources of metrics
    about the host.
    """

    name: str
    transport: Transport
    measured: Address | None = None
    private: Address | None = None
    directory: str | None = None
    prometheus: Prometheus | None = None
    cloudwatch: CloudWatch | None = None

    @property
    def outside(self) -> tuple[Outside, ...]:
        """Sources of metrics outside the host."""
        return tuple(one for one in (self.prometheus, self.cloudwatch) if one is not None)


def transport_of(described: InventoryHost) -> str:
    """How trustbed reaches it, in a line."""
    match described.transport:
        case Ssh(address=address, user=user, port=port, jumps=jumps):
            through = "".join(f" through {jump}" for jump in jumps or ())
            login = address if user is None else f"{user}@{address}"
            return f"ssh {login}{'' if port is None else f' port {port}'}{through}"
        case Prefix(words=words):
            return " ".join(words)
        case Namespace(file=file):
            return f"namespace {file}"
        case Local():
            return "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """An entry of a file that trustbed does not use."""

    line: int | None
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Hosts in the order of their file, and groups of them by name.

    ``known_hosts`` replaces OpenSSH's files, if it is given.
    """

    file: Path
    hosts: tuple[InventoryHost, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    known_hosts: Path | None = None
    ignored: tuple[Ignored, ...] = ()

    def select(self, names: Sequence[str]) -> tuple[InventoryHost, ...]:
        """The hosts that are named, themselves or by a group, each once, in the order of the file.

        Raises:
            ScenarioError: There is no host and no group of such a name.
        """
        groups = {ALL: tuple(host.name for host in self.hosts), **dict(self.groups)}
        known = groups | {host.name: (host.name,) for host in self.hosts}
        for name in names:
            if name not in known:
                raise ScenarioError(
                    f"no host and no group named {name}", nearest(name, known), file=self.file
                )
        wanted = {host for name in names for host in known[name]}
        return tuple(host for host in self.hosts if host.name in wanted)


def load(path: Path) -> Inventory:
    """Reads an inventory.

    Raises:
        ScenarioError: It is invalid; the message names the position and what to write instead.
    """
    if path.suffix in YAML_ENDINGS:
        from trustbed.scenario.ansible import read_inventory

        return read_inventory(path, read_text(path, NATURE))
    if path.suffix != ".toml":
        hint = (
            f"{NATURE.hint}; Ansible writes any of its own as YAML: ansible-inventory --list "
            f"--yaml --inventory {path} --output hosts.yaml"
        )
        raise ScenarioError(f"is neither TOML nor YAML, {path}", hint)
    text = read_text(path, NATURE)
    values = read_toml(path, text, NATURE)
    root = Table(Source(path, lines_of(text)), (), values)
    found = described(root)
    root.close()
    return found


def described(root: Table) -> Inventory:
    """The inventory that the keys of a table describe: a file's own, or one inside another file.

    Other keys are left to the caller.
    """
    hosts = _hosts(root)
    known_hosts = root.file("known_hosts")
    return Inventory(
        file=root.source.file, hosts=hosts, groups=_groups(root, hosts), known_hosts=known_hosts
    )


# Shared by the two kinds of inventory.


class Checks:
    """Checks of an inventory's values, with the position of each for error messages."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def name(self, key: Key, name: str) -> str:
        """A name that is also valid as a file name."""
        if _NAME.fullmatch(name) is None or name == ALL:
            hint = (
                "up to 64 letters, digits, dots, dashes and underscores; the address goes into a "
                "key of its own"
            )
            raise self.source.error(
                key, f"{name!r} is not a valid name for a host or a group", hint
            )
        return name

    def destination(self, key: Key, text: str) -> str:
        """A name or an address that SSH connects to."""
        if _DESTINATION.fullmatch(text) is None:
            hint = "write a host's name or address; user and port have keys of their own"
            raise self.source.error(key, f"{text!r} is not a name or address of a host", hint)
        return text

    def user(self, key: Key, text: str) -> str:
        """A user's name."""
        if _USER.fullmatch(text) is None:
            raise self.source.error(
                key, f"{text!r} is not a user name", "write the name that you log in with"
            )
        return text

    def port(self, key: Key, number: int) -> int:
        """A port."""
        if not 1 <= number <= _LAST_PORT:
            raise self.source.error(
                key, f"{number} is not a port", f"give a whole number from 1 to {_LAST_PORT}"
            )
        return number

    def jump(self, key: Key, text: str) -> Jump:
        """A jump host, as OpenSSH writes it."""
        found = _JUMP.fullmatch(text.strip())
        if found is None:
            raise self.source.error(
                key,
                f"{text!r} is not a jump host",
                "write user@host:port; user and port are optional",
            )
        return Jump(
            address=self.destination(key, found["bracketed"] or found["address"]),
            user=None if found["user"] is None else self.user(key, found["user"]),
            port=None if found["port"] is None else self.port(key, int(found["port"])),
        )

    def measured(self, key: Key, text: str) -> Address:
        """An address that data ports can be bound to."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            hint = (
                "write the host's own address on the network that is measured, for example 10.1.0.5"
            )
            raise self.source.error(key, f"{text!r} is not an IP address", hint) from None
        if address.is_unspecified or address.is_multicast:
            raise self.source.error(
                key,
                f"{text} is not the address of a host",
                "write the one on the network that is measured",
            )
        return address

    def key_file(self, key: Key, name: str) -> Path:
        """A private key that exists."""
        path = self.source.file.parent / Path(name).expanduser()
        try:
            there = path.is_file()
        except OSError:
            there = False
        if not there:
            raise self.source.error(
                key, f"no such file, {path}", self.source.hint_of_files(Path(name).expanduser())
            )
        return path

    def directory(self, key: Key, text: str) -> str:
        """A directory on the host, absolute or below the user's home."""
        if not text.startswith(("/", "~/")) or "\n" in text:
            raise self.source.error(
                key,
                f"{text!r} is not a directory on a host",
                "begin with / or ~/, for example /var/tmp",
            )
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Defaults:
    """Values for hosts that do not give their own."""

    user: str | None = None
    port: int | None = None
    keys: tuple[Path, ...] = ()
    jumps: tuple[Jump, ...] | None = None
    directory: str | None = None


# TOML.


def _hosts(root: Table) -> tuple[InventoryHost, ...]:
    checks = Checks(root.source)
    table = root.table("defaults")
    defaults = _Defaults() if table is None else _options(table, checks, _Defaults())
    if table is not None:
        table.close()
    tables = root.tables("hosts")
    if not tables:
        raise root.missing(
            ("hosts",), "there is no host", '[hosts.alpha] and below it: ssh = "alpha.example.net"'
        )
    hosts = []
    for name, host in tables.items():
        checks.name(host.path, name)
        options = _options(host, checks, defaults)
        measured, private = host.text("measure", None), host.text("private", None)
        if private is not None and measured is None:
            hint = 'write it: measure = "203.0.113.5", which others connect to'
            raise host.error("private", "the public address is missing", hint)
        prometheus, cloudwatch = host.table("prometheus"), host.table("cloudwatch")
        hosts.append(
            InventoryHost(
                name=name,
                transport=_transport(name, host, options, checks),
                measured=None
                if measured is None
                else checks.measured((*host.path, "measure"), measured),
                private=None
                if private is None
                else checks.measured((*host.path, "private"), private),
                directory=options.directory,
                prometheus=None if prometheus is None else read_prometheus(prometheus),
                cloudwatch=None if cloudwatch is None else read_cloudwatch(cloudwatch),
            )
        )
        host.close()
    return tuple(hosts)


def _options(table: Table, checks: Checks, otherwise: _Defaults) -> _Defaults:
    user, directory = table.text("user", None), table.text("directory", None)
    port = table.whole("port", None, least=1, most=_LAST_PORT)
    keys = tuple(checks.key_file((*table.path, "keys"), name) for name in table.texts("keys"))
    jumps = (
        tuple(checks.jump((*table.path, "jump"), text) for text in table.texts("jump"))
        if "jump" in table
        else otherwise.jumps
    )
    return _Defaults(
        user=otherwise.user if user is None else checks.user((*table.path, "user"), user),
        port=otherwise.port if port is None else port,
        keys=keys if "keys" in table else otherwise.keys,
        jumps=jumps,
        directory=otherwise.directory
        if directory is None
        else checks.directory((*table.path, "directory"), directory),
    )


def _transport(name: str, table: Table, options: _Defaults, checks: Checks) -> Transport:
    given = [key for key in _TRANSPORTS if key in table]
    if len(given) > 1:
        raise table.error(
            given[1],
            f"{name} has {given[0]} as well",
            "a host has one transport; leave the others out",
        )
    if given not in ([], ["ssh"]):
        wrong = next((key for key in ("user", "port", "keys", "jump") if key in table), None)
        if wrong is not None:
            raise table.error(
                wrong, f"belongs to SSH, and {name} is reached by {given[0]}", "leave it out"
            )
    if given == ["command"]:
        return Prefix(_words(table))
    if given == ["local"]:
        if not table.flag("local", True):
            raise table.error("local", "has no effect when it is false", "leave it out")
        return Local()
    if given == ["namespace"]:
        return Namespace(_namespace(table))
    address = checks.destination((*table.path, "ssh"), table.text("ssh", name))
    return Ssh(
        address=address,
        user=options.user,
        port=options.port,
        keys=options.keys,
        jumps=options.jumps,
    )


def _words(table: Table) -> tuple[str, ...]:
    value = table.raw("command")
    try:
        words = tuple(shlex.split(value)) if isinstance(value, str) else table.texts("command")
    except ValueError as error:
        raise table.error(
            "command",
            f"cannot be split into words: {error}",
            'write a list: ["docker", "exec", "-i", "web"]',
        ) from None
    if not words or not all(words):
        raise table.error(
            "command", "is empty", 'for example: command = ["docker", "exec", "-i", "web"]'
        )
    return words


def _namespace(table: Table) -> Path:
    text: str = table.text("namespace", "")
    if not text:
        raise table.error("namespace", "is empty", "`ip netns` lists those that exist")
    return Path(text) if "/" in text else Path("/run/netns", text)


def _groups(root: Table, hosts: Sequence[InventoryHost]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = root.table("groups")
    if table is None:
        return ()
    names = [host.name for host in hosts]
    found = []
    for group in table:
        Checks(root.source).name((*table.path, group), group)
        if group in names:
            raise table.error(group, f"{group} is a host", "give the group another name")
        members = table.texts(group)
        for member in members:
            if member not in names:
                raise table.error(group, f"no host named {member}", nearest(member, names))
        found.append((group, members))
    table.close()
    return tuple(found)
