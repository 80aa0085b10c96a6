"""The agent's program on a host: copied once for each content, checked, started, removed.

It lies in ``DIRECTORY/trustbed``, which is the user's own; DIRECTORY is the user's cache unless an
inventory names another. Its name holds its hash: it is written under another name, compared, and
renamed, so that what has the name is whole, whoever else copies it at the same time. A session has
a directory of its own beside it, which is removed with the session, or by the next one after a host
that lost its power. One that is to be kept runs beside the shell that begins it: it outlives the
way there, and is found again by the socket in its directory.

What runs on the host is a POSIX shell with ``uname``, ``sha256sum`` and what else every Linux has.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from trustbed.agent import client as agent
from trustbed.errors import TestbedError
from trustbed.testbed.remote.transport import Ended, Stream, Way, last_line

SILENCE_SECONDS = 90
"""How long either side may hear nothing of the other before it takes it for gone."""
NO_SESSION = frozenset({3, 126, 127})
"""There is none any more, as the agent says.

Or a shell, where the program is gone with the file system that it was on.
"""
_LOOK_SECONDS = 60.0
_COPY_SECONDS = 600.0
_HASH_DIGITS = 16
_BEGINS = "trustbed-begins"
_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names of the same machines."""
_MACHINES = {
    3: "i686",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    258: "loongarch64",
}
"""Numbers of machines in an ELF header (elf(5), ``e_machine``)."""
_FULL = re.compile(r"no space left|quota exceeded", re.IGNORECASE)

# Scripts are single lines for shells that read no others, and take their values as arguments: $1 is
# the directory, $2 the name or the path of the program, $3 its hash.
_PLACE = (
    'case "$1" in "") set -- "${XDG_CACHE_HOME:-$HOME/.cache}" "$2" "$3";; "~/"*) set -- '
    '"$HOME/${1#??}" "$2" "$3";; esac'
)
_LOOK = "; ".join(
    (
        _PLACE,
        f"echo {_BEGINS}",
        "uname -s",
        "uname -m",
        'echo "$1/trustbed"',
        # In a directory of somebody else's it could be another program by the time it is started.
        (
            'test -O "$1/trustbed" && test "$(sha256sum < "$1/trustbed/$2" 2>/dev/null)" = '
            '"$3  -" && test -x "$1/trustbed/$2" && echo kept'
        ),
        "true",
    )
)
_COPY = " && ".join(
    (
        "umask 077",
        '{ command -v sha256sum > /dev/null || { echo "it has no sha256sum" >&2; false; }; }',
        'mkdir -p "$1"',
        '{ test -O "$1" || { echo "$1 belongs to somebody else" >&2; false; }; }',
        'chmod 700 "$1"',
        'new="$1/.$2.$(uname -n).$$"',
        '{ cat > "$new" || { rm -f "$new"; false; }; }',
        (
            '{ test "$(sha256sum < "$new")" = "$3  -" || { rm -f "$new"; echo "what arrived '
            'is not what was sent" >&2; false; }; }'
        ),
        'chmod 700 "$new"',
        'mv -f "$new" "$1/$2"',
    )
)
_BEGIN = (
    "umask 077",
    'mkdir -p "$1" && cd "$1" || exit 1',
    'test -O . || { echo "$1 belongs to somebody else" >&2; exit 1; }',
    'here="session-$(uname -n)"',
    # Folders of sessions and halves of copies whose shell is no more. Other machines with the same
    # home see to their own.
    (
        'for old in "$here"-* .agent-*."$(uname -n)".*; do kill -0 "${old##*[-.]}" '
        '2>/dev/null || rm -rf "$old"; done'
    ),
)
_SOCKET = "link"
# What has ended and was not waited for has a number, and works nowhere: /proc/N/cwd tells the two
# apart.
_NAP = "{ sleep 0.1 2>/dev/null || sleep 1; }"


def _inside(port: str, *before: str) -> tuple[str, ...]:
    """A session, whose directory has the number of its shell."""
    return (
        'mkdir "$here-$$" && cd "$here-$$" || exit 1',
        *before,
        f'"$2" exec -- "$2" control {port} --silence "$3"',
        "code=$?",
        'cd / && rm -rf "$1/$here-$$"',
        "exit $code",
    )


