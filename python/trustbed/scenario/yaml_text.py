"""Reads YAML as plain values, with the line of each.

A subset of YAML, on purpose: names are strings and unique, there are no application-specific tags,
no merge keys, and a limit on the number of values (aliases could expand to any number).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from trustbed.scenario.positions import Keys, Path

_DEEPEST = 64
_MOST_VALUES = 200_000
_MERGE = "tag:yaml.org,2002:merge"
_STANDARD = "tag:yaml.org,2002:"


class NotReadable(Exception):
    """A text that is not YAML, or uses what is not supported."""

    def __init__(self, message: str, hint: str, line: int | None, key: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.key = key


def read_yaml(text: str) -> tuple[Any, Mapping[Path, int]]:
    """The values of a text, and the line (from 1) of every name and element.

    Raises:
        NotReadable: It is not YAML, or uses what is not supported.
    """
    hint = "check the indentation of that line and the one before; strings with : or # need quotes"
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            reader = _Reader(loader)
            value = None if node is None else reader.value(node, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotReadable(
            error.problem or error.context or "is not YAML",
            hint,
            None if mark is None else mark.line + 1,
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reported = (
            "it is nested too deeply"
            if isinstance(error, RecursionError)
            else str(error).splitlines()[0]
        )
        raise NotReadable(f"cannot be read as YAML: {reported}", hint, None) from None
    return value, reader.lines


class _Reader:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._count = 0
        self.lines: dict[Path, int] = {}

    def value(self, node: yaml.Node, path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count += 1
        if self._count > _MOST_VALUES or len(path) > _DEEPEST:
            raise NotReadable(
                "has too many values, or is nested too deeply", "write it without aliases", line
            )
        if not node.tag.startswith(_STANDARD):
            raise NotReadable(
                f"the tag {node.tag} is not supported", "write the value itself", line, path
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(one, (*path, number)) for number, one in enumerate(node.value)]
        return self._loader.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> Keys:
        found: Keys = {}
        for name, value in node.value:
            line = name.start_mark.line + 1
            if name.tag == _MERGE:
                raise NotReadable(
                    "merge keys (<<) are not supported",
                    "write out the keys",
                    line,
                    path,
                )
            key = self._loader.construct_object(name) if isinstance(name, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise NotReadable(
                    f"the name {getattr(name, 'value', '?')} is not a string",
                    "write it in quotes",
                    line,
                    path,
                )
            if key in found:
                raise NotReadable(
                    f"{key} is given twice", "leave one of them out", line, (*path, key)
                )
            self.lines[(*path, key)] = line
            found[key] = self.value(value, (*path, key))
        return found
