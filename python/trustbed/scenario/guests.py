"""Reads the guests of a scenario: hosts that are virtual machines.

``guest = "e1000"`` names the model of the network card; a table gives more. Whether this machine
can run guests is checked before the run, elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from trustbed.scenario.error import nearest
from trustbed.scenario.table import Table

NicModel: TypeAlias = Literal["virtio-net", "e1000", "e1000e", "vmxnet3", "rtl8139"]
Accelerator: TypeAlias = Literal["auto", "kvm", "tcg"]

NIC_MODELS: tuple[NicModel, ...] = get_args(NicModel)
ACCELERATORS: tuple[Accelerator, ...] = get_args(Accelerator)
NO_GUEST = "none"
"""The value of ``guest`` for a namespace, which a factor needs beside models of cards."""
INSIDE = "-inside"
"""Suffix of a guest's name: the capture point inside it, where its own stack sees packets.

The name alone is the tap outside.
"""
_LEAST_MEMORY = 128 << 20
_MOST_MEMORY = 64 << 30
_MOST_CPUS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A host that is a virtual machine, run by QEMU.

    ``offloads``: its kernel leaves segmentation and checksums to the card, as far as the model
    supports them. ``accelerator``: what runs its CPUs; ``auto`` is KVM where a test boot works,
    and emulation (TCG) elsewhere. ``image``: its root file system, a directory or a tar archive;
    ``None``: busybox and the agent.
    """

    nic: NicModel = "virtio-net"
    cpus: int = 1
    memory_bytes: int = 256 << 20
    offloads: bool = True
    accelerator: Accelerator = "auto"
    image: str | None = None

    def __str__(self) -> str:
        """For people."""
        processors = "1 processor" if self.cpus == 1 else f"{self.cpus} processors"
        return (
            f"{self.nic}, {processors}, {self.memory_bytes >> 20} "
            f"MiB{'' if self.offloads else ', no offloads'}"
            f"{'' if self.image is None else f', {Path(self.image).name}'}"
        )


def read_guest(host: Table) -> Guest | None:
    """The guest that a host is; ``None`` where it is a namespace, or ``guest = "none"``."""
    if "guest" not in host:
        return None
    value = host.raw("guest")
    if value == NO_GUEST:
        return None
    if isinstance(value, str):
        nic = next((model for model in NIC_MODELS if model == value), None)
        if nic is None:
            raise host.error(
                "guest", f"{value!r} is none of {', '.join(NIC_MODELS)}", nearest(value, NIC_MODELS)
            )
        return Guest(nic=nic)
    table = host.table("guest")
    assert table is not None, "it is there"
    plain = Guest()
    found = Guest(
        nic=table.choice("nic", NIC_MODELS, plain.nic),
        cpus=table.whole("cpus", plain.cpus, least=1, most=_MOST_CPUS),
        memory_bytes=_memory(table, plain.memory_bytes),
        offloads=table.flag("offloads", plain.offloads),
        accelerator=table.choice("accelerator", ACCELERATORS, plain.accelerator),
        image=_image(table),
    )
    table.close()
    return found


def _image(table: Table) -> str | None:
    """Whether it is there is checked before a run: a scenario may be read elsewhere."""
    name = table.text("image", None)
    return None if name is None else str((table.source.file.parent / name).resolve())


def _memory(table: Table, default: int) -> int:
    size: int = table.size("memory", default)
    if not _LEAST_MEMORY <= size <= _MOST_MEMORY:
        raise table.error(
            "memory", "a guest has from 128 MiB to 64 GiB", 'for example: memory = "256MiB"'
        )
    return size
