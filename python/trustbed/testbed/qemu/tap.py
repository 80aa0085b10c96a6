"""The end of a guest's veth link.

A tap (tuntap in the kernel's documentation) in the switch namespace, where the veth links of other
hosts end too.

What the guest sends is received there, and what is sent there arrives at the guest. Without vnet
headers what passes has the size that it has on a wire. With them (of a virtio NIC that offloads
segmentation) the guest hands over super-packets, and the tap is no end of a link by itself: a
bridge joins it to one, whose driver has them cut. It vanishes with the last who has its descriptor
open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path

from trustbed.errors import TestbedError, reason
from trustbed.testbed.netns import namespaces

DEVICE = Path("/dev/net/tun")

_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_TAP, _NO_PACKET_INFORMATION, _VNET_HEADERS = 0x0002, 0x1000, 0x4000


def open_in(namespace: Path, name: str, *, vnet_headers: bool) -> int:
    """Makes a tap in a namespace; its descriptor.

    Raises:
        TestbedError: There is no such device, or it may not be used.
    """
    try:
        with namespaces.inside(namespace):  # where it is opened decides where the tap appears
            number = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        message = reason(error)
        if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
            raise TestbedError(
                f"there is no {DEVICE}, which a guest's veth link needs: {message}",
                "as root: modprobe tun",
            ) from error
        hint = f"as root: chmod 666 {DEVICE}; or run as root, or do without guests"
        raise TestbedError(
            f"{DEVICE}, which a guest's veth link needs, cannot be opened: {message}", hint
        ) from error
    try:
        flags = _TAP | _NO_PACKET_INFORMATION | (_VNET_HEADERS if vnet_headers else 0)
        fcntl.ioctl(number, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        fcntl.ioctl(number, _TUNSETOFFLOAD, 0)
    except OSError as error:
        os.close(number)
        raise TestbedError(
            f"no tap can be made: {reason(error)}",
            "run as root, or do without guests",
        ) from error
    return number
