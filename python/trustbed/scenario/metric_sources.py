"""Other metric sources for a host.

A Prometheus that scrapes it, and Amazon CloudWatch, which sees what a guest cannot.

They are keys of a host in an inventory. This module sends no queries and reads no secrets: boto3
finds CloudWatch's credentials, and a URL that contains a password is refused, since the inventory
is recorded with every round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from trustbed.scenario.table import Table

SourceName = Literal["prometheus", "cloudwatch"]
SOURCES: tuple[SourceName, ...] = ("prometheus", "cloudwatch")
PERIODS = (60_000_000_000, 300_000_000_000)
"""Periods of CloudWatch's data in nanoseconds: with detailed monitoring, and without."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@/-]{0,127}")
_MOST_LABEL = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A server that scrapes a host's node_exporter.

    ``instance`` is the host's label of that name; ``url`` ends without a slash.
    """

    url: str
    instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudWatch:
    """An Amazon EC2 instance.

    ``period_ns`` is the interval of its data; ``endpoint`` is a server of the same interface
    elsewhere.
    """

    region: str
    instance: str
    period_ns: int = PERIODS[1]
    profile: str | None = None
    endpoint: str | None = None


Outside: TypeAlias = Prometheus | CloudWatch


def name_of(source: Outside) -> SourceName:
    """The source's name in tables, which is its key in inventories."""
    return "prometheus" if isinstance(source, Prometheus) else "cloudwatch"


def read_prometheus(table: Table) -> Prometheus:
    """Reads the key ``prometheus`` of a host.

    Raises:
        ScenarioError: It is invalid.
    """
    table.must("url", 'url = "http://monitor.example.net:9090"')
    table.must("instance", 'instance = "alpha.example.net:9100", as the server labels the host')
    instance = table.text("instance", "")
    if not instance.strip() or len(instance) > _MOST_LABEL:
        raise table.error(
            "instance",
            "is not the label of a host",
            "write it as Prometheus shows it under Status, Targets",
        )
    found = Prometheus(url=_url(table, "url", table.text("url", "")), instance=instance)
    table.close()
    return found


def read_cloudwatch(table: Table) -> CloudWatch:
    """Reads the key ``cloudwatch`` of a host.

    Raises:
        ScenarioError: It is invalid.
    """
    table.must("region", 'region = "eu-west-1"')
    table.must("instance", 'instance = "i-0123456789abcdef0"')
    profile, endpoint = table.text("profile", None), table.text("endpoint", None)
    period = table.span("period", PERIODS[1])
    if period not in PERIODS:
        hint = 'give "60s" where detailed monitoring is on, else "300s", which holds for both'
        raise table.error("period", f"{table.raw('period')} is not a period of CloudWatch", hint)
    found = CloudWatch(
        region=_matching(table, "region", _REGION, "a region", "for example eu-west-1"),
        instance=_matching(
            table, "instance", _INSTANCE, "an instance ID", "for example i-0123456789abcdef0"
        ),
        period_ns=period,
        profile=None
        if profile is None
        else _matching(table, "profile", _PROFILE, "a profile", "name one of ~/.aws/config"),
        endpoint=None if endpoint is None else _url(table, "endpoint", endpoint),
    )
    table.close()
    return found


def _matching(table: Table, key: str, pattern: re.Pattern[str], what: str, hint: str) -> str:
    text = table.text(key, "")
    if pattern.fullmatch(text) is None:
        raise table.error(key, f"{text!r} is not {what}", hint)
    return text


def _url(table: Table, key: str, text: str) -> str:
    """The address of a server: HTTP or HTTPS, perhaps with a path."""
    hint = "for example http://monitor.example.net:9090"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise table.error(key, f"{text!r} is not a URL", hint) from None
    plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain:
        raise table.error(key, f"{text!r} is not a URL of a server", hint)
    if "@" in parts.netloc:
        raise table.error(
            key, "contains a user name or password, which would be recorded", "leave it out"
        )
    if parts.query or parts.fragment:
        raise table.error(key, f"{text!r} has a query or fragment", hint)
    return text.rstrip("/")
