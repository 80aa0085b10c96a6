"""One kind of finding, as the catalogue describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["info", "warning", "error"]
ScopeKind: TypeAlias = Literal["capture", "host", "transfer", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One kind of finding.

    Attributes:
        severity: The usual one.
        unit: Of its value and threshold.
        next_step: Markdown: commands stand between backticks, which a finding does without.
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
