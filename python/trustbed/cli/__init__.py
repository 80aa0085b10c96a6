"""The command line: thin verbs over the library.

Answers ``--help`` and ``--version`` without loading anything; every other word loads its verb. All ends of the program are here:
what a verb raises becomes one line on standard error with a hint below it, and an exit code (0 fine, 1 error, 2 usage, 3 review, 4
discard, 130 interrupted, 141 the reader of our output went away).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from trustbed.cli.talk import nobody_has_to_listen

COMMANDS = (
    "analyze",
    "explain",
    "burst",
    "watch",
    "shell",
    "run",
    "pairs",
    "status",
    "report",
    "testbed",
    "doctor",
)

FINE, ERROR, USAGE, REVIEW, DISCARD, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 4, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with the stream closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 lives until the interpreter ends
    for stream in (sys.stdout, sys.stderr):
        if hasattr(
            stream, "reconfigure"
        ):  # a terminal that cannot show an arrow gets a question mark, not a traceback
            stream.reconfigure(errors="replace")
    with nobody_has_to_listen():
        try:
            code = _run(words)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_stdout()
            return READER_GONE
        except KeyboardInterrupt:
            tell_interrupted()
            return INTERRUPTED
        return code


def _run(words: list[str]) -> int:
    from trustbed.cli import help as pages

    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb in ("-h", "--help") or (verb == "help" and not rest):
        print(pages.OVERVIEW, end="")
        return FINE
    if verb in ("-V", "--version"):
        from trustbed import __version__

        print(f"trustbed {__version__}")
        return FINE
    if not verb:
        print(pages.OVERVIEW, end="", file=sys.stderr)
        return USAGE
    if verb == "help":
        verb, rest = rest[0], ["--help"]
    mine = (
        rest[: rest.index("--")] if verb == "shell" and "--" in rest else rest
    )  # behind the dashes is another's command line
    if verb in COMMANDS and any(word in ("-h", "--help") for word in mine):
        print(getattr(pages, verb.upper()), end="")
        return FINE
    return _verb(verb, rest)


def _verb(verb: str, rest: list[str]) -> int:
    from trustbed.cli import arguments

    try:
        if verb == "analyze":
            from trustbed.cli.analyze import run
        elif verb == "explain":
            from trustbed.cli.explain import run
        elif verb == "burst":
            from trustbed.cli.burst import run
        elif verb == "watch":
            from trustbed.cli.watch import run
        elif verb == "shell":
            from trustbed.cli.shell import run
        elif verb == "run":
            from trustbed.cli.run import run
        elif verb == "pairs":
            from trustbed.cli.pairs import run
        elif verb == "status":
            from trustbed.cli.status import run
        elif verb == "report":
            from trustbed.cli.report import run
        elif verb == "testbed":
            from trustbed.cli.testbed import run
        elif verb == "doctor":
            from trustbed.cli.doctor import run
        else:
            raise arguments.unknown_command(verb, COMMANDS)
        code = run(rest)
        sys.stdout.flush()
        return code
    except arguments.Complaint as error:
        return _complain(error.message, error.hint, error.code)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except OSError as error:
        where = f", {error.filename}" if error.filename else ", standard output"
        if not error.filename:
            _leave_stdout()
        return _complain(
            f"{(error.strerror or str(error)).lower()}{where}",
            "nothing was left under the name that was asked for",
            ERROR,
        )
    except MemoryError:
        return _complain(
            "out of memory",
            "fewer workers (--workers 1) need less; --report and --samples need more",
            ERROR,
        )
    except Exception as error:  # the expected ones carry a hint; every other is our mistake and shows its traceback
        hint = getattr(error, "hint", None)
        if hint is None:
            raise
        return _complain(str(getattr(error, "message", error)), hint, ERROR)


def _complain(message: str, hint: str, code: int) -> int:
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return code


def tell_interrupted() -> None:
    """The one line after Ctrl-C, in the place of the ``^C`` that a terminal shows."""
    place = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{place}interrupted, nothing was left half-written", file=sys.stderr, flush=True)


def _leave_stdout() -> None:
    """Standard output takes no more: what is still buffered must not raise again when the interpreter ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 lives until the interpreter ends
