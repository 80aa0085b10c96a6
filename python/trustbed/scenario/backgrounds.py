"""Reads the traffic that the workload competes with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trustbed import _core
from trustbed.scenario.error import nearest
from trustbed.scenario.model import (
    BACKGROUND_MODELS,
    HEADINGS,
    SECOND,
    TRANSPORTS,
    Background,
    BackgroundModel,
)
from trustbed.scenario.populations import is_model, read_users, tables
from trustbed.scenario.table import Table
from trustbed.scenario.topology import check_name
from trustbed.scenario.workloads import host_of
from trustbed.traffic import suite

_RELEASES = ("paced", "timer-100", "timer-250", "timer-1000", "unpaced")
_TIMER = re.compile(r"timer-([1-9][0-9]{0,5})")
_LEAST_PACKET, _MOST_PACKET = 64, 65_535


def read_backgrounds(root: Table, hosts: Sequence[str], end_ns: int) -> tuple[Background, ...]:
    """Every ``[background.NAME]``, or ``background = { … }``, including silent ones.

    The others are compared with them. ``end_ns`` is when the last workload should have ended, from
    the start of the workloads.
    """
    found = []
    for name, table in tables(root).items():
        check_name(table, None, name)
        for key in ("model", "from", "to"):
            table.must(
                key,
                {
                    "model": 'model = "poisson"',
                    "from": f'from = "{hosts[0]}"',
                    "to": f'to = "{hosts[-1]}"',
                }[key],
            )
        found.append(_background(name, table, hosts))
        start = found[-1].start_ns
        if start is not None and start >= end_ns:
            raise table.error(
                "start",
                f"{table.raw('start')} is not before the workloads end, "
                f"{end_ns / SECOND:g} s after they begin",
                "start it earlier, or give the workloads a longer duration",
            )
        table.close()
    return tuple(found)


def _background(name: str, table: Table, hosts: Sequence[str]) -> Background:
    source, to = host_of(table, "from", hosts), host_of(table, "to", hosts)
    if source == to:
        raise table.error(
            "to", f"{to} would connect to itself, bypassing every link", "name another host"
        )
    if is_model(table.raw("model")):
        return read_users(name, table, (source, to))
    asked = table.raw("model")
    if isinstance(asked, str) and asked not in BACKGROUND_MODELS:
        if (member := suite.member(asked)) is not None:
            raise table.error("model", f"{asked} {suite.BY_RULE}", suite.by_rule(member))
        known = (*BACKGROUND_MODELS, *sorted(suite.NAMES))
        raise table.error(
            "model",
            f"{asked!r} is none of {', '.join(known)}, and no file of a model",
            nearest(asked, known, 'trustbed model list shows those; a file ends in ".model"'),
        )
    model: BackgroundModel = table.choice("model", BACKGROUND_MODELS, "none")
    if model in ("cbr", "poisson"):
        table.must("rate", 'rate = "3.3Mbit/s"')
    if model == "playback":
        table.must("file", 'file = "trace.pcap"')
    background = Background(
        name=name,
        model=model,
        source=source,
        to=to,
        heading=table.choice("direction", HEADINGS, "forward"),
        transport=table.choice("transport", TRANSPORTS, "udp"),
        rate=table.rate("rate", None),
        packet_bytes=table.whole("packet_bytes", 1500, least=_LEAST_PACKET, most=_MOST_PACKET),
        sources=table.whole("sources", 1, least=1, most=1000),
        mode=table.choice("mode", ("packets", "bytes"), "packets"),
        release=_release(table),
        file=table.file("file"),
        filter=_filter(table, "filter"),
        reverse_filter=_filter(table, "reverse_filter"),
        start_ns=table.span("start", None),
        duration_ns=table.span_above_zero("duration", None),
    )
    if background.rate is not None and 0 < background.rate < background.sources:
        message = f"{table.raw('rate')} leaves some of {background.sources} sources nothing to send"
        raise table.error("sources", message, "give fewer sources, or a higher rate")
    _check_playback(table, background)
    return background


def _release(table: Table) -> str:
    value = table.text("release", "paced")
    if value not in ("paced", "unpaced") and not _TIMER.fullmatch(value):
        table.choice("release", _RELEASES, "paced")  # raises the error
    return value


def _filter(table: Table, key: str) -> str | None:
    text = table.text(key, None)
    if text is not None:
        try:
            _core.check_filter(text)
        except ValueError as error:
            raise table.error(key, str(error), "for example: src net 10.0.0.0/8 and tcp") from None
    return text


def _check_playback(table: Table, background: Background) -> None:
    if background.model != "playback":
        for key in ("filter", "reverse_filter"):
            if table.raw(key) is not None and background.model != "none":
                raise table.error(
                    key,
                    f"has no effect on {background.model} traffic",
                    'leave it out, or choose model = "playback"',
                )
        return
    if background.heading == "both" and (
        background.filter is None or background.reverse_filter is None
    ):
        raise table.error(
            "direction",
            "the two directions of a capture need a filter each",
            'for example: filter = "src host 10.0.0.1", reverse_filter = "dst host 10.0.0.1"',
        )
