"""The agent's program on a host: copied once for each content, checked, started, removed.

It is stored in ``DIRECTORY/trustbed-UID``, which the user owns; DIRECTORY is the user's cache
unless an inventory names another. In a directory that others may write to, what they planted under
that name is refused: a link, or a directory of theirs. The program's name holds its hash: it is
written under another name, compared, and renamed, so that a file of that name is complete even if
others copy it at the same time. A session names its program; when one begins, programs of other
versions that no session names are removed, so that a host has the controller's version and those in
use. A session has a directory of its own beside it, which the session
removes, or the next one after a host that lost its power. A lasting session runs beside the shell
that starts it: it outlives the transport, and is found again by the socket in its directory.

The host needs a POSIX shell with ``uname``, ``sha256sum`` and the standard Linux tools.
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
from trustbed.testbed.remote.transport import Ended, Stream, Transport, last_line

SILENCE_SECONDS = 90
"""How long either side waits for a sign of life before it considers the other gone."""
NO_SESSION = frozenset({3, 126, 127})
"""The session has ended, by the agent's exit code.

Or by that of a shell, if the program is gone with its file system.
"""
_NO_PROGRAM = 127
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
_DIRECTORY = (
    'case "$1" in "") set -- "${XDG_CACHE_HOME:-$HOME/.cache}" "$2" "$3";; "~/"*) set -- '
    '"$HOME/${1#??}" "$2" "$3";; esac'
)
_OWN = (
    '{ test ! -L "$1" || { echo "$1 is a link" >&2; false; }; }',
    '{ test -O "$1" || { echo "$1 belongs to another user" >&2; false; }; }',
)
_LOOK = "; ".join(
    (
        _DIRECTORY,
        f"echo {_BEGINS}",
        "uname -s",
        "uname -m",
        # Users who share a directory do not meet in it.
        'own="$1/trustbed-$(id -u)"',
        'echo "$own"',
        # In another user's directory it could be another program by the time it is started.
        (
            'test ! -L "$own" && test -O "$own" && test "$(sha256sum < "$own/$2" 2>/dev/null)" = '
            '"$3  -" && test -x "$own/$2" && echo present'
        ),
        "true",
    )
)
_COPY = " && ".join(
    (
        "umask 077",
        '{ command -v sha256sum > /dev/null || { echo "it has no sha256sum" >&2; false; }; }',
        'mkdir -p "$1"',
        *_OWN,
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
    f"{' && '.join(_OWN)} && test -O . || exit 1",
    'here="session-$(uname -n)"',
    # Directories of sessions and partial copies whose shell has ended. Other machines with the
    # same home remove their own. A zombie keeps its process id but has no working directory:
    # /proc/N/cwd distinguishes the two.
    (
        'for old in "$here"-* .agent-*."$(uname -n)".*; do test -e '
        '"/proc/${old##*[-.]}/cwd" || rm -rf "$old"; done'
    ),
)
_SOCKET = "link"
_PROGRAM = "program"
# Programs that no session names. One of a former trustbed does not name its own: then all stay.
_CLEAN = (
    "(cd .. && for one in session-*; do "
    f'test -d "$one" && ! test -s "$one/{_PROGRAM}" && exit; done; '
    f'used=" $(echo $(cat session-*/{_PROGRAM} 2>/dev/null)) "; for old in agent-*; do '
    'case "$used" in *" $old "*) ;; *) rm -f "./$old";; esac; done)',
)
_SLEEP = "{ sleep 0.1 2>/dev/null || sleep 1; }"


def _inside(port: str, *before: str) -> tuple[str, ...]:
    """A session, whose directory is named by the process id of its shell."""
    return (
        'mkdir "$here-$$" && cd "$here-$$" || exit 1',
        f'echo "${{2##*/}}" > {_PROGRAM}',
        *before,
        *_CLEAN,
        f'"$2" exec -- "$2" control {port} --silence "$3"',
        "code=$?",
        'cd / && rm -rf "$1/$here-$$"',
        "exit $code",
    )


_SESSION = "; ".join((*_BEGIN, *_inside("-")))
_LASTING_SESSION = "; ".join(
    ("trap '' HUP", 'here="$4"', *_inside(f"{_SOCKET} --listen", 'echo "$5" > owner'))
)
_KEEP = "; ".join(
    (
        *_BEGIN[:-1],
        # A session that its owner has lost, for example because it was killed, would disturb the
        # next one: end its shell, and all else with it. Another process may have its id by now;
        # that one works in another directory.
        'for old in "$here"-*; do one="${old##*-}"; test "$(cat "$old/owner" 2> '
        '/dev/null)" = "$5" && '
        'test "$(readlink "/proc/$one/cwd")" = "$(pwd -P)/$old" && kill "$one" && '
        f'while test -e "/proc/$one/cwd"; do {_SLEEP}; done; done',
        _BEGIN[-1],
        # It goes on when this shell has ended with the transport.
        '{ sh -c "$4" sh "$1" "$2" "$3" "$here" "$5" < /dev/null > /dev/null & }',
        "one=$!",
        (
            f'until test -S "$here-$one/{_SOCKET}"; do test -e "/proc/$one/cwd" || {{ wait '
            f"$one; exit; }}; {_SLEEP}; done"
        ),
        f'"$2" control "$here-$one/{_SOCKET}" --attach || exit',
        "wait $one",
    )
)
_RETURN = "; ".join(
    (
        f'"$2" control "$1/{_SOCKET}" --attach || exit',
        f'while test -d "$1" && test -e "/proc/${{1##*-}}/cwd"; do {_SLEEP}; done',
    )
)
_REMOVE = "; ".join(
    (
        f'test ! -e "$1" && test ! -L "$1" && exit; {" && ".join(_OWN)} || exit 1',
        (
            'for one in "$1"/session-*; do test -d "$one" && { echo "there is a session '
            'in use, $one" >&2; exit 1; }; done'
        ),
        'rm -f "$1"/agent-* && rmdir "$1" 2>/dev/null',
        "true",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The agent of this installation. ``machine`` is its architecture, if known."""

    path: Path
    content: bytes
    sha256: str
    machine: str | None

    @classmethod
    def read(cls) -> Program:
        """Reads the agent of this installation.

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
        """The name of the file on a host."""
        return f"agent-{self.sha256[:_HASH_DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long a session outlives the loss of its transport, and who owns it.

    The owner's next session removes its remains.
    """

    seconds: int
    owner: str

    def owner_of(self, host: str) -> str:
        """An owner for each host: several hosts may be one machine."""
        return hashlib.sha256(f"{self.owner}\0{host}".encode()).hexdigest()[:_HASH_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The result of probing a host.

    Its system and machine, the directory for trustbed's files, and whether that holds the program.
    """

    system: str
    machine: str
    directory: str
    has_program: bool


def probe(transport: Transport, title: str, program: Program, directory: str | None) -> Probed:
    """Probes a host before anything changes there.

    Raises:
        TestbedError: There is no shell, or one that prints by itself; or the agent is for another
            machine.
    """
    ended = transport.run(
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
            "it allocates a terminal, which alters the data: remove that from its command (-t)"
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
            "let ~/.bashrc and the like print nothing in a non-interactive shell: begin it with "
            "`case $- in *i*) ;; *) return;; esac`"
        )
        raise TestbedError(
            (
                f"{title} prints something before the first command, which would be mistaken "
                f"for the agent's answer: {before.strip()!r:.80}"
            ),
            hint,
        )
    probed = Probed(
        system=lines[0],
        machine=_NAMES.get(lines[1], lines[1]),
        directory=lines[2],
        has_program=lines[3:] == ["present"],
    )
    if probed.system != "Linux":
        raise TestbedError(
            f"{title} runs {probed.system}, and the agent runs on Linux", "take another host"
        )
    if program.machine is not None and probed.machine != program.machine:
        hint = (
            f"build trustbed on such a machine, and set TRUSTBED_AGENT to its agent: "
            f"it runs on {probed.machine} hosts then"
        )
        raise TestbedError(
            (
                f"{title} has another architecture ({probed.machine}) than the agent "
                f"({program.machine})"
            ),
            hint,
        )
    return probed


def copy(transport: Transport, title: str, program: Program, directory: str) -> str:
    """Copies the program there; returns its path.

    Raises:
        TestbedError: The disk is full, or the directory is not writable.
    """
    words = ["sh", "-c", _COPY, "sh", directory, program.name, program.sha256]
    ended = transport.run(words, content=program.content, seconds=_COPY_SECONDS)
    if ended.code != 0:
        raise refused(title, directory, ended, program)
    return f"{directory}/{program.name}"


def refused(title: str, directory: str, ended: Ended, program: Program) -> TestbedError:
    """The error for a failed write."""
    another = (
        'or name another directory for it in the inventory, for example: directory = "/var/tmp"'
    )
    if _FULL.search(ended.err.decode(errors="replace")):
        size = f"{len(program.content) / 1e6:.0f} MB"
        return TestbedError(
            f"{title} has no room for the agent ({size}) in {directory}: {_message(ended)}",
            f"free some space there, {another}",
        )
    return TestbedError(
        f"the agent cannot be put into {directory} on {title}: {_message(ended)}",
        f"let your user write there, {another}",
    )


def start(transport: Transport, name: str, directory: str, path: str, keep: Keep | None) -> Stream:
    """Starts a session of the agent on the host of that name: its control channel.

    It ends with the transport unless ``keep`` is given.
    """
    if keep is None:
        return transport.open(["sh", "-c", _SESSION, "sh", directory, path, str(SILENCE_SECONDS)])
    return transport.open(
        [
            "sh",
            "-c",
            _KEEP,
            "sh",
            directory,
            path,
            str(keep.seconds),
            _LASTING_SESSION,
            keep.owner_of(name),
        ]
    )


def resume(transport: Transport, directory: str, path: str) -> Stream:
    """Resumes a session that has lost its transport.

    It ends with one of :data:`NO_SESSION` if that is not possible.
    """
    return transport.open(["sh", "-c", _RETURN, "sh", directory, path])


def remove(transport: Transport, title: str, directory: str) -> None:
    """Removes every version of the program, and the directory.

    Raises:
        TestbedError: Another session uses it, or removing it is not permitted.
    """
    ended = transport.run(["sh", "-c", _REMOVE, "sh", directory], seconds=_LOOK_SECONDS)
    if ended.code != 0 or ended.err:
        raise TestbedError(
            f"the agent cannot be removed from {directory} on {title}: {_message(ended)}",
            f"when it is no longer in use, remove {directory} by hand",
        )


class ProgramGoneError(TestbedError):
    """The program was there and is not: a session of another version has removed it just now."""


def not_started(
    title: str, path: str, ended: Ended | None, otherwise: TestbedError, program: Program
) -> TestbedError:
    """The error for a session that did not start."""
    if ended is not None and ended.code == _NO_PROGRAM:
        return ProgramGoneError(otherwise.message, otherwise.hint)
    directory = os.path.dirname(path)  # noqa: PTH120 - a path of another machine
    if ended is not None and ended.code == 126:
        hint = (
            "its file system may be mounted noexec: name another directory for it in the "
            'inventory, for example: directory = "/var/tmp"'
        )
        return TestbedError(
            f"the agent may not be executed in {directory} on {title}: {_message(ended)}", hint
        )
    if ended is not None and (ended.code == 1 or _FULL.search(ended.err.decode(errors="replace"))):
        return refused(title, directory, ended, program)
    return otherwise


def _message(ended: Ended) -> str:
    code = "it was killed" if ended.code is None else f"code {ended.code}"
    return ended.message or code
