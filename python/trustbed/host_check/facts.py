"""Facts of a host as the checks read them: by keys like ``clock.source``, typed, or unknown.

The report comes from a program on another machine, maybe of another version: what is missing, null
or of another type than expected is unknown, and no content can make a check fail.
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
"""Signatures that hypervisors leave in CPUID, and their common names."""


class HostFacts:
    """A report of the agent's verb ``facts``, or a part of one."""

    def __init__(self, report: object) -> None:
        self._report: Mapping[str, Any] = report if isinstance(report, Mapping) else {}

    def number(self, key: str) -> float | None:
        """A finite number."""
        found = self._at(key)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        try:
            number = float(found)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def count(self, key: str) -> int | None:
        """A count, within the range of kernel counters."""
        found = self.number(key)
        return int(found) if found is not None and 0 <= found < 2**64 else None

    def seconds(self, key: str) -> float | None:
        """Nanoseconds as seconds."""
        found = self.number(key)
        return None if found is None else found / 1e9

    def flag(self, key: str) -> bool | None:
        """Yes or no."""
        found = self._at(key)
        return found if isinstance(found, bool) else None

    def text(self, key: str) -> str | None:
        """Words, in one line that a terminal can show."""
        found = self._at(key)
        return printable(found) if isinstance(found, str) and found else None

    def texts(self, key: str) -> Sequence[str] | None:
        """A list of words."""
        found = self._at(key)
        return (
            [printable(one) for one in found if isinstance(one, str)]
            if isinstance(found, list)
            else None
        )

    def numbers(self, key: str) -> Sequence[float] | None:
        """A list of finite numbers; unknown if one of it is none."""
        found = self._at(key)
        if not isinstance(found, list):
            return None
        numbers = [HostFacts({"one": one}).number("one") for one in found]
        known = [one for one in numbers if one is not None]
        return known if len(known) == len(numbers) else None

    def part(self, key: str) -> HostFacts | None:
        """A part of it that is there."""
        found = self._at(key)
        return HostFacts(found) if isinstance(found, Mapping) else None

    def parts(self, key: str) -> Sequence[HostFacts]:
        """A list of parts."""
        found = self._at(key)
        return (
            [HostFacts(one) for one in found if isinstance(one, Mapping)]
            if isinstance(found, list)
            else []
        )

    def counts(self, key: str) -> Mapping[str, int]:
        """Counters by their names."""
        found = self._at(key)
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
        """What the machine runs on, as people call it.

        As it calls itself where that is not known.
        """
        name = self.text("virtual.hypervisor")
        return None if name is None else _HYPERVISORS.get(name, name)

    def _at(self, key: str) -> object:
        found: object = self._report
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found


def printable(text: str) -> str:
    """Without what a terminal would take as a command; what is left of a long text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])
