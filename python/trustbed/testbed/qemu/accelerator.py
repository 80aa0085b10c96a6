"""What runs the processors of guests.

KVM where it works, else emulation of every instruction (TCG).

That the kernel offers KVM does not mean that a guest runs with it (inside another hypervisor it may
hang): a test boot decides, once for every start of this machine and version of QEMU, and the answer
is kept. TCG is slower, not different; figures of a machine are not to be compared across the two.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trustbed.agent.control import Control, Peer
from trustbed.agent.processes import Process
from trustbed.errors import TestbedError
from trustbed.scenario.guests import Accelerator, NicModel
from trustbed.testbed.qemu import initramfs, kernel
from trustbed.testbed.qemu.command_line import PROGRAM, Machine, words
from trustbed.testbed.qemu.modules import NICS

_KVM = Path("/dev/kvm")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TEST_SECONDS = 20.0
"""Hardware that can do it boots a guest in less than one.

trustbed tries it once per boot of the machine.
"""
_TEST_MEMORY = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen accelerator, and the reason."""

    name: str
    reason: str


def choose(requested: Accelerator) -> Choice:
    """The accelerator that runs guests.

    Raises:
        TestbedError: KVM is requested and does not work.
    """
    if requested == "tcg":
        return Choice(name="tcg", reason="requested")
    found = _kvm()
    if requested == "kvm" and found.name != "kvm":
        raise TestbedError(
            f"guests cannot be run by KVM here: {found.reason}",
            'take accelerator = "tcg", which is slower',
        )
    return found


def _kvm() -> Choice:
    if not _KVM.exists():
        return Choice(name="tcg", reason="there is no /dev/kvm")
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return Choice(name="tcg", reason="/dev/kvm may not be opened")
    file = kernel.cache() / "accelerator.json"
    about = {"machine_start": _BOOT_ID.read_text(encoding="ascii").strip(), "qemu": version()}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(file.read_text(encoding="utf-8"))
        if {key: known[key] for key in about} == about:
            return Choice(name=known["name"], reason=known["reason"])
    choice = _tried()
    draft = file.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # then it is tried again the next time
        draft.write_text(
            json.dumps({**about, "name": choice.name, "reason": choice.reason}) + "\n",
            encoding="utf-8",
        )
        draft.rename(file)
    return choice


def _tried() -> Choice:
    core = kernel.ready()
    ours, its = socket.socketpair()
    archive = os.memfd_create("initramfs", os.MFD_CLOEXEC)
    with (
        open(archive, "wb") as file,  # noqa: PTH123
        tempfile.NamedTemporaryFile(suffix=".console") as console,
        tempfile.TemporaryFile() as output,
    ):
        file.write(initramfs.build(core, None))
        file.flush()
        machine = Machine(
            name="trustbed-test",
            accelerator="kvm",
            cpus=1,
            memory_bytes=_TEST_MEMORY,
            kernel=core.image,
            initramfs=archive,
            control=its.fileno(),
            console=Path(console.name),
        )
        with Process.start(
            words(machine),
            namespace=Path("/proc/self/ns/net"),
            stdout=output,
            stderr=output,
            descriptors=(archive, its.fileno()),
        ):
            its.close()
            control = Control(
                ours, Peer(title="the test guest", when_gone="", when_missing="", when_unread="")
            )
            try:
                works = control.wait(lambda: control.hello is not None, _TEST_SECONDS)
                why = f"a guest did not boot within {_TEST_SECONDS:g} s with it"
            except TestbedError:
                works, why = False, "a guest ended while it booted with it"
            finally:
                control.close()
    return (
        Choice(name="kvm", reason="a test boot worked")
        if works
        else Choice(name="tcg", reason=f"KVM does not work here: {why}")
    )


@functools.cache
def version() -> str | None:
    """QEMU's version."""
    if shutil.which(PROGRAM) is None:
        return None
    output = subprocess.run(
        [PROGRAM, "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"version ([0-9.]+)", output)
    return None if found is None else found.group(1)


@functools.cache
def _devices() -> str:
    return subprocess.run(
        [PROGRAM, "-device", "help"], capture_output=True, text=True, check=False
    ).stdout


def check_program(nic: NicModel) -> None:
    """QEMU must be there, and know the model of network card.

    Raises:
        TestbedError: It is not, or does not.
    """
    if shutil.which(PROGRAM) is None:
        raise TestbedError(
            f"guests need QEMU, and {PROGRAM} is not installed",
            "install it (Debian: qemu-system-x86), or do without guests",
        )
    device, _ = NICS[nic]
    if f'name "{device}"' not in _devices():
        known = ", ".join(
            model for model, (name, _) in NICS.items() if f'name "{name}"' in _devices()
        )
        raise TestbedError(f"this QEMU has no network card {nic}", f"it has {known}")
