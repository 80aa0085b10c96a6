"""Reads the text of a file that a person writes; reports one that is not text or not TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.scenario.error import ScenarioError, nearest
from trustbed.scenario.positions import Keys

_MOST_BYTES = 4 << 20
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """The kind of file that is expected.

    Its name with the article, its name's endings, and a hint about files of another kind.
    """

    name: str
    endings: Sequence[str]
    otherwise: str

    @property
    def hint(self) -> str:
        """Which kind of file to name."""
        return f"name {self.name}, a file that ends in {' or '.join(self.endings)}"


SCENARIO = Nature(
    name="a scenario", endings=(".toml",), otherwise="a capture goes to trustbed analyze"
)


def read_text(path: Path, nature: Nature) -> str:
    """The text of a file.

    Raises:
        ScenarioError: It is missing, cannot be read, is too long, or is not text.
    """
    try:
        octets = path.read_bytes()
    except FileNotFoundError:
        directory = path.parent
        siblings = (
            [entry.name for ending in nature.endings for entry in directory.glob(f"*{ending}")]
            if directory.is_dir()
            else []
        )
        raise ScenarioError(
            f"no such file, {path}", nearest(path.name, siblings, nature.hint)
        ) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScenarioError(f"cannot be read, {path}: {reason}", nature.hint) from None
    if len(octets) > _MOST_BYTES:
        message = f"is too large for {nature.name}, {path}: {len(octets):,} bytes"
        raise ScenarioError(message, f"name {nature.name}; {nature.otherwise}")
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = octets[: error.start].count(b"\n") + 1
        raise ScenarioError(
            "is not UTF-8 text", f"save it as UTF-8; {nature.otherwise}", file=path, line=line
        ) from None


def read_toml(path: Path, text: str, nature: Nature) -> Keys:
    """The values of a TOML text.

    Raises:
        ScenarioError: It is not TOML; the message names the line.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        reported = "Nested too deeply"
    except tomllib.TOMLDecodeError as error:
        reported = str(error)
    found = _POSITION.search(reported)
    line = (
        int(found.group(1)) if found is not None and found.group(1) else len(text.splitlines()) or 1
    )
    message = _POSITION.sub("", reported)
    message = message[:1].lower() + message[1:]
    hint = (
        f"{nature.name} is TOML (https://toml.io): texts and quantities in quotes, tables in "
        f"brackets, every name once"
    )
    raise ScenarioError(message, hint, file=path, line=line)
