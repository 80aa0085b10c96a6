"""Text that shows when it was obeyed: an escape sequence for terminals, markup for pages.

It goes into every name and text that others choose. A terminal must show it as text; a page must
neither run its script nor hold its elements.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE
from tests.pcap_records import records

ESCAPE = "\x1b]0;cn\x07\x9b2J\u202e"
"""Sets the title of the window, clears the screen, reverses what follows."""
FORGED = "\rcn\x1b[Kcn\x1b[1;32mcn"
"""As trustbed itself writes: begins the line again, wipes its rest, has the colour of a verdict."""
SHOWN = "\\x1b]0;cn\\x07\\x9b2J\\u202e"
"""The same as a terminal may show it."""
SCRIPT = "<script>document.body.dataset.ran=1</script><i class=canary>"
TEXT = f"{ESCAPE}{FORGED}{SCRIPT}"
NAME = f"{ESCAPE}{FORGED}<script>document.body.dataset.ran=1<i class=canary>"
"""As a file may be called: without a slash."""
INTERFACE = "\x1b]0;cn\x07<i>"
"""As an interface may be called: 15 bytes without a slash, a colon and white space."""
TOML = TEXT.encode("unicode_escape").decode().replace("\\x", "\\u00")
"""``TEXT`` inside a basic string of TOML."""

_FORGED = re.compile(r"(?:\r|\x1b\[K|\x1b\[1;32m)cn")
_OWN = re.compile(r"\x1b\[[0-9;]*[mKHJ]|\x1b\[\?(?:1049|25)[hl]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Ended:
    """How a program on a terminal ended, and all that the terminal was sent."""

    code: int
    screen: str

    def foreign(self) -> list[str]:
        """What a terminal would obey, but for our own colours, redraws and alternate screen."""
        bare = _OWN.sub("", self.screen)
        return [
            repr(text[max(0, at.start() - 40) : at.end() + 20])
            for text, sought in ((self.screen, _FORGED), (bare, _CONTROL))
            for at in sought.finditer(text)
        ]


def on_terminal(
    words: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    enter: Sequence[str] = (),
    program: Sequence[str] = (sys.executable, "-m", "trustbed"),
) -> Ended:
    """Runs trustbed on a terminal of its own, 100 columns wide."""
    ours, its = pty.openpty()
    with contextlib.suppress(ImportError, OSError):
        import fcntl
        import termios

        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    child = subprocess.Popen(
        [*enter, *program, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **(environment or {})},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    pieces = []
    try:
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # EIO: the last program that had it has ended
                break
            if not piece:
                break
            pieces.append(piece)
        code = child.wait(PATIENCE)
    finally:
        os.close(ours)
        child.kill()
        child.wait()
    return Ended(code, b"".join(pieces).decode("utf-8", "replace"))


def _option(code: int, text: str) -> bytes:
    data = text.encode()
    return struct.pack("<HH", code, len(data)) + data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def pcapng(path: Path, recording: Path, *, text: str = TEXT) -> Path:
    """A recording as pcapng with ``text`` in every option and block that may hold one."""
    head, packets = records(recording)
    ticks_a_second = 10**9 if head[:4] == b"\x4d\x3c\xb2\xa1" else 10**6
    link = 1 if packets[0][16 + 12 : 16 + 14] == b"\x08\x00" else 101
    end = bytes(4)
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    about = b"".join(_option(code, text) for code in (1, 2, 3, 4))
    interface = b"".join(_option(code, text) for code in (1, 2, 3, 12, 15))
    interface += struct.pack("<HHB3x", 9, 1, 9 if ticks_a_second == 10**9 else 6)
    out = [
        _block(0x0A0D0D0A, section + about + end),
        _block(1, struct.pack("<HHI", link, 0, 0) + interface + end),
        _block(4, struct.pack("<HH", 1, 4 + len(text.encode()) + 1) + bytes([10, 0, 0, 1])
               + text.encode() + b"\0" + bytes(-(5 + len(text.encode())) % 4) + end),
    ]  # fmt: skip
    for packet in packets:
        seconds, fraction, kept, length = struct.unpack_from("<IIII", packet)
        ticks = seconds * ticks_a_second + fraction
        body = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, kept, length)
        data = packet[16:] + bytes(-kept % 4)
        out.append(_block(6, body + data + _option(1, text) + end))
    path.write_bytes(b"".join(out))
    return path
