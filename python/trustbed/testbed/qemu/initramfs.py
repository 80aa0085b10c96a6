"""The first and only file system of a guest.

Busybox, the agent, the modules that it needs, and the program that begins.

Bias: it lies in the guest's memory, as does everything that is written there; what a guest records
takes room from what runs in it.
"""

from __future__ import annotations

from trustbed.agent import client as agent
from trustbed.testbed.qemu import modules
from trustbed.testbed.qemu.archive import Archive
from trustbed.testbed.qemu.kernel import Kernel

PORT = "/dev/vport0p1"
"""The guest's end of the control channel: the first port of the first device."""

_INIT = f"""#!/bin/busybox sh
export PATH=/bin HOME=/ TERM=linux
/bin/busybox mkdir -p /proc /sys /dev /tmp /run
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mkdir -p /dev/pts /dev/shm
/bin/busybox mount -t devpts devpts /dev/pts
/bin/busybox --install -s /bin
while read module; do
  insmod /lib/modules/$(uname -r)/$module.ko || echo "trustbed: the module $module cannot be loaded"
done < /etc/modules
[ -e {PORT} ] || echo "trustbed: there is no control channel, {PORT}"
trustbed-agent control {PORT} && echo "trustbed: the control channel has ended"
poweroff -f
"""


def build(kernel: Kernel, nic: str | None) -> bytes:
    """The archive for a guest with a model of network card, or without a card.

    Raises:
        TestbedError: The kernel lacks a module.
        AgentError: There is no agent.
    """
    chosen = [*modules.CONTROL, *([] if nic is None else [modules.NICS[nic][1]]), *modules.SOCKETS]
    load = modules.order(chosen, kernel.needed)
    more = [name for name in kernel.needed if name.startswith("tcp_")]
    carried = modules.order([*load, *more], kernel.needed)
    archive = Archive()
    archive.directory("dev")
    archive.device("dev/console", 5, 1)
    archive.file("init", _INIT.encode(), mode=0o755)
    archive.file("bin/busybox", kernel.busybox.read_bytes(), mode=0o755)
    archive.link("sbin", "bin")
    archive.file("bin/trustbed-agent", agent.binary().read_bytes(), mode=0o755)
    archive.file("etc/modules", "".join(f"{name}\n" for name in load).encode())
    archive.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\n")
    directory = f"lib/modules/{kernel.release}"
    for name in carried:
        archive.file(f"{directory}/{name}.ko", kernel.module(name))
    archive.file(
        f"{directory}/modules.dep",
        modules.dependencies({name: kernel.needed[name] for name in carried}).encode(),
    )
    return archive.written()
