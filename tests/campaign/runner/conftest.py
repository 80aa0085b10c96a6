"""Campaigns between hosts that are this machine, or simulated."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tests.patience import wait_until
from trustbed.campaign import Round, records
from trustbed.campaign.judge import judge_round
from trustbed.campaign.records import JudgedRound, RoundRecord
from trustbed.campaign.runner import Runner
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.campaign.runner.round import CancelledRoundError
from trustbed.errors import TestbedError
from trustbed.scenario import campaign as campaigns
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import Campaign
from trustbed.scenario.inventory import Address

LOCAL = '[hosts.{name}]\nlocal = true\nmeasure = "127.0.0.{number}"\n'
SIZES = '[{ probe = "16KiB", data = "256KiB" }, { probe = "32KiB", data = "512KiB" }]'


def text_of(*pairs: str, hosts: str | None = None, more: str = "", **rounds: object) -> str:
    """A campaign file.

    Pairs are written ``sender-receiver``, hosts are this machine unless given.
    """
    names = list(dict.fromkeys(name for pair in pairs for name in pair.split("-")))
    described = (
        hosts
        if hosts is not None
        else "".join(LOCAL.format(name=name, number=number) for number, name in enumerate(names, 1))
    )
    keys = {
        "count": 2,
        "period": '"1s"',
        "pings": 2,
        "ping_interval": '"20ms"',
        "table": SIZES,
        "windows": '{ probe = "16KiB", data = "64KiB" }',
        "time_limit": '"30s"',
        **rounds,
    }
    written = "".join(
        '[[pairs]]\nsender = "{}"\nreceiver = "{}"\n'.format(*pair.split("-")) for pair in pairs
    )
    return (
        f"{described}{written}[rounds]\n"
        + "".join(f"{key} = {value}\n" for key, value in keys.items())
        + more
    )


def study_of(directory: Path, *pairs: str, **rounds: Any) -> CampaignFile:  # noqa: ANN401 - keys of a file
    """A campaign read from such a file."""
    file = directory / "study.toml"
    file.write_text(text_of(*pairs, **rounds), encoding="utf-8")
    return campaigns.load(file)


class PlayedHost:
    """A simulated host without agents."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_gone = False
        self.is_away = False

    def give_up(self) -> None:
        """Marks it as gone."""
        self.is_away, self.is_gone = False, True

    def start_agent(self, verb: str, config: Mapping[str, Any], *, name: str) -> Any:  # noqa: ANN401 - an agent
        """Fails."""
        raise TestbedError(f"{name}: {verb} is not played", "none")


class PlayedHosts(dict[str, PlayedHost]):
    """Hosts that connect at once unless they are down."""

    def __init__(self, study: CampaignFile, down: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.down = set(down)

    def connect_one(self, name: str) -> None:
        """Connects one that is not down."""
        if name in self.down or (name in self and self[name].is_away):
            raise TestbedError(f"the host {name} does not answer", "wait")
        if name not in self or self[name].is_gone:
            self[name] = PlayedHost(name)


class PlayedRound:
    """A round that writes files like a real one of the papers' sizes, and takes no time.

    Its rates depend on its number.
    """

    capture_bytes = 1000
    waits: threading.Event | None = None

    def __init__(
        self,
        campaign: Campaign,
        one: Round,
        sender: PlayedHost,
        receiver: PlayedHost,
        address: Address,
        cancelled: threading.Event,
    ) -> None:
        self.campaign, self.one, self.sender, self.receiver = campaign, one, sender, receiver
        self.address, self.cancelled = address, cancelled

    def carry_out(self, directory: Path) -> RoundRecord:
        """The record of a completed round."""
        if self.waits is not None:
            while not self.waits.wait(0.01):
                if self.cancelled.is_set():
                    raise CancelledRoundError
        (directory / "sender.pcapng").write_bytes(b"x" * self.capture_bytes)
        (directory / "sender.samples.jsonl").write_text(
            "".join(f'{{"at_ns": {second}, "interval_ns": 1000000000}}\n' for second in range(60))
        )
        sizes = [("probe", self.one.index.probe_bytes), ("data", self.one.index.data_bytes)]
        rows = [
            row_of(pair, role, size, 1e6 + 1000 * self.one.number)
            for pair in range(3)
            for role, size in sizes
        ]
        return record_of(
            pair=self.one.pair.name,
            number=self.one.number,
            index=self.one.index.name,
            probe_bytes=sizes[0][1],
            data_bytes=sizes[1][1],
            limit_ns=300_000_000_000,
            ping={"from": "127.0.0.1", "round_trips_ns": [10_000_000] * 10},
            sent={"connections": rows},
            received={"connections": rows},
            outcome="complete",
        )


class Leaping(Runner):
    """A runner that does not wait for the next round once the last one is over and judged.

    Its clock leaps there instead: no round is late, however slow the machine.
    """

    leapt_ns = 0

    def carry_out(self) -> None:
        """As without leaps."""
        clock = SimpleNamespace(
            monotonic=time.monotonic, time_ns=lambda: time.time_ns() + self.leapt_ns
        )
        with mock.patch("trustbed.campaign.runner.runner.time", clock):
            super().carry_out()

    def _wait(self, until_ns: int | None) -> None:
        if until_ns is not None and not self._running:
            wait_until(lambda: self._to_judge.empty() or self._failure, "the judgement")
            self.leapt_ns = max(self.leapt_ns, until_ns - time.time_ns())
        super()._wait(until_ns)


def record_of(**found: object) -> RoundRecord:
    """The record of a round with these keys."""
    return records.read({"pair": "a-b", "number": 0, "index": "1", **found}, RoundRecord)


def row_of(pair: int, role: str, size: int, rate: float, **more: object) -> dict[str, Any]:
    """A connection as both hosts report it."""
    return {
        "pair": pair,
        "role": role,
        "size_bytes": size,
        "payload_bytes": size,
        "local": f"127.0.0.1:{5000 + 2 * pair + (role == 'data')}",
        "accepted_ns": 0,
        "connected_ns": 1,
        "last_byte_ns": 10**9,
        "result_ns": 10**9,
        "app_bytes_per_second": rate,
        "snd_bytes_per_second": rate,
        "close": "complete",
        "failed": False,
        **more,
    }


@contextlib.contextmanager
def _judging_here() -> Iterator[Callable[[RoundDirectory], JudgedRound]]:
    yield lambda one: judge_round(one, one.record())


@pytest.fixture
def judged_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are judged by this process, which has loaded all that it needs.

    Others are judged in processes of their own, as :mod:`test_judging_process` has it.
    """
    monkeypatch.setattr("trustbed.campaign.api.JudgingProcesses", _judging_here)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory of hosts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / f"trustbed-{os.getuid()}"
