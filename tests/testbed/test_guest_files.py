"""The files that a guest is started with.

Read out of packages, put in order, packed as its kernel unpacks them.
"""

from __future__ import annotations

import io
import lzma
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.conftest import Refuses
from trustbed.testbed import TestbedError
from trustbed.testbed.qemu import kernel, modules, package
from trustbed.testbed.qemu.archive import Archive


def debian(directory: Path, files: dict[str, bytes], *, name: str = "made_1_amd64.deb") -> Path:
    """A package with these files."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(f"./{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    file_path = directory / name
    with file_path.open("wb") as file:
        file.write(b"!<arch>\n")
        for member_name, content in (
            ("debian-binary", b"2.0\n"),
            ("control.tar.xz", b"odd"),
            ("data.tar.xz", data.getvalue()),
        ):
            file.write(
                f"{member_name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
            )
            file.write(content + b"\n" * (len(content) % 2))
    return file_path


def image(payload: bytes) -> bytes:
    """A kernel of the x86 boot protocol around a payload."""
    head = bytearray(0x800)
    head[0x1F1] = 3  # four sectors before the protected part
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 0x40, len(payload))
    return bytes(head) + bytes(0x40) + payload


PLAIN = b"\x7fELF" + bytes(100) + struct.pack("<III", 4, 4, 18) + b"Xen\0" + bytes(100)
SIGNATURE = (
    bytes(30) + struct.pack(">BBBBB3xI", 0, 0, 2, 0, 0, 30) + b"~Module signature appended~\n"
)


def module(depends: str) -> bytes:
    """As much of a module as is looked at."""
    return b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=odd\0"


def test_a_package_is_read_without_being_installed(tmp_path: Path) -> None:
    made = debian(tmp_path, {"boot/vmlinuz-6.1.0": b"kernel", "usr/share/doc/odd": b"words"})
    assert list(package.files(made, lambda name: name.startswith("boot/"))) == [
        ("boot/vmlinuz-6.1.0", b"kernel")
    ]


def test_what_is_no_package_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    entry = b"data.tar.xz     ".ljust(58, b"?") + b"`\n"
    for content in (b"PK\3\4", b"!<arch>\n", b"!<arch>\n" + entry):
        odd = tmp_path / "odd.deb"
        odd.write_bytes(content)
        with refuses(TestbedError):
            list(package.files(odd, lambda name: True))
    whole = debian(tmp_path, {"boot/vmlinuz": bytes(10_000)})
    whole.write_bytes(whole.read_bytes()[:-60])
    with refuses(TestbedError):
        list(package.files(whole, lambda name: True))


def test_packages_that_lie_in_the_cache_become_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = kernel.cache()
    cache.mkdir(parents=True)
    drivers = "lib/modules/9.9.1-odd/kernel/drivers"
    debian(
        cache,
        {
            "boot/vmlinuz-9.9.1-odd": image(lzma.compress(PLAIN)),
            f"{drivers}/virtio/virtio_pci.ko": module("virtio") + SIGNATURE,
            f"{drivers}/virtio/virtio.ko.xz": lzma.compress(module("")),
            f"{drivers}/sound/odd.ko": module(""),
        },
        name="linux-image-9.9.1-odd_1_amd64.deb",
    )
    debian(cache, {"bin/busybox": b"busybox"}, name="busybox-static_1_amd64.deb")
    found = kernel.ready()
    assert found.release == "9.9.1-odd"
    assert found.image.read_bytes() == PLAIN
    assert found.busybox.read_bytes() == b"busybox"
    assert found.needed == {"virtio_pci": ("virtio",), "virtio": ()}
    assert found.module("virtio_pci") == module("virtio")
    for left in cache.glob("*.deb"):
        left.unlink()
    assert kernel.ready() == found, "it is cached"


def test_a_machine_without_apt_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    half = kernel.cache() / "new-killed" / "complete"
    half.mkdir(parents=True)
    (half / "kernel").write_bytes(b"the first half")
    with refuses(TestbedError):
        kernel.ready()
    assert not half.exists(), "what a killed fetch has left is removed by the next one"


def test_a_kernel_stays_compressed_where_that_is_safer() -> None:
    assert kernel.plain(image(lzma.compress(PLAIN))) == PLAIN
    for payload in (
        lzma.compress(b"\x7fELF without the entry point"),
        b"\x28\xb5\x2f\xfd zstandard",
        lzma.compress(PLAIN)[:-40],
    ):
        assert kernel.plain(image(payload)) == image(payload)
    assert kernel.plain(b"no kernel") == b"no kernel"


def test_modules_are_loaded_behind_what_they_need(refuses: Refuses) -> None:
    needed = {
        "virtio_net": ("net_failover", "virtio"),
        "net_failover": ("failover",),
        "failover": (),
        "virtio": (),
    }
    assert modules.order(["virtio_net", "virtio"], needed) == (
        "failover",
        "net_failover",
        "virtio",
        "virtio_net",
    )
    assert modules.dependencies(needed).splitlines() == [
        "failover.ko:",
        "net_failover.ko: failover.ko",
        "virtio.ko:",
        "virtio_net.ko: virtio.ko net_failover.ko failover.ko",
    ]
    with refuses(TestbedError):
        modules.order(["8139cp"], {"8139cp": ("mii",)})


def test_a_module_states_what_it_needs() -> None:
    assert modules.needs(module("net_failover,virtio-ring")) == ("net_failover", "virtio_ring")
    assert modules.needs(module("")) == ()
    assert modules.bare(module("mii") + SIGNATURE) == module("mii")
    assert modules.bare(lzma.compress(module("mii") + SIGNATURE)) == module("mii")
    assert modules.name_of("kernel/drivers/net/8139cp.ko.xz") == "8139cp"
    assert modules.name_of("kernel/drivers/char/hw-random.ko") == "hw_random"
    assert modules.name_of("modules.order") is None


def test_an_archive_is_one_to_cpio(tmp_path: Path) -> None:
    cpio = shutil.which("cpio")
    busybox = shutil.which("busybox")
    if cpio is None and busybox is None:
        pytest.skip("no cpio, and no busybox that has one")
    archive = Archive()
    archive.file("init", b"#!/bin/sh\n", mode=0o755)
    archive.file("etc/deep/odd", b"seven bytes")
    archive.file("etc/deep/even", b"")
    archive.link("sbin", "bin")
    words = [cpio] if cpio is not None else [busybox, "cpio"]
    subprocess.run(
        [word for word in words if word] + ["-id"],
        cwd=tmp_path,
        input=archive.written(),
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "init").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "init").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "etc/deep/odd").read_bytes() == b"seven bytes"
    assert (tmp_path / "etc/deep/even").read_bytes() == b""
    assert (tmp_path / "sbin").readlink() == Path("bin")


def test_an_archive_is_the_same_each_time() -> None:
    def made() -> bytes:
        archive = Archive()
        archive.device("dev/console", 5, 1)
        archive.file("bin/sh", b"shell", mode=0o755)
        return archive.written()

    assert made() == made()
    assert made().startswith(b"070701")
    assert made().count(b"070701") == 5, "two directories, a device, a file, and the end"
