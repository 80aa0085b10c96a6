"""The options that describe a link: the keys of a link in a scenario, with the same errors.

``--rate 20Mbit/s`` is the key ``rate`` of both directions, ``--up loss=1%`` the key ``loss`` of the
direction up alone, and ``--link jitter.spread=2ms`` a key that has no option of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import arguments

if TYPE_CHECKING:
    from trustbed.scenario.description import Description
    from trustbed.scenario.positions import Keys as Values

KEYS = ("rate", "delay", "jitter", "queue", "loss", "duplicate")
"""Keys that have an option of their own."""
QUEUE = "1000p"
"""The default queue of a link with a rate: as long as Linux's in front of an interface."""
_DIRECTIONS = ("up", "down")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser."""
    group = parser.add_argument_group(
        "link (the same in each direction: a delay of 10 ms makes an RTT of 20 ms)"
    )
    for key, metavar, text in (
        ("rate", "RATE", "for example 20Mbit/s (default: unlimited)"),
        ("delay", "TIME", "one-way delay, for example 10ms"),
        ("jitter", "TIME", "uniform variation of the delay by up to this, both ways"),
        (
            "queue",
            "SIZE",
            "packets like 50p, bytes like 64KiB, a time like 50ms, or unlimited (default: 1000p)",
        ),
        ("loss", "SHARE", "packets lost at random, for example 0.1%%"),
        ("duplicate", "SHARE", "packets that arrive twice"),
    ):
        group.add_argument(f"--{key}", metavar=metavar, help=text)
    for name, text in (
        ("link", "any key of a link in a scenario: queue.discipline=codel rate_trace=cell.txt"),
        ("up", "only from here to the far end: rate=1Mbit/s loss=1%%"),
        ("down", "only from the far end to here"),
    ):
        group.add_argument(
            f"--{name}",
            nargs="+",
            action="extend",
            type=_assignment,
            metavar="KEY=VALUE",
            default=[],
            help=text,
        )
    group.add_argument(
        "--seed", type=_seed, default=1, metavar="N", help="of the link's randomness (default: 1)"
    )


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed (a whole number)")
    return int(text)


def _assignment(text: str) -> list[tuple[str, str]]:
    """``rate=1Mbit/s,delay=5ms`` as pairs."""
    pairs = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not KEY=VALUE (write it like rate=5Mbit/s; put -- before a command)"
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def pipes(options: argparse.Namespace) -> tuple[Description, Description]:
    """The keys of the emulator's two pipes: up (from the near host) and down.

    Raises:
        UsageError: The emulator knows no such key or value.
    """
    from trustbed.scenario import ScenarioError
    from trustbed.scenario.description import direction
    from trustbed.scenario.links import both_directions
    from trustbed.scenario.table import Table

    values: Values = {
        key: getattr(options, key) for key in KEYS if getattr(options, key) is not None
    }
    try:
        for key in (key for pairs in options.link for key, _ in pairs if key in values):
            raise arguments.UsageError(f"--{key} and --link {key}=… contradict", "give one of them")
        _assign(values, options.link, "--link")
        for name in _DIRECTIONS:
            own: Values = {}
            _assign(own, getattr(options, name), f"--{name}")
            if own:
                values[name] = own
        values.setdefault("queue", QUEUE)
        table = Table(_source(), (), values)
        up, down = both_directions(table)
        table.close()
    except ScenarioError as error:
        raise arguments.UsageError(error.message, error.hint) from None
    return direction(up), direction(down)


def _assign(values: Values, given: Sequence[list[tuple[str, str]]], option: str) -> None:
    """Stores ``a.b=c`` in the table where a scenario's file has it."""
    for key, text in (pair for pairs in given for pair in pairs):
        *tables, last = key.split(".")
        inner = values
        for name in tables:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise arguments.UsageError(
                    f"{option} {key}: {name} has a value of its own already",
                    "give either the one or the other",
                )
        inner[last] = _value(text)


def _value(text: str) -> object:
    """As in a scenario's file: numbers and switches without quotes, everything else text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def _source() -> Any:  # noqa: ANN401 - a subclass of what is imported late
    from trustbed.scenario import ScenarioError
    from trustbed.scenario.positions import Path as Keys
    from trustbed.scenario.table import Source, dotted

    class CommandLine(Source):
        """Errors name the option instead of a file and a line."""

        def error(self, path: Keys, message: str, hint: str) -> ScenarioError:
            first, *rest = path
            if first in _DIRECTIONS:
                option = f"--{first} {dotted(tuple(rest))}".rstrip()
            elif first in KEYS and not rest:
                option = f"--{first}"
            else:
                option = f"--link {dotted(path)}"
            return ScenarioError(f"{option}: {message}", hint)

    return CommandLine(Path.cwd() / "command line")
