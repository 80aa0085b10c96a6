"""Metrics from CloudWatch, queried at a server that speaks its interface (moto)."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import socket
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.campaign.metrics.conftest import PlayedPrometheus
from tests.conftest import Refuses
from trustbed.campaign.metrics import cloudwatch
from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.table import Span
from trustbed.scenario.metric_sources import CloudWatch

SECOND = 1_000_000_000
T0 = 1_800_000_000
"""A whole five minutes."""
MACHINE = "i-0123456789abcdef0"
NAMES = ("CPUUtilization", "NetworkIn", "NetworkOut", "NetworkPacketsIn", "NetworkPacketsOut")


@functools.cache
def client_of(url: str) -> Any:  # noqa: ANN401 - Amazon's library makes them at run time
    """A client of the server, which takes longer to make than all that it sends."""
    return boto3.client("cloudwatch", endpoint_url=url, region_name="eu-west-1")


def put(url: str, name: str, at: int, value: float, instance: str = MACHINE) -> None:
    """Stores a value of the hypervisor."""
    moment = datetime.datetime.fromtimestamp(at, datetime.UTC)
    dimensions = [{"Name": "InstanceId", "Value": instance}]
    data = [{"MetricName": name, "Dimensions": dimensions, "Timestamp": moment, "Value": value}]
    client_of(url).put_metric_data(Namespace="AWS/EC2", MetricData=data)


def query(
    url: str | None, period: int = 60, *, until: int = T0 + 130, now: int = T0 + 9000, **more: str
) -> Answer:
    source = CloudWatch(
        region="eu-west-1", instance=MACHINE, period_ns=period * SECOND, endpoint=url, **more
    )
    return cloudwatch.query(
        source, Span(from_ns=(T0 + 70) * SECOND, until_ns=until * SECOND), now_ns=now * SECOND
    )


def values(answer: Answer, metric: str) -> list[tuple[int, int, float | None]]:
    found = [one for one in answer.observations if one.metric == metric]
    assert {one.scope for one in found} <= {"host"}
    return [(one.time_ns // SECOND - T0, one.resolution_ns // SECOND, one.value) for one in found]


def test_every_overlapping_period_is_reported_as_a_share_and_as_rates(amazon: str) -> None:
    for minute in range(5):
        for name in NAMES:
            put(
                amazon,
                name,
                T0 + 60 * minute,
                25.0 if name == "CPUUtilization" else 6000.0 * minute,
            )
        put(amazon, "CPUUtilization", T0 + 60 * minute, 99.0, instance="i-00000000000000000")
    answer = query(amazon)
    assert values(answer, "cpu_utilisation_share") == [(60, 60, 0.25), (120, 60, 0.25)]
    assert values(answer, "network_received_bytes_per_second") == [
        (60, 60, 100.0),
        (120, 60, 200.0),
    ]
    assert values(answer, "network_sent_packets_per_second") == [(60, 60, 100.0), (120, 60, 200.0)]
    assert (answer.reached_ns, answer.problems) == ((T0 + 180) * SECOND, [])


def test_five_minutes_are_one_period(amazon: str) -> None:
    for minute in range(5):
        put(amazon, "NetworkIn", T0 + 60 * minute, 600.0)
        put(amazon, "CPUUtilization", T0 + 60 * minute, 20.0 * minute)
    answer = query(amazon, 300)
    assert values(answer, "network_received_bytes_per_second") == [(0, 300, 10.0)]
    assert values(answer, "cpu_utilisation_share") == [(0, 300, pytest.approx(0.4))]


def test_data_that_have_not_arrived_yet_are_open(amazon: str) -> None:
    assert query(amazon).reached_ns is None
    for name in NAMES:
        put(amazon, name, T0 + 60, 1.0)
    assert query(amazon).reached_ns == (T0 + 120) * SECOND
    for name in NAMES[1:]:
        put(amazon, name, T0 + 120, 1.0)
    assert query(amazon).reached_ns == (T0 + 120) * SECOND, "one of them is missing"


def test_a_period_that_is_not_over_is_not_reported(amazon: str) -> None:
    for minute in range(5):
        for name in NAMES:
            put(amazon, name, T0 + 60 * minute, 1.0)
    answer = query(amazon, now=T0 + 179)
    assert ([at for at, _, _ in values(answer, "cpu_utilisation_share")], answer.reached_ns) == (
        [60],
        (T0 + 120) * SECOND,
    )
    assert query(amazon, now=T0 + 119).observations == ()


def test_without_a_key_the_error_names_where_keys_are_looked_for(
    amazon: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refuses: Refuses
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with refuses(SourceError):
        query(amazon)
    with refuses(SourceError):
        query(amazon, profile="missing")


def test_a_server_that_is_none_or_away_is_reported(
    amazon: str, prometheus: PlayedPrometheus, refuses: Refuses
) -> None:
    with pytest.raises(SourceError, match="answers") as caught:
        query(prometheus.url)
    assert "\n" not in caught.value.message
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with refuses(SourceError) as caught:
            query(f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert caught.value.is_away


def test_without_boto3_the_hint_names_the_package(
    monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "boto3" else find(name, *more),
    )
    with refuses(SourceError):
        query(None)
