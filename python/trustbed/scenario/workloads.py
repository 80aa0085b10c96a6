"""Reads what is measured: services, and the workloads that use them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trustbed.scenario.error import nearest
from trustbed.scenario.model import (
    DELAYED_ACKS,
    HTTP_KINDS,
    JUDGEMENTS,
    SECOND,
    TOOLS,
    WORKLOAD_KINDS,
    EstimatorOptions,
    Judgement,
    Pace,
    Service,
    Workload,
    WorkloadKind,
)
from trustbed.scenario.players import MEDIA_NS, read_media, read_video
from trustbed.scenario.table import Table
from trustbed.scenario.topology import check_name

CONGESTION_CONTROL = "cubic"
"""Set explicitly on every bulk transfer: the kernel's default differs between machines."""
_BULK_PORT, _HTTP_PORT, _IPERF_PORT = 5001, 8000, 5201
_ESTIMATOR_PORT, _MEDIA_PORT = 8365, 6001
LEAST_CLAMP = 2304
"""The least receive buffer of Linux (SOCK_MIN_RCVBUF).

The kernel would not apply a smaller clamp.
"""
MOST_WINDOW = 2**29
"""The largest window that is sure to have a scale on the wire (RFC 7323), in bytes."""
_MOST_CONNECTIONS = 4096
"""Most connections that one agent holds open, at either end."""
MOST_BUFFER = 2**31 - 1
"""The largest value of a socket option."""
_CONGESTION_CONTROL = re.compile(r"[A-Za-z0-9_-]{1,15}")
"""A name that the kernel accepts (TCP_CA_NAME_MAX)."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATHLOAD_KEYS = ("resolution", "majority")
_PATHCHIRP_KEYS = ("lowest", "highest", "mean_rate", "averaged")
_LOWEST_CHIRP = 10_000_000
"""The lowest rate of a chirp by default."""
_HIGHEST_CHIRP = 200_000_000
"""The highest."""
_LONGEST = 7 * 24 * 3600 * SECOND
_JUDGED: Mapping[WorkloadKind, Judgement] = {
    "bulk": "bulk",
    "iperf3": "bulk",
    "media": "interactive",
    "video": "interactive",
}


@dataclass(frozen=True, slots=True)
class Around:
    """The names and the duration that a workload may refer to."""

    hosts: Sequence[str]
    services: Mapping[str, Service]
    duration_ns: int


def host_of(table: Table, key: str, hosts: Sequence[str]) -> str:
    """The name of a host that exists."""
    name = table.text(key, "")
    if name not in hosts:
        raise table.error(key, f"no host named {name}", nearest(name, hosts))
    return name


def read_services(root: Table, hosts: Sequence[str]) -> tuple[Service, ...]:
    """Every ``[services.NAME]``."""
    found: list[Service] = []
    taken: dict[tuple[str, int], str] = {}
    for name, table in root.tables("services").items():
        check_name(table, None, name)
        for key, example in (
            ("host", f'host = "{hosts[0]}"'),
            ("command", "command = \"nginx -g 'daemon off;'\""),
            ("port", "port = 80"),
        ):
            table.must(key, example)
        service = Service(
            name=name,
            host=host_of(table, "host", hosts),
            port=table.whole("port", 80, least=1, most=65_535),
            command=_program(table),
            environment=_environment(table),
            ready_ns=table.span_above_zero("ready", 60 * SECOND),
        )
        other = taken.setdefault((service.host, service.port), name)
        if other != name:
            raise table.error(
                "port",
                f"{service.port} on {service.host} is also the port of {other}",
                "give every service a port of its own",
            )
        table.close()
        found.append(service)
    return tuple(found)


def read_workloads(root: Table, around: Around) -> tuple[Workload, ...]:
    """Every ``[workload.NAME]``; each gets ports of its own."""
    root.must(
        "workload", '[workload.fetch] and below it kind = "http", host = "client", to = "server"'
    )
    found: list[Workload] = []
    for index, (name, table) in enumerate(root.tables("workload").items()):
        check_name(table, None, name)
        table.must("kind", 'kind = "bulk"')
        table.must("host", f'host = "{around.hosts[0]}"')
        found.append(_workload(name, table, around, index))
        table.close()
    if not found:
        raise root.error(
            "workload",
            "there is none",
            '[workload.fetch] and below it kind = "http", host = "client", to = "server"',
        )
    return tuple(found)


def _workload(name: str, table: Table, around: Around, index: int) -> Workload:
    kind: WorkloadKind = table.choice("kind", WORKLOAD_KINDS, "command")
    host = host_of(table, "host", around.hosts)
    to = _target(table, kind, host, around.hosts)
    start = table.span("start", 0)
    rest = max(around.duration_ns - start, SECOND)
    duration = table.span_above_zero("duration", min(MEDIA_NS, rest) if kind == "media" else rest)
    limit = table.span_above_zero("time_limit", duration + max(duration // 2, 30 * SECOND))
    if limit < duration:
        raise table.error(
            "time_limit",
            "ends the workload before its duration has passed",
            "give more than its duration",
        )
    if start + limit > _LONGEST:
        raise table.error("time_limit", "is more than a week", "give less")
    workload = Workload(
        name=name,
        kind=kind,
        host=host,
        to=to,
        start_ns=start,
        duration_ns=duration,
        limit_ns=limit,
        judged_as=table.choice(
            "judge_as", JUDGEMENTS, _JUDGED.get(kind, "interactive" if kind in HTTP_KINDS else None)
        ),
        environment=_environment(table),
        discard_ns=table.span("discard", 0),
    )
    if workload.discard_ns >= duration:
        raise table.error(
            "discard", "covers the whole duration", "discard less, or extend the duration"
        )
    read: Callable[[Table, Workload, Around, int], Workload] = {
        "command": _plain,
        "bulk": _bulk,
        "iperf3": _iperf3,
        "pathload": _estimator,
        "pathchirp": _estimator,
        "media": _media,
        "video": _video,
    }.get(kind, _http)
    return read(table, workload, around, index)


def _target(table: Table, kind: WorkloadKind, host: str, hosts: Sequence[str]) -> str | None:
    if kind == "command" and "to" not in table:
        return None
    if "to" not in table:
        others = [name for name in hosts if name != host]
        table.must("to", f'to = "{others[0] if others else "server"}"')
    to = host_of(table, "to", hosts)
    if to == host:
        raise table.error(
            "to", f"{to} would connect to itself, bypassing every link", "name another host"
        )
    return to


def _plain(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    table.must("command", 'command = "ping -c 10 {server}"')
    command = _program(table)
    service = _service(table, around, workload)
    for word in command:
        _check_placeholders(table, word, around.hosts)
    return replace(workload, command=command, service=service.name if service else None)


def _check_placeholders(table: Table, word: str, hosts: Sequence[str]) -> None:
    """``{server}`` in a command stands for the address of that host."""
    for name in re.findall(r"\{([A-Za-z][A-Za-z0-9_-]*)\}", word):
        if name not in hosts:
            raise table.error(
                "command", f"{{{name}}} is not the name of a host", nearest(name, hosts)
            )


def _bulk(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    write = _pace(table, "write")
    return replace(
        workload,
        # An application that pauses between writes does not send all it could; only the scenario
        # can decide whether it is judged as a bulk transfer.
        judged_as=workload.judged_as if write is None or "judge_as" in table else None,
        bytes=table.size("bytes", None, least=1),
        connections=table.whole("connections", 1, least=1, most=_MOST_CONNECTIONS),
        congestion_control=_congestion_control(table),
        send_buffer_bytes=table.size("send_buffer", None, least=1, most=MOST_BUFFER),
        receive_buffer_bytes=table.size("receive_buffer", None, least=1, most=MOST_BUFFER),
        window_clamp_bytes=_window_clamp(table),
        window_bytes=_window(table),
        write=write,
        read=_pace(table, "read"),
        delayed_ack=table.choice("delayed_ack", DELAYED_ACKS, None),
        nagle=table.flag("nagle", False),
        heading=table.choice("direction", ("forward", "reverse"), "forward"),
        port=_BULK_PORT + index,
    )


def _congestion_control(table: Table) -> str:
    name = table.text("congestion_control", CONGESTION_CONTROL)
    if not _CONGESTION_CONTROL.fullmatch(name):
        raise table.error(
            "congestion_control",
            f"{name!r} is not the name of a congestion control",
            f"for example: {CONGESTION_CONTROL}",
        )
    return name


def _window_clamp(table: Table) -> int | None:
    clamp = table.size("window_clamp", None, most=MOST_BUFFER)
    if clamp is not None and clamp < LEAST_CLAMP:
        raise table.error(
            "window_clamp",
            f"the kernel clamps no window below {LEAST_CLAMP} bytes",
            f"give at least {LEAST_CLAMP}B",
        )
    return clamp


def _window(table: Table) -> int | None:
    """The largest window that the kernel advertises."""
    if "window" not in table:
        return None
    for other in ("window_clamp", "receive_buffer"):
        if other in table:
            raise table.error(
                other,
                "has no effect beside window, which sets the clamp and the buffer",
                "leave one of the two out",
            )
    return table.size("window", None, least=LEAST_CLAMP, most=MOST_WINDOW)


def _pace(outer: Table, key: str) -> Pace | None:
    """Bursts with pauses, or a rate."""
    table = outer.table(key)
    if table is None:
        return None
    verb = "writes" if key == "write" else "reads"
    if "rate" in table:
        for other in ("burst", "pause"):
            if other in table:
                raise table.error(
                    other,
                    f"has no effect beside rate: the application {verb} steadily",
                    "leave one of the two out",
                )
        found = Pace(rate=table.rate_above_zero("rate", None))
    else:
        for name in ("burst", "pause"):
            table.must(
                name,
                (
                    f'{key} = {{ burst = "256KB", pause = "200ms" }}, or {key} = {{ rate = '
                    f'"2Mbit/s" }}'
                ),
            )
        found = Pace(burst_bytes=table.size("burst", 0), pause_ns=table.span_above_zero("pause", 0))
        if found.burst_bytes == 0:
            raise table.error(
                "burst",
                f"an application that {verb} nothing never ends",
                "give it a size, for example 256KB",
            )
    table.close()
    return found


def _iperf3(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    return replace(
        workload,
        command=_command(table, "arguments"),
        connections=table.whole("connections", 1, least=1, most=128),
        congestion_control=_congestion_control(table),
        heading=table.choice("direction", ("forward", "reverse"), "forward"),
        port=_IPERF_PORT + index,
    )


def _estimator(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    """An estimator: options of the other one are refused as without effect."""
    is_pathload = workload.kind == "pathload"
    own, other = (_PATHLOAD_KEYS, _PATHCHIRP_KEYS)[:: 1 if is_pathload else -1]
    for key in other:
        if key in table:
            raise table.error(
                key,
                f"has no effect on {workload.kind}",
                f"leave it out; {workload.kind} takes long_packets, {', '.join(own)}",
            )
    for key in ("judge_as", "discard"):
        if key in table:
            raise table.error(
                key,
                "has no effect on an estimator, which transfers nothing that is judged",
                "leave it out",
            )
    lowest = table.rate_above_zero("lowest", None)
    highest = table.rate_above_zero("highest", None)
    if (highest or _HIGHEST_CHIRP) <= (lowest or _LOWEST_CHIRP):
        key = "lowest" if highest is None else "highest"
        raise table.error(
            key,
            f"the lowest rate of a chirp, {(lowest or _LOWEST_CHIRP) / 1e6:g} Mbit/s, is not below "
            f"its highest, {(highest or _HIGHEST_CHIRP) / 1e6:g} Mbit/s",
            'for example lowest = "2Mbit/s", highest = "100Mbit/s"',
        )
    return replace(
        workload,
        port=_ESTIMATOR_PORT + index,
        estimator=EstimatorOptions(
            long_packets=table.flag("long_packets", False),
            resolution=table.rate_above_zero("resolution", None),
            majority=table.number("majority", None, least=0.5, most=1.0),
            lowest=lowest,
            highest=highest,
            mean_rate=table.rate_above_zero("mean_rate", None),
            averaged=table.whole("averaged", None, least=1, most=1000),
        ),
    )


def _media(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    _no_discard(table, workload)
    media = read_media(table, workload.duration_ns)
    return replace(workload, media=media, port=_MEDIA_PORT + index)


def _video(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    _no_discard(table, workload)
    return replace(workload, video=read_video(table), port=_HTTP_PORT + index)


def _no_discard(table: Table, workload: Workload) -> None:
    if "discard" in table:
        raise table.error(
            "discard",
            f"has no effect on {workload.kind}, whose start belongs to what is measured",
            "leave it out",
        )


def _http(table: Table, workload: Workload, around: Around, index: int) -> Workload:
    service = _service(table, around, workload)
    if service is None:
        table.must("object", 'object = "1MB" (the built-in server sends it), or service and path')
        if "path" in table:
            raise table.error(
                "path",
                "the built-in server has no paths",
                "leave it out, or name a service that serves it",
            )
    else:
        table.must("path", 'path = "/index.html"')
    size = table.size("object", None)
    if size == 0:
        raise table.error(
            "object",
            "an object of 0 bytes takes no time to send",
            "give it a size, for example 1MB",
        )
    if workload.kind == "httperf":
        table.must("requests", "requests = 100 (httperf counts requests, not time)")
    path = table.text("path", None)
    if path is not None and not path.startswith("/"):
        raise table.error(
            "path", f"{path!r} does not begin with a slash", f'write it like "/{path}"'
        )
    return replace(
        workload,
        command=_command(table, "arguments") if workload.kind in TOOLS else (),
        service=service.name if service else None,
        port=service.port if service else _HTTP_PORT + index,
        path=path,
        object_bytes=size,
        requests=table.whole("requests", None, least=1),
        connections=table.whole(
            "connections", 1, least=1, most=_MOST_CONNECTIONS if workload.kind == "http" else 10_000
        ),
        reuse=table.flag("reuse", False),
        think_ns=_think(table, workload),
    )


def _think(table: Table, workload: Workload) -> int:
    if "think" in table and workload.kind != "http":
        raise table.error(
            "think",
            f"has no effect on {workload.kind}, which decides itself when it requests",
            'choose kind = "http", or give it an argument of its own',
        )
    return table.span("think", 0)


def _service(table: Table, around: Around, workload: Workload) -> Service | None:
    name = table.text("service", None)
    if name is None:
        return None
    if name not in around.services:
        raise table.error(
            "service",
            f"no service named {name}",
            nearest(name, around.services, "describe it below [services." + name + "]"),
        )
    service = around.services[name]
    if workload.to is not None and service.host != workload.to:
        raise table.error(
            "service",
            f"{name} answers on {service.host}, not on {workload.to}",
            f'write to = "{service.host}"',
        )
    return service


def _program(table: Table) -> tuple[str, ...]:
    """A program and its arguments."""
    words = _command(table, "command")
    if not words or not words[0]:
        raise table.error("command", "is empty", "give a program and its arguments")
    return words


def _command(table: Table, key: str) -> tuple[str, ...]:
    """Words: a list as given, or a string split as a shell splits it, without expansion."""
    if not isinstance(table.raw(key), str):
        return table.texts(key)
    try:
        return tuple(shlex.split(table.text(key, "")))
    except ValueError as error:
        raise table.error(
            key,
            f"cannot be split into words: {str(error).lower()}",
            "close the quotation, or write a list of words",
        ) from None


def _environment(table: Table) -> tuple[tuple[str, str], ...]:
    inner = table.table("environment")
    if inner is None:
        return ()
    for name in inner:
        if not _VARIABLE.fullmatch(name):
            raise inner.error(
                name,
                f"{name!r} is not the name of a variable",
                "letters, digits and _, no digit first, for example LANG",
            )
    found = tuple((name, inner.text(name, "")) for name in inner)
    inner.close()
    return found
