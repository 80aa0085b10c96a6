"""What a sampler uses of a processor, with each indicator and without.

Several beside each other at the same time, looked at from outside.

The kernel's account of every thread (`/proc/PID/task/*/schedstat`) is read before and after. What a
indicator costs is what its sampler used more than one that takes nothing but what cannot be left
out:
the machine's shares (steal among them), PSI, the run queue, interfaces. So of steal and PSI only an
upper bound is known, which is the cost of that sampler.

Bias: beside each other they find caches warm, and processors awake.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from studies.indicators.plan import COST_SECONDS, WAKEUP_MS
from trustbed.agent.client import Agent

LEAST = "machine"
"""The sampler that takes only what cannot be left out."""
_BARE: Mapping[str, Any] = {"cgroups": [], "sockets": False}
SAMPLERS: Mapping[str, Mapping[str, Any]] = {
    LEAST: _BARE,
    "processes": _BARE,
    "cgroups": {"sockets": False},
    **{
        f"wake-ups {each} ms": {**_BARE, "wakeup_interval_ns": each * 1_000_000}
        for each in (1, 2, WAKEUP_MS, 10)
    },
}
"""What each is told beside its file; ``processes`` looks at two of the others."""


def carry_out(*, seconds: float = COST_SECONDS) -> dict[str, Any]:
    """The share of a core that each sampler used.

    Raises:
        AgentError: One cannot run.
    """
    with TemporaryDirectory(prefix="trustbed-indicator-") as directory, ExitStack() as stack:
        agents: dict[str, Agent] = {}
        for name in sorted(SAMPLERS, key=lambda name: name == "processes"):
            others = [agent.pid for agent in agents.values()][:2] if name == "processes" else []
            asked = {
                "path": str(Path(directory) / f"{name}.jsonl"),
                **SAMPLERS[name],
                "processes": others,
            }
            agents[name] = stack.enter_context(Agent.start("sample", asked))
        for agent in agents.values():
            agent.begin()
        before = {name: (time.monotonic_ns(), used_ns(agent.pid)) for name, agent in agents.items()}
        time.sleep(seconds)
        after = {name: (time.monotonic_ns(), used_ns(agent.pid)) for name, agent in agents.items()}
    shares = {
        name: (after[name][1] - before[name][1]) / (after[name][0] - before[name][0])
        for name in SAMPLERS
    }
    return {"outcome": "made", "shares": shares}


def used_ns(process: int) -> int:
    """What the threads of a process used of processors."""
    return sum(
        int(file.read_text(encoding="ascii").split()[0])
        for file in Path(f"/proc/{process}/task").glob("*/schedstat")
    )


def more(shares: Mapping[str, float]) -> dict[str, float]:
    """What each indicator costs by itself; of what cannot be left out, all of it."""
    return {
        name: share if name == LEAST else max(share - shares[LEAST], 0.0)
        for name, share in shares.items()
    }
