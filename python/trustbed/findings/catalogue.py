"""Findings and their catalogue: code, severity, title, meaning and next step, worded once.

Severity: ``info`` lowers nothing, ``warning`` can lower what may be concluded, ``error`` means that
something is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["info", "warning", "error"]
ScopeKind: TypeAlias = Literal["capture", "host", "transfer", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One kind of finding.

    Attributes:
        severity: The usual one.
        unit: Unit of its value and threshold.
        next_step: Markdown: commands are between backticks, which a finding drops.
        otherwise: Another severity that it may have, and when; thresholds are named in braces.
    """

    code: str
    severity: Severity
    scope: ScopeKind
    title: str
    unit: str
    meaning: str
    next_step: str
    otherwise: tuple[Severity, str] | None = None

    @property
    def severities(self) -> tuple[Severity, ...]:
        """Every severity that it may have, the usual one first."""
        return (self.severity,) if self.otherwise is None else (self.severity, self.otherwise[0])

    @property
    def anchor(self) -> str:
        """Where the documentation describes it."""
        return f"findings.md#{self.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A checked statement.

    Attributes:
        scope: ``capture``, ``host``, ``run``, a host's address, an interface or a transfer.
        value: What was measured, in ``unit``.
        threshold: What it was compared with, in ``unit``.
    """

    code: str
    severity: Severity
    scope: str
    message: str
    value: float | None
    threshold: float | None
    unit: str
    evidence: str
    meaning: str
    next_step: str


class Catalogue(Mapping[str, Entry]):
    """Entries by code, in the order of the documentation."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = {entry.code: entry for entry in entries}

    def __getitem__(self, code: str) -> Entry:
        return self._entries[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def finding(
        self,
        code: str,
        message: str,
        *,
        value: float | None = None,
        threshold: float | None = None,
        scope: str = "capture",
        evidence: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        """A finding in the words of its entry.

        Args:
            code: Code of the entry.
            message: What was found, in numbers.
            value: What was measured, in the unit of the entry.
            threshold: What it was compared with, in the same unit.
            scope: What it is about.
            evidence: The numbers behind the message.
            severity: One of the entry's severities; the usual one unless given.
        """
        entry = self[code]
        assert severity is None or severity in entry.severities, (
            f"the catalogue does not know {code} as {severity}"
        )
        return Finding(
            code=code,
            severity=severity or entry.severity,
            scope=scope,
            message=message,
            value=value,
            threshold=threshold,
            unit=entry.unit,
            evidence=evidence,
            meaning=entry.meaning,
            next_step=entry.next_step.replace("`", ""),
        )
