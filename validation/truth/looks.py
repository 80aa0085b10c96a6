"""The log of every look at the half of the families that is reported.

What was seen can be fitted to. So each time the report half is scored, the date, the commit and the
figures are appended to a file in the repository, which the page shows: the first look first, for it
is the only one that no mistake was read before.

Bias: a look that was taken with a changed copy of this file is not in it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from validation.truth.result import VIEWS, Result
from validation.truth.score import Score, Share

HALF = "report"
FILE = Path(__file__).with_name("looks.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one view came to. Shares are (hits, of)."""

    cases: int
    networks: int
    macro_f1: float | None
    interval: tuple[float, float] | None
    right: tuple[int, int]
    sets: tuple[int, int]
    false_alarms: tuple[int, int]
    missed_discards: tuple[int, int]
    doomed_trusted: tuple[int, int]
    confidently_wrong: tuple[int, int]

    @classmethod
    def of(cls, score: Score) -> Figures:
        """The figures of a score."""
        return cls(
            cases=score.cases,
            networks=score.networks,
            macro_f1=score.macro_f1,
            interval=score.macro_f1_interval,
            right=_counts(score.right),
            sets=_counts(score.sets),
            false_alarms=_counts(score.false_alarms),
            missed_discards=_counts(score.missed_discards),
            doomed_trusted=_counts(score.doomed_trusted),
            confidently_wrong=_counts(score.confidently_wrong),
        )


def _counts(share: Share) -> tuple[int, int]:
    return share.hits, share.of


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look. ``plan`` is the identity of the plan; ``views`` are by name."""

    date: str
    commit: str
    plan: Mapping[str, Any]
    views: Mapping[str, Figures]

    @classmethod
    def of(cls, result: Result, *, date: str, commit: str) -> Look:
        """What a result shows of the report half; views without a case are left out."""
        scores = {view.name: result.score(view, HALF) for view in VIEWS}
        return cls(
            date=date,
            commit=commit,
            plan=dict(result.identity or {}),
            views={name: Figures.of(found) for name, found in scores.items() if found.cases},
        )

    def sees_the_same(self, other: Look) -> bool:
        """Whether another look had the same plan, commit and figures."""
        return (_plain(self.plan), self.commit, _plain(self.views)) == (
            _plain(other.plan),
            other.commit,
            _plain(other.views),
        )


def read(file: Path = FILE) -> list[Look]:
    """Every look, the first first."""
    if not file.is_file():
        return []
    return [_look(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def record(look: Look, file: Path = FILE) -> bool:
    """Appends a look, unless the last was the same; whether it was appended."""
    before = read(file)
    if not look.views or (before and before[-1].sees_the_same(look)):
        return False
    with file.open("a", encoding="utf-8") as target:
        target.write(json.dumps(asdict(look), ensure_ascii=False) + "\n")
    return True


def of_plan(looks: Iterable[Look], plan: Mapping[str, Any] | None) -> list[Look]:
    """The looks at transfers of one plan."""
    return [look for look in looks if _plain(look.plan) == _plain(plan or {})]


def commit(directory: Path) -> str:
    """The commit that is checked out, marked where files differ from it."""
    head = _git(directory, "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    return f"{head} and changes" if _git(directory, "status", "--porcelain", "-uno") else head


def _git(directory: Path, *words: str) -> str:
    try:
        ended = subprocess.run(
            ["git", "-C", str(directory), *words], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(json.dumps(value, default=_fields))


def _fields(figures: Figures) -> dict[str, Any]:
    return asdict(figures)


def _look(values: Mapping[str, Any]) -> Look:
    views = {name: _figures(found) for name, found in values["views"].items()}
    return Look(date=values["date"], commit=values["commit"], plan=values["plan"], views=views)


def _figures(found: Mapping[str, Any]) -> Figures:
    pairs: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in found.items()
    }
    return Figures(**pairs)
