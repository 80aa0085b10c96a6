"""The demo's live part, carried out once for all tests of it."""

from __future__ import annotations

import pytest

from tests.demo.experiments import Carried, shorter
from tools import live, versus
from tools.stories import NICS, Study


@pytest.fixture(scope="session")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """The demo's own experiments with shorter transfers, each run at its first use."""
    known: dict[str, live.Found] = {}

    def made(study: Study) -> live.Experiment:
        if study.name not in known:
            directory = tmp_path_factory.mktemp(study.name)
            known[study.name] = live.carry_out(study, directory, scenario=shorter(study, directory))
        found = known[study.name]
        if isinstance(found, live.Missing) and found.forbidden:
            pytest.skip(found.message)
        assert isinstance(found, live.Experiment), found
        return found

    return made


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> versus.Compared:
    """The demo's own comparison of guests, with two repetitions of a second."""
    directory = tmp_path_factory.mktemp(NICS.name)
    text = NICS.file.read_text(encoding="utf-8")
    file = directory / NICS.file.name
    assert 'duration = "3s"' in text
    assert "repetitions = 3" in text
    text = text.replace('duration = "3s"', 'duration = "1s"')
    file.write_text(text.replace("repetitions = 3", "repetitions = 2"), encoding="utf-8")
    found = versus.carry_out(directory, scenario=file)
    if isinstance(found, live.Missing) and found.forbidden:
        pytest.skip(found.message)
    assert isinstance(found, versus.Compared), found
    return found
