"""The line of every key of a TOML file.

The standard library's parser returns the values without their lines. This scanner finds only keys
and the ends of values; it reads files that :mod:`tomllib` has accepted and reports no errors. For
any other text its results are meaningless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

#: The path to a value: names of tables and keys, and indices of elements in arrays, from 0.
Path: TypeAlias = tuple[str | int, ...]
Keys: TypeAlias = dict[str, Any]
"""A table as parsed, not validated yet."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\r\n]+")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def lines_of(text: str) -> Mapping[Path, int]:
    """The line (from 1) of every table, key and array element of a valid TOML text."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [index for index, character in enumerate(text) if character == "\n"]
        self._lengths: dict[Path, int] = {}
        self.lines: dict[Path, int] = {}

    def document(self) -> None:
        """All of it."""
        table: Path = ()
        self._skip_blank()
        while self._at < len(self._text):
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)
            self._skip_blank()

    def _header(self, brackets: int) -> Path:
        self._at += brackets
        line = self._line()
        names = self._dotted()
        self._at += brackets
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if brackets == 2 and index == len(names) - 1:
                self._lengths[path] = self._lengths.get(path, 0) + 1
            self.lines.setdefault(path, line)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
                self.lines.setdefault(path, line)
        return path

    def _pair(self, table: Path) -> None:
        path = table
        line = self._line()
        for name in self._dotted():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._skip_spaces()
        self._value(path)

    def _value(self, path: Path) -> None:
        character = self._text[self._at]
        if character in "\"'":
            self._string()
        elif character == "[":
            self._array(path)
        elif character == "{":
            self._inline_table(path)
        else:
            found = _SCALAR.match(self._text, self._at)
            assert found is not None, "a value has at least one character"
            self._at = found.end()

    def _array(self, path: Path) -> None:
        self._at += 1
        number = 0
        while not self._closed("]"):
            self.lines[(*path, number)] = self._line()
            self._value((*path, number))
            number += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while not self._closed("}"):
            self._pair(path)

    def _closed(self, bracket: str) -> bool:
        self._skip_blank()
        while self._text[self._at] == ",":
            self._at += 1
            self._skip_blank()
        if self._text[self._at] != bracket:
            return False
        self._at += 1
        return True

    def _dotted(self) -> list[str]:
        names = []
        while True:
            self._skip_spaces()
            names.append(self._name())
            self._skip_spaces()
            if not self._text.startswith(".", self._at):
                return names
            self._at += 1

    def _name(self) -> str:
        if self._text[self._at] in "\"'":
            return self._string()
        found = _BARE.match(self._text, self._at)
        assert found is not None, "a key has at least one character"
        self._at = found.end()
        return found.group()

    def _string(self) -> str:
        quote = self._text[self._at]
        if self._text.startswith(quote * 3, self._at):
            self._long_string(quote)
            return ""
        end = self._at + 1
        while self._text[end] != quote:
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        return _ESCAPE.sub(_unescaped, inside) if quote == '"' else inside

    def _long_string(self, quote: str) -> None:
        end = self._at + 3
        while not self._text.startswith(quote * 3, end):
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        end += 3
        while self._text.startswith(
            quote, end
        ):  # up to two quotes may directly precede the closing three
            end += 1
        self._at = end

    def _skip_spaces(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1

    def _skip_blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        assert found is not None, "nothing is blank too"
        self._at = found.end()

    def _line(self) -> int:
        from bisect import bisect_left

        return bisect_left(self._newlines, self._at) + 1


def _unescaped(found: re.Match[str]) -> str:
    short, long, single = found.groups()
    code = short or long
    return chr(int(code, 16)) if code else _ESCAPED.get(single, single)
