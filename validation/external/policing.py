"""Laboratory traces of a carrier's policer and shaper: our answers beside the paper's detector.

The captures are a part of the validation set of Flach et al. (SIGCOMM 2016); a file's name states
what was done to its connections. A connection that a policer took less than 1 % of its packets from
shows no policing and counts for nothing. The connections of two clients, and those beside other
traffic, share their bucket, as the other traffic does.

The detector's results do not depend on trustbed and are stored, as reading the packets slowly takes
minutes; our answers are computed anew.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from validation import captures
from validation.external.answers import Answer, about, answers
from validation.external.detector import by_connection, flow, policed
from validation.packets import Packet, packets
from validation.records import records

Group: TypeAlias = Literal["alone", "sharing", "untouched", "other"]

POLICED_LOSS: Final = 0.01
LEAST_BYTES: Final = 100_000
"""Of a connection that is scored."""
VERSION: Final = 1
"""Of the stored results: raise it when the detector changes."""
STALLS: Final = frozenset({"host_scheduling", "host_stall", "driver_stall", "receiver_stalled"})

_WORD = re.compile(r"(?P<name>[A-Z]+[0-9]?)=(?P<value>[^-]+?)(?=-|\.pcap)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a file's name says."""

    policer_bits_per_second: int | None
    shaper_bits_per_second: int | None
    is_shared: bool

    @classmethod
    def of(cls, name: str) -> Setting:
        """Reads a name.

        Raises:
            ValueError: It is not one of this set.
        """
        words = dict(_WORD.findall(name))
        if "CP" not in words and "CP1" not in words:
            raise ValueError(f"{name}: not a name of this set")
        return cls(
            policer_bits_per_second=int(words["PCIR"]) if "PCIR" in words else None,
            shaper_bits_per_second=int(words["SCIR"]) if "SCIR" in words else None,
            is_shared="XT" in words or "CP2" in words,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection: what is true, what the detector found, what we said."""

    name: str
    group: Group
    loss_share: float
    objects: int
    objects_policed: int
    """By the paper's detector."""
    answer: Answer | None

    @property
    def is_policed_by_paper(self) -> bool:
        """Whether the paper's detector finds one object policed."""
        return self.objects_policed > 0

    @property
    def is_policed_by_us(self) -> bool:
        """Whether our answer names policing, alone or with one other cause."""
        return self.answer is not None and "policed" in self.answer.names[:2]


def directory() -> Path:
    """Where the captures are: beside the captures of others."""
    return Path(
        os.environ.get("TRUSTBED_POLICING", captures.project().parent / "shared" / "policing")
    )


def sources() -> list[Path]:
    """The captures, in the order of their names; none where the set is not there."""
    return sorted(directory().glob("*.pcap.zst"))


def connections(store: Path, workers: int) -> Iterator[Connection]:
    """Every connection of every capture."""
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for found in pool.map(partial(_connections, store), sources()):
            yield from found


def _connections(store: Path, capture: Path) -> list[Connection]:
    setting = Setting.of(capture.name)
    said = answers(capture, "sender")
    return [
        Connection(
            name=f"{capture.name.removesuffix('.pcap.zst')}:{one['receiver']}",
            group=_group(setting, one["loss_share"]),
            loss_share=one["loss_share"],
            objects=len(one["objects"]),
            objects_policed=sum(not why_not for why_not in one["objects"]),
            answer=about((x for x in said if x.receiver == one["receiver"]), one["sender"]),
        )
        for one in _by_paper(store, capture)
    ]


def _group(setting: Setting, loss_share: float) -> Group:
    if setting.policer_bits_per_second is None:
        return "other"
    if loss_share < POLICED_LOSS:
        return "untouched"
    return "sharing" if setting.is_shared else "alone"


def _by_paper(store: Path, capture: Path) -> list[dict[str, Any]]:
    """What the detector finds, stored under the capture's name."""
    file = store / f"{capture.name}.json"
    if file.is_file():
        stored: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if stored["version"] == VERSION:
            return list(stored["connections"])
    with pa.input_stream(str(capture), compression="zstd") as stream:
        seen = packets(records(stream.read()))
        groups = by_connection(seen).values()
    found = [one for group in groups if (one := detected(group)) is not None]
    file.parent.mkdir(parents=True, exist_ok=True)
    partial_file = file.with_name(f"{file.name}.partial")
    partial_file.write_text(json.dumps({"version": VERSION, "connections": found}), "utf-8")
    partial_file.replace(file)
    return found


def detected(group: Sequence[Packet]) -> dict[str, Any] | None:
    """What the detector finds in a connection; ``None`` where next to nothing was sent."""
    sizes: Counter[tuple[str, int]] = Counter()
    for packet in group:
        sizes[packet.sender] += packet.payload
    sender, size = sizes.most_common(1)[0]
    if size < LEAST_BYTES:
        return None
    receiver = next(end for end in group[0].key if end != sender)
    sent = flow(group, sender)
    return {
        "sender": f"{sender[0]}:{sender[1]}",
        "receiver": f"{receiver[0]}:{receiver[1]}",
        "loss_share": round(sent.loss_share, 5),
        "objects": [policed(each).why_not for each in sent.objects],
    }
