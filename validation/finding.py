"""The outcome of a comparison: per field, and per connection and direction."""

from collections.abc import Callable
from dataclasses import dataclass, field

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome for one field: equal, explained or unexplained.

    `reasons` are named when it is explained, `detail` describes the difference when it is not.
    """

    tool: str
    field: str
    state: str
    reasons: tuple[str, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class Result:
    """All findings of one connection and direction."""

    connection: int
    source: Endpoint
    destination: Endpoint
    findings: list[Finding] = field(default_factory=list)

    @property
    def state(self) -> str:
        """The worst of its fields."""
        states = {finding.state for finding in self.findings}
        return next((state for state in ("unexplained", "explained") if state in states), "equal")

    @property
    def reasons(self) -> list[str]:
        """Every reason used, as tool.reason, sorted."""
        return sorted(
            {f"{finding.tool}.{reason}" for finding in self.findings for reason in finding.reasons}
        )


def equal(tool: str, name: str) -> Finding:
    """Both have the same value."""
    return Finding(tool, name, "equal")


def explained(tool: str, name: str, reasons: set[str] | tuple[str, ...]) -> Finding:
    """They differ, and every difference has its reason."""
    if not reasons:
        return unexplained(tool, name, "the totals differ, but no packet does")
    return Finding(tool, name, "explained", tuple(sorted(reasons)))


def unexplained(tool: str, name: str, detail: str) -> Finding:
    """They differ, and no reason explains it."""
    return Finding(tool, name, "unexplained", (), detail)


def sentence(predicate: Callable[..., bool]) -> str:
    """What a reason means: the docstring of its predicate, on one line."""
    return " ".join((predicate.__doc__ or "").split())
