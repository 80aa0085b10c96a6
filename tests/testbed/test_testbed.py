"""The environment that a testbed passes on to its hosts."""

from __future__ import annotations

from typing import Any

import pytest

from trustbed.testbed import Host, Process, Testbed, plan
from trustbed.testbed.netns.registry import VARIABLE

HOSTS = [Host(name="near", addresses=("10.77.0.1",)), Host(name="far", addresses=("10.77.0.2",))]


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Testbed:
    """A testbed that was not started."""
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("OURS", "alone")
    monkeypatch.setattr(Testbed, "id", "abcdef")
    return Testbed(plan(HOSTS))


class Guest:
    """Takes commands and runs none."""

    def __init__(self) -> None:
        self.environment: dict[str, str] | None = None

    def start_command(
        self,
        command: list[str],
        *,
        environment: dict[str, str] | None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.environment = environment


def test_a_guest_has_what_it_is_given_even_where_we_have_the_same(idle: Testbed) -> None:
    guest: Any = Guest()
    idle._guests["near"] = guest
    idle.start("near", ["env"], environment={"LANG": "C.UTF-8", "MORE": "x"})
    assert guest.environment == {"LANG": "C.UTF-8", "MORE": "x"}
    idle.start("near", ["env"])
    assert guest.environment is None, "it keeps its own"


def test_a_namespace_has_ours_as_well(idle: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    monkeypatch.setattr(
        Process, "start", lambda command, **options: given.append(options["environment"])
    )
    idle.start("near", ["env"], environment={"LANG": "C", "MORE": "x"})
    (environment,) = given
    assert (
        environment["LANG"],
        environment["OURS"],
        environment["MORE"],
        environment[VARIABLE],
    ) == ("C", "alone", "x", "abcdef")
