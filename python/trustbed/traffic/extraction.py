"""Learns a model from captures: one pass, both directions, bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed import _core
from trustbed.traffic.model import (
    SECOND,
    TCP,
    UDP,
    ClassRule,
    Header,
    Model,
    ModelError,
    checked,
)
from trustbed.traffic.profile import of_trace

if TYPE_CHECKING:
    import pyarrow as pa

PathLike = str | os.PathLike[str]

CLASSES: tuple[ClassRule, ...] = (
    ClassRule("HTTP", TCP, (80, 8080)),
    ClassRule("HTTPS", TCP, (443, 8443)),
    ClassRule("SQUID", TCP, (3128,)),
    ClassRule("SSH", TCP, (22,)),
    ClassRule("NNTP", TCP, (119,)),
    ClassRule("SMTP", TCP, (25, 465, 587)),
    ClassRule("IMAP", TCP, (143, 993)),
    ClassRule("POP3", TCP, (110, 995)),
    ClassRule("RSYNC", TCP, (873,)),
    ClassRule("FTP", TCP, (21,)),
    ClassRule("RTMP", TCP, (1935,)),
    ClassRule("DNS-TCP", TCP, (53,)),
    ClassRule("TCP-OTHER", TCP),
    ClassRule("DNS", UDP, (53,)),
    ClassRule("QUIC", UDP, (443,)),
    ClassRule("NTP", UDP, (123,)),
    ClassRule("UDP-OTHER", UDP),
)
"""The classes unless others are given, by the responder's port."""

OTHER_PORTS = {TCP: 9400, UDP: 9401}
"""Where generated servers of a class without ports listen."""


def beside_usual(given: Sequence[ClassRule]) -> tuple[ClassRule, ...]:
    """These classes and the usual ones, without the ports and names that these have."""
    taken = {(rule.protocol, port) for rule in given for port in rule.ports}
    names = {rule.name for rule in given}
    found = list(given)
    for rule in CLASSES:
        ports = tuple(port for port in rule.ports if (rule.protocol, port) not in taken)
        if rule.name not in names and (ports or not rule.ports):
            found.append(ClassRule(rule.name, rule.protocol, ports))
    return tuple(found)


def extract(
    captures: PathLike | Sequence[PathLike],
    *,
    classes: Sequence[ClassRule] = CLASSES,
    session_gap: float = 300.0,
    exchange_gap: float = 30.0,
    name: str = "",
    about: str = "",
    source: str = "",
    licence: str = "",
    workers: int | None = None,
    inner: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Model:
    """Learns the traffic of a link from a capture of both of its directions.

    ``session_gap`` and ``exchange_gap`` (seconds) separate the sessions of a client and class, and
    the exchanges of a session. ``inner`` reads the packets inside tunnels.

    Raises:
        CaptureError: Nothing can be read.
        ModelError: The capture holds one direction only, or no connection with data.
        ValueError: Gaps that are not above 0, or in the wrong order.
    """
    import pyarrow as pa

    from trustbed import __version__
    from trustbed.analysis.options import available_cores

    if not 0 < exchange_gap < session_gap:
        raise ValueError(
            f"exchange_gap={exchange_gap:g} and session_gap={session_gap:g}: both above 0, the "
            "first below the second"
        )
    paths = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
    gaps = (round(session_gap * SECOND), round(exchange_gap * SECOND))
    found = _core.extract_model(
        [os.fspath(path) for path in paths],
        classes=[(rule.name, rule.protocol, list(rule.ports)) for rule in classes],
        session_gap_ns=gaps[0],
        exchange_gap_ns=gaps[1],
        workers=workers or available_cores(),
        inner=inner,
        progress=progress,
    )
    shown = Path(os.fspath(paths[0])).name
    if found is None:
        raise ModelError(f"{shown}: no connection with data in both directions", _BOTH)
    counts = dict(found.counts)
    duration = counts.pop("duration_ns")
    connections = pa.table(found.connections)
    _check_directions(shown, counts, connections)
    used = {name.as_py() for name in connections["class"].unique()}
    header = Header(
        trustbed=__version__,
        name=name,
        about=about,
        source=source,
        licence=licence,
        duration_ns=duration,
        session_gap_ns=gaps[0],
        exchange_gap_ns=gaps[1],
        classes=tuple(rule for rule in classes if rule.name in used),
        counts=counts,
        assumed=_assumed(counts),
    )
    model = Model(
        header=header,
        connections=connections,
        units=pa.table(found.units),
        hosts=pa.table(found.hosts),
        profiles=(of_trace(found.profiles),),
    )
    return checked(model, shown)


_BOTH = (
    "capture both directions of the link into one file, with whole headers (a snap length of 96 or "
    "more); of a tunnel (VXLAN, GRE, Geneve, IP in IP) read the inside with --inner; what a VPN "
    "encrypts, capture before or behind it"
)
"""What to do about a capture without both sides of its connections: all reasons that there are."""


def _check_directions(shown: str, counts: Mapping[str, int], connections: pa.Table) -> None:
    """Refuses a capture most of whose TCP connections were seen in one direction.

    A flow of datagrams may have one direction by nature, so that UDP says nothing about the
    capture. Of what is not kept (connections without data, of no class, beyond what is kept)
    the protocol is not known, and it counts as TCP. Bias: that can only prevent a refusal.

    Raises:
        ModelError: Most were.
    """
    import pyarrow.compute as pc

    streams = pc.sum(pc.not_equal(connections["kind"], "datagrams")).as_py() or 0
    others = streams + sum(counts[key] for key in ("without_data", "unclassed", "left_out"))
    if counts["one_sided"] > others:
        raise ModelError(
            f"{shown}: {counts['one_sided']:,} of {counts['one_sided'] + others:,} TCP connections "
            "were seen in one direction",
            f"requests and responses need both: {_BOTH}",
        )


def _assumed(counts: dict[str, int]) -> tuple[str, ...]:
    """What was not measured but taken to be so, in sentences."""
    said = [
        "clients are on one side of the link, servers on the other",
        "the datagrams of a flow leave at equal distances and sizes",
    ]
    every = max(1, counts["connections"])
    for key, words in (
        (
            "without_handshake",
            "had begun before the capture; their think times include a round trip",
        ),
        ("unanswered", "are SYNs that nobody answered, and were left out"),
        ("one_sided", "were seen in one direction only and left out"),
        ("without_data", "carried no data and were left out"),
        ("left_out", "came after a million connections or four million pairs, and were left out"),
        ("incomplete", "lack part of their data, which counts as not sent"),
        ("repeated", "have over 4,096 exchanges; the later ones are taken to be like those"),
        ("offloaded", "have packets larger than the link's: capacities are not taken from those"),
    ):
        if counts[key]:
            said.append(
                f"{counts[key]:,} of {every:,} connections ({counts[key] / every:.1%}) {words}"
            )
    for key, words in (
        ("dropped_packets", "packets that the capture dropped are not in it"),
        ("unread_packets", "packets with cut or damaged headers, or of unknown links, left out"),
        ("other_packets", "packets of neither TCP nor UDP, or in tunnels (--inner), left out"),
        ("damaged_places", "places of the capture are damaged: what they held is not in it"),
    ):
        if counts[key]:
            said.append(f"{words}: {counts[key]:,}")
    return tuple(said)
