"""Metrics of a machine from Amazon CloudWatch: its hypervisor's view, which the guest may lack.

Queried through boto3, an optional dependency that only this module needs. Data are 60 s apart with
detailed monitoring and 300 s without, and arrive minutes late: an early query is repeated.

Bias: its CPU utilisation is the time that the guest was given, as a share of what its instance type
has; steal and waiting for disks count as idle.
"""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.table import Observation, Span
from trustbed.scenario.metric_sources import CloudWatch

INSTALL = "pip install 'trustbed[cloudwatch]'"
CONNECT_SECONDS, READ_SECONDS = 5.0, 10.0
_SECOND = 1_000_000_000
_NAMESPACE = "AWS/EC2"
_METRICS: Mapping[str, tuple[str, str]] = {
    "CPUUtilization": ("Average", "cpu_utilisation_share"),
    "NetworkIn": ("Sum", "network_received_bytes_per_second"),
    "NetworkOut": ("Sum", "network_sent_bytes_per_second"),
    "NetworkPacketsIn": ("Sum", "network_received_packets_per_second"),
    "NetworkPacketsOut": ("Sum", "network_sent_packets_per_second"),
}
_MOST_PAGES = 20
_KEY_ERRORS = (
    "AccessDenied",
    "AccessDeniedException",
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "ExpiredToken",
)


def check() -> None:
    """Checks whether CloudWatch can be queried at all.

    Raises:
        SourceError: boto3 is not installed.
    """
    if importlib.util.find_spec("boto3") is None:
        raise SourceError("CloudWatch is queried through boto3, which is not installed", INSTALL)


def query(source: CloudWatch, span: Span, *, now_ns: int) -> Answer:
    """All metrics of a machine in an interval, in whole periods.

    Args:
        source: The machine.
        span: The interval.
        now_ns: The current time; there are no later data.

    Raises:
        SourceError: boto3 is not installed, has no key, or CloudWatch does not answer.
    """
    check()
    period = source.period_ns
    begin = span.from_ns // period * period
    # An unfinished period has partial data: a later query gets all of it.
    end = min(-(-span.until_ns // period), now_ns // period) * period
    if end <= begin:
        return Answer((), None)
    found, problems = _points(source, begin, end)
    observations = []
    for name, (_, metric) in _METRICS.items():
        for at, value in sorted(found.get(name, {}).items()):
            if begin <= at < end:
                converted = value / 100 if name == "CPUUtilization" else value * _SECOND / period
                observations.append(Observation("host", None, metric, at, period, converted))
    # Periods arrive one by one and may be out of order: the data are complete up to the first
    # period that any metric lacks.
    reached = begin
    while reached < end and all(reached in found.get(name, {}) for name in _METRICS):
        reached += period
    return Answer(observations, reached if reached > begin else None, problems)


def _points(
    source: CloudWatch, begin: int, end: int
) -> tuple[dict[str, dict[int, float]], list[str]]:
    """Values of each metric by the beginnings of their periods, and what was not reported."""
    found: dict[str, dict[int, float]] = {}
    problems: list[str] = []
    names = {f"m{number}": name for number, name in enumerate(_METRICS)}
    request = {
        "MetricDataQueries": [_query(key, name, source) for key, name in names.items()],
        "StartTime": _moment(begin),
        "EndTime": _moment(end),
        "ScanBy": "TimestampAscending",
    }
    for page in _pages(source, request):
        for one in page["MetricDataResults"]:
            name = names.get(one["Id"], one["Id"])
            points = found.setdefault(name, {})
            for at, value in zip(one["Timestamps"], one["Values"], strict=True):
                points[_nanoseconds(at)] = float(value)
            if one.get("StatusCode") in ("InternalError", "Forbidden"):
                problems.append(f"CloudWatch does not report {name}: {one['StatusCode']}")
    return found, problems


def _query(key: str, name: str, source: CloudWatch) -> Mapping[str, object]:
    dimensions = [{"Name": "InstanceId", "Value": source.instance}]
    metric = {"Namespace": _NAMESPACE, "MetricName": name, "Dimensions": dimensions}
    return {
        "Id": key,
        "MetricStat": {
            "Metric": metric,
            "Period": source.period_ns // _SECOND,
            "Stat": _METRICS[name][0],
        },
    }


def _pages(source: CloudWatch, request: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    import boto3
    import botocore.config
    import botocore.exceptions

    settings = botocore.config.Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 2},
    )
    where = source.endpoint or f"CloudWatch in {source.region}"
    pages: list[Mapping[str, Any]] = []
    try:
        session = boto3.session.Session(profile_name=source.profile, region_name=source.region)
        client = session.client("cloudwatch", endpoint_url=source.endpoint, config=settings)
        with_token: dict[str, str] = {}
        while len(pages) < _MOST_PAGES:
            pages.append(client.get_metric_data(**request, **with_token))
            if not pages[-1].get("NextToken"):
                break
            with_token = {"NextToken": pages[-1]["NextToken"]}
    except botocore.exceptions.NoCredentialsError:
        hint = (
            "aws configure, the variable AWS_PROFILE, or a role of the machine that measures; "
            "profile in the inventory names one"
        )
        raise SourceError("boto3 finds no key for Amazon", hint) from None
    except botocore.exceptions.ClientError as error:
        reported = error.response.get("Error", {})
        code = str(reported.get("Code", ""))
        hint = (
            "the key must be allowed cloudwatch:GetMetricData"
            if code in _KEY_ERRORS
            else "region and instance are in the inventory"
        )
        raise SourceError(
            f"{where} answers {code}: {reported.get('Message', '')!s:.300}", hint
        ) from None
    except (
        botocore.exceptions.ProfileNotFound,
        botocore.exceptions.PartialCredentialsError,
    ) as error:
        raise SourceError(
            f"boto3: {error}", "profile in the inventory names one of ~/.aws/config"
        ) from None
    except (
        Exception
    ) as error:  # boto3 hands on whatever its parsers and transports raise, of no common kind
        raise SourceError(
            f"{where} does not answer: {str(error) or type(error).__name__:.300}",
            "is it reached from here?",
            is_away=True,
        ) from None
    return pages


def _moment(nanoseconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(nanoseconds // _SECOND, datetime.UTC)


def _nanoseconds(moment: datetime.datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return round(moment.timestamp()) * _SECOND
