"""A guest's root file system that the user gives: a directory or a tar archive."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.conftest import Refuses
from trustbed.scenario.guests import Guest
from trustbed.testbed import TestbedError
from trustbed.testbed.qemu import root
from trustbed.testbed.qemu.archive import Archive


def unpacked(archive: Archive, place: Path) -> Path:
    """What a kernel would have of it."""
    cpio, busybox = shutil.which("cpio"), shutil.which("busybox")
    if cpio is None and busybox is None:
        pytest.skip("no cpio, and no busybox that has one")
    words = [cpio] if cpio is not None else [busybox, "cpio"]
    place.mkdir()
    subprocess.run(
        [word for word in words if word] + ["-id"],
        cwd=place,
        input=archive.written(),
        check=True,
        capture_output=True,
    )
    return place


def directory(place: Path) -> Path:
    """A small image with the links of a merged /usr."""
    (place / "usr/lib").mkdir(parents=True)
    (place / "usr/bin").mkdir()
    (place / "lib").symlink_to("usr/lib")
    (place / "bin").symlink_to("/usr/bin")
    (place / "usr/bin/serve").write_text("#!/bin/sh\n", encoding="utf-8")
    (place / "usr/bin/serve").chmod(0o755)
    (place / "var").mkdir(mode=0o700)
    os.mkfifo(place / "var/pipe")
    return place


@pytest.mark.parametrize("kind", ["directory", "tar", "tar.gz"])
def test_an_image_is_in_a_guest_as_it_is(kind: str, tmp_path: Path) -> None:
    image = directory(tmp_path / "image")
    if kind != "directory":
        packed = tmp_path / f"image.{kind}"
        with tarfile.open(packed, f"w:{kind.partition('.')[2]}") as tar:
            tar.add(image, ".")
        image = packed
    archive = Archive()
    root.add(archive, image)
    archive.file("lib/modules/9.9/virtio.ko", b"module")
    archive.file("bin/own", b"own", mode=0o755)
    found = unpacked(archive, tmp_path / "found")
    assert (found / "lib").readlink() == Path("usr/lib")
    assert (found / "bin").readlink() == Path("/usr/bin")
    assert (found / "usr/lib/modules/9.9/virtio.ko").read_bytes() == b"module"
    assert (found / "usr/bin/own").read_bytes() == b"own"
    assert (found / "usr/bin/serve").stat().st_mode & 0o777 == 0o755
    assert (found / "var").stat().st_mode & 0o777 == 0o700
    assert list((found / "var").iterdir()) == [], "a pipe is left out"


def test_hard_links_owners_and_what_lies_outside(tmp_path: Path) -> None:
    packed = tmp_path / "image.tar"
    with tarfile.open(packed, "w") as tar:
        member = tarfile.TarInfo("./srv/page")
        member.size, member.uid, member.gid = 4, 33, 34
        tar.addfile(member, io.BytesIO(b"page"))
        same = tarfile.TarInfo("./srv/same")
        same.type, same.linkname = tarfile.LNKTYPE, "./srv/page"
        tar.addfile(same)
        outside = tarfile.TarInfo("../outside")
        outside.size = 4
        tar.addfile(outside, io.BytesIO(b"evil"))
        device = tarfile.TarInfo("./dev/kmem")
        device.type = tarfile.CHRTYPE
        tar.addfile(device)
    archive = Archive()
    root.add(archive, packed)
    written = archive.written()
    assert b"0000002100000022" in written, "user 33, group 34"
    assert written.count(b"page") == 3, "a name, and its content twice"
    assert b"evil" not in written
    assert b"kmem" not in written


def test_what_is_no_image_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    odd = tmp_path / "odd.tar"
    odd.write_bytes(b"nothing of the kind" * 100)
    cut = tmp_path / "cut.tar.gz"
    with tarfile.open(cut, "w:gz") as tar:
        member = tarfile.TarInfo("large")
        member.size = 100_000
        tar.addfile(member, io.BytesIO(os.urandom(100_000)))
    cut.write_bytes(cut.read_bytes()[:-5000])
    for image in (odd, cut, tmp_path / "missing"):
        with refuses(TestbedError):
            root.add(Archive(), image)


def test_an_image_must_fit_into_the_guest(tmp_path: Path, refuses: Refuses) -> None:
    image = directory(tmp_path / "image")
    with (image / "large").open("wb") as file:
        file.truncate(100 << 20)
    with refuses(TestbedError) as refused:
        root.check(Guest(image=str(image)))
    assert 'memory = "297MiB"' in refused.value.hint
    assert root.check(Guest(image=str(image), memory_bytes=300 << 20)) >= 100 << 20
    with (image / "larger").open("wb") as file:
        file.truncate(5 << 30)
    with refuses(TestbedError):
        root.add(Archive(), image)
