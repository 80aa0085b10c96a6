"""Reads hosts from an Ansible inventory, as YAML: the part that describes how a host is reached.

It reads groups with their hosts, children and vars, and of the variables ``ansible_host``,
``ansible_port``, ``ansible_user``, ``ansible_ssh_private_key_file``, ``ansible_connection``
(``ssh`` or ``local``), ``ansible_ssh_common_args`` as far as it names jump hosts, and trustbed's
own ``trustbed_…``. A host's own variables override a group's, and a deeper group's those above it;
where Ansible would decide between groups of one depth by their names, conflicting values are an
error. Other variables that change how a host is reached are errors, too; everything else is listed
as ignored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.scenario.error import ScenarioError, nearest
from trustbed.scenario.inventory import (
    ALL,
    Checks,
    Ignored,
    Inventory,
    InventoryHost,
    Jump,
    Local,
    Ssh,
    Transport,
)
from trustbed.scenario.metric_sources import SOURCES, read_cloudwatch, read_prometheus
from trustbed.scenario.positions import Keys
from trustbed.scenario.positions import Path as Key
from trustbed.scenario.table import Source, Table
from trustbed.scenario.yaml_text import NotReadable, read_yaml

_PARTS = ("hosts", "children", "vars")
_USED = (
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_ssh_private_key_file",
    "ansible_connection",
    "ansible_ssh_common_args",
    "trustbed_measure",
    "trustbed_private",
    "trustbed_directory",
    "trustbed_prometheus",
    "trustbed_cloudwatch",
)
_REFUSED: Mapping[str, str] = {
    "ansible_ssh_host": "write ansible_host",
    "ansible_ssh_port": "write ansible_port",
    "ansible_ssh_user": "write ansible_user",
    "ansible_password": "log in by a key: ansible_ssh_private_key_file, or an agent",
    "ansible_ssh_pass": "log in by a key: ansible_ssh_private_key_file, or an agent",
    "ansible_ssh_password": "log in by a key: ansible_ssh_private_key_file, or an agent",
    "ansible_group_priority": "set the variable on the host itself",
}
_REACHES = re.compile(
    r"ansible_(ssh|paramiko|docker|kubectl|podman|winrm|psrp|scp|sftp)_.*"
    r"|ansible_shell_(type|executable)"
)
"""Other variables that change how a host is reached."""
_RANGE = re.compile(r"\[[0-9A-Za-z]+:[0-9A-Za-z]+")


@dataclass(slots=True)
class _Group:
    """A group, merged from all its occurrences in the file."""

    variables: dict[str, tuple[Any, Key]] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    parents: dict[str, None] = field(default_factory=dict)


def read_inventory(path: Path, text: str) -> Inventory:
    """Reads an Ansible inventory.

    Raises:
        ScenarioError: It is not one, or is ambiguous.
    """
    try:
        values, lines = read_yaml(text)
    except NotReadable as error:
        key = ".".join(str(part) for part in error.key)
        raise ScenarioError(
            error.message, error.hint, file=path, line=error.line, key=key
        ) from None
    return _Reader(Source(path, lines)).inventory(values)


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._checks = Checks(source)
        self._groups: dict[str, _Group] = {ALL: _Group()}
        self._hosts: dict[str, tuple[Key, dict[str, tuple[Any, Key]]]] = {}
        self._ignored: list[Ignored] = []

    def inventory(self, values: object) -> Inventory:
        root = self._mapping((), values)
        for name, group in root.items():
            self._group(name, (name,), group)
        if not self._hosts:
            raise self._source.error(
                (),
                "there is no host",
                "all: and below it hosts: and below that a host's name, each indented further",
            )
        hosts = tuple(self._host(name, key) for name, (key, _) in self._hosts.items())
        groups = tuple((name, tuple(self._members(name))) for name in self._groups if name != ALL)
        return Inventory(
            file=self._source.file, hosts=hosts, groups=groups, ignored=tuple(self._ignored)
        )

    # The structure.

    def _group(self, name: str, key: Key, values: object) -> None:
        if name != ALL:
            self._checks.name(key, name)
        group = self._groups.setdefault(name, _Group())
        parts = self._mapping(key, values)
        for part in parts:
            if part not in _PARTS:
                raise self._source.error(
                    (*key, part), f"no such part of a group, {part}", nearest(part, _PARTS)
                )
        for host, variables in self._mapping((*key, "hosts"), parts.get("hosts")).items():
            where = (*key, "hosts", host)
            if _RANGE.search(host):
                raise self._source.error(
                    where,
                    "ranges of hosts are not supported",
                    "write every host on a line of its own",
                )
            self._checks.name(where, host)
            group.hosts[host] = None
            _, own = self._hosts.setdefault(host, (where, {}))
            self._take(own, where, variables)
        self._take(group.variables, (*key, "vars"), parts.get("vars"))
        for child, values_of_child in self._mapping(
            (*key, "children"), parts.get("children")
        ).items():
            where = (*key, "children", child)
            self._group(child, where, values_of_child)
            self._groups[child].parents[name] = None
            if child == name or child in self._above(name):
                raise self._source.error(
                    where, f"{child} is a group within itself", "take it out of one of the two"
                )

    def _take(self, taken: dict[str, tuple[Any, Key]], key: Key, values: object) -> None:
        """The variables of one mapping."""
        for variable, value in self._mapping(key, values).items():
            where = (*key, variable)
            if variable in _REFUSED:
                raise self._source.error(where, f"{variable} is not supported", _REFUSED[variable])
            if variable not in _USED:
                if _REACHES.fullmatch(variable):
                    hint = (
                        "put the setting into ~/.ssh/config, or describe the host in a trustbed "
                        "inventory (TOML)"
                    )
                    raise self._source.error(
                        where,
                        f"{variable} is not supported, and changes how the host is reached",
                        hint,
                    )
                self._ignored.append(Ignored(line=self._source.lines.get(where), key=variable))
                continue
            before = taken.get(variable)
            if before is not None and before[0] != value:
                raise self._source.error(
                    where, f"is {before[0]!r} elsewhere in the file", "leave one of them out"
                )
            taken[variable] = (value, where)

    def _mapping(self, key: Key, values: object) -> Keys:
        if values is None:
            return {}
        if not isinstance(values, dict):
            raise self._source.error(
                key,
                f"must be a mapping of names, not {values!r:.60}",
                "write one name per line, followed by a colon",
            )
        return values

    def _above(self, name: str) -> Iterator[str]:
        """The groups that contain a group, at any depth."""
        waiting, found = [name], {name}
        while waiting:
            for parent in self._groups[waiting.pop()].parents:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
                    yield parent

    def _depths(self) -> dict[str, int]:
        """The depth of each group: the longest path from the group of all.

        There are no cycles.
        """
        depths = {name: int(name != ALL) for name in self._groups}
        changed = True
        while changed:
            changed = False
            for name, group in self._groups.items():
                deepest = max((depths[parent] + 1 for parent in group.parents), default=0)
                if name != ALL and deepest > depths[name]:
                    depths[name], changed = deepest, True
        return depths

    def _members(self, name: str) -> Iterator[str]:
        """The hosts of a group and of those in it, in the order of the file."""
        inside = {group for group in self._groups if group == name or name in self._above(group)}
        return (
            host
            for host in self._hosts
            if any(host in self._groups[group].hosts for group in inside)
        )

    # A host.

    def _variables(self, name: str) -> dict[str, tuple[Any, Key]]:
        direct = [group for group, about in self._groups.items() if name in about.hosts]
        groups = {ALL, *direct, *(above for group in direct for above in self._above(group))}
        deep = self._depths()
        found: dict[str, tuple[Any, Key]] = {}
        depths: dict[str, tuple[int, str]] = {}
        for group in sorted(groups, key=lambda one: (deep[one], one)):
            depth = deep[group]
            for variable, (value, where) in self._groups[group].variables.items():
                other_depth, other = depths.get(variable, (-1, ""))
                own = self._hosts[name][1]
                if other_depth == depth and found[variable][0] != value and variable not in own:
                    message = (
                        f"{name} is in {other} as well, where {variable} is {found[variable][0]!r}"
                    )
                    raise self._source.error(where, message, "set the variable on the host itself")
                found[variable] = (value, where)
                depths[variable] = (depth, group)
        return found | self._hosts[name][1]

    def _host(self, name: str, key: Key) -> InventoryHost:
        variables = self._variables(name)
        measured, private = (
            self._text(variables, "trustbed_measure"),
            self._text(variables, "trustbed_private"),
        )
        if private is not None and measured is None:
            hint = "write trustbed_measure, which others connect to"
            raise self._source.error(private[1], "the public address is missing", hint)
        directory = self._text(variables, "trustbed_directory")
        prometheus, cloudwatch = (self._table(variables, f"trustbed_{name}") for name in SOURCES)
        return InventoryHost(
            name=name,
            transport=self._transport(name, key, variables),
            measured=None if measured is None else self._checks.measured(measured[1], measured[0]),
            private=None if private is None else self._checks.measured(private[1], private[0]),
            directory=None
            if directory is None
            else self._checks.directory(directory[1], directory[0]),
            prometheus=None if prometheus is None else read_prometheus(prometheus),
            cloudwatch=None if cloudwatch is None else read_cloudwatch(cloudwatch),
        )

    def _transport(
        self, name: str, key: Key, variables: Mapping[str, tuple[Any, Key]]
    ) -> Transport:
        connection = self._text(variables, "ansible_connection")
        if connection is not None and connection[0] == "local":
            return Local()
        if connection is not None and connection[0] not in ("ssh", "smart"):
            hint = (
                'describe the host in a trustbed inventory (TOML): command = ["docker", '
                '"exec", "-i", "web"]'
            )
            raise self._source.error(
                connection[1], f"connections by {connection[0]} are not supported", hint
            )
        address = self._text(variables, "ansible_host") or (name, key)
        user = self._text(variables, "ansible_user")
        file = self._text(variables, "ansible_ssh_private_key_file")
        return Ssh(
            address=self._checks.destination(address[1], address[0]),
            user=None if user is None else self._checks.user(user[1], user[0]),
            port=self._port(variables),
            keys=() if file is None else (self._checks.key_file(file[1], file[0]),),
            jumps=self._jumps(variables),
        )

    def _text(self, variables: Mapping[str, tuple[Any, Key]], name: str) -> tuple[str, Key] | None:
        """A string variable, and its position."""
        value, key = variables.get(name, (None, ()))
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._source.error(
                key, f"must be a string, not {value!r:.60}", f'for example: {name}: "…"'
            )
        if "{{" in value or "{%" in value:
            hint = (
                f"write the value; `ansible-inventory --list --yaml --inventory "
                f"{self._source.file}` expands what it can"
            )
            raise self._source.error(key, "templates are not expanded", hint)
        return value, key

    def _table(self, variables: Mapping[str, tuple[Any, Key]], name: str) -> Table | None:
        """A variable that is a mapping."""
        value, key = variables.get(name, (None, ()))
        return None if value is None else Table(self._source, key, value)

    def _port(self, variables: Mapping[str, tuple[Any, Key]]) -> int | None:
        value, key = variables.get("ansible_port", (None, ()))
        if value is None:
            return None
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._source.error(
                key, f"must be a whole number, not {value!r:.60}", "for example: ansible_port: 22"
            )
        return self._checks.port(key, value)

    def _jumps(self, variables: Mapping[str, tuple[Any, Key]]) -> tuple[Jump, ...] | None:
        given = self._text(variables, "ansible_ssh_common_args")
        if given is None:
            return None
        text, key = given
        refused = self._source.error(
            key, "only ProxyJump is supported", "put other options of ssh into ~/.ssh/config"
        )
        try:
            words = shlex.split(text)
        except ValueError:
            raise refused from None
        jumps: list[str] = []
        while words:
            word = words.pop(0)
            if word in ("-J", "-o") and words:
                word += words.pop(0)
            found = re.fullmatch(r"-J(.+)|-o(?i:ProxyJump)(?:=|\s+)(.+)", word, re.DOTALL)
            if found is None or jumps:
                raise refused
            jumps = (found.group(1) or found.group(2)).split(",")
        return (
            None
            if not jumps
            else ()
            if jumps == ["none"]
            else tuple(self._checks.jump(key, one) for one in jumps)
        )
