"""Modules of a kernel.

Which others each needs, in which order they are loaded, and the form in which a guest loads them
fastest. Pure.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping

from trustbed.errors import TestbedError

CONTROL = ("virtio_pci", "virtio_console")
"""What the control channel needs."""
SOCKETS = ("tcp_diag",)
"""The modules that let a sampler read the sockets of a guest."""
PARAVIRTUAL = "virtio-net"
"""The model that segments nothing itself: what its guest offloads is handed on as it is."""
NICS: Mapping[str, tuple[str, str]] = {
    PARAVIRTUAL: ("virtio-net-pci", "virtio_net"),
    "e1000": ("e1000", "e1000"),
    "e1000e": ("e1000e", "e1000e"),
    "vmxnet3": ("vmxnet3", "vmxnet3"),
    "rtl8139": ("rtl8139", "8139cp"),
}
"""Models of network cards: QEMU's name of the device, and the module that drives it."""

_SIGNED = b"~Module signature appended~\n"


def name_of(path: str) -> str | None:
    """The name of the module in a file, or nothing if it is none.

    The kernel does not distinguish - from _.
    """
    base = path.rpartition("/")[2]
    for ending in (".ko", ".ko.xz"):
        if base.endswith(ending):
            return base.removesuffix(ending).replace("-", "_")
    return None


def is_needed(path: str) -> bool:
    """Whether a file of a kernel's package is a module that a guest could need."""
    name = name_of(path)
    if name is None:
        return False
    drivers = {driver for _, driver in NICS.values()} | {
        "failover",
        "net_failover",
        "mii",
        "ptp",
        "pps_core",
    }
    console = {
        "virtio",
        "virtio_ring",
        "virtio_pci",
        "virtio_pci_modern_dev",
        "virtio_pci_legacy_dev",
        "virtio_console",
    }
    return name in drivers | console | {"inet_diag", "tcp_diag"} or (
        "/net/ipv4/" in path and name.startswith("tcp_")
    )


def bare(content: bytes) -> bytes:
    """A module without compression and signature: verification is slow on an emulated processor."""
    if content.startswith(b"\xfd7zXZ\0"):
        content = lzma.decompress(content)
    if content.endswith(_SIGNED):
        # Signer, identifier and signature, their lengths in the twelve bytes before the mark
        # (struct module_signature): the last is that of the signature, the others are 0 in PKCS#7.
        end = len(content) - len(_SIGNED)
        content = content[: end - 12 - int.from_bytes(content[end - 4 : end], "big")]
    return content


def needs(content: bytes) -> tuple[str, ...]:
    """The modules that a module names in its section .modinfo: strings that end with zero."""
    mark = b"\0depends="
    at = content.find(mark)
    if at < 0:
        return ()
    text = content[at + len(mark) : content.index(b"\0", at + 1)].decode("ascii", "replace")
    return tuple(name.replace("-", "_") for name in text.split(",") if name)


def order(chosen: Iterable[str], needed: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The chosen modules and all that they need, each behind what it needs.

    Raises:
        TestbedError: One is not there.
    """
    found: dict[str, None] = {}

    def add(name: str, because: str) -> None:
        if name in found:
            return
        if name not in needed:
            raise TestbedError(
                f"the kernel for guests has no module {name}{because}",
                "take another model of network card, or another kernel",
            )
        for other in needed[name]:
            add(other, f", which {name} needs")
        found[name] = None

    for name in chosen:
        add(name, "")
    return tuple(found)


def dependencies(needed: Mapping[str, tuple[str, ...]]) -> str:
    """The file modules.dep, by which modprobe(8) finds what to load."""
    lines = []
    for name in sorted(needed):
        behind = [f"{other}.ko" for other in reversed(order([name], needed)) if other != name]
        lines.append(f"{name}.ko:{''.join(f' {other}' for other in behind)}\n")
    return "".join(lines)
