"""What an agent has told of its host, as the checks read it: by places like ``clock.source``, each of a kind, or unknown.

The report comes from a program on another machine, maybe of another version: what is missing, null or of another kind than expected is
unknown, and nothing that it holds can make a check fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_HYPERVISORS = {
    "KVMKVMKVM": "KVM",
    "Linux KVM Hv": "KVM",
    "Microsoft Hv": "Hyper-V",
    "TCGTCGTCGTCG": "QEMU",
    "VBoxVBoxVBox": "VirtualBox",
    "VMwareVMware": "VMware",
    "XenVMMXenVMM": "Xen",
    "bhyve bhyve": "bhyve",
}
"""What hypervisors fill the twelve letters with that a processor has for their name, and what people call them."""


class HostFacts:
    """A report of the agent's verb ``facts``, or a part of one."""

    def __init__(self, report: object) -> None:
        self._report: Mapping[str, Any] = report if isinstance(report, Mapping) else {}

    def number(self, place: str) -> float | None:
        """A finite number."""
        found = self._at(place)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        try:
            number = float(found)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def count(self, place: str) -> int | None:
        """How often something happened, as far as a kernel can count."""
        found = self.number(place)
        return int(found) if found is not None and 0 <= found < 2**64 else None

    def seconds(self, place: str) -> float | None:
        """Nanoseconds as seconds."""
        found = self.number(place)
        return None if found is None else found / 1e9

    def flag(self, place: str) -> bool | None:
        """Yes or no."""
        found = self._at(place)
        return found if isinstance(found, bool) else None

    def text(self, place: str) -> str | None:
        """Words, in one line that a terminal can show."""
        found = self._at(place)
        return printable(found) if isinstance(found, str) and found else None

    def texts(self, place: str) -> Sequence[str] | None:
        """A list of words."""
        found = self._at(place)
        return (
            [printable(one) for one in found if isinstance(one, str)]
            if isinstance(found, list)
            else None
        )

    def numbers(self, place: str) -> Sequence[float] | None:
        """A list of finite numbers; unknown if one of it is none."""
        found = self._at(place)
        if not isinstance(found, list):
            return None
        numbers = [HostFacts({"one": one}).number("one") for one in found]
        known = [one for one in numbers if one is not None]
        return known if len(known) == len(numbers) else None

    def part(self, place: str) -> HostFacts | None:
        """A part of it that is there."""
        found = self._at(place)
        return HostFacts(found) if isinstance(found, Mapping) else None

    def parts(self, place: str) -> Sequence[HostFacts]:
        """A list of parts."""
        found = self._at(place)
        return (
            [HostFacts(one) for one in found if isinstance(one, Mapping)]
            if isinstance(found, list)
            else []
        )

    def counts(self, place: str) -> Mapping[str, int]:
        """Counters by their names."""
        found = self._at(place)
        if not isinstance(found, Mapping):
            return {}
        known = (
            (name, count)
            for name, count in found.items()
            if isinstance(count, int) and not isinstance(count, bool)
        )
        return {printable(str(name)): count for name, count in known}

    @property
    def hypervisor(self) -> str | None:
        """What the machine runs on, as people call it; as it calls itself where that is not known."""
        name = self.text("virtual.hypervisor")
        return None if name is None else _HYPERVISORS.get(name, name)

    def _at(self, place: str) -> object:
        found: object = self._report
        for key in place.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


def printable(text: str) -> str:
    """Without what a terminal would take as a command; what is left of a long text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])
