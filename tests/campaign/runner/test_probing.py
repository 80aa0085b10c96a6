"""What a round asks the path before its connections, between hosts whose agents are played."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from tests.campaign.runner.conftest import study_of
from trustbed.agent.client import AgentError
from trustbed.agent.control import Reading
from trustbed.campaign import Round, path_of
from trustbed.campaign.records import RoundRecord, plain
from trustbed.campaign.runner import probing
from trustbed.campaign.runner.round import RoundCarrier
from trustbed.errors import TestbedError
from trustbed.scenario.campaign_model import Index

SECOND = 10**9
REPORTS: Mapping[str, dict[str, Any]] = {
    "ping": {"from": "127.0.0.1", "interface": "lo", "round_trips_ns": [1]},
    "probe": {
        "sent_probes": 20,
        "answered_probes": 20,
        "delays": None,
        "directions": None,
        "clocks": {},
    },
    "reflect": {"answered_packets": 20, "too_fast_packets": 0},
    "send": {
        "ending": "time_limit",
        "chirps": {"sent": 9, "used": 9},
        "pathchirp": {"mean_ip_bits_per_second": None},
    },
    "receive": {"received_packets": 9},
    "pairs send": {"connections": []},
    "pairs receive": {"connections": []},
}
ASKED = {
    "delay": '{ probes = 20, mean_gap = "1ms" }',
    "bandwidth": '{ pathchirp = "10s" }',
    "period": '"60s"',
}


@dataclass
class Played:
    """Scripted agents, and a clock that only moves when an agent takes its time to begin.

    Attributes:
        reports: The report of each; an error is raised.
        begins: How long the beginning of each takes, in nanoseconds.
        configured: The configuration of each.
        now_ns: The clock.
    """

    reports: dict[str, dict[str, Any] | Exception] = field(default_factory=lambda: dict(REPORTS))
    begins: dict[str, int] = field(default_factory=dict)
    configured: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    now_ns: int = 0


class PlayedAgent:
    """A scripted agent."""

    pid = 1
    is_away = False

    def __init__(self, played: Played, kind: str, name: str) -> None:
        self.name = name
        opened = {"probe": "127.0.0.2:8", "data": "127.0.0.2:9"}
        self.ready: Mapping[str, Any] = {
            "listening": opened if kind.startswith("pairs") else "127.0.0.2:7"
        }
        self._played = played
        self._kind = kind

    def begin(self) -> dict[str, Any]:
        """Begins, after its delay."""
        self._played.now_ns += self._played.begins.get(self._kind, 0)
        return {"start_ns": self._played.now_ns * (2 if self.name.endswith(" on b") else 1)}

    def poll(self, seconds: float) -> dict[str, Any]:
        """Its report, at once."""
        return self.stop()

    def stop(self) -> dict[str, Any]:
        """Its report, or why there is none."""
        report = self._played.reports[self._kind]
        if isinstance(report, Exception):
            raise report
        return {"event": "report", **report}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class PlayedHost:
    """A host of scripted agents, without samples.

    The sender's clock is exact, the receiver's runs twice as fast.
    """

    def __init__(self, name: str, played: Played) -> None:
        self.name = name
        self.losses = ()
        self._played = played

    def start_agent(self, verb: str, config: Mapping[str, Any], *, name: str) -> PlayedAgent:
        """An agent of that kind.

        Those of estimators and of connections are distinguished by their role.
        """
        if verb == "sample":
            raise TestbedError("no samples here", "none")
        kind = f"pairs {config['role']}" if verb == "pairs" else config.get("role", verb)
        self._played.configured[kind] = config
        return PlayedAgent(self._played, kind, name)

    def read_clock(self) -> Reading:
        """Its clock against the scripted one."""
        return Reading(
            ahead_ns=0 if self.name == "a" else self._played.now_ns,
            error_ns=1,
            at_ns=self._played.now_ns,
        )


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    """Agents that all answer, and their clock, which the prober uses."""
    found = Played()
    made = probing.Probing.__init__
    monkeypatch.setattr(
        probing.Probing,
        "__init__",
        lambda *one, **facts: made(*one, now=lambda: found.now_ns, **facts),
    )
    return found


def carried_out(tmp_path: Path, played: Played) -> tuple[RoundRecord, dict[str, str]]:
    """The record of a round, and its warnings except those about samples."""
    campaign = study_of(tmp_path, "a-b", more="[recording]\ncapture = false\n", **ASKED).campaign
    hosts = [PlayedHost(host.name, played) for host in campaign.hosts]
    one = Round(
        pair=campaign.pairs[0],
        number=0,
        index=Index(name="1", probe_bytes=1, data_bytes=1),
        due_ns=0,
    )
    carrier = RoundCarrier(campaign, one, *hosts, campaign.hosts[1].measured, threading.Event())  # type: ignore[arg-type]
    record = carrier.carry_out(tmp_path)
    warnings = {
        one.what: one.message for one in record.warnings if one.message != "no samples here"
    }
    return record, warnings


def test_both_reports_of_a_measurement_are_stored(tmp_path: Path, played: Played) -> None:
    record, warnings = carried_out(tmp_path, played)
    assert warnings == {}
    found = plain(record)
    assert found["delay"] == {**REPORTS["probe"], "reflector": REPORTS["reflect"]}
    assert found["bandwidth"] == {"pathchirp": {**REPORTS["send"], "receiver": REPORTS["receive"]}}


def test_a_failed_measurement_is_recorded(tmp_path: Path, played: Played) -> None:
    played.reports |= {
        "probe": AgentError("probe: it is gone", "none"),
        "send": AgentError("estimate: it is gone", "none"),
    }
    record, warnings = carried_out(tmp_path, played)
    assert warnings == {
        "one-way delays": "probe: it is gone",
        "available bandwidth by pathchirp": "estimate: it is gone",
    }
    found = path_of(record)
    assert [found.delay and found.delay.answered, *(one.answered for one in found.bandwidth)] == [
        False,
        False,
    ]


def test_results_stay_if_the_receiver_does_not_report(tmp_path: Path, played: Played) -> None:
    played.reports |= {
        "reflect": AgentError("reflect: it is gone", "none"),
        "receive": AgentError("estimate: it is gone", "none"),
    }
    record, warnings = carried_out(tmp_path, played)
    assert warnings == {
        "reflector of test packets": "reflect: it is gone",
        "receiver of pathchirp": "estimate: it is gone",
    }
    assert plain(record)["delay"] == REPORTS["probe"]
    assert plain(record)["bandwidth"]["pathchirp"] == REPORTS["send"]


@pytest.mark.parametrize(("late_ns", "counts"), [(29 * SECOND, True), (31 * SECOND, False)])
def test_a_sender_that_begins_too_late_measures_nothing(
    tmp_path: Path, played: Played, late_ns: int, counts: bool
) -> None:
    """As when the transport to a host is lost between the two.

    Packets that are no longer answered would look lost.
    """
    played.begins |= {"probe": late_ns, "send": late_ns}
    record, warnings = carried_out(tmp_path, played)
    assert (record.delay is not None, (record.bandwidth or {})["pathchirp"] is not None) == (
        counts,
        counts,
    )
    assert warnings.keys() == (
        set() if counts else {"one-way delays", "available bandwidth by pathchirp"}
    )
    assert (
        played.configured["reflect"]["duration_ns"]
        >= played.configured["probe"]["duration_ns"]
        + played.configured["probe"]["give_up_ns"]
        + 30 * SECOND
    )
    assert (
        played.configured["receive"]["duration_ns"]
        >= played.configured["send"]["estimator"]["duration_ns"] + 60 * SECOND
    )


def test_start_offsets_of_hosts_use_the_clocks_at_that_time(tmp_path: Path, played: Played) -> None:
    played.begins |= {"send": 10 * SECOND}
    record, _ = carried_out(tmp_path, played)
    assert [(one or {})["receiver"].ahead_ns for one in (record.clocks, record.clocks_before)] == [
        0,
        10 * SECOND,
    ]
    assert record.started_ns == {"receiver": 20 * SECOND, "sender": 10 * SECOND}
    assert record.start_spread_ns == 0


def test_packets_that_a_reflector_left_unanswered_are_a_warning(
    tmp_path: Path, played: Played
) -> None:
    played.reports["reflect"] = {"answered_packets": 17, "too_fast_packets": 3}
    record, warnings = carried_out(tmp_path, played)
    assert (
        played.configured["reflect"]["packets_per_second"],
        played.configured["reflect"]["burst_packets"],
    ) == (4000, 1000)
    assert warnings == {
        "reflector of test packets": (
            "3 test packets came too fast to be answered; they count as lost"
        )
    }
    assert plain(record)["delay"]["reflector"]["too_fast_packets"] == 3


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("ping", {"interface": "lo", "round_trips_ns": [1]}),
        ("ping", {"from": "127.0.0.1", "interface": "lo", "round_trips_ns": ["soon"]}),
        ("pairs send", {"connections": [7]}),
        ("pairs send", {}),
        ("pairs receive", {"connections": [{"pair": 0, "role": "data"}]}),
        ("pairs receive", {"connections": {"0": []}}),
    ],
)
def test_a_malformed_answer_fails_its_round(
    tmp_path: Path, played: Played, agent: str, answer: dict[str, Any]
) -> None:
    played.reports[agent] = answer
    record, _ = carried_out(tmp_path, played)
    assert record.outcome == "failed"
    assert "malformed answer" in record.error.message


def test_a_malformed_answer_to_a_probe_is_a_warning(tmp_path: Path, played: Played) -> None:
    played.reports["reflect"] = {"answered_packets": 20}
    record, warnings = carried_out(tmp_path, played)
    assert list(warnings) == ["reflector of test packets"]
    assert "malformed answer" in warnings["reflector of test packets"]
    assert plain(record)["sent"] == REPORTS["pairs send"]
