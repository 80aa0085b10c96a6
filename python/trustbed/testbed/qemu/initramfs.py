"""The first and only file system of a guest.

Busybox, the agent, the modules that it needs, and the program that begins; where the user has an
image, its files, and the others beside them.

Bias: it lies in the guest's memory, as does everything that is written there; what a guest records
takes room from what runs in it.
"""

from __future__ import annotations

from pathlib import Path

from trustbed.agent import client as agent
from trustbed.testbed.qemu import modules, root
from trustbed.testbed.qemu.archive import Archive
from trustbed.testbed.qemu.kernel import Kernel

PORT = "/dev/vport0p1"
"""The guest's end of the control channel: the first port of the first device."""

_TOOLS, _TOOLS_BESIDE = "bin", ".trustbed/bin"
"""Where busybox and the agent are: alone, and beside an image of the user's."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _init(tools: str, path: str) -> str:
    busybox = f"/{tools}/busybox"
    return f"""#!{busybox} sh
export PATH={path} HOME=/ TERM=linux
{busybox} mkdir -p /proc /sys /dev /tmp /run
{busybox} mount -t proc proc /proc
{busybox} mount -t sysfs sys /sys
{busybox} mount -t devtmpfs dev /dev
{busybox} mkdir -p /dev/pts /dev/shm
{busybox} mount -t devpts devpts /dev/pts
{busybox} --install -s /{tools}
echo /{tools}/modprobe > /proc/sys/kernel/modprobe
while read module; do
  {busybox} insmod /lib/modules/$({busybox} uname -r)/$module.ko ||
    echo "trustbed: the module $module cannot be loaded"
done < /{tools}/../etc/modules
[ -e {PORT} ] || echo "trustbed: there is no control channel, {PORT}"
/{tools}/trustbed-agent control {PORT} && echo "trustbed: the control channel has ended"
{busybox} poweroff -f
"""


def build(kernel: Kernel, nic: str | None, image: str | None = None) -> bytes:
    """The archive for a guest with a model of network card, or without a card.

    Raises:
        TestbedError: The kernel lacks a module, or the image cannot be read.
        AgentError: There is no agent.
    """
    chosen = [*modules.CONTROL, *([] if nic is None else [modules.NICS[nic][1]]), *modules.SOCKETS]
    load = modules.order(chosen, kernel.needed)
    more = [name for name in kernel.needed if name.startswith("tcp_")]
    carried = modules.order([*load, *more], kernel.needed)
    archive = Archive()
    if image is None:
        tools, path = _TOOLS, f"/{_TOOLS}"
        archive.directory(_TOOLS)
        archive.link("sbin", _TOOLS)
        archive.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
        archive.file("etc/group", b"root:x:0:\n")
    else:
        tools, path = _TOOLS_BESIDE, f"{_PATH}:/{_TOOLS_BESIDE}"
        root.add(archive, Path(image))
    archive.directory("dev")
    archive.device("dev/console", 5, 1)
    archive.file("init", _init(tools, path).encode(), mode=0o755)
    archive.file(f"{tools}/busybox", kernel.busybox.read_bytes(), mode=0o755)
    archive.file(f"{tools}/trustbed-agent", agent.binary().read_bytes(), mode=0o755)
    names = "".join(f"{name}\n" for name in load)
    archive.file(f"{tools.removesuffix('bin')}etc/modules", names.encode())
    directory = f"lib/modules/{kernel.release}"
    for name in carried:
        archive.file(f"{directory}/{name}.ko", kernel.module(name))
    archive.file(
        f"{directory}/modules.dep",
        modules.dependencies({name: kernel.needed[name] for name in carried}).encode(),
    )
    return archive.written()
