"""One table of a scenario while it is read.

Returns typed values; errors name file, line and key.

No key is ignored silently: the reader of a table closes it, and a key that was not read is an error
that names the nearest known one. Quantities follow the engine's grammar, so that a scenario writes
them as the command line does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, NoReturn, TypeVar

from trustbed import _core
from trustbed.analysis.options import lacks_unit
from trustbed.scenario.error import ScenarioError, misspelt, nearest
from trustbed.scenario.positions import Keys, Path

T = TypeVar("T")
C = TypeVar("C", bound=str)

_KINDS = {
    str: "a string in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
_MOST = 10**12
_MOST_PACKETS = 2**32 - 1
"""Limit of the agent's counter of packets in a queue."""


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of values.

    The file, the lines of its keys, and for values that a factor replaced, their positions in the
    factor.
    """

    file: File
    lines: Mapping[Path, int] = field(default_factory=dict)
    replaced: Mapping[Path, Path] = field(default_factory=dict)

    def error(self, path: Path, message: str, hint: str) -> ScenarioError:
        """An error about the value at ``path``."""
        origin = self._origin(path)
        line = next(
            (
                self.lines[origin[:end]]
                for end in range(len(origin), 0, -1)
                if origin[:end] in self.lines
            ),
            None,
        )
        key = dotted(path) if origin == path else f"{dotted(path)} (from {dotted(origin)})"
        return ScenarioError(message, hint, file=self.file, line=line, key=key)

    def hint_of_files(self, file: File) -> str:
        """The hint for a file that does not exist."""
        return (
            "name an existing file"
            if file.is_absolute()
            else f"file names are relative to {self.file.parent.resolve()}"
        )

    def _origin(self, path: Path) -> Path:
        for end in range(len(path), 0, -1):
            if path[:end] in self.replaced:
                return self.replaced[path[:end]]
        return path


def dotted(path: Path) -> str:
    """A path as a person writes it: ``links.bottleneck.rate``, ``factors.rate[2]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How much fits into a queue, in one of three units; none of them: no limit is given."""

    packets: int | None = None
    bytes: int | None = None
    duration_ns: int | None = None


class Table:
    """A table and its path in the file."""

    def __init__(self, source: Source, path: Path, values: object) -> None:
        self.source = source
        self.path = path
        if not isinstance(values, dict):
            raise source.error(
                path,
                f"must be a table, not {_kind(values)}",
                f"write [{dotted(path)}] and its keys below",
            )
        self._values: Keys = values
        self._read: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        self._read[key] = None
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def must(self, key: str, example: str) -> None:
        """Requires the key."""
        if key not in self:
            where = f"[{dotted(self.path)}]" if self.path else "the scenario"
            raise self.missing((key,), f"{where} lacks {key}", f"for example: {example}")

    def missing(self, keys: Sequence[str], message: str, hint: str) -> ScenarioError:
        """An error about missing keys.

        If a key that was not read yet resembles one of them, the error is about that key.
        """
        for written in self._values:
            meant = misspelt(written, keys) if written not in self._read else None
            if meant is not None:
                return self.error(written, f"no such key, {written}", f"did you mean {meant}?")
        return self.error(None, message, hint)

    def error(self, key: str | None, message: str, hint: str) -> ScenarioError:
        """An error about one of the table's keys, or about the table."""
        return self.source.error(self.path if key is None else (*self.path, key), message, hint)

    def raw(self, key: str) -> Any:  # noqa: ANN401 - whatever the file holds
        """The value as parsed; ``None`` if the key is missing."""
        self._read[key] = None
        return self._values.get(key)

    def close(self) -> None:
        """Raises an error about a key that was not read."""
        for key in self._values:
            if key not in self._read:
                raise self.error(key, f"no such key, {key}", nearest(key, self._read))

    # Words and numbers.

    def text(self, key: str, default: T) -> str | T:
        """A string."""
        value: str | T = self._typed(key, str, default)
        return value

    def choice(self, key: str, choices: Sequence[C], default: T) -> C | T:
        """One of some words."""
        value = self._typed(key, str, None)
        if value is None:
            return default
        found = next((choice for choice in choices if choice == value), None)
        if found is None:
            raise self.error(
                key, f"{value!r} is none of {', '.join(choices)}", nearest(value, choices)
            )
        return found

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value: bool = self._typed(key, bool, default)
        return value

    def whole(self, key: str, default: T, *, least: int = 0, most: int = _MOST) -> int | T:
        """A whole number within limits."""
        if key not in self:
            return default
        value: int = self._typed(key, int, 0)
        if not least <= value <= most:
            raise self.error(
                key,
                f"{value} is outside {least} to {most}",
                f"give a whole number from {least} to {most}",
            )
        return value

    def number(self, key: str, default: T, *, least: float, most: float) -> float | T:
        """A number within limits."""
        if key not in self:
            return default
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong_kind(key, float)
        if not least <= value <= most:
            raise self.error(
                key,
                f"{value:g} is outside {least:g} to {most:g}",
                f"give a number from {least:g} to {most:g}",
            )
        return float(value)

    # Quantities.

    def rate(self, key: str, default: T) -> int | T:
        """Bits per second, from 0."""
        return self._quantity(key, _core.parse_rate, "20Mbit/s", default)

    def rate_above_zero(self, key: str, default: T) -> int | T:
        """Bits per second, above 0."""
        value = self.rate(key, default)
        if value == 0 and key in self:
            raise self.error(
                key, "a rate of 0 delivers nothing", "give a rate above 0, for example 20Mbit/s"
            )
        return value

    def rates(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of rates in bit/s, each from 0; a single one is a list of one."""
        if key not in self:
            return default
        found = []
        for text in self.texts(key):
            try:
                if lacks_unit(text):
                    raise ValueError(f"{text!r} lacks a unit")
                found.append(int(_core.parse_rate(text)))
            except ValueError as error:
                raise self.error(key, str(error), 'for example "20Mbit/s"') from None
        return tuple(found)

    def span(self, key: str, default: T, *, example: str = "20ms") -> int | T:
        """Nanoseconds, from 0."""
        value = self._quantity(key, _core.parse_span, example, default)
        if isinstance(value, int) and value < 0:
            raise self.error(
                key,
                f"{self._values[key]} is negative",
                f"give a duration of 0 or more, for example {example}",
            )
        return value

    def span_above_zero(self, key: str, default: T, *, example: str = "20ms") -> int | T:
        """Nanoseconds, above 0."""
        value = self.span(key, default, example=example)
        if value == 0 and key in self:
            raise self.error(
                key,
                f"{self._values[key]} is not a positive duration",
                f"for example {example}",
            )
        return value

    def part(self, key: str, example: str) -> tuple[int, int | None]:
        """A duration above 0, and what it is a part of, if that is given: ``"5ms of 50ms"``."""
        value = self._values.get(key)
        inner, of, outer = value.partition(" of ") if isinstance(value, str) else ("", "", "")
        if not of:
            return self.span_above_zero(key, 0, example=example), None
        found = []
        for text in (inner.strip(), outer.strip()):
            span = None if lacks_unit(text) else _span(text)
            if span is None or span <= 0:
                raise self.error(
                    key, f"{text!r} is not a positive duration", f'for example "{example}"'
                )
            found.append(span)
        self._read[key] = None
        return found[0], found[1]

    def size(self, key: str, default: T, *, least: int = 0, most: int = _MOST) -> int | T:
        """Bytes within limits: ``64kB`` is 64,000 and ``64KiB`` 65,536."""
        value = self._quantity(key, _core.parse_size, "64KiB", default)
        if key in self and isinstance(value, int) and not least <= value <= most:
            raise self.error(
                key,
                f"{self._values[key]} is outside {least}B to {most}B",
                f"give from {least}B to {most}B",
            )
        return value

    def probability(self, key: str, default: T) -> float | T:
        """A share of one, written ``"0.1%"`` or ``0.001``."""
        if key not in self:
            return default
        value = self._values[key]
        try:
            share = (
                float(value.strip().removesuffix("%")) / 100
                if isinstance(value, str) and value.strip().endswith("%")
                else float(value)
            )
        except (TypeError, ValueError):
            share = -1.0
        if isinstance(value, bool) or not 0 <= share <= 1:
            raise self.error(
                key, f"{value!r} is not a probability", 'write it like "0.1%" or 0.001, from 0 to 1'
            )
        return share

    def depth(self, key: str, *, least_bytes: int) -> Depth:
        """The depth of a queue: ``"50p"``, ``"64KiB"`` or ``"50ms"``."""
        if key not in self:
            return Depth()
        value = self._typed(key, str, "")
        digits = value.strip().removesuffix("packets").removesuffix("p").strip()
        if digits.isdecimal() and not value.strip().isdecimal():
            if int(digits) == 0:
                raise self.error(key, "a queue of 0 packets delivers nothing", "give at least 1p")
            if int(digits) > _MOST_PACKETS:
                raise self.error(
                    key, f"{value} is not a valid queue depth", f"give at most {_MOST_PACKETS}p"
                )
            return Depth(packets=int(digits))
        hint = 'write packets like "50p", bytes like "64KiB", or a time like "50ms"'
        if lacks_unit(value):
            raise self.error(key, f"{value!r} is not a queue depth without a unit", hint)
        try:
            size = _core.parse_size(value)
        except ValueError as error:
            span = _span(value)
            if span is None:
                raise self.error(key, f"{value!r} is not a queue depth: {error}", hint) from None
            if span <= 0:
                raise self.error(key, f"a queue of {value} delivers nothing", hint) from None
            return Depth(duration_ns=span)
        if size < least_bytes:
            raise self.error(
                key, f"{size} bytes hold no full-size packet", f"give at least {least_bytes}B"
            )
        return Depth(bytes=size)

    def _quantity(self, key: str, parse: Callable[[str], int], example: str, default: T) -> int | T:
        if key not in self:
            return default
        value = self._values[key]
        if not isinstance(value, str):
            raise self.error(
                key,
                f"{value!r} lacks a unit",
                f'write it in quotes with its unit, for example "{example}"',
            )
        if lacks_unit(value):
            raise self.error(key, f"{value!r} lacks a unit", f'for example "{example}"')
        try:
            return parse(value)
        except ValueError as error:
            raise self.error(key, str(error), f'for example "{example}"') from None

    # Tables and lists.

    def table(self, key: str) -> Table | None:
        """A table below this one."""
        if key not in self:
            return None
        return Table(self.source, (*self.path, key), self._values[key])

    def tables(self, key: str) -> dict[str, Table]:
        """The tables of ``[key.NAME]`` by their names, in the order of the file."""
        outer = self.table(key)
        if outer is None:
            return {}
        return {
            name: Table(self.source, (*outer.path, name), outer._values[name]) for name in outer
        }

    def rows(self, key: str, example: str) -> list[Table]:
        """A list of tables."""
        if key not in self:
            return []
        value = self._values[key]
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(
                key, f"must be a list of tables, not {_kind(value)}", f"for example: {example}"
            )
        return [
            Table(self.source, (*self.path, key, number), one) for number, one in enumerate(value)
        ]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a single string is a list of one."""
        if key not in self:
            return ()
        value = self._values[key]
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise self.error(
                key,
                f"must be a list of strings, not {_kind(value)}",
                f'for example: {key} = ["one", "two"]',
            )
        for text in listed:
            self._check_text(key, text)
        return tuple(listed)

    def file(self, key: str) -> File | None:
        """A file that exists, named relative to the scenario's directory."""
        name = self.text(key, None)
        if name is None:
            return None
        path = self.source.file.parent / name
        hint = self.source.hint_of_files(File(name))
        try:
            if path.is_file():
                return path
            siblings = (
                [entry.name for entry in path.parent.iterdir() if entry != self.source.file]
                if path.parent.is_dir()
                else []
            )
        except OSError as error:
            raise self.error(
                key, f"{path} cannot be read: {(error.strerror or str(error)).lower()}", hint
            ) from None
        raise self.error(key, f"no such file, {path}", nearest(path.name, siblings, hint))

    def _typed(self, key: str, kind: type[Any], default: T) -> Any:  # noqa: ANN401 - the callers know the type
        if key not in self:
            return default
        value = self._values[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self._wrong_kind(key, kind)
        if isinstance(value, str):
            self._check_text(key, value)
        return value

    def _check_text(self, key: str, text: str) -> None:
        if "\0" in text:
            raise self.error(key, "contains a NUL character", "leave it out")

    def _wrong_kind(self, key: str, kind: type[Any]) -> NoReturn:
        raise self.error(
            key,
            f"must be {_KINDS[kind]}, not {_kind(self._values[key])}",
            f"write {key} = {_example(kind)}",
        )


def _span(text: str) -> int | None:
    try:
        return int(_core.parse_span(text))
    except ValueError:
        return None


def _kind(value: object) -> str:
    name = _KINDS.get(type(value), type(value).__name__)
    return f"{value!r}" if isinstance(value, (str, int, float)) else name


def _example(kind: type[Any]) -> str:
    return {str: '"…"', bool: "true", int: "10", float: "0.5"}.get(kind, "…")
