"""Which transfer a person means: by port, by its ends, or by its name.

``:53217`` is a port of the connection, ``10.0.0.1:53217>10.0.0.2:5201`` the sender and the receiver
(``→`` works too; either side may lack its address or its port), ``12.1`` the name.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from trustbed.cli import arguments
from trustbed.report.words import endpoint

if TYPE_CHECKING:
    from trustbed.analysis.capture import Capture

SHOWN = 5
"""How many candidates an error lists."""
_NAME = re.compile(r"\d+\.[01]")
_COLUMNS = ("transfer", "src", "src_port", "dst", "dst_port", "too_short", "unique_bytes")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One side of a transfer; ``None`` matches anything."""

    address: str | None
    port: int | None

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """``10.0.0.1:5201``, ``[fd00::1]:5201``, ``10.0.0.1``, ``fd00::1`` or ``:5201``.

        Raises:
            ValueError: It is none of them.
        """
        text = text.strip()
        if _is_address(text.strip("[]")):
            return cls(str(ipaddress.ip_address(text.strip("[]"))), None)
        address, colon, port = text.rpartition(":")
        address = address.removeprefix("[").removesuffix("]")
        if not colon or not port.isdecimal() or int(port) > 65_535:
            raise ValueError(text)
        return cls(str(ipaddress.ip_address(address)) if address else None, int(port))

    def matches(self, address: str, port: int | None) -> bool:
        """Whether that side of a transfer is meant."""
        return self.address in (None, address) and self.port in (None, port)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transfer of the capture."""

    name: str
    src: str
    src_port: int | None
    dst: str
    dst_port: int | None
    too_short: bool
    unique_bytes: int

    @property
    def words(self) -> str:
        """Addresses and ports, then the name."""
        ends = f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"
        return f"{ends} ({self.name})"


def transfer_of(capture: Capture, text: str) -> str:
    """The name of the transfer that ``text`` means.

    Where both directions of a connection match, the only one long enough to judge is meant.

    Raises:
        Complaint: It means none, or several.
    """
    return chosen(list(_candidates(capture)), text, capture.options.name).name


def chosen(candidates: list[Candidate], text: str, file: str) -> Candidate:
    """The candidate that ``text`` means; ``file`` is where they are from.

    Raises:
        Complaint: It means none, or several.
    """
    if _NAME.fullmatch(text):
        found = [one for one in candidates if one.name == text]
    else:
        found = [one for one in candidates if _matches(one, text)]
        found = [one for one in found if not one.too_short] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise arguments.Complaint(f"no transfer {text}, {file}", _listed(candidates))
    raise arguments.Complaint(
        f"{len(found)} transfers match {text}, {file}",
        f"name one: {_listed_names(found)}",
    )


def _matches(one: Candidate, text: str) -> bool:
    source, arrow, target = text.replace("→", ">").partition(">")
    try:
        if not arrow:
            side = Endpoint.parse(source)
            return side.matches(one.src, one.src_port) or side.matches(one.dst, one.dst_port)
        return Endpoint.parse(source).matches(one.src, one.src_port) and Endpoint.parse(
            target
        ).matches(one.dst, one.dst_port)
    except ValueError:
        raise arguments.UsageError(
            f"{text!r} names no transfer",
            "write a port like :53217, both ends like '10.0.0.1:53217>10.0.0.2:5201', or a name "
            "like 1.0",
        ) from None


def _candidates(capture: Capture) -> Iterator[Candidate]:
    stream = pa.RecordBatchReader.from_stream(capture.stream("transfers"))
    for batch in stream:
        columns = [batch.column(name).to_pylist() for name in _COLUMNS]
        for name, src, src_port, dst, dst_port, too_short, size in zip(*columns, strict=True):
            yield Candidate(name, str(src), src_port, str(dst), dst_port, too_short, size or 0)


def _listed(candidates: list[Candidate]) -> str:
    judged = [one for one in candidates if not one.too_short]
    if not judged:
        return "no transfer of this capture is long enough to judge"
    return f"trustbed analyze lists its transfers: {_listed_names(judged)}"


def _listed_names(found: list[Candidate]) -> str:
    largest = sorted(found, key=lambda one: -one.unique_bytes)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(one.words for one in largest[:SHOWN]) + more


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