_SESSION = "; ".join((*_BEGIN, *_inside("-")))
_KEPT = "; ".join(
    ("trap '' HUP", 'here="$4"', *_inside(f"{_SOCKET} --listen", 'echo "$5" > owner'))
)
_KEEP = "; ".join(
    (
        *_BEGIN[:-1],
        # One that its owner has lost, as when it was killed, would disturb the next: its shell is
        # ended, and all else with it. A number may be another process's by now, which works
        # elsewhere.
        'for old in "$here"-*; do one="${old##*-}"; test "$(cat "$old/owner" 2> '
        '/dev/null)" = "$5" && '
        'test "$(readlink "/proc/$one/cwd")" = "$(pwd -P)/$old" && kill "$one" && '
        f'while test -e "/proc/$one/cwd"; do {_NAP}; done; done',
        _BEGIN[-1],
        # It goes on when this shell has gone with the way here.
        '{ sh -c "$4" sh "$1" "$2" "$3" "$here" "$5" < /dev/null > /dev/null & }',
        "one=$!",
        (
            f'until test -S "$here-$one/{_SOCKET}"; do test -e "/proc/$one/cwd" || {{ wait '
            f"$one; exit; }}; {_NAP}; done"
        ),
        f'"$2" control "$here-$one/{_SOCKET}" --attach || exit',
        "wait $one",
    )
)
_RETURN = "; ".join(
    (
        f'"$2" control "$1/{_SOCKET}" --attach || exit',
        f'while test -d "$1" && test -e "/proc/${{1##*-}}/cwd"; do {_NAP}; done',
    )
)
_REMOVE = "; ".join(
    (
        (
            'for one in "$1"/session-*; do test -d "$one" && { echo "somebody has a session '
            'there, $one" >&2; exit 1; }; done'
        ),
        'rm -f "$1"/agent-* && rmdir "$1" 2>/dev/null',
        "true",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The agent as it is here. ``machine`` is what it was built for, as far as that is known."""

    path: Path
    content: bytes
    sha256: str
    machine: str | None

    @classmethod
    def read(cls) -> Program:
        """The one of this installation.

        Raises:
            AgentError: There is none.
        """
        path = agent.binary()
        content = path.read_bytes()
        machine = (
            struct.unpack_from("<H", content, 18)[0]
            if content[:4] == b"\x7fELF" and len(content) > 20
            else None
        )
        return cls(
            path=path,
            content=content,
            sha256=hashlib.sha256(content).hexdigest(),
            machine=_MACHINES.get(machine or 0),
        )

    @property
    def name(self) -> str:
        """Of the file on a host."""
        return f"agent-{self.sha256[:_HASH_DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long a session outlives the loss of the way to it, and for whom.

    The next one of the same owner ends what is left of it.
    """

    seconds: int
    owner: str

    def owner_of(self, host: str) -> str:
        """A word for one host of the owner's: several may be one machine."""
        return hashlib.sha256(f"{self.owner}\0{host}".encode()).hexdigest()[:_HASH_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a look at a host has shown.

    Its system and machine, the directory for what is ours, and whether the program lies there.
    """

    system: str
    machine: str
    place: str
    kept: bool


def look(way: Way, title: str, program: Program, directory: str | None) -> Seen:
    """Looks at a host before anything is done to it.

    Raises:
        TestbedError: There is no shell, or one that talks by itself; or another machine than the
            agent is for.
    """
    ended = way.run(
        ["sh", "-c", _LOOK, "sh", directory or "", program.name, program.sha256],
        seconds=_LOOK_SECONDS,
    )
    if ended.code != 0:
        raise TestbedError(
            f"{title} runs no commands: {_message(ended)}",
            "it needs a shell (sh), and must let you run commands",
        )
    before, begins, behind = ended.out.decode(errors="replace").partition(f"{_BEGINS}\n")
    lines = behind.splitlines()
    if not begins or len(lines) < 3:
        terminal = (
            "it gives a terminal, which changes what passes: leave that out of its command (-t)"
        )
        hint = (
            terminal
            if b"\r\n" in ended.out
            else "it needs a shell (sh), and must let you run commands"
        )
        message = ended.message or last_line(ended.out) or "nothing"
        raise TestbedError(f"{title} does not answer as a shell does, but with: {message}", hint)
    if before:
        hint = (
            "let ~/.bashrc and the like be silent where nobody types: begin it with `case $- "
            "in *i*) ;; *) return;; esac`"
        )
        raise TestbedError(
            (
                f"{title} says something before anything is asked, which the agent would be "
                f"mistaken for: {before.strip()!r:.80}"
            ),
            hint,
        )
    seen = Seen(
        system=lines[0],
        machine=_NAMES.get(lines[1], lines[1]),
        place=lines[2],
        kept=lines[3:] == ["kept"],
    )
    if seen.system != "Linux":
        raise TestbedError(
            f"{title} runs {seen.system}, and the agent runs on Linux", "take another host"
        )
    if program.machine is not None and seen.machine != program.machine:
        hint = (
            f"build trustbed on a machine of its kind, and name its agent by TRUSTBED_AGENT: "
            f"it runs on {seen.machine} hosts then"
        )
        raise TestbedError(
            (
                f"{title} is a machine of another kind ({seen.machine}) than the agent is for "
                f"({program.machine})"
            ),
            hint,
        )
    return seen


def copy(way: Way, title: str, program: Program, place: str) -> str:
    """Puts the program there; its path.

    Raises:
        TestbedError: There is no room for it, or it may not be written there.
    """
    words = ["sh", "-c", _COPY, "sh", place, program.name, program.sha256]
    ended = way.run(words, content=program.content, seconds=_COPY_SECONDS)
    if ended.code != 0:
        raise refused(title, place, ended, program)
    return f"{place}/{program.name}"


def refused(title: str, place: str, ended: Ended, program: Program) -> TestbedError:
    """Why nothing could be written there."""
    another = (
        'or name another directory for it in the inventory, for example: directory = "/var/tmp"'
    )
    if _FULL.search(ended.err.decode(errors="replace")):
        size = f"{len(program.content) / 1e6:.0f} MB"
        return TestbedError(
            f"{title} has no room for the agent ({size}) in {place}: {_message(ended)}",
            f"free some space there, {another}",
        )
    return TestbedError(
        f"the agent cannot be put into {place} on {title}: {_message(ended)}",
        f"let your user write there, {another}",
    )


def start(way: Way, name: str, place: str, path: str, keep: Keep | None) -> Stream:
    """Starts a session of the agent on the host of that name: its control channel.

    It ends with the way unless it is to be kept.
    """
    if keep is None:
        return way.open(["sh", "-c", _SESSION, "sh", place, path, str(SILENCE_SECONDS)])
    return way.open(
        ["sh", "-c", _KEEP, "sh", place, path, str(keep.seconds), _KEPT, keep.owner_of(name)]
    )


def resume(way: Way, directory: str, path: str) -> Stream:
    """Goes back to a session that has lost its way.

    It ends with one of :data:`NO_SESSION` where nobody can.
    """
    return way.open(["sh", "-c", _RETURN, "sh", directory, path])


def remove(way: Way, title: str, place: str) -> None:
    """Removes every version of the program, and the directory.

    Raises:
        TestbedError: It stays, since another session needs it, or since it may not be removed.
    """
    ended = way.run(["sh", "-c", _REMOVE, "sh", place], seconds=_LOOK_SECONDS)
    if ended.code != 0 or ended.err:
        raise TestbedError(
            f"the agent cannot be removed from {place} on {title}: {_message(ended)}",
            f"when nobody needs it any more, remove {place} by hand",
        )


def not_started(
    title: str, path: str, ended: Ended | None, otherwise: TestbedError, program: Program
) -> TestbedError:
    """Why a session ended before it had begun."""
    place = os.path.dirname(path)  # noqa: PTH120 - a path of another machine
    if ended is not None and ended.code == 126:
        hint = (
            "its file system may be mounted noexec: name another directory for it in the "
            'inventory, for example: directory = "/var/tmp"'
        )
        return TestbedError(
            f"the agent may not be executed in {place} on {title}: {_message(ended)}", hint
        )
    if ended is not None and (ended.code == 1 or _FULL.search(ended.err.decode(errors="replace"))):
        return refused(title, place, ended, program)
    return otherwise


def _message(ended: Ended) -> str:
    code = "it was killed" if ended.code is None else f"code {ended.code}"
    return ended.message or code
