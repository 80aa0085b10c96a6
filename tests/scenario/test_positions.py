"""The scanner finds exactly the keys that tomllib finds, with their lines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trustbed.scenario.positions import Path, lines_of

NAMES = st.sampled_from(
    ["a", "b-c", "1", "é", "x.y", 'say "no"', "tab\there", "#", "[x]", "quote'"]
)
TEXTS = st.sampled_from(
    ["", "plain", '"', "'", "a\nb", "]", "}", "# no remark", "\\", "'''", '"""', "é=1"]
)
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.sampled_from([0.5, 1e6]), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
TABLES = st.dictionaries(NAMES, VALUES, max_size=4)
DOCUMENTS = st.dictionaries(
    NAMES, st.one_of(VALUES, st.lists(TABLES, min_size=1, max_size=3)), max_size=5
)


def quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{plain}"'


def key(name: str) -> str:
    return name if name.isascii() and name.replace("-", "").isalnum() else quoted(name)


class Writer:
    """Writes a document in a form of TOML chosen by the drawn data; stores the lines of keys."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw
        self.text = ""

    def document(self, document: dict[str, Any]) -> str:
        tables = {name: value for name, value in document.items() if self._is_own_table(value)}
        for name, value in document.items():
            if name not in tables:
                self.text += f"{key(name)} = {self._value(value)}{self._end()}"
        for name, value in tables.items():
            for one in value if isinstance(value, list) else [value]:
                brackets = 2 if isinstance(value, list) else 1
                self.text += f"{'[' * brackets} {key(name)} {']' * brackets}{self._end()}"
                for inner, held in one.items():
                    self.text += f"  {key(inner)}={self._value(held)}{self._end()}"
        return self.text

    def _is_own_table(self, value: object) -> bool:
        tabular = isinstance(value, dict) or (
            isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
        )
        return bool(tabular) and self._draw(st.booleans())

    def _end(self) -> str:
        return self._draw(st.sampled_from(["\n", "\n\n", " # a = 1\n", '\n# "[b]\n', "\r\n"]))

    def _value(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            if "'" not in value and self._draw(st.booleans()):
                return f"'''{value}'''" if "\n" in value else f"'{value}'"
            return quoted(value)
        if isinstance(value, list):
            space = self._draw(st.sampled_from(["", " ", "\n", " # ,]\n"]))
            return f"[{space}{','.join(self._value(one) + space for one in value)}]"
        if isinstance(value, dict):
            return (
                "{"
                + ", ".join(f"{key(name)} = {self._value(one)}" for name, one in value.items())
                + "}"
            )
        return repr(value)


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, held in inner:
        yield from paths(held, (*path, name))


@settings(max_examples=50)
@given(DOCUMENTS, st.data())
def test_every_key_has_a_line_and_nothing_else_has(
    document: dict[str, Any], data: st.DataObject
) -> None:
    text = Writer(data).document(document)
    assert tomllib.loads(text) == document
    found = lines_of(text)
    assert set(found) == set(paths(document))
    lines = text.split("\n")
    for path, line in found.items():
        name = path[-1]
        if isinstance(name, str):
            assert key(name) in lines[line - 1]


def test_lines_are_counted_from_one_through_texts_of_many_lines() -> None:
    text = (
        '\n[a]\nb = """\nx = 1\n\\""" ""\n"""\nc.d = 1 # [e]\n[[f]]\n[[f]]\ng = [\n 1,\n {h = '
        '"]"},\n]\n[f.i]\n'
    )
    tomllib.loads(text)
    assert dict(lines_of(text)) == {
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "c"): 7,
        ("a", "c", "d"): 7,
        ("f",): 8,
        ("f", 0): 8,
        ("f", 1): 9,
        ("f", 1, "g"): 10,
        ("f", 1, "g", 0): 11,
        ("f", 1, "g", 1): 12,
        ("f", 1, "g", 1, "h"): 12,
        ("f", 1, "i"): 14,
    }
