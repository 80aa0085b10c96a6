"""Why a tool cuts connections elsewhere than trustbed: named situations, each a predicate over packets."""

from collections.abc import Callable
from dataclasses import dataclass

from validation.case import History
from validation.connections import IDLE_NS, LINGER_NS
from validation.packets import ACK, RST, SYN
from validation.tcptrace_rules import IDLE_SECONDS

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CutCase:
    """One direction of a connection: its own frames, and the frames of the tool's instances that hold them."""

    tool: str
    history: History
    endpoint: Endpoint
    own: set[int]
    groups: list[set[int]]

    @property
    def split(self) -> bool:
        """The tool has several instances where trustbed has one."""
        return len(self.groups) > 1

    @property
    def joined(self) -> bool:
        """The tool's instance holds packets of other instances of trustbed."""
        return any(group - self.own for group in self.groups)


@dataclass(frozen=True, slots=True)
class CutReason:
    """A situation in which a tool cuts otherwise."""

    name: str
    tool: str
    meaning: str
    holds: Callable[[CutCase], bool]


def idle_4_minutes(case: CutCase) -> bool:
    """tcptrace begins anew after four minutes of silence; trustbed after ten, or after two with a SYN."""
    packets = case.history.packets
    return case.split and any(b.time_ns - a.time_ns > IDLE_SECONDS * 10**9 for a, b in zip(packets, packets[1:], strict=False))


CUTS: tuple[CutReason, ...] = (CutReason("idle_4_minutes", "tcptrace", idle_4_minutes.__doc__ or "", idle_4_minutes),)
