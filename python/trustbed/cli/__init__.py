"""The command line: thin verbs over the library.

``--help`` and ``--version`` load nothing but this file; every other word loads its verb. What a
verb raises becomes one line on standard error with a hint below it, and an exit code (0 fine,
1 error, 2 usage, 3 review, 4 discard, 130 interrupted, 141 the reader of our output went away).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType

from trustbed.cli.streams import guarded
from trustbed.report.printable import redraw

VERBS: Mapping[str, tuple[str, str]] = {
    "analyze": (
        "CAPTURE…",
        "What limited each transfer, and is its number usable?",
    ),
    "explain": ("CAPTURE TRANSFER|RUN", "Why this verdict, and what would change it?"),
    "burst": ("CAPTURE…", "How bursty is the traffic, which buffer does it need?"),
    "watch": ("INTERFACE", "Live rates and burstiness of an interface"),
    "shell": ("[-- CMD…]", "Run any command behind an emulated link"),
    "run": ("SCENARIO", "An experiment: emulated network, repeated, judged"),
    "report": ("RUN", "Results of a run, and which repetitions to discard"),
    "compare": ("RUN RUN…|SCENARIO", "Is one testbed a stand-in for another?"),
    "trace": ("[-- CMD…]", "System calls of a command, in order, at little cost"),
    "model": ("extract|show|edit|measure|list", "Background traffic learned from a capture"),
    "sensitivity": ("SCENARIO", "Which background traffic does an application react to?"),
    "store": ("ls|show|gc|add|…", "Many captures and runs: what they say together"),
    "ui": ("[URL]", "Stores, runs and campaigns in a browser, live"),
    "campaign": ("run|status|report|init", "Measure paths between real hosts for hours or weeks"),
    "testbed": ("list|clean", "Show or remove what runs left on this host"),
    "doctor": ("[HOST…]", "Is this host, or another, fit to measure on?"),
}
"""Verb → what follows it, and what it does. Its module here has ``parser()`` and ``run(words)``."""

HIDDEN: Mapping[str, str] = {"pairs": "run", "status": "status"}
"""Earlier names of the actions of ``trustbed campaign``, understood for one release."""

COMMANDS = tuple(VERBS)

FINE, ERROR, USAGE, REVIEW, DISCARD, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 4, 130, 141


def overview() -> str:
    """The page of ``trustbed --help``."""
    names = [f"{verb} {rest}" for verb, (rest, _) in VERBS.items()]
    lines = [
        f"  {name}\n{'':26}{what}" if len(name) > 23 else f"  {name:<24}{what}"
        for name, (_, what) in zip(names, VERBS.values(), strict=True)
    ]
    return "\n".join(
        [
            "trustbed: is that number the network's, or the testbed's, and why?",
            "",
            "usage: trustbed COMMAND [OPTIONS]",
            "",
            "commands:",
            *lines,
            "",
            "options:",
            "  -h, --help              This page; trustbed COMMAND --help for a command",
            "  -V, --version           Print the version",
            "  --print-completion SHELL",
            f"{'':26}Print completions for bash, fish or zsh",
            "",
            "start here:",
            "  trustbed analyze server.pcap",
            "  trustbed analyze server.pcap --workload bulk --report report.html",
            "  trustbed explain server.pcap :5201",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with the stream closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 lives until the interpreter ends
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show an arrow gets a question mark, not a traceback.
            # JSON is UTF-8 in every locale (RFC 8259).
            encoding = "utf-8" if stream is sys.stdout and _asks_for_json(words) else None
            stream.reconfigure(encoding=encoding, errors="replace")
    with guarded():
        try:
            code = _run(words)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_stdout()
            return READER_GONE
        except KeyboardInterrupt:
            print_interrupted()
            return INTERRUPTED
        except OSError as error:  # pages of help on a full disk
            return _complain(*system_error(error), ERROR)
        return code


def _asks_for_json(words: Sequence[str]) -> bool:
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _run(words: list[str]) -> int:
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb in ("-h", "--help") or (verb == "help" and not rest):
        print(overview(), end="")
        return FINE
    if verb in ("-V", "--version"):
        from trustbed import __version__

        print(f"trustbed {__version__}")
        return FINE
    if not verb:
        print(overview(), end="", file=sys.stderr)
        return USAGE
    if verb == "help":
        verb, rest = rest[0], [*rest[1:], "--help"]
    if verb in HIDDEN:
        verb, rest = "campaign", [HIDDEN[verb], *rest]
    return _verb(verb, rest)


def _verb(verb: str, rest: list[str]) -> int:
    from trustbed.cli import arguments
    from trustbed.errors import TrustbedError

    try:
        if verb not in VERBS and verb != "--print-completion":
            raise arguments.unknown_command(verb, COMMANDS)
        name = verb if verb in VERBS else "completion"
        module = import_module(f"trustbed.cli.{name}")
        # Words behind the dashes of ``trustbed shell`` and ``trace`` belong to another program.
        own = rest[: rest.index("--")] if verb in ("shell", "trace") and "--" in rest else rest
        if verb in VERBS and any(word in ("-h", "--help") for word in own):
            print(_help(module, own), end="")
            return FINE
        code: int = module.run(rest)
        sys.stdout.flush()
        return code
    except TrustbedError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except OSError as error:
        return _complain(*system_error(error), ERROR)
    except MemoryError:
        return _complain("out of memory", _LESS_MEMORY, ERROR)
    # The engine's own error has a hint, too; every other is a bug and shows its traceback.
    except Exception as error:
        hint = getattr(error, "hint", None)
        if hint is None:
            raise
        return _complain(str(getattr(error, "message", error)), hint, ERROR)


def _help(module: ModuleType, words: Sequence[str]) -> str:
    """The page of a verb, or of one of its actions (``trustbed campaign run --help``)."""
    actions: Mapping[str, ModuleType] | Sequence[str] = getattr(module, "ACTIONS", {})
    # Actions that are no more than words share the page of their verb.
    own = actions if isinstance(actions, Mapping) else {}
    action = next((word for word in words if word in own), None)
    page: str = (module if action is None else own[action]).parser().format_help()
    return page


_LESS_MEMORY = "fewer workers (--workers 1) need less; --report and --samples need more"
_SYSTEM_HINTS = {
    errno.EMFILE: "raise the limit of open files for this shell, for example ulimit -n 4096",
    errno.ENFILE: "the whole system has no file left to open: sysctl fs.file-max",
    errno.ENOMEM: _LESS_MEMORY,
    errno.ENOSPC: "free some space on the disk that output goes to",
}


def system_error(error: OSError) -> tuple[str, str]:
    """What the operating system refused, where, and how to fix it."""
    reason = (error.strerror or str(error)).lower()
    incomplete = "the output under the requested name was not written"
    if error.filename:
        return f"{reason}, {os.fsdecode(error.filename)}", incomplete
    if getattr(sys.stdout, "has_failed", False):
        _leave_stdout()
        return f"{reason}, standard output", incomplete
    return reason, _SYSTEM_HINTS.get(error.errno or 0, incomplete)


def _complain(message: str, hint: str, code: int) -> int:
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return code


def print_interrupted() -> None:
    """The one line after Ctrl-C, over the ``^C`` that a terminal shows."""
    said = "interrupted, no incomplete file is left"
    if sys.stderr.isatty():
        redraw(said, sys.stderr, end="\n")
        sys.stderr.flush()
    else:
        print(said, file=sys.stderr, flush=True)


def _leave_stdout() -> None:
    """Gives up standard output.

    What is still buffered must not raise again when the interpreter ends.
    """
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 lives until the interpreter ends
