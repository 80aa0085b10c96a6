"""One kind of finding, as the catalogue describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["info", "warning", "error"]
ScopeKind: TypeAlias = Literal["capture", "host", "transfer", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One kind of finding. ``unit`` is the unit of its value and threshold."""

    code: str
    severity: Severity
    scope: ScopeKind
    title: str
    unit: str
    meaning: str
    next_step: str

    @property
    def anchor(self) -> str:
        """Where the documentation describes it."""
        return f"findings.md#{self.code}"
