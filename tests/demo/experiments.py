"""The demo's experiments as tests carry them out, and what its tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from tools import live
from tools.stories import GUEST, NETWORK, NICS, PROCESS, STUDIES, Study
from trustbed.scenario import Scenario, load


class Carried(Protocol):
    """A study carried out, at its first use or ``anew``."""

    def __call__(self, study: Study, *, anew: bool = False) -> live.Experiment: ...


STARVED = (GUEST, PROCESS)
NOT_COMPARED = live.Missing(
    study=NICS, message="guests need QEMU", hint="install it", forbidden=True
)
EACH = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
LIVE_SECONDS = 900
"""Two guests boot before the first test that needs one, which takes long on a busy machine."""


def quiet_transfers(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that carries out transfers and reads their timing."""
    return pytest.mark.quiet(pytest.mark.timeout(LIVE_SECONDS)(test))


def shorter(study: Study, directory: Path) -> Path:
    """Its scenario with transfers of two or three seconds."""
    text = study.file.read_text(encoding="utf-8")
    file = directory / study.file.name
    less = 'duration = "2s"\nwarm_up = "300ms"' if study is NETWORK else 'duration = "3s"'
    file.write_text(text.replace('duration = "5s"', less), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    return file


def scenarios(study: Study) -> list[Scenario]:
    """What the demo carries out."""
    return [cell.scenario for cell in study.chosen(load(study.file)).cells]


def page_of(report: Path) -> str:
    return report.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
