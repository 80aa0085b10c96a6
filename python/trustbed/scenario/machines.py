"""Reads the machines of a scenario: hosts that exist, on a network that exists.

``machine = "alpha"`` names a host of the inventory that the scenario names with ``inventory``. Each
is reached by SSH or by a command, as in a campaign. Nothing is emulated between machines: either
all hosts of a scenario are machines, or none is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustbed.scenario.error import nearest
from trustbed.scenario.inventory import Inventory, InventoryHost, Ssh, load
from trustbed.scenario.table import Table

if TYPE_CHECKING:
    from trustbed.scenario.model import Scenario

_OF_THE_NETWORK = ("link", "links", "topology")
_EMULATED = ("access", "count", "addresses", "guest", "container", "egress", "pin")
"""Keys of hosts that are made."""
_FILES_HERE = frozenset({"users", "playback"})
"""Background traffic that this machine's own agent plays."""


def read_inventory(root: Table) -> Inventory | None:
    """The inventory that a scenario names, if any."""
    file = root.file("inventory")
    return None if file is None else load(file)


def read_machine(host: Table, inventory: Inventory | None) -> InventoryHost | None:
    """The machine that a host is; ``None`` where it is made for the run."""
    name = host.text("machine", None)
    if name is None:
        return None
    if inventory is None:
        raise host.error(
            "machine",
            "no inventory says how to reach it",
            'add at the top: inventory = "hosts.toml"',
        )
    found = {one.name: one for one in inventory.hosts}.get(name)
    if found is None:
        names = [one.name for one in inventory.hosts]
        raise host.error("machine", f"no host {name} in {inventory.file}", nearest(name, names))
    for key in _EMULATED:
        if key in host:
            raise host.error(key, f"{name} is a machine, which is taken as it is", "leave it out")
    if found.private is not None:
        raise host.error(
            "machine",
            f"{name} is behind a translation of addresses",
            "take machines that reach each other under their own addresses",
        )
    return found


def address_of_machine(host: Table, machine: InventoryHost) -> str:
    """The address under which the others reach a machine.

    That of the scenario, else the one that is measured, else the one that SSH connects to.
    """
    own = host.text("address", None)
    reached = machine.transport.address if isinstance(machine.transport, Ssh) else None
    text = own or (reached if machine.measured is None else str(machine.measured))
    try:
        return str(ipaddress.IPv4Address(text or ""))
    except ValueError:
        raise host.error(
            "machine" if own is None else "address",
            f"{machine.name} has no IPv4 address that others reach",
            'give it here, address = "10.1.0.5", or in the inventory, measure = "10.1.0.5"',
        ) from None


def check_network(root: Table, machines: Sequence[str], others: Sequence[str]) -> None:
    """Checks that all hosts are machines, and that nothing is said about their network."""
    if others:
        raise root.source.error(
            ("hosts", others[0]),
            f"{others[0]} would be made here, and {machines[0]} is a machine",
            "no link leads from an emulated network to a real one: name a machine for each host",
        )
    for key in _OF_THE_NETWORK:
        if key in root:
            raise root.error(key, "the network between machines is taken as it is", "leave it out")


def check_machines(root: Table, scenario: Scenario) -> None:
    """Checks what trustbed does to no machine, and what only this one can."""
    if not scenario.machines:
        return
    for fault in scenario.faults:
        if fault.kind != "none":
            raise root.source.error(
                ("faults", fault.name, "kind"),
                f"no fault is made on {fault.host}, a machine",
                "leave it out, or try it on emulated hosts",
            )
    for background in scenario.backgrounds:
        if background.model in _FILES_HERE and not background.silent:
            raise root.source.error(
                ("background", background.name, "model"),
                f"{background.model} is played between hosts that are made for the run",
                "between machines: cbr, poisson and the other models without a file",
            )
