"""The options that describe a link: the keys of a link in a scenario, with the same words and the same complaints.

``--rate 20Mbit/s`` is the key ``rate`` of both directions, ``--up loss=1%`` the key ``loss`` of the way up alone, and
``--link jitter.spread=2ms`` a key that has no option of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trustbed.cli import arguments

KEYS = ("rate", "delay", "jitter", "queue", "loss", "duplicate")
"""Keys that have an option of their own."""
QUEUE = "1000p"
"""What waits in front of a link with a rate if nothing is said: as many packets as Linux lets wait in front of an interface."""
_WAYS = ("up", "down")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser."""
    for key in KEYS:
        parser.add_argument(f"--{key}")
    for name in ("link", *_WAYS):
        parser.add_argument(
            f"--{name}",
            nargs="+",
            action="extend",
            type=_assignment,
            metavar="KEY=VALUE",
            default=[],
        )


def _assignment(text: str) -> list[tuple[str, str]]:
    """``rate=1Mbit/s,delay=5ms`` as pairs."""
    pairs = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise argparse.ArgumentTypeError(
                f"{part!r} is no KEY=VALUE (write it like rate=5Mbit/s or loss=1%)"
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def pipes(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keys of the emulator's two pipes: the way up (from the near host) and the way down.

    Raises:
        UsageError: One says nothing the engine knows.
    """
    from trustbed.scenario import ScenarioError
    from trustbed.scenario.description import direction
    from trustbed.scenario.links import both_directions
    from trustbed.scenario.table import Table

    values: dict[str, Any] = {
        key: getattr(options, key) for key in KEYS if getattr(options, key) is not None
    }
    try:
        _assign(values, options.link, "--link")
        for way in _WAYS:
            own: dict[str, Any] = {}
            _assign(own, getattr(options, way), f"--{way}")
            if own:
                values[way] = own
        values.setdefault("queue", QUEUE)
        table = Table(_source(), (), values)
        up, down = both_directions(table)
        table.close()
    except ScenarioError as error:
        raise arguments.UsageError(error.message, error.hint) from None
    return direction(up), direction(down)


def _assign(values: dict[str, Any], given: Sequence[list[tuple[str, str]]], option: str) -> None:
    """Puts ``a.b=c`` where a scenario's file would have it."""
    for key, text in (pair for pairs in given for pair in pairs):
        *tables, last = key.split(".")
        place = values
        for name in tables:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise arguments.UsageError(
                    f"{option} {key}: {name} has a value of its own already",
                    "give either the one or the other",
                )
        place[last] = _value(text)


def _value(text: str) -> object:
    """As a scenario's file would have it: numbers and switches without quotes, everything else is text."""
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
        """Complaints name the option instead of a file and a line."""

        def error(self, path: Keys, message: str, hint: str) -> ScenarioError:
            first, *rest = path
            if first in _WAYS:
                option = f"--{first} {dotted(tuple(rest))}".rstrip()
            elif first in KEYS and not rest:
                option = f"--{first}"
            else:
                option = f"--link {dotted(path)}"
            return ScenarioError(f"{option}: {message}", hint)

    return CommandLine(Path.cwd() / "command line")
