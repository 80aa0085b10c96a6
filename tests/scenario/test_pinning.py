"""The processors of hosts, as scenarios describe them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.scenario import ScenarioError, load

HOSTS = """
[hosts.client]
[hosts.server]
pin = {pin}
[link]
rate = "20Mbit/s"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
"""


@pytest.mark.parametrize(("text", "pin"), [("1", (1,)), ("[2, 0, 2]", (0, 2)), ('"none"', ())])
def test_processors_are_a_number_or_a_list(tmp_path: Path, text: str, pin: tuple[int, ...]) -> None:
    file = tmp_path / "pinned.toml"
    file.write_text(HOSTS.format(pin=text), encoding="utf-8")
    assert load(file).first.host("server").pin == pin


@pytest.mark.parametrize("text", ["[]", "-1", "true", '"1"', "[0, true]", "1.5"])
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pinned.toml"
    file.write_text(HOSTS.format(pin=text), encoding="utf-8")
    with pytest.raises(ScenarioError, match="numbers of processors"):
        load(file)


def test_a_spinner_and_a_pin_are_one_too_many(tmp_path: Path) -> None:
    file = tmp_path / "pinned.toml"
    fault = '[faults.f]\nkind = "spinner"\nhost = "server"\nbusy = "5ms of 10ms"\n'
    file.write_text(HOSTS.format(pin="0") + fault, encoding="utf-8")
    with pytest.raises(ScenarioError, match="server, which is pinned"):
        load(file)
