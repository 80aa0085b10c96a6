"""The words that start a guest. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trustbed.testbed.qemu.modules import NICS

PROGRAM = "qemu-system-x86_64"

# What a guest does not need and an emulated processor takes long for: self-tests, hardening against
# neighbours it has not got, the verification of signatures, the look for machines that are
# suspended to disk.
_KERNEL_WORDS = (
    "console=ttyS0",
    "loglevel=4",
    "panic=-1",
    "nokaslr",
    "mitigations=off",
    "rodata=off",
    "cryptomgr.notests",
    "no_timer_check",
    "noresume",
    "audit=0",
    "apparmor=0",
    "selinux=0",
    "numa=off",
    "random.trust_cpu=on",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A guest's network card, and the descriptor of the tap behind it."""

    model: str
    mac: str
    tap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All that QEMU has to know. Descriptors are those that it is started with."""

    name: str
    accelerator: str
    cpus: int
    memory_bytes: int
    kernel: Path
    initramfs: int
    control: int
    console: Path
    nic: Nic | None = None


def words(machine: Machine) -> list[str]:
    """The command and its arguments.

    Whether a virtio NIC offers segmentation QEMU sees from the tap: it does where that has vnet
    headers. Other models segment before the tap.
    """
    accelerator = "tcg,thread=multi" if machine.accelerator == "tcg" else machine.accelerator
    found = [
        PROGRAM,
        "-name",
        machine.name,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]
    found += [
        "-machine",
        "pc",
        "-accel",
        accelerator,
        "-cpu",
        "host" if machine.accelerator == "kvm" else "qemu64",
    ]
    found += [
        "-smp",
        str(machine.cpus),
        "-m",
        f"{machine.memory_bytes >> 20}M",
        "-rtc",
        "base=utc,clock=host",
    ]
    found += [
        "-kernel",
        str(machine.kernel),
        "-initrd",
        f"/proc/self/fd/{machine.initramfs}",
        "-append",
        " ".join(_KERNEL_WORDS),
    ]
    found += [
        "-chardev",
        f"file,id=console,path={_quoted(machine.console)}",
        "-serial",
        "chardev:console",
    ]
    found += ["-chardev", f"socket,id=control,fd={machine.control}", "-device", "virtio-serial-pci"]
    found += ["-device", "virtserialport,chardev=control,name=trustbed.control"]
    if machine.nic is not None:
        device, _ = NICS[machine.nic.model]
        found += ["-netdev", f"tap,id=link,fd={machine.nic.tap},vhost=off"]
        found += ["-device", f"{device},netdev=link,mac={machine.nic.mac},romfile="]
    return found


def _quoted(path: Path) -> str:
    """As a value in a list with commas."""
    return str(path).replace(",", ",,")
